"""CommonComponentRemoval: remove the directions that most sentence vectors share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._core._arrays import chunks
from .._core._errors import NamedErrorsMixin
from .._core._estimators import fit_context
from .._core._sklearn import COUNT

_LEAST_RATIO = 1e-5  # of singular values in float32, which has noise of 1e-7


def top_components(X, n_components, mean=None):
    """Return the first right singular vectors of X as rows, and the singular values.

    At most n_components, and as many as the rank of X; the entry of largest magnitude
    is positive in each row. `mean` is subtracted from X first. Computed from the
    eigenvectors of the smaller of ``X.T X`` and ``X X.T``, which is cheaper than a full
    SVD and needs no copy of a tall X.
    """
    n_components = min(n_components, *X.shape)
    n_samples, n_features = X.shape
    least = 4 * min(X.shape) * np.finfo(np.float64).eps
    if X.dtype == np.float32:
        least = _LEAST_RATIO**2
    if n_features <= n_samples:
        vectors, squares = _leading_eigenpairs(_gram(X, mean), n_components, least)
        components = vectors.T
    else:
        centered = _subtract_mean(X, mean)
        gram = centered @ centered.T
        vectors, squares = _leading_eigenpairs(gram, n_components, least)
        components = vectors.T @ centered
    return _normalize_components(components), np.sqrt(squares)


def remove_components(rows, components, weights):
    """Return rows minus their weighted projections on the components."""
    # The rounding of a matrix product would depend on the position of a row.
    shares = np.einsum("ij,kj->ik", rows, components) * weights
    removed = rows.copy()
    for k, component in enumerate(components):
        removed -= shares[:, k, None] * component
    return removed


def _gram(X, mean):
    gram = np.zeros((X.shape[1], X.shape[1]))
    for rows in chunks(len(X)):
        part = _subtract_mean(X[rows], mean)
        gram += part.T @ part
    return gram


def _subtract_mean(X, mean):
    X = X.astype(np.float64)
    return X if mean is None else X - mean


def _leading_eigenpairs(gram, n_components, least):
    size = len(gram)
    squares, vectors = eigh(gram, subset_by_index=(size - n_components, size - 1))
    is_rank = squares > least * squares[-1]
    return vectors[:, is_rank][:, ::-1], squares[is_rank][::-1]


def _normalize_components(components):
    norms = np.linalg.norm(components, axis=1, keepdims=True)
    largest = np.abs(components).argmax(axis=1)
    signs = np.sign(components[np.arange(len(components)), largest])
    return components * signs[:, None] / norms


class CommonComponentRemoval(
    OneToOneFeatureMixin, TransformerMixin, NamedErrorsMixin, BaseEstimator
):
    """Remove the directions that most sentence vectors share.

    Averages of word vectors have a large component along the directions of frequent
    words, which carry little information about a sentence. Removing this component
    improves cosine similarity. It seldom improves classification, because a linear
    classifier learns the weights of directions.

    Parameters
    ----------
    n_components : int, default=1
        Number of directions: 1 for SIF, 5 for uSIF, about a hundredth of the dimension
        for all-but-the-top. Limited to one less than the training data's rank, because
        few rows would otherwise become zeros. With `weighted`, a part of each direction
        remains, so the limit is the rank, if it is 2 or more.
    weighted : bool, default=False
        Whether to remove each direction in proportion to its share of the squared
        singular values, as in uSIF, instead of completely.
    center : bool, default=False
        Whether to subtract the mean first, as in all-but-the-top. The zero vectors of
        empty sequences are then no longer zero. Rows that are all equal become zeros.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features_in_)
        Orthonormal directions.
    singular_values_ : ndarray of shape (n_components_,)
        Singular values of the training data, in decreasing order.
    component_weights_ : ndarray of shape (n_components_,)
        Share of each direction that is removed; all 1 unless `weighted`.
    mean_ : ndarray of shape (n_features_in_,)
        Zeros unless `center`.
    n_components_ : int
        Number of directions removed.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had string column names in fit.

    See Also
    --------
    Pooling : Computes sentence vectors, with ``weights="sif"`` or ``"usif"``.

    Notes
    -----
    With v_i the first right singular vectors of the matrix of sentence vectors,
    centered only if requested, a row x becomes ``x - sum_i c_i (x . v_i) v_i``; c_i is
    1, or ``s_i**2 / sum_j s_j**2`` over the chosen directions if `weighted`. The
    directions are learned in fit, so the result of a row does not depend on the other
    rows.

    References
    ----------
    Arora, Liang, Ma (2017), "A simple but tough-to-beat baseline for sentence
    embeddings" (SIF). Ethayarajh (2018), "Unsupervised random walk sentence
    embeddings" (uSIF). Mu, Viswanath (2018), "All-but-the-top".

    Examples
    --------
    >>> import numpy as np
    >>> from sk_metaembed import CommonComponentRemoval
    >>> X = np.array([[9.0, 1.0], [9.0, -1.0]])
    >>> CommonComponentRemoval().fit_transform(X).round(6) + 0.0
    array([[ 0.,  1.],
           [ 0., -1.]])

    SIF and uSIF in a pipeline:

    >>> from sklearn.pipeline import make_pipeline
    >>> from sk_metaembed import Pooling
    >>> sif = make_pipeline(Pooling(weights="sif"), CommonComponentRemoval())
    >>> usif = make_pipeline(
    ...     Pooling(weights="usif"), CommonComponentRemoval(5, weighted=True)
    ... )
    """

    _parameter_constraints: dict = {
        "n_components": [COUNT],
        "weighted": ["boolean"],
        "center": ["boolean"],
    }

    def __init__(
        self, n_components: int = 1, *, weighted: bool = False, center: bool = False
    ) -> None:
        self.n_components = n_components
        self.weighted = weighted
        self.center = center

    @fit_context
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn the common directions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Vectors of sequences, such as the output of `Pooling`.
        y : ignored
            Not used.

        Returns
        -------
        estimator instance
            The fitted transformer.
        """
        data = validate_data(self, X, dtype=[np.float64, np.float32])
        mean = data.mean(axis=0, dtype=np.float64) if self.center else None
        components, values = top_components(data, self.n_components + 1, mean)
        rank = len(values)
        most = rank if self.weighted and rank > 1 else max(rank - 1, 0)
        n_components = min(self.n_components, most)
        self.mean_ = np.zeros(data.shape[1]) if mean is None else mean
        self.components_ = components[:n_components]
        self.singular_values_ = values[:n_components]
        squares = self.singular_values_**2
        shares = squares / squares.sum() if self.weighted else np.ones(n_components)
        self.component_weights_ = shares
        self.n_components_ = n_components
        return self

    if TYPE_CHECKING:

        def fit_transform(
            self, X: ArrayLike, y: object = None, **fit_params: Any
        ) -> NDArray[np.floating]: ...

    def transform(self, X: ArrayLike) -> NDArray[np.floating]:
        """Remove the directions learned in fit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Vectors of sequences.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            In float32 if X is float32, else in float64.
        """
        check_is_fitted(self)
        data = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        removed = np.empty_like(data, order="C")
        for rows in chunks(len(data)):
            removed[rows] = remove_components(
                data[rows] - self.mean_, self.components_, self.component_weights_
            )
        return removed

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
