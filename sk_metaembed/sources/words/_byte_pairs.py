"""Byte-pair encoding: words as sequences of pieces learned from training data."""

import json
from itertools import chain, repeat
from weakref import WeakKeyDictionary

import numpy as np

from ...sequences import TokenSequences
from ...sequences._api import canonical_words

MARK = "\u2581"  # begins every word, as in sentencepiece
_LEAST_COUNT = 2  # occurrences of a pair that is merged
_WORDS = 16_384  # split at a time
_TOKENIZERS: WeakKeyDictionary = WeakKeyDictionary()  # not in copies and files


def import_tokenizers():
    """Return the package tokenizers; an ImportError says how to install it."""
    try:
        import tokenizers
    except ImportError as error:
        raise ImportError(
            "Subword pieces require tokenizers: pip install 'sk_metaembed[subwords]'."
        ) from error
    return tokenizers


class BytePairs:
    """The pieces that words are split into.

    Parameters
    ----------
    pieces : list of str
        Characters, then merged pieces. Pieces at the start of a word begin with "▁".
    merges : ndarray of int32, shape (n_merges, 2)
        Pairs of pieces that are joined, in the order of learning.
    """

    def __init__(self, pieces, merges):
        self.pieces, self.merges = pieces, merges

    @classmethod
    def learn(cls, words, counts, vocab_size):
        """Return up to `vocab_size` pieces of words; `counts` are their frequencies.

        All characters are pieces, also if there are more than `vocab_size`.
        """
        tokenizers = import_tokenizers()
        tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
        trainer = tokenizers.trainers.BpeTrainer(
            vocab_size=vocab_size, min_frequency=_LEAST_COUNT, show_progress=False
        )
        repeated = map(repeat, _marked(words), counts.tolist())
        tokenizer.train_from_iterator(chain.from_iterable(repeated), trainer)
        model = json.loads(tokenizer.to_str())["model"]
        ids = model["vocab"]
        merges = [(ids[left], ids[right]) for left, right in model["merges"]]
        pairs = np.array(merges, dtype=np.int32).reshape(-1, 2)
        return cls(sorted(ids, key=ids.get), pairs)

    def __len__(self):
        return len(self.pieces)

    def split(self, words):
        """Return the pieces of words as TokenSequences, one sequence per word.

        Characters that are not in the training data are omitted, and so is a "▁" that
        is not part of a longer piece.
        """
        ids, lengths = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for start in range(0, len(words), _WORDS):
            n_pieces, pieces = self._split(words[start : start + _WORDS])
            ids.append(pieces)
            lengths.append(n_pieces)
        types = np.array(self.pieces, dtype=object)
        offsets = np.concatenate([[0], *lengths]).cumsum()
        return TokenSequences._trusted(
            types, np.concatenate(ids).astype(np.int32), offsets
        )

    def ids(self, words, max_pieces):
        """Return (ids, lengths) of words: (n_words, max_pieces + 2) and (n_words,).

        Up to `max_pieces` ids of a word's pieces follow the id ``len(self)``, which
        begins words, and precede the next one, which ends them; the next one is
        padding. Lengths include both marks.
        """
        pieces = self.split(words)
        begin, end, padding = range(len(self), len(self) + 3)
        word, lengths = pieces.segment_ids(), np.minimum(pieces.lengths, max_pieces)
        place = np.arange(pieces.n_tokens) - pieces.offsets[word]
        kept = place < max_pieces
        ids = np.full((len(words), max_pieces + 2), padding, dtype=np.int64)
        ids[:, 0] = begin
        ids[word[kept], place[kept] + 1] = pieces.codes[kept]
        ids[np.arange(len(words)), lengths + 1] = end
        return ids, lengths + 2

    def _split(self, words):
        """Return the number of pieces per word, and the ids of all."""
        encoded = self.tokenizer.encode(
            _marked(words), is_pretokenized=True, add_special_tokens=False
        )
        ids = np.array(encoded.ids, dtype=np.int64)
        word = np.array(encoded.word_ids, dtype=np.int64)
        kept = ids != (self.pieces.index(MARK) if MARK in self.pieces else -1)
        return np.bincount(word[kept], minlength=len(words)), ids[kept]

    @property
    def tokenizer(self):
        """The Tokenizer of the package tokenizers, built when it is first needed."""
        if self not in _TOKENIZERS:
            tokenizers = import_tokenizers()
            ids = {piece: i for i, piece in enumerate(self.pieces)}
            pairs = [(self.pieces[i], self.pieces[j]) for i, j in self.merges.tolist()]
            model = tokenizers.models.BPE(vocab=ids, merges=pairs)
            _TOKENIZERS[self] = tokenizers.Tokenizer(model)
        return _TOKENIZERS[self]


def _marked(words):
    """Return words in NFC as a list, behind the mark, without lone surrogates."""
    words = canonical_words(words)
    return [MARK + w.encode("utf-8", "ignore").decode("utf-8") for w in words]
