"""EmbeddedSequences: token sequences and the blocks of vectors that belong to them.

What an EmbeddedSequences tells of its blocks: names, dimensions, levels.
"""

import numpy as np

from ._block import LEVELS, Block
from ._html import embedded_html
from ._indexing import row_index, span_index
from ._token_sequences import TokenSequences, padding_mask


class BlockFacts:
    """What follows from tokens and blocks, without a look at the vectors."""

    __slots__ = ()

    @property
    def shape(self):
        """``(n_sequences,)``, as scikit-learn's splitters ask for it.

        There is no second number: the vectors of a sequence are as many as its tokens,
        and not every block has one for each.
        """
        return (len(self),)

    @property
    def index(self):
        """Labels of the rows, those of `tokens`, or None.

        They are the index of every DataFrame made of the vectors.
        """
        return self.tokens.index

    @property
    def names(self):
        """The blocks' names, in order.

        Within one container every name is another. `EmbeddingUnion` makes them of the
        names of its sources, and combining steps give weights and report results by
        them.
        """
        return tuple(block.name for block in self.blocks)

    @property
    def dim(self):
        """Sum of the blocks' dims.

        It is the width of what `to_list` and `to_padded` give, and of a concatenation
        without loss.
        """
        return sum(block.dim for block in self.blocks)

    @property
    def level(self):
        """The finest level among the blocks.

        From coarse to fine these are "sequence", "type" and "token". Where it is
        "type", no vector depends on context, and steps may compute once for each
        distinct word.
        """
        levels = {block.level for block in self.blocks}
        return max(levels, key=LEVELS.index)

    def n_rows_at(self, level):
        """Return how many rows a block of that level has.

        The constructor compares it with what a block has, and steps that build blocks
        ask it for the length.

        Parameters
        ----------
        level : {"type", "token", "sequence"}
            What a row stands for.

        Returns
        -------
        int
            Number of types, tokens or sequences.
        """
        counts = {
            "type": self.tokens.n_types,
            "token": self.tokens.n_tokens,
            "sequence": len(self),
        }
        return counts[level]

    def block(self, name):
        """Return the block of that name.

        For a look at what one source gave, its level and its share of known words.

        Parameters
        ----------
        name : str
            As in `names`.

        Returns
        -------
        Block
            The first and only one of that name; a KeyError lists the names otherwise.
        """
        for block in self.blocks:
            if block.name == name:
                return block
        raise KeyError(f"No block is named {name!r}; there are {list(self.names)}.")


