"""WordPiece by maximal matching, compiled."""

import numpy as np


class WordPiece:
    """The vocabulary of a WordPiece model as arrays.

    Parameters
    ----------
    model : dict
        The entry "model" of a tokenizer.json.
    """

    def __init__(self, model):
        prefix = model["continuing_subword_prefix"]
        pieces = [(piece, False, i) for piece, i in model["vocab"].items() if piece]
        pieces += [
            (piece[len(prefix) :], True, i)
            for piece, _, i in pieces
            if piece.startswith(prefix) and piece != prefix
        ]
        encoded = [piece.encode() for piece, _, _ in pieces]
        self._pool = np.frombuffer(b"".join(encoded) + bytes(8), np.uint8)
        self._ends = np.cumsum([len(piece) for piece in encoded], dtype=np.int64)
        self._continues = np.array([inside for _, inside, _ in pieces])
        self._ids = np.array([i for _, _, i in pieces], dtype=np.int32)
        self._longest = max(map(len, encoded))
        self._limit = model["max_input_chars_per_word"]
        self._unknown = model["vocab"][model["unk_token"]]
        self._slots = None

    def split(self, buffer, starts, ends):
        """Return the ids of words in a buffer, and where those of each word end."""
        from ._kernels_numba import match_words, vocabulary_slots

        vocabulary = self._pool, self._ends, self._continues
        if self._slots is None:
            self._slots = vocabulary_slots(*vocabulary)
        return match_words(
            buffer,
            starts,
            ends,
            (self._slots, *vocabulary),
            self._ids,
            self._longest,
            self._limit,
            self._unknown,
        )
