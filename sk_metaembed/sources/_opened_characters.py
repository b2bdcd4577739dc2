"""OpenedCharacters: what an estimator that trains a CharEmbedding gets of it."""

from typing import NamedTuple

import numpy as np

from ..elmo._characters import PADDING, character_ids, n_cut
from ._base import used_types
from ._written import spelled_words

# Words of about equal length go through the network together, this many at once.
_AT_ONCE = 256


class CharacterBatch(NamedTuple):
    """The characters of some words, in groups of about equal length."""

    ids: list  # of tensors (n_words, longest), padded
    lengths: list  # of tensors (n_words,)
    places: object  # of each word in the groups, one behind the other
    known: object  # which words have characters at all


class OpenedCharacters:
    """Characters of which word vectors are to be learned: light, fit for pickles.

    Parameters
    ----------
    kind : {"cnn", "bilstm"}
    char_dim : int
    size : tuple of (int, int), or int
        Filters, or the size of a state.
    dropout : float
    max_chars : int
    lowercase : bool
    lr : float
    tokens : TokenSequences
        The training fold.

    Attributes
    ----------
    dims, levels : dict of str to int, dict of str to str
        Of the one kind of vectors there is.
    unseen : ndarray of bool, shape (261,)
        Characters that the training fold lacks.
    n_cut_words : int
        Its distinct words that are longer than what is read.
    """

    def __init__(
        self, kind, char_dim, size, dropout, max_chars, lowercase, *, lr, tokens
    ):
        self.kind, self.char_dim, self.size = kind, char_dim, size
        self.dropout, self.max_chars, self.lowercase = dropout, max_chars, lowercase
        self.lr = lr
        dim = 2 * size if kind == "bilstm" else sum(number for _, number in size)
        self.dims, self.levels = {"char": dim}, {"char": "type"}
        words, _ = self._spelled(used_types(tokens))
        self.n_cut_words = n_cut(words, max_chars + 2)
        self.unseen = np.ones(PADDING + 1, dtype=bool)
        self.unseen[character_ids(words, max_chars + 2)[0]] = False

    def network(self):
        """Return a network of one's own, a torch Module that is called with pieces."""
        from ._character_network import CharacterNetwork

        return CharacterNetwork(self)

    def pieces(self, tokens):
        """Return the characters of the words of sequences.

        Parameters
        ----------
        tokens : TokenSequences

        Returns
        -------
        WordCharacters
        """
        words, codes = self._spelled(tokens)
        return WordCharacters(words, self.max_chars, codes)

    def _spelled(self, tokens):
        words, codes = spelled_words(tokens)
        return [word.lower() for word in words] if self.lowercase else words, codes

    def __eq__(self, other):
        return isinstance(other, OpenedCharacters) and self._key == other._key

    __hash__ = None

    @property
    def _key(self):
        """All that the network is made of; where it starts from can differ."""
        network = self.kind, self.char_dim, self.size, self.dropout
        return *network, self.max_chars, self.lowercase

    def __repr__(self):
        sizes = "hidden_dim" if self.kind == "bilstm" else "filters"
        return (
            f"CharEmbedding({self.kind!r}, char_dim={self.char_dim}, "
            f"{sizes}={self.size}, dropout={self.dropout}, "
            f"max_chars={self.max_chars}, lowercase={self.lowercase})"
        )


class WordCharacters:
    """The characters of distinct words.

    Parameters
    ----------
    words : list of str
    max_chars : int
    codes : ndarray of int, default=None
        The word of each token, where words are not the tokens' types.

    Attributes
    ----------
    codes : ndarray of int or None
    known : dict of str to ndarray of bool
        Which words have characters.
    """

    def __init__(self, words, max_chars, codes=None):
        self.codes = codes
        ids, self._lengths = character_ids(words, max_chars + 2)
        longest = int(self._lengths.max(initial=2))
        self._ids = ids[:, :longest].astype(np.int16)
        self.known = {"type": self._lengths > 2}

    def batch(self, types, send):
        """Return the `CharacterBatch` of some types.

        Parameters
        ----------
        types : ndarray of int
        send : callable
            Turns an array into a tensor on the device.
        """
        lengths = self._lengths[types]
        order = np.argsort(lengths, kind="stable")
        places = np.empty(len(types), dtype=np.int64)
        places[order] = np.arange(len(types))
        groups = [order[i : i + _AT_ONCE] for i in range(0, len(order), _AT_ONCE)]
        return CharacterBatch(
            [send(self._part(types[group], lengths[group])) for group in groups],
            [send(lengths[group]) for group in groups],
            send(places),
            send(lengths > 2),
        )

    def _part(self, types, lengths):
        return self._ids[types, : lengths.max()].astype(np.int64)
