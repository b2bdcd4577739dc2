"""Base class of sources with one vector per word, and how they treat unknown words."""

from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from ..._core._arrays import is_immutable
from ..._core._sklearn import StrOptions
from ...sequences import Block
from ...sequences._api import block_of_table, canonical_words
from .._base import (
    FREQUENT,
    BaseEmbedding,
    Preprocessing,
    fit_preprocessing,
    row_mean,
    shares_known,
)

OOV: TypeAlias = Literal["zero", "mean", "subword", "error"]
_SHOWN = 5  # unknown words in an error message


def check_all_known(tokens, known):
    """Raise a ValueError that names the first unknown tokens and their positions."""
    unknown_types = np.flatnonzero(~known)
    if not len(unknown_types):
        return
    positions = np.flatnonzero(~known[tokens.codes])
    _, first = np.unique(tokens.codes[positions], return_index=True)
    positions = positions[np.sort(first)][:_SHOWN]
    rows = np.searchsorted(tokens.offsets, positions, side="right") - 1
    shown = ", ".join(
        f"{tokens.types[tokens.codes[position]]!r} (row {row}, token "
        f"{position - tokens.offsets[row]})"
        for position, row in zip(positions, rows, strict=True)
    )
    more = ", ..." if len(unknown_types) > len(positions) else ""
    raise ValueError(
        f"no vector for {len(unknown_types)} of {len(known)} distinct "
        f'tokens: {shown}{more}. With oov="error" every token must be known: remove '
        'these tokens, or use another policy, for example oov="zero".'
    )


class Lookup(NamedTuple):
    """Where the vector of each type comes from: a row of the table, or its parts."""

    rows: np.ndarray  # (n_types,) table rows, -1 where absent
    known: np.ndarray  # (n_types,) bool
    composed: np.ndarray | None  # vectors of absent types, with oov="subword"


