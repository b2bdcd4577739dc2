"""SentencePieces: the windows of many sentences, ready to be cut into batches."""

from typing import NamedTuple

import numpy as np

from ..sequences._indexing import span_index
from ._word_windows import windows_of

_SENTENCES_AT_ONCE = 1024


class Pooled(NamedTuple):
    """Where the pieces stand that make up some rows of vectors."""

    windows: object  # of the batch, in which each piece is
    positions: object  # of the pieces there
    sizes: object  # how many pieces each row has
    rows: object  # the rows
    n_rows: int  # with those that have no piece
    how: str  # they are pooled


class PieceBatch(NamedTuple):
    """What a network needs for a batch of sentences."""

    ids: list  # of an array a window
    types: list | None  # the same
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
    read : callable
        From tokens to sentences and their places, as `distinct_sentences`.
    """

    def __init__(self, tokens, model, text, wanted, window, read):
        self._wanted = wanted
        aligner = model.aligner(*text)
        self._frame = aligner.frame
        self._lengths = tokens.lengths
        windows = []
        for start in range(0, len(tokens), _SENTENCES_AT_ONCE):
            some = tokens[start : start + _SENTENCES_AT_ONCE]
            places, sentences = read(some, together=False)
            with model.lock:
                encoded = aligner.encode(sentences)
            for (i,), pieces in zip(places, encoded, strict=True):
                windows += windows_of(
                    start + i, pieces, self._frame, window[0], truncate=window[1]
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
        parts = {
            "words": lambda: self._of_words(windows, owners, rows),
            "mean": lambda: self._of_sentences(windows, owners),
            "cls": lambda: self._of_frames(windows, owners),
        }
        n_rows = {"words": int(self._lengths[rows].sum())}
        outputs = {}
        for kind in self._wanted.outputs:
            where, positions, owner = parts[kind]()
            order = np.argsort(owner, kind="stable")
            found, sizes = np.unique(owner, return_counts=True)
            arrays = where[order], positions[order], sizes, found
            outputs[kind] = Pooled(
                *(send(array.astype(np.int64)) for array in arrays),
                n_rows.get(kind, len(rows)),
                self._wanted.subword if kind == "words" else "mean",
            )
        types = self._types.rows(windows) if self._frame.typed else None
        return PieceBatch(self._ids.rows(windows), types, outputs)

    # Each returns, piece by piece, the window, the place in it, and the row it is of.

    def _of_words(self, windows, owners, rows):
        where = np.repeat(np.arange(len(windows)), self._words.lengths[windows])
        firsts = np.cumsum(self._lengths[rows]) - self._lengths[rows]
        words = self._words.at(windows) + firsts[owners][where]
        return where, self._positions.at(windows), words

    def _of_sentences(self, windows, owners):
        where = np.repeat(np.arange(len(windows)), self._counted.lengths[windows])
        return where, self._counted.at(windows), owners[where]

    def _of_frames(self, windows, owners):
        cls = self._frame.cls
        ends = self._ids.lengths[windows] if cls < 0 else 0
        return np.arange(len(windows)), np.full(len(windows), cls) + ends, owners


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
