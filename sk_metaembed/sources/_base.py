"""What every embedding source shares: the template that a new source fills in.

A leaf writes `_embed`, and `_fit_vectors` where it learns something; the template
reads the input, learns and applies `preprocess`, and counts what is known.

What is done to a source's vectors before they are combined.

Arrays in, arrays out: statistics are learned from the frequent words of a source's
own vocabulary, and applied to the vectors of any words.
"""

from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from .._core._arrays import chunks, normalize_rows
from .._core._decorators import fit_context
from .._io._temp_memmap import is_temp_memmap, memmap_zeros
from .._training._atomic_fit import rollback_on_error
from ..sequences import (
    Block,
    EmbeddedSequences,
    TokenSequences,
    check_tokens,
)
from ..sequences._mixins import SequencesOutputMixin
from ..sequences._validation import count_missing

PREPROCESSINGS = (None, "unit", "centre", "unit-centre-unit", "all-but-the-top")
FREQUENT = 100_000  # rows, in order of frequency, that statistics are learned from


class Preprocessing(NamedTuple):
    """A way to change vectors, with what it learned.

    Parameters
    ----------
    kind : {None, "unit", "centre", "unit-centre-unit", "all-but-the-top"}
    mean : ndarray of float32, shape (dim,), or None
        Of the vocabulary, or of its unit vectors for "unit-centre-unit".
    directions : ndarray of float32, shape (n_removed, dim), or None
        Orthonormal directions that "all-but-the-top" projects out.
    """

    kind: str | None = None
    mean: np.ndarray | None = None
    directions: np.ndarray | None = None

    def apply(self, values, out=None):
        """Return changed vectors, of the same shape and dtype.

        Parameters
        ----------
        values : ndarray of shape (n_rows, dim)
        out : ndarray of shape (n_rows, dim), default=None
            Where to write them, perhaps `values` itself. None makes a new array.

        Returns
        -------
        ndarray of shape (n_rows, dim)
        """
        changed = np.empty(values.shape, values.dtype) if out is None else out
        for rows in chunks(len(values)):
            changed[rows] = self._change(values[rows])
        return changed

    def _change(self, rows):
        if self.kind == "unit-centre-unit":
            return normalize_rows(normalize_rows(rows) - self.mean)
        if self.kind == "unit":
            return normalize_rows(rows)
        if self.kind is None:
            return rows
        rows = rows.astype(np.float32, copy=False) - self.mean
        for direction in () if self.directions is None else self.directions:
            # A matrix product would round by a row's place among the others.
            rows -= np.einsum("ij,j->i", rows, direction)[:, None] * direction
        return rows