class BaseWordEmbedding(BaseEmbedding):
    """Base class for sources with a table of one vector per word.

    A subclass implements:

    ``_table()``
        Returns the vectors, of shape (n_words, dim), the most frequent words first.
    ``_find(words)``
        Returns the table row of each word, int of shape (n,), -1 if it is absent.
        Absent words are looked up again in NFC and in NFD.
    ``_fit_vectors(tokens, y)``
        Learns or opens the table.
    ``_compose(words)``
        Returns vectors composed of the words' parts and a bool array of which are
        known, for ``oov="subword"``. Optional.

    The base class looks up each distinct word once and applies the parameters `oov` and
    `preprocess` if the subclass has them. Only the rows of these words, and at most the
    first 100,000 rows in `fit`, are read. The output is one block at level "type".
    A word is known if it is in the table or is composed of known parts.

    Attributes
    ----------
    coverage_ : dict
        Share of the training data that is known: ``"types"`` of its distinct tokens,
        ``"tokens"`` of all tokens.
    dims_ : dict of str to int
        Dimension of the block, by block name.

    See Also
    --------
    BaseEmbedding : Base class for all sources.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_metaembed.sources import BaseWordEmbedding
    >>> class LetterEmbedding(BaseWordEmbedding):
    ...     '''Lower-case letters as one-hot vectors.'''
    ...
    ...     def _table(self):
    ...         return np.eye(26, dtype=np.float32)
    ...
    ...     def _find(self, words):
    ...         rows = [ord(w) - 97 if len(w) == 1 else -1 for w in words]
    ...         return np.array([row if 0 <= row < 26 else -1 for row in rows])
    >>> source = LetterEmbedding().fit([["a", "b", "no"], ["b"]])
    >>> source.transform([["c"]])[0].argmax()
    np.int64(2)
    >>> source.coverage_["tokens"]
    0.75
    """

    _common_constraints: dict = {
        **BaseEmbedding._common_constraints,
        "oov": [StrOptions(set(get_args(OOV)))],
    }

    _preprocessings: dict = {}  # `_block` preprocesses
    _composes_all = False  # whether all words are composed of their parts

    def _table(self):
        """Return the vectors of all words, (n_words, dim)."""
        raise NotImplementedError(f"{type(self).__name__} must define _table().")

    def _find(self, words):
        """Return the table row of each word, (n,) int, -1 if absent."""
        raise NotImplementedError(f"{type(self).__name__} must define _find(words).")

    def _compose(self, words):
        """Return vectors composed of the words' parts, and which are known."""
        raise ValueError(
            'oov="subword" requires subword vectors, which '
            "this source does not have. Use vectors in fastText's .bin format, "
            'FastTextEmbedding, or another policy, for example oov="zero".'
        )

    def _learn(self, tokens, y):
        self._fit_vectors(tokens, y)
        return [self._block(self._fit_table(tokens))]

    def _embed(self, tokens):
        return self._block(self._look_up(tokens))

    def _fit_table(self, tokens):
        """Learn what depends on the table, and return the Lookup of the tokens."""
        self._fitted_oov = getattr(self, "oov", "zero")
        if self._composes_all:
            self._fitted_oov = "subword"
        elif self._fitted_oov == "subword":
            self._compose(tokens.types[:0])  # raises if there are no subword vectors
        lookup = self._look_up(tokens)
        frequent = self._table()[:FREQUENT]
        if self._composes_all:  # the frequent words of the training data
            most = np.argsort(-tokens.type_counts(), kind="stable")[:FREQUENT]
            frequent, _ = self._compose(tokens.types[most])
        kind = getattr(self, "preprocess", None)
        self._preprocessing = Preprocessing()
        if kind is not None:
            self._preprocessing = self._fit_preprocessing(kind, frequent)
        self._oov_mean = None
        if self._fitted_oov == "mean":
            self._oov_mean = row_mean(self._preprocessing.apply(frequent))
        self.coverage_ = shares_known(tokens, lookup.known[tokens.codes])
        self.dims_ = {self.block_name: self._table().shape[1]}
        return lookup

    def _fit_preprocessing(self, kind, frequent):
        """Learn the preprocessing from the vectors of frequent words."""
        return fit_preprocessing(kind, frequent)

    def _look_up(self, tokens):
        """Find each type in the table or, depending on the policy, compose it."""
        types = tokens.types
        rows = self._find(types)
        n_words = len(self._table())
        rows = _checked_rows(rows, types, n_words)
        for form in ("NFC", "NFD"):
            places = [i for i in np.flatnonzero(rows < 0) if not types[i].isascii()]
            if places:
                respelled = _words(types[places], form)
                rows[places] = _checked_rows(self._find(respelled), respelled, n_words)
        known, composed = rows >= 0, None
        if self._fitted_oov == "error":
            check_all_known(tokens, known)
        if self._fitted_oov == "subword" and not known.all():
            composed, known[rows < 0] = self._compose(_words(types[rows < 0]))
        return Lookup(rows, known, composed)

    def _block(self, lookup):
        """Return the block of the words of a Lookup, preprocessed."""
        table, known = self._table(), lookup.known
        is_unchanged = (
            is_immutable(table)
            and table.dtype in (np.float32, np.float16)
            and lookup.composed is None
            and self._preprocessing.kind is None
            and (known.all() or self._oov_mean is None)
        )
        if is_unchanged:
            return block_of_table(self.block_name, table, "type", known, lookup.rows)
        # mode="clip" reads row 0 for absent words and is several times faster than the
        # default on a memory-mapped table.
        if len(table):
            values = np.take(table, lookup.rows, axis=0, mode="clip")
        else:  # all words are composed
            values = np.zeros((len(lookup.rows), table.shape[1]), table.dtype)
        if lookup.composed is not None:
            values[lookup.rows < 0] = lookup.composed
        if self._preprocessing.kind is not None:
            values = self._preprocessing.apply(values, out=values)
        if not known.all():
            values[~known] = 0
            if self._oov_mean is not None:
                values[~known] = self._oov_mean
                known = np.ones_like(known)
        return Block(self.block_name, values, "type", known, copy=False)


def _words(words, form="NFC"):
    """Return words in a Unicode form, an object array (n,)."""
    words = canonical_words(words, form)
    return np.fromiter(words, object, len(words))


def _checked_rows(rows, words, n_words):
    """Return the rows of `_find` as a checked copy; compiled code checks no bounds."""
    rows = np.array(rows)
    if not rows.size:  # an empty list is an array of floats
        rows = rows.astype(np.int64)
    if rows.shape != words.shape or rows.dtype.kind not in "iu":
        raise TypeError(
            f"_find must return the table row of each of {len(words)} words, -1 where "
            f"absent; got an array of shape {rows.shape} and dtype {rows.dtype}."
        )
    if rows.size and rows.max() >= n_words:
        raise ValueError(
            f"_find must return rows of the table, below {n_words}, and -1 where "
            f"absent; got {rows.max()} for {words[rows.argmax()]!r}."
        )
    return rows
