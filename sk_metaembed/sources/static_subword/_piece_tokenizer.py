"""PieceTokenizer: the pieces of texts, from a tokenizer.json.

If the tokenizer splits a word alike in every text, each distinct word is split once.
"""

import json

import numpy as np

from ..._kernels._compiled import use_compiled
from ._pieces import Pieces
from ._word_pieces import word_pieces

_SECONDS_PER_CHARACTER = 2e-7  # for a character, in tokenizers


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

        try:
            self._tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # tokenizers raises nothing more specific
            raise ValueError(f"{path} is not a readable tokenizer: {error}.") from error
        cut = self._tokenizer.truncation
        self.truncation = cut and (cut["max_length"], cut["direction"] == "left")
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        # Not the file, in which entries may be missing, such as the model's type.
        state = json.loads(self._tokenizer.to_str())
        vocabulary = self._tokenizer.get_vocab()
        self.n_ids = max(vocabulary.values()) + 1
        self.median_length = int(np.median([len(piece) for piece in vocabulary]))
        self.unknown = _unknown(self._tokenizer, state["model"])
        self.lead = " " if self._needs_space() else ""
        self._words = word_pieces(self._tokenizer, state, self._lists)

    def _needs_space(self):
        """Return whether a word in a text is split as if a space were before it."""
        alone, spaced, pair = self._lists(["a", " a", "a a"])
        return pair == alone + spaced and alone != spaced

    def _lists(self, texts, special=False):
        split, options = (
            self._tokenizer.encode_batch_fast,
            {"add_special_tokens": special},
        )
        try:
            encoded = split(texts, **options)
        except TypeError:  # lone surrogates, which UTF-8 does not have
            texts = [text.encode("utf-8", "replace").decode() for text in texts]
            encoded = split(texts, **options)
        return [encoding.ids for encoding in encoded]

    def pieces(self, texts, *, special=False):
        """Return the `Pieces` of a list of texts, in full.

        With `special`, texts that are not blank include the special tokens.
        """
        if special:
            lists = self._lists(texts, special=True)
            pairs = zip(texts, lists, strict=True)
            return Pieces.of_lists([ids if t.strip() else [] for t, ids in pairs])
        n_characters = sum(map(len, texts))
        seconds = _SECONDS_PER_CHARACTER * n_characters
        if self._words is None or not use_compiled(seconds):
            return Pieces.of_lists(self._lists(texts))
        return self._words.pieces(texts)


def _unknown(tokenizer, model):
    """Return the id of the unknown piece, None if there is none."""
    if model["type"] == "Unigram":
        return model.get("unk_id")
    token = model.get("unk_token")
    return None if token is None else tokenizer.token_to_id(token)
