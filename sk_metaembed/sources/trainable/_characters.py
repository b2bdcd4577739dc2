"""TrainableCharacters: word vectors from characters, trained on labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..._core._estimators import is_integer
from ..._core._sklearn import COUNT, POSITIVE, SHARE
from ...sequences import TokenSequences
from .._base import used_types
from ..elmo._character_ids import PADDING, character_ids, count_truncated
from . import TrainableSource

_GROUP_SIZE = 256  # words of similar length that the network reads at a time


def original_words(tokens):
    """Return distinct words as the texts spell them, and the word of each token.

    Tokens that are not in the text keep their case. Without original texts,
    words are the types and the codes are None.
    """
    if tokens.texts is None:
        return tokens.types.tolist(), None
    words = tokens.types[tokens.codes].tolist()
    texts = tokens.texts[tokens.segment_ids()]
    for i, (start, end) in enumerate(tokens.spans().tolist()):
        if start >= 0:
            words[i] = texts[i][start:end]
    distinct = TokenSequences.from_lists([words])
    return distinct.types.tolist(), distinct.codes


class CharacterBatch(NamedTuple):
    """The characters of some words, in groups of similar length."""

    ids: list  # padded tensors (n_words, longest)
    lengths: list  # tensors (n_words,)
    positions: object  # (n_words,) of each word in the concatenated groups
    known: object  # (n_words,) which words have characters


class CharacterSpec:
    """Specification of a character network: small, picklable, without weights.

    `unseen`, (padding + 1,), are the characters that do not occur in the training data,
    and `n_truncated_words` is the number of training words longer than `max_chars`.
    """

    padding = PADDING

    def __init__(self, tokens, char_dim, filters, dropout, max_chars, lowercase, lr):
        self.char_dim, self.filters, self.dropout = char_dim, filters, dropout
        self.max_chars, self.lowercase, self.lr = max_chars, lowercase, lr
        dim = sum(number for _, number in filters)
        self.dims, self.levels = {"char": dim}, {"char": "type"}
        words, _ = self._words(used_types(tokens))
        self.n_truncated_words = self._count_truncated(words)
        self.unseen = np.ones(PADDING + 1, dtype=bool)
        self.unseen[character_ids(words, max_chars + 2)[0]] = False

    def network(self):
        """Return a new network, a torch Module that takes a `CharacterBatch`."""
        from ._networks import CharacterNetwork

        return CharacterNetwork(self)

    def inputs(self, tokens):
        """Return the `WordCharacters` of the words of sequences."""
        words, codes = self._words(tokens)
        self._count_truncated(words)
        return WordCharacters(*character_ids(words, self.max_chars + 2), codes)

    def _count_truncated(self, words):
        """Return the number of words longer than `max_chars`; warn the first time."""
        size, remedy = self.max_chars + 2, "Use a larger max_chars"
        return count_truncated("TrainableCharacters", words, size, remedy)

    def _words(self, tokens):
        words, codes = original_words(tokens)
        return [word.lower() for word in words] if self.lowercase else words, codes


class WordCharacters:
    """The characters of distinct words, (n_words, n_chars), padded.

    There is a mark before and after each word, which `lengths` include. `codes` has the
    word of each token, if words are not the types of the tokens.
    """

    def __init__(self, ids, lengths, codes=None):
        self.codes, self._lengths = codes, lengths
        longest = int(lengths.max(initial=2))
        self._ids = ids[:, :longest].astype(np.min_scalar_type(ids.max(initial=0)))
        self.known = {"type": self._lengths > 2}

    def batch(self, types, send):
        """Return the `CharacterBatch` of types; `send` puts an array on the device."""
        lengths = self._lengths[types]
        order = np.argsort(lengths, kind="stable")
        positions = np.empty(len(types), dtype=np.int64)
        positions[order] = np.arange(len(types))
        groups = [order[i : i + _GROUP_SIZE] for i in range(0, len(order), _GROUP_SIZE)]
        return CharacterBatch(
            [send(self._padded_ids(types[group], lengths[group])) for group in groups],
            [send(lengths[group]) for group in groups],
            send(positions),
            send(lengths > 2),
        )

    def _padded_ids(self, types, lengths):
        return self._ids[types, : lengths.max()].astype(np.int64)


class TrainableCharacters(TrainableSource):
    """Learn word vectors from characters, jointly with the estimator that uses them.

    Pass this source to the parameter `trainable` of a ``Dynamic*`` estimator. The
    spelling of a word, such as its capitals, digits, prefixes and suffixes, helps with
    words that pretrained vectors do not cover: names, hashtags, inflected forms,
    identifiers. It matters most for named entity recognition. A vector depends on the
    word alone, so it is computed once per distinct word of a batch, and is mixed like a
    vector of any other source. Words are read as the original texts spell them, with
    their case, however a `Tokenizer` normalized them for other sources; token lists are
    read as they are.

    Parameters
    ----------
    char_dim : int, default=30
        Dimension of a character vector.
    filters : sequence of (int, int), default=((2, 30), (3, 30), (4, 30))
        Width and number of the convolutional filters over neighboring characters, of
        which the maximum over the word is taken [1]_. The dimension of the word vectors
        is the sum of the numbers.
    dropout : float, default=0.25
        Dropout of the character vectors.
    max_chars : int, default=50
        Maximum length of a word in bytes (one per English letter). Longer words are
        truncated, with a warning once per process; ``trained_[name].n_truncated_words``
        counts those of the training data.
    lowercase : bool, default=False
        Read words in lower case, ignoring capitals.
    lr : float, default=1e-3
        Adam's learning rate for these weights.

    Raises
    ------
    ValueError
        If `filters` is empty or is not a sequence of widths and numbers.

    See Also
    --------
    FastTextEmbedding : Subword vectors trained without labels.
    ElmoEmbedding : Characters and context, pretrained without labels.
    TrainableTransformer : A transformer as a trained source.

    Notes
    -----
    A word is read as its UTF-8 bytes between two boundary marks, as in ELMo, so no word
    is out of vocabulary. A byte that does not occur in the training data has a zero
    vector. An empty word is unknown.

    Filters are centered on each character and padded with zeros beyond the marks.
    Padding is excluded from maxima and states, so a word has the same vector alone and
    in any batch.

    References
    ----------
    .. [1] X. Ma, E. Hovy (2016). End-to-end sequence labeling via bi-directional
       LSTM-CNNs-CRF. ACL.

    Examples
    --------
    Verb forms are recognized by their suffix, also for unseen words:

    >>> from sk_metaembed import TrainableCharacters, DynamicMetaClassifier
    >>> ends = ["ing", "ed"] * 20
    >>> X = [f"{stem}{end}" for stem, end in zip("bcdfghjklmnpqrstvwxz" * 2, ends)]
    >>> clf = DynamicMetaClassifier(
    ...     trainable=TrainableCharacters(char_dim=8, filters=((3, 8),), lr=0.02),
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
        "char_dim": [COUNT],
        "filters": [tuple, list],
        "dropout": [SHARE],
        "max_chars": [COUNT],
        "lowercase": ["boolean"],
        "lr": [POSITIVE],
    }

    def __init__(
        self,
        char_dim: int = 30,
        *,
        filters: Sequence[tuple[int, int]] = ((2, 30), (3, 30), (4, 30)),
        dropout: float = 0.25,
        max_chars: int = 50,
        lowercase: bool = False,
        lr: float = 1e-3,
    ) -> None:
        self.char_dim = char_dim
        self.filters = filters
        self.dropout = dropout
        self.max_chars = max_chars
        self.lowercase = lowercase
        self.lr = lr

    def _spec(self, tokens):
        params = self.get_params(deep=False)
        params["filters"] = _checked_filters(self.filters)
        return CharacterSpec(tokens, **params)


def _checked_filters(filters):
    """Return the filters as a tuple of pairs of int."""
    for pair in filters:
        is_pair = isinstance(pair, tuple | list) and len(pair) == 2
        if not is_pair or not all(is_integer(n) and n >= 1 for n in pair):
            raise ValueError(
                "filters must be pairs of a width and a number, integers of at least "
                f"1, such as (3, 30); got {pair!r}."
            )
    if not len(filters):
        raise ValueError(
            "filters is empty. Pass at least one pair of a width and a number, such as "
            "((3, 30),)."
        )
    return tuple((int(width), int(number)) for width, number in filters)