class EmbeddedSequences(BlockFacts):
    """Token sequences and the vectors that sources gave them.

    Immutable. A subset by rows shares type-level vectors and copies none of them.

    Parameters
    ----------
    tokens : TokenSequences
        What the vectors belong to.
    blocks : sequence of Block
        With distinct names; each has as many rows as `tokens` has types, tokens or
        sequences, whichever its level says.

    Attributes
    ----------
    tokens : TokenSequences
    blocks : tuple of Block
    names : tuple of str
    dim : int
        Sum of the blocks' dims.
    level : {"type", "token", "sequence"}
        The finest level among the blocks.
    shape : tuple of one int
        ``(n_sequences,)``.

    Raises
    ------
    ValueError
        If names repeat or a block's rows do not fit `tokens`.

    See Also
    --------
    TokenSequences : The tokens alone, before a source has seen them.
    Block : The vectors of one source.
    Pooling : Makes one vector of each sequence.

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
    """

    __slots__ = ("blocks", "tokens")

    def __init__(self, tokens, blocks):
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
        object.__setattr__(self, "tokens", tokens)
        object.__setattr__(self, "blocks", blocks)
        _check_blocks(self, blocks)

    def __setattr__(self, name, value):
        raise AttributeError(f"EmbeddedSequences is immutable: cannot set {name!r}.")

    def __delattr__(self, name):
        raise AttributeError(f"EmbeddedSequences is immutable: cannot delete {name!r}.")

    def __reduce__(self):
        return type(self), (self.tokens, self.blocks)

    def __len__(self):
        return len(self.tokens)

    def select(self, names):
        """Return the same tokens with some of the blocks, in the given order.

        Nothing is copied: the container that is returned shares tokens and vectors with
        this one.

        Parameters
        ----------
        names : sequence of str
            Some of `names`.

        Returns
        -------
        EmbeddedSequences
            Without the other blocks.
        """
        return self.with_blocks([self.block(name) for name in names])

    def with_blocks(self, blocks):
        """Return the same tokens with other blocks.

        A step that computes new vectors for the same tokens hands them on so. That they
        fit the tokens is checked as in the constructor.

        Parameters
        ----------
        blocks : sequence of Block
            As for the constructor.

        Returns
        -------
        EmbeddedSequences
            With these blocks only.
        """
        return type(self)(self.tokens, blocks)

    def broadcast(self, block, level):
        """Return the block at a finer level, each row repeated where it belongs.

        A word's vector goes to each of its occurrences, a sequence's to each of its
        tokens. That takes the memory of all tokens: what can be computed for each type
        is better done before.

        Parameters
        ----------
        block : Block
            One of these tokens, in `blocks` or not.
        level : {"type", "token", "sequence"}
            The block's own level, or "token".

        Returns
        -------
        Block
            With one row a token, or the block itself.
        """
        if block.level == level:
            return block
        if level != "token":
            raise ValueError(
                f"Block {block.name!r} is at level {block.level!r}, which has no rows "
                f"at level {level!r}; only 'token' is finer than both."
            )
        rows = self.tokens.codes if block.level == "type" else self.tokens.segment_ids()
        return block.take(rows, level="token")

    def aligned(self):
        """Return the blocks at one common level: their own if they agree, else token.

        Combining steps work on rows that mean the same in every block. Where all
        sources give vectors of words, that is once for each distinct word, however long
        the corpus.

        Returns
        -------
        tuple of Block
            In the order of `blocks`.
        """
        levels = {block.level for block in self.blocks}
        common = levels.pop() if len(levels) == 1 else "token"
        return tuple(self.broadcast(block, common) for block in self.blocks)

    def __getitem__(self, key):
        rows = row_index(key, len(self))
        if isinstance(rows, int):
            return self[[rows]]._token_values()
        positions, _ = span_index(self.tokens.offsets, rows)
        index = {"token": positions, "sequence": rows}
        blocks = [
            b if b.level == "type" else b.take(index[b.level]) for b in self.blocks
        ]
        return type(self)(self.tokens[rows], blocks)

    def __iter__(self):
        for i in range(len(self)):
            yield self[i]

    def __eq__(self, other):
        if not isinstance(other, EmbeddedSequences):
            return NotImplemented
        if self.names != other.names or self.tokens != other.tokens:
            return False
        pairs = zip(self._compact_blocks(), other._compact_blocks(), strict=True)
        return all(mine == theirs for mine, theirs in pairs)

    __hash__ = None  # type: ignore[assignment]

    def _compact_blocks(self):
        """Blocks whose type rows are the used types in first-seen order."""
        order = self.tokens._used_types()
        return [b.take(order) if b.level == "type" else b for b in self.blocks]

    def _token_values(self):
        parts = [self.broadcast(block, "token").values for block in self.blocks]
        return np.concatenate(parts, axis=1)

    def to_list(self):
        """Return one array (n_tokens of the sequence, dim) a sequence.

        For other libraries and for a look: within a pipeline, steps read the blocks,
        which hold a word's vector once.

        Returns
        -------
        list of ndarray
            Blocks stand side by side; a sequence-level vector is repeated at each
            token.
        """
        return (
            np.split(self._token_values(), self.tokens.offsets[1:-1])
            if len(self)
            else []
        )

    def to_padded(self):
        """Return the vectors padded with zeros, and where they are real.

        For networks that take tensors. Every sequence takes the memory of the longest:
        pad batches rather than a corpus, ``X[rows].to_padded()``.

        Returns
        -------
        array : ndarray of shape (n_sequences, max_length, dim)
            Blocks side by side, as in `to_list`.
        mask : ndarray of bool, shape (n_sequences, max_length)
            True at real tokens.
        """
        mask = padding_mask(self.tokens.lengths)
        values = self._token_values()
        array = np.zeros((*mask.shape, self.dim), dtype=values.dtype)
        array[mask] = values
        return array, mask

    def __array__(self, dtype=None, copy=None):
        """Refuse: numpy would pile up the ragged rows, and a classifier call it 3-D."""
        raise TypeError(
            f"{self!r} is no array of one row a sequence. Put Pooling before a step "
            "that takes arrays: it pools vectors of words, and hands on those of "
            "sequences as they are."
        )

    def __repr__(self):
        blocks = ", ".join(f"{b.name}: {b.level} {b.dim}d" for b in self.blocks)
        inside = repr(self.tokens).removeprefix("TokenSequences(").removesuffix(")")
        return f"EmbeddedSequences({inside}; {blocks})"

    def _repr_html_(self):
        return embedded_html(self)


def _check_blocks(embedded, blocks):
    if not blocks:
        raise ValueError("EmbeddedSequences needs at least one block, got none.")
    strange = [b for b in blocks if not isinstance(b, Block)]
    if strange:
        raise TypeError(f"blocks must hold Block, got {type(strange[0]).__name__}.")
    names = embedded.names
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(
            f"Block names must be distinct, but {repeated} stand more than once. "
            "Rename a source, for example in EmbeddingUnion's list of pairs."
        )
    for block in blocks:
        expected = embedded.n_rows_at(block.level)
        if block.n_rows != expected:
            raise ValueError(
                f"Block {block.name!r} is at level {block.level!r} and must have "
                f"{expected} rows, one a {block.level}; it has {block.n_rows}."
            )
