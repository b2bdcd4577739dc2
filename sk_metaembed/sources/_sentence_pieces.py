"""SentencePieces: the windows of many sentences, ready to be cut into batches."""

from typing import NamedTuple

import numpy as np

from ..sequences._indexing import span_index
from ._batching import token_batches
from ._word_windows import windows_of

_SENTENCES_AT_ONCE = 1024


class Pooled(NamedTuple):
    """Where the pieces stand that make up some rows of vectors."""

    places: object  # of pieces, in the flattened hidden states of all chunks
    sizes: object  # how many pieces each row has
    rows: object  # the rows
    n_rows: int  # with those that have no piece
    how: str  # they are pooled


class PieceBatch(NamedTuple):
    """What a network needs for a batch of sentences."""

    chunks: list  # of (ids, types), each a list with an array a window
    outputs: dict  # of Pooled, by the output's kind


class SentencePieces:
    """The windows of all sentences, kept as flat arrays.

    Parameters
    ----------
    tokens : TokenSequences
    model : TransformerModel or LoadedModel
        Whose tokenizer splits the words.
    text : tuple
        Prefix, separator and special tokens, as its aligner takes them.
    wanted : Wanted
    window : tuple of int or None, and bool
        Largest number of pieces a window; whether longer sentences are cut.
    budget : int
        Pieces that go through the network at once, padding included.
    """

    def __init__(self, tokens, model, text, wanted, window, budget):
        self._wanted, self._budget = wanted, budget
        aligner = model.aligner(*text)
        self._frame = aligner.frame
        self._lengths = tokens.lengths
        windows = []
        for start in range(0, len(tokens), _SENTENCES_AT_ONCE):
            sentences = tokens[start : start + _SENTENCES_AT_ONCE].to_list()
            with model.lock:
                encoded = aligner.encode(sentences)
            for i, pieces in enumerate(encoded, start):
                windows += windows_of(
                    i, pieces, self._frame, window[0], truncate=window[1]
                )
        sentences = np.array([w.sentence for w in windows], dtype=np.int64)
        counts = np.bincount(sentences, minlength=len(tokens))
        self._windows = np.r_[0, np.cumsum(counts)].astype(np.int64)
        self._ids = _Ragged.of([w.ids for w in windows])
        self._types = _Ragged.of([w.types for w in windows])
        self._positions = _Ragged.of([w.positions for w in windows])
        self._words = _Ragged.of([w.words for w in windows])
        self._counted = _Ragged.of([w.counted for w in windows])
        words = np.repeat(tokens.offsets[:-1][sentences], self._words.lengths)
        self.known = {
            "token": np.zeros(tokens.n_tokens, dtype=bool),
            "sequence": counts > 0,
        }
        self.known["token"][words + self._words.values] = True

    def batch(self, rows, send):
        """Return the `PieceBatch` of some sentences.

        Parameters
        ----------
        rows : ndarray of int
        send : callable
            Turns an array into a tensor on the device.
        """
        windows, offsets = span_index(self._windows, rows)
        owners = np.repeat(np.arange(len(rows)), np.diff(offsets))
        lengths = self._ids.lengths[windows]
        chunks = token_batches(lengths, self._budget)
        begins = _begins(lengths, chunks)
        parts = {
            "words": lambda: self._of_words(windows, owners, begins, rows),
            "mean": lambda: self._of_sentences(windows, owners, begins, len(rows)),
            "cls": lambda: self._of_frames(lengths, owners, begins, len(rows)),
        }
        outputs = {}
        for kind in self._wanted.outputs:
            places, owner, n_rows = parts[kind]()
            order = np.argsort(owner, kind="stable")
            found, sizes = np.unique(owner, return_counts=True)
            how = self._wanted.subword if kind == "words" else "mean"
            sent = (send(array) for array in (places[order], sizes, found))
            outputs[kind] = Pooled(*sent, n_rows, how)
        return PieceBatch([self._chunk(windows[c]) for c in chunks], outputs)

    def _chunk(self, windows):
        types = self._types.rows(windows) if self._frame.typed else None
        return self._ids.rows(windows), types

    def _of_words(self, windows, owners, begins, rows):
        """Return the place of each piece of a word, and the word's row."""
        sizes = self._words.lengths[windows]
        firsts = np.cumsum(self._lengths[rows]) - self._lengths[rows]
        places = self._positions.at(windows) + np.repeat(begins, sizes)
        words = self._words.at(windows) + np.repeat(firsts[owners], sizes)
        return places, words, int(self._lengths[rows].sum())

    def _of_sentences(self, windows, owners, begins, n_rows):
        """Return the place of each piece that counts for its sentence's mean."""
        sizes = self._counted.lengths[windows]
        places = self._counted.at(windows) + np.repeat(begins, sizes)
        return places, np.repeat(owners, sizes), n_rows

    def _of_frames(self, lengths, owners, begins, n_rows):
        """Return the place of the classification token of each window."""
        cls = self._frame.cls
        return begins + (cls if cls >= 0 else lengths + cls), owners, n_rows


class _Ragged(NamedTuple):
    """Rows of different lengths, one behind the other."""

    values: np.ndarray
    offsets: np.ndarray

    @classmethod
    def of(cls, rows):
        offsets = np.r_[0, np.cumsum([len(row) for row in rows])].astype(np.int64)
        values = np.concatenate([np.zeros(0, np.int32), *rows]).astype(np.int32)
        return cls(values, offsets)

    @property
    def lengths(self):
        return np.diff(self.offsets)

    def at(self, rows):
        """Return the values of some rows, one behind the other."""
        return self.values[span_index(self.offsets, rows)[0]]

    def rows(self, rows):
        return [self.values[self.offsets[i] : self.offsets[i + 1]] for i in rows]


def _begins(lengths, chunks):
    """Return where each window begins in the flattened, padded chunks."""
    begins, start = np.zeros(len(lengths), dtype=np.int64), 0
    for chunk in chunks:
        longest = int(lengths[chunk].max())
        begins[chunk] = start + longest * np.arange(len(chunk))
        start += longest * len(chunk)
    return begins
