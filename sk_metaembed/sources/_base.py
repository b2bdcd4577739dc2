"""Base class of embedding sources, and preprocessing of their vectors.

The statistics of preprocessing are learned from the known vectors of the training data,
or in a `BaseWordEmbedding` from the frequent words of its table.
"""

from __future__ import annotations

import warnings
from typing import Literal, NamedTuple, Self, TypeAlias, get_args

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._core._arrays import chunks, normalize_rows
from .._core._errors import plural, short_repr
from .._core._estimators import fit_context
from .._core._sklearn import StrOptions
from .._core._typing import Names, Texts
from .._io._temp_memmap import is_temp_memmap, memmap_zeros
from ..sequences import Block, EmbeddedSequences, SequencesOutputMixin, check_tokens
from ..sequences._api import (
    MISSING_CONSTRAINT,
    count_missing,
    dimension_names,
    tokens_from_unchecked,
)

Preprocess: TypeAlias = Literal["unit", "center", "unit-center-unit", "all-but-the-top"]
_LEAST_VARIANCE = 1e-6  # relative; float32 has noise of 1e-7
_warned: set[tuple] = set()  # keys of warnings that were issued in this process
FREQUENT = 100_000  # number of rows that statistics are learned from


class Preprocessing(NamedTuple):
    """Fitted preprocessing of vectors.

    `mean`, float32 (dim,), is the mean of the vocabulary, or of its unit vectors for
    "unit-center-unit"; "all-but-the-top" removes the orthonormal `directions`, float32
    (n_removed, dim).
    """

    kind: str | None = None
    mean: np.ndarray | None = None
    directions: np.ndarray | None = None

    def apply(self, values, out=None):
        """Return preprocessed vectors, (n, dim) -> (n, dim); `out` may be `values`."""
        out = np.empty(values.shape, values.dtype) if out is None else out
        for rows in chunks(len(values)):
            out[rows] = self._apply(values[rows])
        return out

    def _apply(self, rows):
        if self.kind == "unit-center-unit":
            return normalize_rows(normalize_rows(rows) - self.mean)
        if self.kind == "unit":
            return normalize_rows(rows)
        if self.kind is None:
            return rows
        rows = rows.astype(np.float32, copy=False) - self.mean
        for direction in () if self.directions is None else self.directions:
            # With a matrix product, rounding would depend on the other rows.
            rows -= np.einsum("ij,j->i", rows, direction)[:, None] * direction
        return rows


