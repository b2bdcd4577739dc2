"""EmbeddedSequences: token sequences and the vectors of their sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .._core._arrays import gather_index
from ._block import LEVELS, Block, Level
from ._html import embedded_html
from ._indexing import Rows
from ._token_sequences import TokenSequences, padded

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd
    from numpy.typing import NDArray


class EmbeddedSequences(Rows["NDArray[Any]"]):
    """Token sequences and their vectors from one or several sources.

    Immutable. A subset of the rows shares the type-level vectors.

    Parameters
    ----------
    tokens : TokenSequences
        The tokens.
    blocks : sequence of Block
        The vectors, with distinct names. Each block has as many rows as `tokens` has
        types, tokens or sequences, depending on its level.

    Attributes
    ----------
    tokens : TokenSequences
    blocks : tuple of Block
    names : tuple of str
    dim : int
        Sum of the blocks' dimensions.
    level : {"type", "token", "sequence"}
        The finest level among the blocks.
    index : pandas Index of shape (n_sequences,), or None
    shape : tuple of one int
        ``(n_sequences,)``.

    Raises
    ------
    ValueError
        If names repeat or the rows of a block do not match `tokens`.

    See Also
    --------
    TokenSequences : The tokens without vectors.
    Block : The vectors of one source.
    Pooling : Pools the vectors of each sequence into one.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_metaembed import Block, EmbeddedSequences, TokenSequences
    >>> tokens = TokenSequences.from_lists([["a", "b"], ["b"]])
    >>> table = Block("static", np.eye(2), "type")
    >>> embedded = EmbeddedSequences(tokens, [table])
    >>> embedded
    EmbeddedSequences(2 sequences, 3 tokens, 2 types; static: type 2d)
    >>> embedded[1]
    array([[0., 1.]], dtype=float32)
    >>> array, mask = embedded.to_padded()
    >>> array.shape, mask.tolist()
    ((2, 2, 2), [[True, True], [True, False]])

    Blocks can be read, replaced and broadcast to token level:

    >>> embedded.block("static").known_share
    1.0
    >>> embedded.with_blocks([table.rename("a"), table.rename("b")]).select(["b"])
    EmbeddedSequences(2 sequences, 3 tokens, 2 types; b: type 2d)
    >>> embedded.broadcast(table, "token")
    Block('static', level='token', shape=(3, 2), known=100.0%)
    """

    tokens: TokenSequences
    blocks: tuple[Block, ...]

    __slots__ = ("blocks", "tokens")

    def __init__(self, tokens: TokenSequences, blocks: Iterable[Block]) -> None:
        if not isinstance(tokens, TokenSequences):
            raise TypeError(
                f"tokens must be a TokenSequences, got {type(tokens).__name__}. "
                "Build one with TokenSequences.from_lists or Tokenizer."
            )
        if isinstance(blocks, Block):
            raise TypeError(
                f"blocks must be a list of Block, got a single one: [{blocks.name}]."
            )
        blocks = tuple(blocks)
        if not blocks:
            raise ValueError("EmbeddedSequences needs at least one block, got none.")
        wrong = [b for b in blocks if not isinstance(b, Block)]
        if wrong:
            raise TypeError(f"blocks must hold Block, got {type(wrong[0]).__name__}.")
        names = [block.name for block in blocks]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(
                f"Block names must be distinct, but {repeated} occur more than once. "
                "Rename a source, for example in EmbeddingUnion's list of pairs."
            )
        n_rows = {
            "type": tokens.n_types,
            "token": tokens.n_tokens,
            "sequence": len(tokens),
        }
        for block in blocks:
            if block.n_rows != n_rows[block.level]:
                raise ValueError(
                    f"Block {block.name!r} is at level {block.level!r} and must have "
                    f"{n_rows[block.level]} rows, one per {block.level}; it has "
                    f"{block.n_rows}."
                )
        self._assign(tokens=tokens, blocks=blocks)

    def __reduce__(self):
        return type(self), (self.tokens, self.blocks)

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def index(self) -> pd.Index | None:
        """Labels of the rows, which are those of `tokens`, or None."""
        return self.tokens.index

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the blocks, in order."""
        return tuple(block.name for block in self.blocks)

    @property
    def dim(self) -> int:
        """Sum of the blocks' dimensions: the width of `to_list` and `to_padded`."""
        return sum(block.dim for block in self.blocks)

    @property
    def level(self) -> Level:
        """The finest level among the blocks: "sequence", "type" or "token"."""
        levels = {block.level for block in self.blocks}
        return max(levels, key=LEVELS.index)

    def block(self, name: str) -> Block:
        """Return the block with a given name.

        Parameters
        ----------
        name : str
            One of `names`.

        Returns
        -------
        Block
            The block.

        Raises
        ------
        KeyError
            If no block has the name.
        """
        for block in self.blocks:
            if block.name == name:
                return block
        raise KeyError(f"No block is named {name!r}; the names are {list(self.names)}.")

    def select(self, names: Iterable[str]) -> Self:
        """Return the same tokens with some of the blocks, in the given order.

        Parameters
        ----------
        names : sequence of str
            Some of `names`.

        Returns
        -------
        EmbeddedSequences
            Shares tokens and vectors with this one.
        """
        return self.with_blocks([self.block(name) for name in names])

    def with_blocks(self, blocks: Iterable[Block]) -> Self:
        """Return the same tokens with other blocks.

        Parameters
        ----------
        blocks : sequence of Block
            Checked as in the constructor.

        Returns
        -------
        EmbeddedSequences
            The same tokens with these blocks only.
        """
        return type(self)(self.tokens, blocks)

    def broadcast(self, block: Block, level: Level) -> Block:
        """Return a block at a finer level, with repeated rows.

        The vector of a word is repeated for each of its occurrences, the vector of a
        sequence for each of its tokens. This takes memory for all tokens.

        Parameters
        ----------
        block : Block
            A block that fits `tokens`.
        level : {"type", "token", "sequence"}
            The block's own level, or "token".

        Returns
        -------
        Block
            With one row per token, or the block itself.
        """
        if block.level == level:
            return block
        if level != "token":
            raise ValueError(
                f"Block {block.name!r} is at level {block.level!r} and cannot be "
                f"broadcast to level {level!r}, only to 'token'."
            )
        rows = self.tokens.codes if block.level == "type" else self.tokens.segment_ids()
        return block.take(rows, level="token")

    def aligned_blocks(self) -> tuple[Block, ...]:
        """Return the blocks at one common level: their own if they agree, else "token".

        Returns
        -------
        tuple of Block
            In the order of `blocks`.
        """
        if len({block.level for block in self.blocks}) == 1:
            return self.blocks
        return tuple(self.broadcast(block, "token") for block in self.blocks)

    def _row(self, i):
        return self[[i]]._token_values()

    def _take(self, rows):
        positions, _ = gather_index(self.tokens.offsets, rows)
        return self._select_tokens(self.tokens[rows], positions, rows)

    def _select_tokens(self, tokens, positions, rows):
        """Return `tokens` with the vectors of some token positions and some rows."""
        index = {"token": positions, "sequence": rows}
        blocks = [
            b if b.level == "type" else b.take(index[b.level]) for b in self.blocks
        ]
        return type(self)(tokens, blocks)

    def __eq__(self, other):
        if not isinstance(other, EmbeddedSequences):
            return NotImplemented
        if self.names != other.names or self.tokens != other.tokens:
            return False
        _, used = np.unique(self.tokens.codes, return_index=True)  # types, in any order
        for mine, theirs in zip(self.blocks, other.blocks, strict=True):
            if mine.level == theirs.level == "type":
                mine = mine.take(self.tokens.codes[used])
                theirs = theirs.take(other.tokens.codes[used])
            if mine != theirs:
                return False
        return True

    def _token_values(self):
        parts = [self.broadcast(block, "token").values for block in self.blocks]
        return np.concatenate(parts, axis=1)

    def to_list(self) -> list[NDArray[Any]]:
        """Return one array per sequence, with the blocks concatenated.

        Returns
        -------
        list of ndarray of shape (n_tokens of the sequence, dim)
            Sequence-level vectors are repeated for each token.
        """
        if not len(self):
            return []
        return np.split(self._token_values(), self.tokens.offsets[1:-1])

    def to_padded(self) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return the vectors padded with zeros to the longest sequence, and a mask.

        Returns
        -------
        array : ndarray of shape (n_sequences, max_length, dim)
            The blocks concatenated.
        mask : ndarray of bool, shape (n_sequences, max_length)
            True at real tokens.
        """
        return padded(self._token_values(), self.tokens.lengths)

    def __array__(self, dtype=None, copy=None):
        """Raise a TypeError: numpy would make a 3-D or ragged array of the rows."""
        raise TypeError(
            f"{self!r} cannot be converted to an array with one row per sequence. Put "
            "Pooling before a step that takes arrays: it pools vectors of words and "
            "returns vectors of sequences unchanged."
        )

    def __repr__(self) -> str:
        blocks = ", ".join(f"{b.name}: {b.level} {b.dim}d" for b in self.blocks)
        inside = repr(self.tokens).removeprefix("TokenSequences(").removesuffix(")")
        return f"EmbeddedSequences({inside}; {blocks})"

    def _repr_html_(self):
        return embedded_html(self)
