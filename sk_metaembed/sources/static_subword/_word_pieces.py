"""Pieces of texts whose tokenizer splits a word alike in every text."""

from string import punctuation

import numpy as np

from ..._core._arrays import gather_spans
from ._pieces import Pieces

# These work character by character, so a tokenizer may read each word by itself.
_NORMALIZERS = {"BertNormalizer", "Lowercase"}
_SPLITS = {"BertPreTokenizer", "WhitespaceSplit"}
_MOST_WORDS = 1 << 17  # whose pieces are remembered


class WordPieces:
    """Split each distinct word of texts once, and remember its pieces.

    Words are separated by ASCII spaces and, if the tokenizer isolates it, punctuation.
    Words with other characters than letters and digits are split further by the
    tokenizer.

    Parameters
    ----------
    tokenizer : tokenizers.Tokenizer
    added : list of str
        Added tokens. They may contain several words, so the tokenizer reads texts that
        contain one as a whole.
    limit : int
        Number of characters of the longest words that have pieces.
    isolates : bool
        Whether punctuation marks are words by themselves.
    read : callable
        Returns the lists of ids of a list of texts.
    """

    def __init__(self, tokenizer, added, limit, isolates, read):
        self._added, self._read = added, read
        normalizer = tokenizer.normalizer
        self._lowercase = bool(normalizer) and normalizer.normalize_str("A") == "a"
        # Kind of a UTF-8 byte: 0 between words, 1 in a word, 2 a word by itself.
        self._kinds = np.ones(256, dtype=np.uint8)
        self._kinds[list(b" \t\n\r")] = 0
        if isolates:
            self._kinds[list(punctuation.encode())] = 2
        self._lists = {
            piece: [number]
            for piece, number in tokenizer.get_vocab().items()
            if piece.isascii() and piece.isalnum() and len(piece) <= limit
        }

    def pieces(self, texts):
        """Return the `Pieces` of a list of texts."""
        from ...sequences import _split_numba as loops

        whole = [i for i, t in enumerate(texts) if any(a in t for a in self._added)]
        encoded = [text.encode("utf-8", "replace") + b" " for text in texts]
        for i in whole:
            encoded[i] = b" "
        joined = b"".join(encoded)
        data = np.frombuffer(joined.lower() if self._lowercase else joined, np.uint8)
        text_ends = np.cumsum([len(text) for text in encoded])
        starts, ends, counts = loops.find_ascii_tokens(data, text_ends, self._kinds, 1)
        hashes = loops.hash_spans(data, starts, ends)
        codes, firsts = loops.code_spans(data, starts, ends, hashes)
        words, _ = gather_spans(data, starts[firsts], ends[firsts], ord(" "))
        lists = self._split(words.tobytes().decode().split(" ")[:-1])
        if whole:  # each in place of a single word
            added = np.arange(len(lists), len(lists) + len(whole))
            codes = np.insert(codes, (np.cumsum(counts) - counts)[whole], added)
            counts[whole] = 1
            lists += self._read([texts[i] for i in whole])
        by_word = Pieces.of_lists(lists).take(codes)
        bounds = np.concatenate([[0], np.cumsum(counts)])
        return Pieces(by_word.ids, by_word.offsets[bounds])

    def _split(self, words):
        """Return the lists of ids of distinct words."""
        lists = list(map(self._lists.get, words))
        new = [i for i, ids in enumerate(lists) if ids is None]
        found = self._read([words[i] for i in new])
        for i, ids in zip(new, found, strict=True):
            lists[i] = ids
            if len(self._lists) < _MOST_WORDS:
                self._lists[words[i]] = ids
        return lists


def word_pieces(tokenizer, state, read):
    """Return the `WordPieces` of a tokenizer, None if words depend on their texts.

    `state` is the content of the tokenizer's file.
    """
    splits = _kinds(state["pre_tokenizer"], "pretokenizers")
    forms = _kinds(state["normalizer"], "normalizers")
    model, added = state["model"], state["added_tokens"]
    if (
        model["type"] == "WordPiece"
        and splits
        and set(splits) <= _SPLITS
        and set(forms) <= _NORMALIZERS
        # Otherwise they are found in normalized texts.
        and not any(token["normalized"] for token in added)
    ):
        contents = [token["content"] for token in added if token["content"]]
        limit = model["max_input_chars_per_word"]
        isolates = "BertPreTokenizer" in splits
        return WordPieces(tokenizer, contents, limit, isolates, read)
    return None


def _kinds(part, key):
    """Return the types of a normalizer or pre-tokenizer and of what it consists of."""
    if part is None:
        return []
    parts = part[key] if part["type"] == "Sequence" else [part]
    return [each["type"] for each in parts]
