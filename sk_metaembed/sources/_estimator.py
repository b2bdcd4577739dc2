"""EstimatorEmbedding: a scikit-learn transformer of texts as a source."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils import check_consistent_length

from .._core._inherited_docs import inherit_docs
from .._core._sklearn import HasMethods, safe_indexing
from .._pipelines import flat_steps
from ..sequences import Block, EmbeddedSequences
from ..sequences._api import explained_token_errors
from ._base import BaseEmbedding, Preprocess, SourceDocs, no_tokens_error
from ._sentences import nonempty_texts

MAX_SPARSE_COLUMNS = 4096
_ROUNDING = 5  # tolerance in machine precisions, measured with large means


@inherit_docs(SourceDocs)
class EstimatorEmbedding(BaseEmbedding):
    """Use a transformer that returns one row of numbers per text as a source.

    Whole pipelines thus become sources of sentence vectors in a union, each learned
    from the training data: pooled word vectors, TF-IDF followed by TruncatedSVD, a
    trainable sentence encoder. A meta-embedder after the union combines them as it
    combines word vectors [1]_.

    Parameters
    ----------
    estimator : transformer or Pipeline
        Has fit and transform, from texts or a `TokenSequences` to an array of shape
        (n_sequences, dim). It is cloned before fitting.
    as_text : bool, default=False
        Pass sequences to `estimator` as strings, as a TfidfVectorizer takes them: the
        original texts, or tokens joined by spaces if there are no texts. False passes a
        TokenSequences, as the steps of this package take it.

    Attributes
    ----------
    estimator_ : transformer
        The fitted clone.

    Raises
    ------
    TypeError
        If the estimator does not return numbers, or returns EmbeddedSequences.
    ValueError
        If the output is not finite, does not have one row per sequence, or is sparse
        with more than 4,096 columns; or if all training sequences are empty.

    See Also
    --------
    FunctionEmbedding : A source made from a callable, which learns nothing.
    Pooling : Turns embedded words into one row per sequence.

    Notes
    -----
    Sequences without tokens, and with ``as_text=True`` original texts that are empty or
    only whitespace, are not passed to the estimator, neither in fit (their labels are
    omitted too) nor in transform: their vectors are zero and unknown. Fitting calls fit
    and then transform, never the estimator's fit_transform, which may return other
    numbers.

    Sparse output of up to 4,096 columns is converted to dense. For more columns, add
    TruncatedSVD after the estimator, or limit the number of features.

    If the estimator ends with PCA or TruncatedSVD, also before a Normalizer, columns of
    components beyond the rank of the training data are set to zero: those of at most 5
    times the precision of their type, 6e-7 for float32, relative to the length of
    centered rows. They are rounding errors, in arbitrary directions, which steps that
    standardize would enlarge.

    References
    ----------
    .. [1] N. Poerner, U. Waltinger, H. Schuetze, "Sentence Meta-Embeddings for
       Unsupervised Semantic Textual Similarity", ACL 2020.

    Examples
    --------
    >>> from sklearn.decomposition import TruncatedSVD
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sk_metaembed import EstimatorEmbedding
    >>> texts = ["tea and milk", "milk and honey", "rain or snow", "tea or rain"]
    >>> lsa = make_pipeline(TfidfVectorizer(), TruncatedSVD(2))
    >>> source = EstimatorEmbedding(lsa, as_text=True)
    >>> source.fit_transform(texts)
    EmbeddedSequences(4 sequences, 12 tokens, 7 types; estimator: sequence 2d)
    >>> search = {"estimator__truncatedsvd__n_components": [2, 3]}
    >>> set(search) <= set(source.get_params())
    True
    """

    _beyond_rank: Any = ()  # columns to set to zero

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit", "transform"])],
        "as_text": ["boolean"],
    }

    def __init__(
        self,
        estimator: Any,
        *,
        as_text: bool = False,
        preprocess: Preprocess | None = None,
        missing: Literal["raise", "empty"] = "raise",
    ) -> None:
        self.estimator = estimator
        self.as_text = as_text
        self.preprocess = preprocess
        self.missing = missing

    def _fit_vectors(self, tokens, y):
        self._fitted_as_text = self.as_text
        filled, data = self._input(tokens)
        if not len(filled):
            raise no_tokens_error(len(tokens), tokens.texts)
        y = targets_of(y, filled, len(tokens))
        self.estimator_ = self._call(clone(self.estimator).fit, data, y)
        self._dim = None

    def _embed(self, tokens):
        filled, data = self._input(tokens)
        if len(filled):
            output = self._call(self.estimator_.transform, data)
            rows = as_dense_rows(output, len(filled))
            if self._dim is None:  # only in fit
                self._dim = rows.shape[1]
                self._beyond_rank = columns_beyond_rank(self.estimator_, output)
            if rows.shape[1] != self._dim:
                raise ValueError(
                    f"the estimator returned {rows.shape[1]} columns, but {self._dim} "
                    "in fit. It must return the same number of columns for any input."
                )
        values = np.zeros((len(tokens), self._dim), dtype=np.float32)
        known = np.zeros(len(tokens), dtype=bool)
        if len(filled):
            values[filled], known[filled] = rows, True
            values[:, self._beyond_rank] = 0
        return Block(self.block_name, values, "sequence", known, copy=False)

    def _input(self, tokens):
        """Return the rows of nonempty sequences, and the estimator's input for them."""
        if self._fitted_as_text:
            return nonempty_texts(tokens)
        filled = np.flatnonzero(tokens.lengths)
        return filled, tokens[filled]

    def _call(self, method, data, *args):
        if self._fitted_as_text:
            return method(data, *args)
        what = type(self.estimator).__name__
        remedy = "Set as_text=True if it takes texts as str, as TfidfVectorizer does."
        with explained_token_errors(self.estimator, what, remedy):
            return method(data, *args)


