"""PairEncoder: encode pairs of texts by one encoder for both sides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import check_array, check_consistent_length, get_tags
from sklearn.utils.validation import check_is_fitted

from .._core._arrays import PAIR_FEATURES, pair_features
from .._core._estimators import fit_context
from .._core._frames import (
    check_same_names,
    column_names,
    plain_container,
    record_names,
)
from .._core._sklearn import HasMethods
from .._core._typing import Container, Names
from ..sequences import (
    EmbeddedSequences,
    SequencePairs,
    SequencesInputMixin,
    TokenSequences,
)
from ..sequences._api import (
    MISSING_CONSTRAINT,
    count_missing,
    distinct_cells,
    read_pairs,
    tokens_of,
)


class PairEncoder(SequencesInputMixin, TransformerMixin, BaseEstimator):
    r"""Encode pairs of texts by one encoder, for entailment, similarity or duplicates.

    The encoder is fitted on both sides as one corpus, so their vectors are comparable.
    The features of a pair are both vectors, their difference and their product [1]_.
    If the encoder ends in word vectors or tokens, the output is `SequencePairs`, which
    `DynamicMetaClassifier`, `DynamicMetaRegressor` and another PairEncoder take.

    Parameters
    ----------
    encoder : transformer or Pipeline
        With fit and transform, from a list of texts (or of token lists) to an array, a
        sparse matrix or a DataFrame with one row per text; or to a `TokenSequences` or
        `EmbeddedSequences`. It is cloned before it is fitted.
    features : sequence of str, default=("u", "v", "absdiff", "product")
        The vectors of the first and the second side, the absolute value of their
        difference, and their elementwise product. "absdiff" and "product" alone do not
        depend on the order of the sides, which suits symmetric relations such as
        similarity. Must be the default if the output is SequencePairs, whose features
        are made by the next step.
    missing : {"raise", "empty"}, default="raise"
        How to treat missing sides (None, NaN, null): raise an error, or use empty texts
        or token lists.

    Attributes
    ----------
    encoder_ : transformer
        The fitted clone.
    feature_names_in_ : ndarray of object, shape (2,)
        The names of the columns, if fit was passed a DataFrame.
    n_missing_ : int
        Number of missing sides in the data of `fit`.

    Raises
    ------
    TypeError
        If a side is missing or not a text, or sides of texts and of token lists are
        mixed. The message names row and side.
    ValueError
        If the number of columns is not two, `features` are unknown or would not be
        used, the encoder needs labels, or its output does not have one row of finite
        numbers per text.

    See Also
    --------
    TextMetaEncoder : Encodes columns that are not sides of a pair, one by one.
    SequencePairs : The output of an encoder that ends in tokens or word vectors.
    DynamicMetaClassifier : A network on such pairs, which trains the encoder on labels.

    Notes
    -----
    The features of vectors u and v are

    .. math:: [u;\ v;\ |u - v|;\ u \circ v].

    `fit` passes all 2 n texts to the encoder at once, including repeated texts, but no
    labels, which belong to pairs. Put supervised steps such as `DynamicMetaEmbedding`
    after the PairEncoder, where they take its SequencePairs. In `transform` a text that
    is repeated is embedded once.

    References
    ----------
    .. [1] A. Conneau et al. "Supervised Learning of Universal Sentence Representations
       from Natural Language Inference Data". EMNLP 2017.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sk_metaembed import PairEncoder
    >>> X = [("a dog runs", "a dog runs"), ("a dog runs", "no cat sleeps")] * 5
    >>> model = make_pipeline(PairEncoder(TfidfVectorizer()), LogisticRegression())
    >>> model.fit(X, ["same", "other"] * 5).predict(X[:2]).tolist()
    ['same', 'other']
    >>> model[0].get_feature_names_out()[-2:].tolist()
    ['product__runs', 'product__sleeps']

    If the encoder returns tokens or word vectors, the output is SequencePairs:

    >>> from sk_metaembed import Tokenizer
    >>> PairEncoder(Tokenizer()).fit_transform(X)
    SequencePairs(10 pairs of TokenSequences: 60 tokens, 6 types)
    """

    _parameter_constraints: dict = {
        "encoder": [HasMethods(["fit", "transform"])],
        "features": [list, tuple],
        "missing": MISSING_CONSTRAINT,
    }

    def __init__(
        self,
        encoder: Any,
        features: Sequence[str] = PAIR_FEATURES,
        *,
        missing: Literal["raise", "empty"] = "raise",
    ) -> None:
        self.encoder = encoder
        self.features = features
        self.missing = missing

    @fit_context
    def fit(self, X: Any, y: object = None) -> Self:
        """Fit a clone of the encoder on both sides, as one corpus.

        Parameters
        ----------
        X : array of shape (n_pairs, 2), DataFrame, list of pairs, or SequencePairs
            The pairs, of texts or of token lists.
        y : None
            Ignored.

        Returns
        -------
        PairEncoder
            The fitted estimator.
        """
        cells, _ = self._start(X)
        self.encoder_.fit(cells, None)
        self._record_output(self.encoder_.transform(cells[:2]), len(cells[:2]))
        return self

    @fit_context
    def fit_transform(self, X: Any, y: object = None) -> Any:
        """Fit a clone of the encoder on both sides, and encode them.

        Parameters
        ----------
        X : array of shape (n_pairs, 2), DataFrame, list of pairs, or SequencePairs
            The pairs, of texts or of token lists.
        y : None
            Ignored.

        Returns
        -------
        ndarray or sparse matrix of float32, or SequencePairs
            As from `transform`.
        """
        cells, info = self._start(X)
        if hasattr(self.encoder_, "fit_transform"):
            output = self.encoder_.fit_transform(cells)
        else:
            output = self.encoder_.fit(cells, None).transform(cells)
        self._record_output(output, len(cells))
        return self._pairs(output, len(cells), info)

    def transform(self, X: Any) -> Any:
        """Encode pairs; a text in several pairs is encoded once.

        Parameters
        ----------
        X : array of shape (n_pairs, 2), DataFrame, list of pairs, or SequencePairs
            The pairs, of texts or of token lists.

        Returns
        -------
        ndarray or sparse matrix of float32, shape (n_pairs, n_features)
            The features of each pair; or SequencePairs if the encoder returns tokens or
            word vectors.
        """
        check_is_fitted(self)
        X = plain_container(X)
        check_same_names(self, X)
        cells, info = read_pairs(X, missing=self.missing)
        if not isinstance(cells, list):
            return self._pairs(self.encoder_.transform(cells), len(cells), info)
        if not cells and not self._outputs_sequences:
            # Most encoders raise an error for an empty list.
            return np.zeros((0, len(self._features) * self._dim), dtype=np.float32)
        cells, places = distinct_cells(cells)
        return self._pairs(self.encoder_.transform(cells), len(cells), info, places)

    def _start(self, X):
        """Check the parameters, read the pairs and clone the encoder."""
        unknown = [name for name in self.features if name not in PAIR_FEATURES]
        repeated = len(set(self.features)) < len(self.features)
        if unknown or repeated or not len(self.features):
            raise ValueError(
                f"features must hold some of {list(PAIR_FEATURES)}, each at most "
                f"once; got {list(self.features)}."
            )
        for step in _fitted_steps(self.encoder):
            if get_tags(step).target_tags.required:
                raise ValueError(
                    f"{type(step).__name__} in the encoder learns from labels, but y "
                    "has labels of pairs, not of the single texts. Remove it from the "
                    "encoder, and put it after the PairEncoder: "
                    "make_pipeline(PairEncoder(encoder), ...)."
                )
        X = plain_container(X)
        cells, info = read_pairs(X, missing=self.missing)
        if len(cells) == 0:
            raise ValueError(
                "Found array with 0 sample(s): fitting the encoder needs at least one "
                "pair."
            )
        self.encoder_ = clone(self.encoder)
        record_names(self, X)
        self.n_missing_ = count_missing(info)
        return cells, info

    def _record_output(self, output, n_texts):
        """Record the kind of the encoder's output, and the columns to make of it."""
        self._features = tuple(self.features)
        self._outputs_sequences = isinstance(output, TokenSequences | EmbeddedSequences)
        if self._outputs_sequences and {*self.features} != {*PAIR_FEATURES}:
            raise ValueError(
                f"features={self.features!r} would not be used: the encoder returns "
                f"{type(output).__name__}, and the next step makes the features of its "
                "SequencePairs. Leave features at its default, or let the encoder end "
                "in one row of numbers per text, for example by Pooling."
            )
        # scikit-learn reads from this attribute whether to wrap transform's output.
        self._sklearn_auto_wrap_output_keys = (
            set() if self._outputs_sequences else {"transform"}
        )
        if not self._outputs_sequences:
            self._names = column_names(output)
            self._dim = _as_vectors(output, n_texts).shape[1]

    def _pairs(self, output, n_texts, info, places=None):
        """Return the features of all pairs, or SequencePairs, of the encoder's output.

        `places` are the output rows of all first sides, followed by those of all second
        sides.
        """
        places = np.arange(n_texts) if places is None else places
        if isinstance(output, TokenSequences | EmbeddedSequences):
            if len(output) != n_texts:
                raise ValueError(
                    f"the encoder returned {len(output)} sequences for {n_texts} "
                    "texts. It must return one per text."
                )
            output = output[places]
            tokens = tokens_of(output)
            tokens = tokens._with_row_info(index=info.index, missing=info.missing)
            if isinstance(output, EmbeddedSequences):
                return SequencePairs(EmbeddedSequences(tokens, output.blocks))
            return SequencePairs(tokens)
        vectors = _as_vectors(output, n_texts)
        if vectors.shape[1] != self._dim:
            raise ValueError(
                f"the encoder returned {vectors.shape[1]} columns, but {self._dim} in "
                "fit. Their number must not depend on the input."
            )
        first, second = places.reshape(2, -1)
        return pair_features(vectors[first], vectors[second], self._features)

    def get_feature_names_out(self, input_features: object = None) -> Names:
        """Return one name per column: the feature and the encoder's name, joined.

        Parameters
        ----------
        input_features : ignored
            The columns are named after the columns of the encoder.

        Returns
        -------
        ndarray of object
            Such as "absdiff__dog", with numbers if the encoder does not name its
            columns. SequencePairs have the encoder's own names.
        """
        check_is_fitted(self)
        names = None
        if hasattr(self.encoder_, "get_feature_names_out"):
            names = self.encoder_.get_feature_names_out()
        if self._outputs_sequences:
            names = ["sequences"] if names is None else names
            return np.asarray(names, dtype=object)
        if names is None:
            names = self._names or range(self._dim)
        names = [f"{feature}__{name}" for feature in self._features for name in names]
        return np.array(names, dtype=object)

    def set_output(self, *, transform: Container | None = None) -> Self:
        """Choose the container of the features; SequencePairs are not changed.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, default=None
            The container. None leaves the choice unchanged.

        Returns
        -------
        estimator instance
            The estimator itself.
        """
        # Before fit it is not known whether the output can be wrapped.
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # Text columns; two_d_array would mean that they may contain numbers.
        tags.input_tags.categorical = True
        return tags


def _fitted_steps(encoder):
    """Return the encoder, or the estimators that it is composed of and fits."""
    from sklearn.frozen import FrozenEstimator

    if isinstance(encoder, FrozenEstimator):
        return []
    for name in ("steps", "transformer_list", "transformers", "sources"):
        parts = getattr(encoder, name, None)
        if isinstance(parts, list):
            steps = [part[1] for part in parts if hasattr(part[1], "fit")]
            return [inner for step in steps for inner in _fitted_steps(step)]
    return [encoder]


def _as_vectors(output, n_rows):
    """Return an encoder's output as float32, dense or CSR (n_rows, dim), checked."""
    options = {"accept_sparse": "csr", "dtype": np.float32, "ensure_min_samples": 0}
    try:
        with np.errstate(over="ignore"):  # refused as infinity
            values = check_array(output, **options)
        check_consistent_length(values, range(n_rows))
    except (TypeError, ValueError) as error:
        raise ValueError(
            "the encoder must return one row of finite numbers per text, an array of "
            f"shape ({n_rows}, dim). {error}"
        ) from error
    return values