def fit_preprocessing(kind, vocabulary):
    """Learn a `Preprocessing` from vectors (n_words, dim), frequent words first."""
    if kind in (None, "unit"):
        return Preprocessing(kind)
    vocabulary = vocabulary[:FREQUENT]
    if kind == "unit-center-unit":
        return Preprocessing(kind, row_mean(vocabulary, normalize_rows))
    mean = row_mean(vocabulary)
    if kind == "center":
        return Preprocessing(kind, mean)
    n_removed = max(1, vocabulary.shape[1] // 100)
    return Preprocessing(kind, mean, top_directions(vocabulary, mean, n_removed))


def row_mean(values, transform=np.asarray):
    """Return the float32 mean of ``transform(rows)``, (n, dim) -> (dim,), 0 if n=0."""
    total = np.zeros(values.shape[1])
    for rows in chunks(len(values)):
        total += transform(values[rows]).sum(axis=0, dtype=np.float64)
    return (total / max(len(values), 1)).astype(np.float32)


def top_directions(values, mean, n_directions):
    """Return the first principal directions, float32 (n_directions, dim).

    At least one direction in which the vectors vary is kept, because a few vectors
    would otherwise become zeros.
    """
    dim = values.shape[1]
    scatter = np.zeros((dim, dim))
    for rows in chunks(len(values)):
        centered = values[rows].astype(np.float64) - mean
        scatter += centered.T @ centered
    variances, vectors = np.linalg.eigh(scatter)
    rank = np.count_nonzero(variances > _LEAST_VARIANCE * variances[-1])
    n_directions = min(n_directions, max(rank - 1, 0))
    return vectors[:, dim - n_directions :].T.astype(np.float32)


class SourceDocs:
    """The parameters and attributes of most sources, for `inherit_docs`.

    Parameters
    ----------
    preprocess : {"unit", "center", "unit-center-unit", "all-but-the-top"}, default=None
        Preprocessing of the vectors, learned from the known rows of the training data.
    missing : {"raise", "empty"}, default="raise"
        What to do with missing rows (None, NaN, null): raise an error, or treat them as
        empty sequences. A TokenSequences is used as it is.

    Attributes
    ----------
    coverage_ : dict
        Share of the training data's ``"types"`` and ``"tokens"`` that are known.
    dims_ : dict of str to int
        Dimension of each block, by block name.
    n_missing_ : int
        Number of missing rows in the data passed to `fit`.
    """


class BaseEmbedding(SequencesOutputMixin, TransformerMixin, BaseEstimator):
    """Base class for embedding sources; derive from it to write your own.

    A subclass implements one or two methods. Both receive a TokenSequences in which
    every type occurs at least once:

    ``_embed(tokens)``
        Returns one `Block` or a list of blocks, at any level. Rows without a vector
        are zero and ``known=False``.
    ``_fit_vectors(tokens, y)``
        Learns from the training data and sets attributes ending in ``_``. Not needed
        if nothing is learned.

    If the subclass has a parameter `preprocess`, the base class learns and applies it.
    If it has a parameter `missing`, "raise" or "empty", missing rows raise an error or
    become empty sequences. `BaseWordEmbedding` does more for sources with one vector
    per word.

    Attributes
    ----------
    coverage_ : dict
        Share of the training data that is known: ``"types"`` of its distinct tokens,
        ``"tokens"`` of all tokens.
    dims_ : dict of str to int
        Dimension of each block, by block name.
    n_missing_ : int
        Number of missing rows in the data passed to `fit`.

    See Also
    --------
    BaseWordEmbedding : Base class for sources with one vector per word.
    FunctionEmbedding : Makes a source from a callable, without a class.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_metaembed import Block
    >>> from sk_metaembed.sources import BaseEmbedding
    >>> class ShapeEmbedding(BaseEmbedding):
    ...     '''Length of a word, and whether it starts with a capital.'''
    ...
    ...     def __init__(self, *, preprocess=None):
    ...         self.preprocess = preprocess
    ...
    ...     def _embed(self, tokens):
    ...         values = [(len(word), word[:1].isupper()) for word in tokens.types]
    ...         return Block(self.block_name, np.array(values), "type")
    >>> source = ShapeEmbedding().fit([["Paris", "in", "spring"]])
    >>> source.transform([["Rome"], ["in", "Rome"]])[1]
    array([[2., 0.],
           [4., 1.]], dtype=float32)
    >>> source.get_feature_names_out()
    array(['shape0', 'shape1'], dtype=object)
    """

    # Constraints of the parameters that sources share; a subclass adds its own.
    _common_constraints: dict = {
        "preprocess": [StrOptions(set(get_args(Preprocess))), None],
        "missing": MISSING_CONSTRAINT,
    }
    _parameter_constraints: dict = {}

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        constraints = {**cls._common_constraints, **cls._parameter_constraints}
        names = cls._get_param_names()
        cls._parameter_constraints = {
            name: constraint
            for name, constraint in constraints.items()
            if name in names
        }

    @property
    def block_name(self) -> str:
        """Name of the source's block: the class name in lower case without "Embedding".

        `make_embedding_union` uses it to name sources. Inside an `EmbeddingUnion` the
        block takes the name that the union gives to the source.
        """
        name = type(self).__name__.lower()
        return name.removesuffix("embedding").strip("_") or name

    def _fit_vectors(self, tokens, y):
        """Learn from the training data; the default does nothing."""

    def _embed(self, tokens):
        """Return the Block or the list of Blocks of the tokens."""
        raise NotImplementedError(
            f"{type(self).__name__} must define _embed(tokens), which returns a Block "
            "or a list of Blocks."
        )

    # Estimators inside of a source validate their own parameters.
    @fit_context
    def fit(self, X: Texts, y: object = None) -> Self:
        """Fit the source on the training data.

        Vectors, `preprocess` and `coverage_` are learned from X only. Fitting again
        starts from scratch.

        Parameters
        ----------
        X : TokenSequences, texts or token lists
            Texts are split as `Tokenizer` does by default.
        y : array-like, default=None
            Ignored by sources that need no labels.

        Returns
        -------
        estimator instance
            The fitted source.
        """
        tokens = self._read(X)
        self._learn(tokens, y)
        self.n_missing_ = count_missing(tokens)
        return self

    @fit_context
    def fit_transform(self, X: Texts, y: object = None) -> EmbeddedSequences:
        """Fit the source and embed the training data, computing the vectors once.

        Parameters
        ----------
        X : TokenSequences, texts or token lists
            Texts are split as `Tokenizer` does by default.
        y : array-like, default=None
            As for `fit`.

        Returns
        -------
        EmbeddedSequences
            The same as ``fit(X, y).transform(X)``.
        """
        tokens = self._read(X)
        blocks = self._learn(tokens, y)
        self.n_missing_ = count_missing(tokens)
        return self._preprocessed(tokens, blocks)

    def transform(self, X: Texts) -> EmbeddedSequences:
        """Embed sequences.

        A word without a vector is marked as unknown, so that later steps can use the
        other sources for it.

        Parameters
        ----------
        X : TokenSequences, texts or token lists
            Texts are split as `Tokenizer` does by default.

        Returns
        -------
        EmbeddedSequences
            The vectors of the types that occur in X.
        """
        check_is_fitted(self)
        tokens = self._read(X)
        blocks = _as_blocks(self._embed(tokens), self)
        self._check_dims(blocks)
        return self._preprocessed(tokens, blocks)

    def get_feature_names_out(self, input_features: object = None) -> Names:
        """Return one name per dimension: the block name followed by a number.

        An underscore follows a block name that ends in a digit: "layer1_0".

        Parameters
        ----------
        input_features : ignored
            Tokens have no feature names.

        Returns
        -------
        ndarray of str objects
            One name per dimension, over all blocks.
        """
        check_is_fitted(self)
        return dimension_names(self.dims_)

    def _read(self, X):
        missing = getattr(self, "missing", "raise")
        return used_types(check_tokens(X, missing=missing))

    def _learn(self, tokens, y):
        """Fit the source, and return the blocks of the training data."""
        self._fit_vectors(tokens, y)
        blocks = _as_blocks(self._embed(tokens), self)
        EmbeddedSequences(tokens, blocks)  # checks that the blocks match the tokens
        kind = getattr(self, "preprocess", None)
        self._preprocessings = {
            block.name: fit_preprocessing(kind, block.values[block.known])
            for block in blocks
            if kind is not None
        }
        self.coverage_ = coverage(tokens, blocks)
        self.dims_ = {block.name: block.dim for block in blocks}
        return blocks

    def _preprocessed(self, tokens, blocks):
        """Preprocess blocks, and return them as EmbeddedSequences of tokens."""
        blocks = list(blocks)
        for i, block in enumerate(blocks):
            preprocessing = self._preprocessings.get(block.name)
            if preprocessing is None:
                continue
            values = None
            if is_temp_memmap(block.values):  # the result may not fit into memory
                name = type(self).__name__
                values = memmap_zeros(block.values.shape, np.float32, name)
            values = preprocessing.apply(block.values, out=values)
            values[~block.known] = block.values[~block.known]
            blocks[i] = Block(block.name, values, block.level, block.known, copy=False)
        return EmbeddedSequences(tokens, blocks)

    def _check_dims(self, blocks):
        dims = {block.name: block.dim for block in blocks}
        if dims != self.dims_:
            raise ValueError(
                f"{type(self).__name__}._embed returned blocks with dimensions {dims}, "
                f"but {self.dims_} in fit. A source must return the same blocks for "
                "any input."
            )


def warn_of_long_texts(source, model, n_long, n_texts, limit, result):
    """Warn if texts are longer than a number of subwords, once per model and number."""
    if n_long and is_first((model, limit)):
        warnings.warn(
            f"{source}: {n_long} of {n_texts} texts are longer than {limit} subwords"
            f"{result}",
            stacklevel=3,
        )


def is_first(key):
    """Return whether this is the first call with a key in this process."""
    first = key not in _warned
    _warned.add(key)
    return first


def used_types(tokens):
    """Return the same sequences over the types that occur, in the same order.

    A subset of rows keeps all types; sources embed only those that are used.
    """
    used = tokens.type_counts() > 0
    if used.all():
        return tokens
    position = np.cumsum(used, dtype=np.int64) - 1
    codes = position[tokens.codes].astype(np.int32)
    return tokens_from_unchecked(
        tokens.types[used], codes, tokens.offsets, tokens._row_info
    )


def no_tokens_error(n_rows, texts=None):
    """Return the ValueError of a fit on rows without tokens; None for unknown texts."""
    texts = () if texts is None else texts
    shown = next((text for text in texts if text.strip()), None)
    if shown is not None:
        remedy = (
            f"The texts have no words, such as {short_repr(shown)}. To keep emoji and "
            "punctuation as tokens, put Tokenizer(punctuation=True) before this step."
        )
    elif n_rows:
        remedy = "All of them are empty; at least one must have tokens."
    else:
        remedy = "If X is a generator, it may be exhausted."
    return ValueError(f"found no tokens in {plural(n_rows, 'sequence')}. {remedy}")


def coverage(tokens, blocks, readable=None):
    """Return the known shares of types and tokens, over all blocks.

    Types that are not `readable` count as unknown whatever the blocks contain.
    """
    known = np.logical_or.reduce([_known_tokens(tokens, b) for b in blocks])
    if readable is not None:
        known = known & readable[tokens.codes]
    return shares_known(tokens, known)


def shares_known(tokens, known):
    """Return the known shares of types and tokens, from flags per token."""
    types = np.zeros(tokens.n_types, dtype=bool)
    types[tokens.codes[known]] = True
    return {
        "types": float(types.mean()) if len(types) else 1.0,
        "tokens": float(known.mean()) if len(known) else 1.0,
    }


def _known_tokens(tokens, block):
    if block.level == "type":
        return block.known[tokens.codes]
    if block.level == "sequence":
        return block.known[tokens.segment_ids()]
    return block.known


def _as_blocks(blocks, source):
    blocks = blocks if isinstance(blocks, list | tuple) else [blocks]
    invalid = [type(block).__name__ for block in blocks if not isinstance(block, Block)]
    if invalid or not blocks:
        received = invalid[0] if invalid else "an empty list"
        raise TypeError(
            f"{type(source).__name__}._embed must return a Block or a list of Blocks; "
            f"got {received}."
        )
    return blocks
