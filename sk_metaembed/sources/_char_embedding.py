"""CharEmbedding: word vectors from characters, learned with the net that uses them.

OpenedCharacters: what an estimator that trains a CharEmbedding gets of it.
"""

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions

from .._core._parameters import CheckedParametersMixin, is_integer
from ..elmo._characters import PADDING, character_ids, n_cut
from ._base import used_types
from ._original_text import spelled_words

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
        from ._char_network import CharacterNetwork

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

    __hash__ = None  # type: ignore[assignment]

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


_POSITIVE = Interval(Integral, 1, None, closed="left")


class CharEmbedding(CheckedParametersMixin, BaseEstimator):
    """Learn words' vectors from their characters, along with what reads them.

    For the parameter `trainable` of the ``Dynamic*`` estimators. What a word is spelled
    with, its capitals, digits, prefixes and endings, tells much about words that no
    file of vectors has: names, hashtags, inflected forms, identifiers. A tagger of
    names hardly does without. The vectors depend on the word alone, so that they are
    computed once a distinct word of a batch, and are mixed like any other source.
    Words are read as the original texts spell them, in their own case, whatever a
    `Tokenizer` made of them for other sources; token lists are read as they are.

    Parameters
    ----------
    kind : {"cnn", "bilstm"}, default="cnn"
        "cnn": filters over a few neighbouring characters, and the maximum of each over
        the word [1]_. "bilstm": the last states of an LSTM in each direction [2]_,
        which sees the whole word in order and takes longer.
    char_dim : int, default=30
        Dimension of a character's vector.
    filters : sequence of (int, int), default=((2, 30), (3, 30), (4, 30))
        Width and number of the filters of "cnn". The vectors' dimension is the sum of
        the numbers.
    hidden_dim : int, default=25
        Size of the state of "bilstm" in one direction. The vectors' dimension is twice
        that.
    dropout : float, default=0.25
        On the characters' vectors.
    max_chars : int, default=50
        What is read of a word, in bytes: an English letter has one. The end of a longer
        word is left out; ``trained_[name].n_cut_words`` counts these.
    lowercase : bool, default=False
        Read words in lower case. Capitals are then not seen.
    lr : float, default=1e-3
        Adam's learning rate for these weights.

    Raises
    ------
    ValueError
        If `filters` is empty or holds something else than widths and numbers.

    See Also
    --------
    FastTextEmbedding : Subword vectors, learned without labels.
    ElmoEmbedding : Characters and context, learned from much text without labels.
    FineTuned : A transformer as a trained source.

    Notes
    -----
    A word is the bytes of its UTF-8, between two marks, as in ELMo: there is no
    vocabulary that could lack a character. A byte that the training fold lacks has the
    vector zero. An empty word is unknown.

    Filters are centred on each character and see zeros beyond the marks, and padding
    takes part in no maximum and no state: a word has the same vector alone and in any
    batch.

    References
    ----------
    .. [1] X. Ma, E. Hovy (2016). End-to-end sequence labeling via bi-directional
       LSTM-CNNs-CRF. ACL.
    .. [2] G. Lample et al. (2016). Neural architectures for named entity recognition.
       NAACL.

    Examples
    --------
    Verbs in "-ing" are told by their ending, those unseen too:

    >>> from sk_metaembed import CharEmbedding, DynamicMetaClassifier
    >>> ends = ["ing", "ed"] * 20
    >>> X = [f"{stem}{end}" for stem, end in zip("bcdfghjklmnpqrstvwxz" * 2, ends)]
    >>> clf = DynamicMetaClassifier(
    ...     trainable=CharEmbedding(char_dim=8, filters=((3, 8),), lr=0.02),
    ...     projection_dim=8,
    ...     encoder="mean",
    ...     hidden_dims=(),
    ...     lr=0.02,
    ...     early_stopping=False,
    ...     max_epochs=30,
    ...     random_state=0,
    ... )
    >>> clf.fit(X, ends).predict(["walking", "jumped"]).tolist()
    ['ing', 'ed']
    """

    _parameter_constraints: dict = {
        "kind": [StrOptions({"cnn", "bilstm"})],
        "char_dim": [_POSITIVE],
        "filters": [tuple, list],
        "hidden_dim": [_POSITIVE],
        "dropout": [Interval(Real, 0, 1, closed="left")],
        "max_chars": [_POSITIVE],
        "lowercase": ["boolean"],
        "lr": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        kind="cnn",
        *,
        char_dim=30,
        filters=((2, 30), (3, 30), (4, 30)),
        hidden_dim=25,
        dropout=0.25,
        max_chars=50,
        lowercase=False,
        lr=1e-3,
    ):
        self.kind = kind
        self.char_dim = char_dim
        self.filters = filters
        self.hidden_dim = hidden_dim
        self.dropout = dropout
        self.max_chars = max_chars
        self.lowercase = lowercase
        self.lr = lr

    def open(self, tokens):
        """Return what an estimator trains; nothing is trained yet.

        The ``Dynamic*`` estimators call it in fit, with the texts they learn from.
        Weights are drawn later, by the estimator's `random_state`.

        Parameters
        ----------
        tokens : TokenSequences
            The training fold.

        Returns
        -------
        OpenedCharacters
            With the dimension and level of its vectors, the characters of words and
            the network.
        """
        self._validate_params()
        if self.kind == "cnn":
            size = _checked_filters(self.filters)
        else:
            size = int(self.hidden_dim)
        return OpenedCharacters(
            self.kind,
            int(self.char_dim),
            size,
            float(self.dropout),
            int(self.max_chars),
            bool(self.lowercase),
            lr=self.lr,
            tokens=tokens,
        )


def _checked_filters(filters):
    """Return the filters as a tuple of pairs of int."""
    for pair in filters:
        whole = isinstance(pair, tuple | list) and len(pair) == 2
        if not whole or not all(is_integer(n) and n >= 1 for n in pair):
            raise ValueError(
                "CharEmbedding: filters must hold pairs of a width and a number, "
                f"integers of 1 or more, such as (3, 30); got {pair!r}."
            )
    if not len(filters):
        raise ValueError(
            "CharEmbedding: filters is empty. Give at least one pair of a width and a "
            "number, such as ((3, 30),)."
        )
    return tuple((int(width), int(number)) for width, number in filters)
