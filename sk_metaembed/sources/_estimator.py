"""EstimatorEmbedding: a scikit-learn transformer of texts as a source."""

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import HasMethods

from ..sequences import Block, EmbeddedSequences, SequencesInputMixin
from ..sequences._mixins import MISSING_CONSTRAINT
from ._base import PREPROCESS_CONSTRAINT, BaseEmbedding
from ._function import scatter
from ._original_text import filled_texts

MAX_SPARSE_COLUMNS = 4096


class EstimatorEmbedding(BaseEmbedding):
    """Make a source of a transformer that gives each text one row of numbers.

    With it whole pipelines stand in a union as sources of sentence vectors, each
    learned from the training fold: pooled word vectors, TF-IDF behind TruncatedSVD, a
    sentence encoder with fit. A meta-embedder behind the union combines them as it
    combines the vectors of words [1]_.

    Parameters
    ----------
    estimator : transformer or Pipeline
        With fit and transform, from texts or a `TokenSequences` to an array of shape
        (n_sequences, dim). It is cloned before it is fitted.
    joined : bool, default=False
        Give `estimator` sequences as strings, as a TfidfVectorizer takes them: the
        original texts, or of token lists the tokens joined by spaces. False gives it
        a TokenSequences, as the steps of this package take it.
    preprocess : {"unit", "centre", "unit-centre-unit", "all-but-the-top"}, default=None
        What is done to the vectors, learned from the known rows of the training fold.
    missing : {"raise", "empty"}, default="raise"
        What to do with missing rows (None, NaN, null): raise an error, or take them as
        empty sequences. A TokenSequences is taken as it is.

    Attributes
    ----------
    estimator_ : transformer
        The fitted clone.
    coverage_ : dict
        Share of the training fold's ``"types"`` and ``"tokens"`` that are known.
    dims_ : dict of str to int
        Dimension of the block, by its name.
    n_missing_ : int
        Number of missing rows in the data of `fit`.

    Raises
    ------
    TypeError
        If the estimator gives no numbers, or EmbeddedSequences.
    ValueError
        If what it gives is not finite, has not one row a sequence, or is sparse with
        more than 4,096 columns; or if all sequences of the training fold are empty.

    See Also
    --------
    FunctionEmbedding : A source made of a callable, which learns nothing.
    Pooling : Makes rows of embedded words.

    Notes
    -----
    Sequences without tokens, or with ``joined=True`` original texts that are empty or
    only white space, are not passed on, neither in fit (nor are their labels)
    nor in transform: their vectors are zero and not known. Fitting calls fit and then
    transform, never the estimator's fit_transform, which may give other numbers.

    Sparse output becomes dense, as blocks are, up to 4,096 columns; put TruncatedSVD
    behind a wider one, or limit its features.

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
    >>> source = EstimatorEmbedding(lsa, joined=True)
    >>> source.fit_transform(texts)
    EmbeddedSequences(4 sequences, 12 tokens, 7 types; estimator: sequence 2d)
    >>> search = {"estimator__truncatedsvd__n_components": [2, 3]}
    >>> set(search) <= set(source.get_params())
    True
    """

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit", "transform"])],
        "joined": ["boolean"],
        "preprocess": PREPROCESS_CONSTRAINT,
        "missing": MISSING_CONSTRAINT,
    }

    def __init__(self, estimator, *, joined=False, preprocess=None, missing="raise"):
        self.estimator = estimator
        self.joined = joined
        self.preprocess = preprocess
        self.missing = missing

    def _fit_vectors(self, tokens, y):
        filled, given = self._input(tokens)
        if not len(filled):
            raise ValueError(
                f"{self._whose}: no sequence of the training fold has a token, so the "
                "estimator cannot be fitted."
            )
        if y is not None and len(filled) < len(tokens):
            y = _safe_indexing(y, filled)
        self.estimator_ = self._call(clone(self.estimator).fit, given, y)
        self._dim = None

    def _embed(self, tokens):
        filled, given = self._input(tokens)
        if len(filled):
            found = self._call(self.estimator_.transform, given)
            values = as_rows(found, len(filled), self._whose)
        else:
            values = np.zeros((0, self._dim), dtype=np.float32)
        self._check_dim(values.shape[1])
        known = np.ones(len(filled), dtype=bool)
        values, known = scatter(values, known, filled, len(tokens))
        return Block(self.block_name, values, "sequence", known)

    def _check_dim(self, dim):
        if self._dim is None:
            self._dim = dim  # what fit saw binds transform
        if dim != self._dim:
            raise ValueError(
                f"{self._whose} gave {dim} columns after {self._dim} in fit. An "
                "estimator must give as many columns for any input."
            )

    def _input(self, tokens):
        """Return which sequences are not empty, and what the estimator gets of them."""
        if self.joined:
            return filled_texts(tokens)
        filled = np.flatnonzero(tokens.lengths)
        return filled, tokens[filled]

    def _call(self, method, given, *args):
        try:
            return method(given, *args)
        except (AttributeError, TypeError) as error:
            if self.joined or reads_tokens(self.estimator):
                raise
            raise TypeError(
                f"{self._whose}: the estimator failed on a TokenSequences: {error}. "
                "Set joined=True if it takes texts as str, as TfidfVectorizer does."
            ) from error

    @property
    def _whose(self):
        return f"EstimatorEmbedding({type(self.estimator).__name__})"


def reads_tokens(step):
    """Return whether a step, or the first of a Pipeline, is one of this package."""
    while hasattr(step, "steps"):
        step = step.steps[0][1]
    return isinstance(step, SequencesInputMixin)


def as_rows(given, n_rows, caller):
    """Return what a transformer gave as a dense float32 array, or say what is wrong.

    Parameters
    ----------
    given : array, sparse matrix or DataFrame
    n_rows : int
        How many rows it must have.
    caller : str
        Begins the error messages.

    Returns
    -------
    ndarray of float32, shape (n_rows, dim)
    """
    if isinstance(given, EmbeddedSequences):
        raise TypeError(
            f"{caller}: the estimator gives EmbeddedSequences, not one row a sequence. "
            "Put Pooling behind it, or use it as a source itself."
        )
    if issparse(given):
        given = _dense(given, caller)
    values = np.asarray(given)
    if values.dtype.kind not in "fiub":
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"{caller}: the estimator must give numbers, got dtype {values.dtype}."
            ) from error
    if values.ndim != 2 or len(values) != n_rows or not values.shape[1]:
        raise ValueError(
            f"{caller}: the estimator must give an array of shape ({n_rows}, dim), got "
            f"{values.shape}."
        )
    with np.errstate(over="ignore"):  # told by its row
        values = values.astype(np.float32, copy=False)
    bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if len(bad):
        raise ValueError(
            f"{caller}: {len(bad)} of {n_rows} rows hold NaN or infinity, the first is "
            f"row {bad[0]} of those with tokens."
        )
    return values


def _dense(given, caller):
    if given.shape[1] > MAX_SPARSE_COLUMNS:
        raise ValueError(
            f"{caller}: the estimator gives a sparse matrix of {given.shape[1]:,} "
            f"columns; up to {MAX_SPARSE_COLUMNS:,} are made dense. Put TruncatedSVD "
            "behind it, or limit its features."
        )
    return given.toarray()