def columns_beyond_rank(estimator, rows):
    """Return the columns of principal components in `rows` that are rounding errors.

    The size of a column alone is not sufficient, because its unit may be small. But a
    component is the length of centered rows along a direction, and the rounding errors
    of rows are relative to whole rows. Rounding errors of much larger means are not
    recognized, because exact numbers may be as small.
    """
    from sklearn.preprocessing import Normalizer

    steps = [s for s in flat_steps(estimator) if not isinstance(s, Normalizer)]
    variances = getattr(steps[-1], "explained_variance_", None) if steps else None
    if variances is None or np.shape(variances) != np.shape(rows)[1:]:
        return []
    rows = np.asarray(rows)
    squares = np.square(rows, dtype=np.float64).mean(axis=0)
    if getattr(steps[-1], "whiten", False):
        squares *= variances
    noise = (_ROUNDING * np.finfo(rows.dtype).eps) ** 2
    return np.flatnonzero(squares <= noise * squares.sum())


def targets_of(y, rows, n_rows):
    """Return the targets of some rows, None if y is None."""
    check_consistent_length(range(n_rows), y)
    return y if y is None or len(rows) == n_rows else safe_indexing(y, rows)


def as_dense_rows(output, n_rows):
    """Return a transformer's output as a dense float32 array (n_rows, dim), checked."""
    if isinstance(output, EmbeddedSequences):
        raise TypeError(
            "the estimator returns EmbeddedSequences instead of one row per sequence. "
            "Add Pooling after it, or use it as a source itself."
        )
    if issparse(output):
        if output.shape[1] > MAX_SPARSE_COLUMNS:
            raise ValueError(
                f"the estimator returns a sparse matrix of {output.shape[1]:,} columns;"
                f" at most {MAX_SPARSE_COLUMNS:,} are converted to dense. Add "
                "TruncatedSVD after it, or limit the number of features."
            )
        output = output.toarray()
    values = np.asarray(np.ma.filled(output, np.nan))
    try:
        with np.errstate(over="ignore"):  # reported by row below
            values = values.astype(np.float32, copy=False)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"the estimator must return numbers; got dtype {values.dtype}."
        ) from error
    if values.ndim != 2 or len(values) != n_rows or not values.shape[1]:
        raise ValueError(
            f"the estimator must return an array of shape ({n_rows}, dim); got "
            f"{values.shape}."
        )
    bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if len(bad):
        raise ValueError(
            f"{len(bad)} of {n_rows} rows contain NaN or infinity, the first is row "
            f"{bad[0]} of those with tokens."
        )
    return values
