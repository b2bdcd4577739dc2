"""Texts to pieces, as `tokenizers` does, with each distinct word split once.

A tokenizer that normalizes character by character, and splits at spaces and around
single characters, splits a word alike in every text. Texts in which this may not hold,
such as those with special tokens, are read as a whole by `tokenizers`.
"""

import json
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..._io._compiled import use_compiled
from ._characters import local_words

_SECONDS = 2e-7  # for a character, in tokenizers


class Pieces(NamedTuple):
    """Ids of pieces: text i has ``ids[offsets[i]:offsets[i + 1]]``."""

    ids: np.ndarray  # int32 (n_pieces,)
    offsets: np.ndarray  # int64 (n_texts + 1,)

    @classmethod
    def of_lists(cls, lists):
        """Return the pieces of texts, given as lists of ids."""
        offsets = np.zeros(len(lists) + 1, dtype=np.int64)
        np.cumsum([len(ids) for ids in lists], out=offsets[1:])
        ids = np.fromiter((i for ids in lists for i in ids), np.int32, offsets[-1])
        return cls(ids, offsets)

    def replaced(self, rows, lists):
        """Return pieces in which some texts, which had none, have these."""
        lengths = np.diff(self.offsets)
        lengths[rows] = [len(ids) for ids in lists]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        ids = np.empty(offsets[-1], np.int32)
        is_old = np.ones(len(ids), bool)
        for row, own in zip(rows, lists, strict=True):
            ids[offsets[row] : offsets[row + 1]] = own
            is_old[offsets[row] : offsets[row + 1]] = False
        ids[is_old] = self.ids
        return Pieces(ids, offsets)

    def selected(self, keep):
        """Return only the pieces of a mask, (n_pieces,)."""
        before = np.zeros(len(keep) + 1, dtype=np.int64)
        np.cumsum(keep, out=before[1:])
        return Pieces(self.ids[keep], before[self.offsets])

    def cut(self, limit, *, from_left=False):
        """Return at most `limit` pieces of each text, the last ones if `from_left`."""
        lengths = np.diff(self.offsets)
        if lengths.max(initial=0) <= limit:
            return self
        position = np.arange(len(self.ids)) - np.repeat(self.offsets[:-1], lengths)
        if from_left:
            position = np.repeat(lengths, lengths) - 1 - position
        return self.selected(position < limit)


class PieceTokenizer:
    """A tokenizer of a tokenizer.json.

    Parameters
    ----------
    path : Path

    Attributes
    ----------
    truncation : (int, bool) or None
        The tokenizer's own limit, and whether it cuts from the left.
    n_ids : int
        One more than the largest id.
    median_length : int
        Median number of characters of a piece.
    unknown : int or None
        Id of the unknown piece.
    lead : str
        What separates a word from the one before it, in front of a single word.
    """

    def __init__(self, path):
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(path))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        state = json.loads(path.read_text(encoding="utf-8"))
        cut = state.get("truncation")
        self.truncation = cut and (cut["max_length"], cut["direction"] == "Left")
        vocabulary = self._tokenizer.get_vocab()
        self.n_ids = max(vocabulary.values()) + 1
        self.median_length = int(np.median([len(piece) for piece in vocabulary]))
        self.unknown = _unknown(self._tokenizer, state["model"])
        self.lead = " " if self._needs_space() else ""
        self._words = local_words(self._tokenizer, state)

    def _needs_space(self):
        """Return whether a word in a text is split as if a space were before it."""
        alone, spaced, pair = self._lists(["a", " a", "a a"])
        return pair == alone + spaced and alone != spaced

    def _lists(self, texts):
        try:
            encoded = self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        except TypeError:  # lone surrogates, which UTF-8 does not have
            encoded = self._tokenizer.encode_batch_fast(
                [_encodable(text) for text in texts], add_special_tokens=False
            )
        return [encoding.ids for encoding in encoded]

    def pieces(self, texts):
        """Return the `Pieces` of a list of texts, in full."""
        seconds = _SECONDS * sum(map(len, texts))
        if self._words is None or not use_compiled(seconds):
            return Pieces.of_lists(self._lists(texts))
        encoded = [text.encode("utf-8", "replace") for text in texts]
        pieces, others = self._words.pieces(encoded, self._lists)
        if len(others):
            pieces = pieces.replaced(others, self._lists([texts[i] for i in others]))
        return pieces


def _encodable(text):
    """Return a text with "?" in place of lone surrogates."""
    return text.encode("utf-8", "replace").decode()


def _unknown(tokenizer, model):
    """Return the id of the unknown piece, None if there is none."""
    if model["type"] == "Unigram":
        return model.get("unk_id")
    token = model.get("unk_token")
    return None if token is None else tokenizer.token_to_id(token)


def numpy_mean_rows(table, rows, weights, offsets, out):
    """Do as the compiled `mean_rows`, for a few texts."""
    for i, (start, end) in enumerate(pairwise(offsets.tolist())):
        if start == end:
            continue
        terms = table[rows[start:end]].astype(np.float64)
        if weights is not None:
            terms *= weights[start:end, None].astype(np.float64)
        # Not `sum`, which goes pairwise through a single column.
        out[i] = (np.add.accumulate(terms, axis=0)[-1] + 0.0) / (end - start)