def fit_preprocessing(kind, vocabulary):
    """Learn what a preprocessing needs from a vocabulary's vectors.

    Parameters
    ----------
    kind : {None, "unit", "centre", "unit-centre-unit", "all-but-the-top"}
    vocabulary : ndarray of shape (n_words, dim)
        The most frequent words first; only the first 100,000 are read.

    Returns
    -------
    Preprocessing
    """
    if kind in (None, "unit"):
        return Preprocessing(kind)
    vocabulary = vocabulary[:FREQUENT]
    if kind == "unit-centre-unit":
        return Preprocessing(kind, row_mean(vocabulary, normalize_rows))
    mean = row_mean(vocabulary)
    if kind == "centre":
        return Preprocessing(kind, mean)
    dim = vocabulary.shape[1]
    n_removed = min(max(1, dim // 100), dim - 1)
    return Preprocessing(kind, mean, top_directions(vocabulary, mean, n_removed))


def row_mean(values, change=np.asarray):
    """Return the mean of the changed rows, float32; zeros where there is no row."""
    total = np.zeros(values.shape[1])
    for rows in chunks(len(values)):
        total += change(values[rows]).sum(axis=0, dtype=np.float64)
    return (total / max(len(values), 1)).astype(np.float32)


def top_directions(values, mean, n_directions):
    """Return the first principal directions, float32 of shape (n_directions, dim)."""
    dim = values.shape[1]
    scatter = np.zeros((dim, dim))
    for rows in chunks(len(values)):
        centred = values[rows].astype(np.float32, copy=False) - mean
        scatter += centred.T @ centred
    _, vectors = np.linalg.eigh(scatter)
    return vectors[:, dim - n_directions :].T.astype(np.float32)


_PIECE = 65_536  # rows
PREPROCESS_CONSTRAINT = [StrOptions(set(PREPROCESSINGS) - {None}), None]


class BaseEmbedding(
    SequencesOutputMixin, TransformerMixin, BaseEstimator, auto_wrap_output_keys=None
):
    """Base class of embedding sources; derive from it to write your own.

    A leaf writes one or two methods, with a TokenSequences in which every type
    occurs at least once:

    ``_embed(tokens)``
        Returns one `Block` or a list of them, at any level. Rows that the source
        has no vector for are zero and ``known=False``.
    ``_fit_vectors(tokens, y)``
        Learns from the training fold, sets attributes ending in ``_``. Leave it out
        where nothing is learned.

    If the leaf has a parameter `preprocess`, the template learns and applies it; if it
    has a parameter `missing`, "raise" or "empty", missing rows are an error or empty
    sequences. For sources with one vector per word, `BaseWordEmbedding` does more.

    Attributes
    ----------
    coverage_ : dict
        Share of the training data that is known: ``"types"`` of its distinct tokens,
        ``"tokens"`` of its tokens.
    dims_ : dict of str to int
        Dimension of each block, by its name.
    n_missing_ : int
        Number of missing rows in the data of `fit`.

    See Also
    --------
    BaseWordEmbedding : The base of sources with one vector a word.
    FunctionEmbedding : A source made from a callable, without a class.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_metaembed import Block
    >>> from sk_metaembed.sources import BaseEmbedding
    >>> class ShapeEmbedding(BaseEmbedding):
    ...     '''Length of a word, and whether it begins with a capital.'''
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

    _parameter_constraints: dict = {"preprocess": PREPROCESS_CONSTRAINT}

    @property
    def block_name(self):
        """The name of the source's block: the class's name without "Embedding".

        `make_embedding_union` names sources by it. In an `EmbeddingUnion` the block has
        the name that the union gives to the source instead.
        """
        name = type(self).__name__.lower()
        return name.removesuffix("embedding").strip("_") or name

    def _fit_vectors(self, tokens, y):
        """Learn from the training fold; nothing by default."""

    def _types_read(self, tokens):
        """Return which types count as known at all, None if the blocks say it."""

    def _embed(self, tokens):
        """Return the Block or Blocks of tokens."""
        raise NotImplementedError(
            f"{type(self).__name__} must define _embed(tokens), which returns a Block "
            "or a list of Blocks."
        )

    @fit_context(prefer_skip_nested_validation=True)
    @rollback_on_error
    def fit(self, X, y=None):
        """Learn the source from the training fold.

        Within a Pipeline this is the training fold alone, so that nothing of a test
        fold gets into what is learned: vectors, `preprocess`, `coverage_`. What was
        learned before is forgotten.

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

    @fit_context(prefer_skip_nested_validation=True)
    @rollback_on_error
    def fit_transform(self, X, y=None):
        """Learn the source and embed the training fold, computing it once.

        A Pipeline calls it while it is fitted. What a network takes long to compute for
        the training fold is then not computed once to learn and once more to embed.

        Parameters
        ----------
        X : TokenSequences, texts or token lists
            Texts are split as `Tokenizer` does by default.
        y : array-like, default=None
            As for `fit`.

        Returns
        -------
        EmbeddedSequences
            As `transform` of the same data gives.
        """
        tokens = self._read(X)
        computed = self._learn(tokens, y)
        self.n_missing_ = count_missing(tokens)
        return self._finish(tokens, computed)

    def transform(self, X):
        """Embed sequences.

        Nothing is learned from X. A word that the source has no vector for is marked as
        not known, and what combines sources leaves it to the others.

        Parameters
        ----------
        X : TokenSequences, texts or token lists
            Texts are split as `Tokenizer` does by default.

        Returns
        -------
        EmbeddedSequences
            Over the types that occur in X.
        """
        check_is_fitted(self)
        tokens = self._read(X)
        return self._finish(tokens, self._compute(tokens))

    def get_feature_names_out(self, input_features=None):
        """Return a name for each dimension: the block's name and a number.

        They are the names of columns once a step behind, such as `Pooling`, has made an
        array with one row a text.

        Parameters
        ----------
        input_features : ignored
            Tokens have no feature names.

        Returns
        -------
        ndarray of str objects
            One name a dimension, over all blocks.
        """
        check_is_fitted(self)
        names = [f"{name}{i}" for name, dim in self.dims_.items() for i in range(dim)]
        return np.array(names, dtype=object)

    def _read(self, X):
        missing = getattr(self, "missing", "raise")
        return used_types(check_tokens(X, caller=type(self).__name__, missing=missing))

    # Computing comes apart from finishing, so that to fit and transform in one go
    # computes once.
    def _learn(self, tokens, y):
        """Learn all there is, and return what `_compute` gives for the tokens."""
        self._fit_vectors(tokens, y)
        # Building the container sees to it that the blocks fit the tokens.
        embedded = EmbeddedSequences(tokens, _as_blocks(self._embed(tokens), self))
        blocks = embedded.blocks
        kind = getattr(self, "preprocess", None)
        self._preprocessings = {
            block.name: fit_preprocessing(kind, block.values[block.known])
            for block in blocks
            if kind is not None
        }
        self.coverage_ = coverage(tokens, blocks, self._types_read(tokens))
        self.dims_ = {block.name: block.dim for block in blocks}
        return blocks

    def _compute(self, tokens):
        """Return what `_finish` needs."""
        blocks = _as_blocks(self._embed(tokens), self)
        self._check_dims(blocks)
        return blocks

    def _finish(self, tokens, blocks):
        """Return the EmbeddedSequences."""
        blocks = [self._preprocess_block(block) for block in blocks]
        return EmbeddedSequences(tokens, blocks)

    def _preprocess_block(self, block):
        preprocessing = self._preprocessings.get(block.name)
        if preprocessing is None:
            return block
        if is_temp_memmap(block.values):
            values = _in_pieces(preprocessing, block.values, type(self).__name__)
        else:
            values = preprocessing.apply(block.values)
        values[~block.known] = block.values[~block.known]
        return Block(block.name, values, block.level, block.known)

    def _check_dims(self, blocks):
        dims = {block.name: block.dim for block in blocks}
        if dims != self.dims_:
            raise ValueError(
                f"{type(self).__name__} gave blocks with dimensions {dims} after it "
                f"had been fitted with {self.dims_}. A source must give the same "
                "blocks for any input."
            )


def _in_pieces(preprocessing, values, caller):
    """Return what a preprocessing makes of an array that memory need not hold."""
    out = memmap_zeros(values.shape, np.float32, caller)
    for start in range(0, len(values), _PIECE):
        rows = slice(start, start + _PIECE)
        out[rows] = preprocessing.apply(values[rows])
    return out


def used_types(tokens):
    """Return the same sequences over the types that occur, in their old order.

    A subset of rows keeps all types; sources look at those that are used.
    """
    used = tokens.type_counts() > 0
    if used.all():
        return tokens
    position = np.cumsum(used, dtype=np.int64) - 1
    codes = position[tokens.codes].astype(np.int32)
    return TokenSequences._trusted(
        tokens.types[used], codes, tokens.offsets, tokens._rows
    )


def coverage(tokens, blocks, read=None):
    """Return the shares of types and of tokens that any block knows; 1.0 of none.

    Types that are not `read` count as unknown whatever the blocks say.
    """
    known = np.logical_or.reduce([_known_tokens(tokens, b) for b in blocks])
    if read is not None:
        known = known & read[tokens.codes]
    return shares_known(tokens, known)


def shares_known(tokens, known):
    """Return the shares of types and of tokens that are known, by tokens' flags."""
    types = np.zeros(tokens.n_types, dtype=bool)
    types[tokens.codes[known]] = True
    return {"types": _share(types), "tokens": _share(known)}


def word_coverage(tokens, known):
    """Return the shares of types and of tokens that are known, by types' flags."""
    return {"types": _share(known), "tokens": _share(known[tokens.codes])}


def _known_tokens(tokens, block):
    if block.level == "type":
        return block.known[tokens.codes]
    if block.level == "sequence":
        return block.known[tokens.segment_ids()]
    return block.known


def _share(flags):
    return float(flags.mean()) if len(flags) else 1.0


def _as_blocks(blocks, source):
    blocks = blocks if isinstance(blocks, list | tuple) else [blocks]
    strange = [b for b in blocks if not isinstance(b, Block)]
    if strange or not blocks:
        came = type(strange[0]).__name__ if strange else "an empty list"
        raise TypeError(
            f"{type(source).__name__}._embed must return a Block or a list of Blocks, "
            f"got {came}."
        )
    return blocks
