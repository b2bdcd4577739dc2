"""Texts that are split, and vectors that are found, only when they are needed.

A `Tokenizer` returns LateTokens of many texts, and `PretrainedEmbedding` a LateBlock of
them. They are the plain containers to any step that reads tokens or vectors: the texts
are split at the first access. A step that reads the row of each token once, such as
`Pooling`, calls `Block._late_rows` instead and reads the texts a few at a time, without
a table of their types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._core._arrays import read_only
from ._block import Block
from ._token_sequences import NO_INFO, TokenSequences

if TYPE_CHECKING:
    from ._text_scan import TextScan

_CHUNK = 1 << 16  # characters that are read at a time, which stay in the cache


class LateTokens(TokenSequences):
    """The tokens of texts that are split when `types` or `codes` are read."""

    _scan: TextScan | None  # None once the texts are split

    __slots__ = ("_scan",)

    _trusted = TokenSequences._trusted  # subsets and pickles are plain

    @classmethod
    def of_texts(cls, scan, row_info=NO_INFO):
        """Build from a TextScan."""
        self = cls.__new__(cls)
        self._assign(_row_info=row_info, _scan=scan)
        return self

    def __getattr__(self, name):
        # Called for slots without a value. Two threads may split the texts at once,
        # with equal results.
        if name in ("types", "codes", "offsets") and (scan := self._scan) is not None:
            self._set(*scan.split(), self._row_info)
            self._assign(_scan=None)
        return object.__getattribute__(self, name)

    @property
    def _is_split(self):
        return self._scan is None

    def __len__(self) -> int:
        scan = self._scan
        return super().__len__() if scan is None else len(scan.texts)

    def _with_row_info(self, **info):
        if (scan := self._scan) is None:
            return super()._with_row_info(**info)
        return self.of_texts(scan, self._row_info._replace(**info))


class LateRows:
    """The rows of a table for the tokens of texts that are not split yet.

    Parameters
    ----------
    tokens : LateTokens
    table : ndarray of shape (n_table_rows, dim)
        Read-only and finite.
    find_words : callable
        From words to their rows, -1 for unknown ones.
    find_spans : callable
        The same for the tokens of a `TextScan`.
    """

    def __init__(self, tokens, table, find_words, find_spans):
        self.tokens, self.table = tokens, table
        self._scan = tokens._scan  # `tokens` may be split before these are read
        self._find_words, self._find_spans = find_words, find_spans

    def find_types(self):
        """Return the row of each type; splits the texts."""
        return self._find_words(self.tokens.types)

    def chunks(self):
        """Return (first, last + 1) of runs of texts that are read at a time."""
        return self._scan.chunks(_CHUNK)

    def find_tokens(self, first, last):
        """Return the rows of the tokens of some texts, and the number per text."""
        spans = self._scan.tokens(first, last)
        return self._find_spans(spans), spans.counts


class LateBlock(Block):
    """A block at level "type" whose rows are found when `known` or `values` are read.

    Parameters of `of_texts` are a name and `LateRows`.
    """

    _late: LateRows | None  # None once the rows are found

    __slots__ = ("_late",)

    _trusted = Block._trusted  # others are plain

    @classmethod
    def of_texts(cls, name, late):
        """Build from LateRows."""
        self = cls.__new__(cls)
        self._assign(name=name, level="type", _late=late)
        return self

    def __getattr__(self, name):
        # As in LateTokens.
        if name in ("_source", "known") and (late := self._late) is not None:
            rows = late.find_types()
            self._set(self.name, late.table, "type", rows >= 0, read_only(rows))
            self._assign(_late=None)
        return object.__getattribute__(self, name)

    @property
    def dim(self) -> int:
        """Number of dimensions of the vectors."""
        late = self._late
        return super().dim if late is None else late.table.shape[1]

    def rename(self, name):
        """Return a block of the same vectors with another name."""
        if (late := self._late) is not None:
            return self.of_texts(name, late)
        return super().rename(name)

    def _late_rows(self, tokens):
        late = self._late
        return None if tokens._is_split else late
