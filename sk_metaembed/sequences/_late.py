"""Lazy containers: texts are split, and vectors found, only when they are needed.

For large input, `Tokenizer` returns LateTokens, and `PretrainedEmbedding` a LateBlock
over them. To a step that reads tokens or vectors they are like the plain containers:
the first access splits the texts. A step that needs the table row of each token only
once, such as `Pooling`, calls `Block._late_rows` instead, and reads the texts chunk by
chunk without building a table of their types.
"""

from __future__ import annotations

from .._core._arrays import read_only
from ._block import Block
from ._text_scan import TextScan
from ._token_sequences import NO_INFO, TokenSequences

_CHUNK = 1 << 16  # characters per chunk, few enough for the processor's cache


class LateTokens(TokenSequences):
    """The tokens of texts that are split when `types` or `codes` are read."""

    _scan: TextScan | None  # None once the texts are split

    __slots__ = ("_scan",)

    # Bound to the base class, so that subsets and pickles are plain TokenSequences.
    _trusted = TokenSequences._trusted

    @classmethod
    def of_texts(cls, scan, row_info=NO_INFO):
        """Build from a TextScan."""
        self = cls.__new__(cls)
        self._assign(_row_info=row_info, _scan=scan)
        return self

    def __getattr__(self, name):
        # Called for slots without a value. Two threads may both split the texts; their
        # results are equal.
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
    """The table rows of the tokens of texts that are not split yet.

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
        """Return (first, last + 1) of the texts in each chunk."""
        return self._scan.chunks(_CHUNK)

    def find_tokens(self, first, last):
        """Return the row of each token of some texts, and the number per text."""
        spans = self._scan.tokens(first, last)
        return self._find_spans(spans), spans.counts


class LateBlock(Block):
    """A type-level block whose rows are found when `known` or `values` is read."""

    _late: LateRows | None  # None once the rows are found

    __slots__ = ("_late",)

    # Bound to the base class, so that blocks made of this one are plain.
    _trusted = Block._trusted

    @classmethod
    def of_texts(cls, name, late):
        """Build from LateRows."""
        self = cls.__new__(cls)
        self._assign(name=name, level="type", _late=late)
        return self

    def __getattr__(self, name):
        # As in `LateTokens.__getattr__`.
        if name in ("_table_rows", "known") and (late := self._late) is not None:
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
        return None if tokens._is_split else self._late
