"""SequencePairs: pairs of sequences over one table of types."""

import numpy as np

from ._embedded import EmbeddedSequences
from ._html import pairs_html
from ._indexing import row_index
from ._tokens import TokenSequences


class SequencePairs:
    """Pairs of sequences, such as premise and hypothesis, or question and answer.

    Both sides are sequences of one container, so that they share types and vectors:
    what knows words or sequences learns from both sides at once. It is immutable,
    and a subset by rows shares type-level vectors and copies none of them.

    Parameters
    ----------
    sequences : TokenSequences or EmbeddedSequences of shape (2 * n_pairs,)
        All first sides, then all second sides in the same order.

    Attributes
    ----------
    sequences : TokenSequences or EmbeddedSequences of shape (2 * n_pairs,)
    first, second : TokenSequences or EmbeddedSequences of shape (n_pairs,)
        The sides, over the same types.
    shape : tuple of one int
        ``(n_pairs,)``.

    Raises
    ------
    TypeError
        If `sequences` is none of the two containers.
    ValueError
        If their number is odd.

    See Also
    --------
    PairEncoder : Makes them of two columns of texts.
    DynamicMetaClassifier, DynamicMetaRegressor : Learn from them.

    Examples
    --------
    >>> from sk_metaembed import SequencePairs
    >>> pairs = SequencePairs.from_lists([(["a", "dog"], ["a", "cat"]), (["hi"], [])])
    >>> pairs
    SequencePairs(2 pairs of TokenSequences: 5 tokens, 4 types)
    >>> pairs[0]
    (['a', 'dog'], ['a', 'cat'])
    >>> pairs.second.to_list()
    [['a', 'cat'], []]
    """

    __slots__ = ("sequences",)

    def __init__(self, sequences):
        if not isinstance(sequences, TokenSequences | EmbeddedSequences):
            raise TypeError(
                "SequencePairs takes a TokenSequences or EmbeddedSequences with all "
                f"first and then all second sides, got {type(sequences).__name__}. "
                "SequencePairs.from_lists takes pairs of token lists, and PairEncoder "
                "makes them of texts."
            )
        if len(sequences) % 2:
            raise ValueError(
                f"SequencePairs got {len(sequences)} sequences, an odd number: one has "
                "no second side. All first sides come first, then all second ones."
            )
        object.__setattr__(self, "sequences", sequences)

    @classmethod
    def from_lists(cls, pairs):
        """Build from pairs of token lists.

        For pairs that are split into tokens already; `PairEncoder` makes pairs of
        texts. Equal tokens of the two sides get one code.

        Parameters
        ----------
        pairs : iterable of (sequence of str, sequence of str)
            One pair a row.

        Returns
        -------
        SequencePairs
            Of TokenSequences, over the distinct tokens of both sides.

        Raises
        ------
        TypeError
            If a row is no pair, or a side of it no list of str.

        See Also
        --------
        PairEncoder : Makes pairs of two columns of texts.
        TokenSequences.from_lists : The same for single sequences.

        Examples
        --------
        >>> from sk_metaembed import SequencePairs
        >>> SequencePairs.from_lists([(["a", "dog"], ["a", "cat"])])
        SequencePairs(1 pairs of TokenSequences: 4 tokens, 3 types)
        """
        from ._read_pairs import read_pairs

        rows, _ = read_pairs(pairs, whose="SequencePairs.from_lists", texts=False)
        if isinstance(rows, list):
            rows = TokenSequences.from_lists(rows)
        return cls(rows)

    def __setattr__(self, name, value):
        raise AttributeError(
            f"SequencePairs is immutable: cannot set {name!r}. Build a new one."
        )

    def __delattr__(self, name):
        raise AttributeError(
            f"SequencePairs is immutable: cannot delete {name!r}. Build a new one."
        )

    def __reduce__(self):
        return type(self), (self.sequences,)

    def __len__(self):
        return len(self.sequences) // 2

    @property
    def shape(self):
        """``(n_pairs,)``, as scikit-learn's splitters ask for it.

        Folds are folds of pairs, and both sides of one are always on the same side of a
        split.

        See Also
        --------
        SequencePairs.sides_of : Where the sides of some pairs stand.

        Examples
        --------
        >>> from sk_metaembed import SequencePairs
        >>> SequencePairs.from_lists([(["a"], ["b"]), (["b"], ["c", "d"])]).shape
        (2,)
        """
        return (len(self),)

    @property
    def index(self):
        """Labels of the pairs, the index of the DataFrame they came from, or None.

        They are the index of every DataFrame made of the pairs.

        See Also
        --------
        TokenSequences.index : The same of single sequences.

        Examples
        --------
        >>> import pandas as pd
        >>> from sk_metaembed import PairEncoder, Tokenizer
        >>> pairs = pd.DataFrame({"a": ["a dog"], "b": ["a cat"]}, index=[7])
        >>> PairEncoder(Tokenizer()).fit_transform(pairs).index
        Index([7], dtype='int64')
        """
        labels = self.sequences.index
        return None if labels is None else labels[: len(self)]

    @property
    def first(self):
        """The first side of every pair.

        It shares types and vectors with the whole, so that its types are also those of
        the second sides.

        See Also
        --------
        SequencePairs.second : The other side.

        Examples
        --------
        >>> from sk_metaembed import SequencePairs
        >>> pairs = SequencePairs.from_lists([(["a"], ["b"]), (["b"], ["c", "d"])])
        >>> pairs.first.to_list()
        [['a'], ['b']]
        """
        return self.sequences[: len(self)]

    @property
    def second(self):
        """The second side of every pair.

        It shares types and vectors with the whole, so that its types are also those of
        the first sides.

        See Also
        --------
        SequencePairs.first : The other side.

        Examples
        --------
        >>> from sk_metaembed import SequencePairs
        >>> pairs = SequencePairs.from_lists([(["a"], ["b"]), (["b"], ["c", "d"])])
        >>> pairs.second.to_list()
        [['b'], ['c', 'd']]
        """
        return self.sequences[len(self) :]

    def __getitem__(self, key):
        rows = row_index(key, len(self))
        if isinstance(rows, int):
            return self.sequences[rows], self.sequences[rows + len(self)]
        return type(self)(self.sequences[self.sides_of(rows)])

    def sides_of(self, rows):
        """Return where the sides of some pairs stand in `sequences`.

        All first sides come before all second ones, so that the second side of pair i
        is ``n_pairs`` rows behind the first. Nets that encode both sides in one batch
        ask for it.

        Parameters
        ----------
        rows : ndarray of int
            Numbers of pairs.

        Returns
        -------
        ndarray of int, shape (2 * len(rows),)
            The first sides' rows, then the second sides'.

        See Also
        --------
        SequencePairs.first : The first sides themselves.
        SequencePairs.second : The second sides themselves.

        Examples
        --------
        >>> import numpy as np
        >>> from sk_metaembed import SequencePairs
        >>> pairs = SequencePairs.from_lists([(["a"], ["b"]), (["b"], ["c", "d"])])
        >>> pairs.sides_of(np.array([1]))
        array([1, 3])
        """
        return np.concatenate([rows, rows + len(self)])

    def __iter__(self):
        for i in range(len(self)):
            yield self[i]

    def __eq__(self, other):
        if not isinstance(other, SequencePairs):
            return NotImplemented
        return self.sequences == other.sequences

    __hash__ = None

    def to_list(self):
        """Return the pairs as a list of tuples.

        It goes back to what `from_lists` takes, where the pairs hold tokens.

        Returns
        -------
        list of tuple
            Of two token lists, or of two arrays (n_tokens, dim).

        See Also
        --------
        SequencePairs.from_lists : The way there.
        SequencePairs.first : One side in its container.

        Examples
        --------
        >>> from sk_metaembed import SequencePairs
        >>> SequencePairs.from_lists([(["a"], ["b"]), (["b"], ["c", "d"])]).to_list()
        [(['a'], ['b']), (['b'], ['c', 'd'])]
        """
        sides = self.sequences.to_list()
        return list(zip(sides[: len(self)], sides[len(self) :], strict=True))

    def __array__(self, dtype=None, copy=None):
        """Refuse: a classifier would take ragged rows for a matrix."""
        raise TypeError(
            f"{self!r} is no array of one row a pair. Let the encoder of PairEncoder "
            "end in vectors, for example with Pooling as its last step."
        )

    def __repr__(self):
        name = type(self.sequences).__name__
        inside = repr(self.sequences).partition(" sequences, ")[2].removesuffix(")")
        return f"SequencePairs({len(self)} pairs of {name}: {inside})"

    def _repr_html_(self):
        return pairs_html(self)
