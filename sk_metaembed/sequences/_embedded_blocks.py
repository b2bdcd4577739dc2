"""What an EmbeddedSequences tells of its blocks: names, dimensions, levels."""

from ._block import LEVELS


class BlockFacts:
    """What follows from tokens and blocks, without a look at the vectors."""

    __slots__ = ()

    @property
    def shape(self):
        """``(n_sequences,)``, as scikit-learn's splitters ask for it.

        There is no second number: the vectors of a sequence are as many as its tokens,
        and not every block has one for each.

        See Also
        --------
        EmbeddedSequences.dim : The length of a token's vector.
        EmbeddedSequences.rows_of : Numbers of types and tokens.

        Examples
        --------
        >>> from sk_metaembed import Block, EmbeddedSequences, TokenSequences
        >>> tokens = TokenSequences.from_lists([["a", "b"], ["b"]])
        >>> EmbeddedSequences(tokens, [Block("ab", [[1, 0], [0, 1]], "type")]).shape
        (2,)
        """
        return (len(self),)

    @property
    def index(self):
        """Labels of the rows, those of `tokens`, or None.

        They are the index of every DataFrame made of the vectors.

        See Also
        --------
        TokenSequences.index : Where they come from.

        Examples
        --------
        >>> import pandas as pd
        >>> from sk_metaembed import FunctionEmbedding
        >>> source = FunctionEmbedding(lambda words: [[len(word)] for word in words])
        >>> source.fit_transform(pd.Series(["to be"], index=[7])).index
        Index([7], dtype='int64')
        """
        return self.tokens.index

    @property
    def names(self):
        """The blocks' names, in order.

        Within one container every name is another. `EmbeddingUnion` makes them of the
        names of its sources, and combining steps give weights and report results by
        them.

        See Also
        --------
        EmbeddedSequences.block : The block behind a name.
        EmbeddedSequences.select : Only the blocks of some names.

        Examples
        --------
        >>> from sk_metaembed import Block, EmbeddedSequences, TokenSequences
        >>> tokens = TokenSequences.from_lists([["a", "b"], ["b"]])
        >>> blocks = [Block("ab", [[1], [0]], "type"), Block("n", [[1]] * 3, "token")]
        >>> EmbeddedSequences(tokens, blocks).names
        ('ab', 'n')
        """
        return tuple(block.name for block in self.blocks)

    @property
    def dim(self):
        """Sum of the blocks' dims.

        It is the width of what `to_list` and `to_padded` give, and of a concatenation
        without loss.

        See Also
        --------
        EmbeddedSequences.to_list : Arrays of this width.
        Block.dim : The length of one block's vectors.

        Examples
        --------
        >>> from sk_metaembed import Block, EmbeddedSequences, TokenSequences
        >>> tokens = TokenSequences.from_lists([["a", "b"], ["b"]])
        >>> blocks = [Block("ab", [[1], [0]], "type"), Block("n", [[1]] * 3, "token")]
        >>> EmbeddedSequences(tokens, blocks).dim
        2
        """
        return sum(block.dim for block in self.blocks)

    @property
    def level(self):
        """The finest level among the blocks.

        From coarse to fine these are "sequence", "type" and "token". Where it is
        "type", no vector depends on context, and steps may compute once for each
        distinct word.

        See Also
        --------
        EmbeddedSequences.aligned : The blocks at one common level.
        EmbeddedSequences.rows_of : Number of rows at a level.

        Examples
        --------
        >>> from sk_metaembed import Block, EmbeddedSequences, TokenSequences
        >>> tokens = TokenSequences.from_lists([["a", "b"], ["b"]])
        >>> blocks = [Block("ab", [[1], [0]], "type"), Block("n", [[1]] * 3, "token")]
        >>> EmbeddedSequences(tokens, blocks).level
        'token'
        """
        levels = {block.level for block in self.blocks}
        return max(levels, key=LEVELS.index)

    def rows_of(self, level):
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

        See Also
        --------
        Block.n_rows : How many rows a block has.
        EmbeddedSequences.level : The finest level of the blocks.

        Examples
        --------
        >>> from sk_metaembed import Block, EmbeddedSequences, TokenSequences
        >>> tokens = TokenSequences.from_lists([["a", "b"], ["b"]])
        >>> X = EmbeddedSequences(tokens, [Block("ab", [[1, 0], [0, 1]], "type")])
        >>> X.rows_of("type"), X.rows_of("token"), X.rows_of("sequence")
        (2, 3, 2)
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

        See Also
        --------
        EmbeddedSequences.names : What there is to ask for.
        EmbeddedSequences.select : A container of some blocks.

        Examples
        --------
        >>> from sk_metaembed import Block, EmbeddedSequences, TokenSequences
        >>> tokens = TokenSequences.from_lists([["a", "b"], ["b"]])
        >>> table = Block("ab", [[1, 0], [0, 0]], "type", known=[True, False])
        >>> EmbeddedSequences(tokens, [table]).block("ab").known_share
        0.5
        """
        for block in self.blocks:
            if block.name == name:
                return block
        raise KeyError(f"No block is named {name!r}; there are {list(self.names)}.")
