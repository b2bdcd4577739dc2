"""Distinct words of texts whose tokenizer treats each word alike in every text."""

import os
import threading
from typing import NamedTuple

import numpy as np

from ._pieces import Pieces

# Tokenizers that are known to work character by character once these are normalized.
_NORMALIZERS = {"BertNormalizer", "Lowercase"}
_SPLITS = {"BertPreTokenizer", "WhitespaceSplit"}
_UNSEEN, _REFUSED = -1, -3
# Marks of different combining classes that no normalizer removes: a character that
# changes places with one of them is normalized together with its neighbors.
_MARKS = ("\u302e", "\U0001d165")


_lock = threading.Lock()  # of the tables


def _reset_lock():
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_lock)


class CharacterTable(NamedTuple):
    """The normal form of each character, see `_kernels_numba.read_words`."""

    entries: np.ndarray
    pool: np.ndarray
    ends: np.ndarray
    growth: int  # largest number of bytes that a byte becomes


class Characters:
    """What a tokenizer makes of each character that occurred so far.

    Parameters
    ----------
    read : callable
        From a character to its normal form, in which spaces end words and are around
        characters that are words; None if it depends on other characters.
    """

    def __init__(self, read):
        self._read = read
        self._table = CharacterTable(
            np.full(0x110000, _UNSEEN, np.int32),
            np.zeros(0, np.uint8),
            np.zeros(1, np.int64),
            1,
        )
        self.kinds, self.written = self._ascii()

    def _ascii(self):
        """Return kinds and normal forms of ASCII, uint8 (128,) each."""
        from ._kernels_numba import ISOLATED, LETTER, REFUSED, REMOVED, SPACE

        kinds, written = np.zeros((2, 128), np.uint8)
        for code in range(128):
            form = self._read(chr(code))
            if form is None:
                kinds[code] = REFUSED
                continue
            core = form.strip(" ")
            kinds[code] = LETTER if core == form else ISOLATED
            if not core:
                kinds[code] = SPACE if form else REMOVED
                continue
            written[code] = ord(core)
        return kinds, written

    def table(self, data):
        """Return a table with all characters of some UTF-8."""
        from ._kernels_numba import unseen_characters

        with _lock:
            found = unseen_characters(data, self._table.entries, _UNSEEN)
            if len(found):
                self._add(found.tolist())
            return self._table

    def _add(self, codes):
        entries, pool, ends, growth = self._table
        forms = [self._read(chr(code)) for code in codes]
        known = [
            (code, form.encode())
            for code, form in zip(codes, forms, strict=True)
            if form is not None
        ]
        lengths = np.cumsum([len(form) for _, form in known], dtype=np.int64)
        added = np.frombuffer(b"".join(form for _, form in known), np.uint8)
        for code, form in known:
            growth = max(growth, -(-len(form) // len(chr(code).encode())))
        self._table = CharacterTable(
            entries,
            np.concatenate([pool, added]),
            np.concatenate([ends, len(pool) + lengths]),
            growth,
        )
        # Last: an entry without its form would lead compiled code astray.
        entries[codes] = _REFUSED
        for number, (code, _) in enumerate(known, len(ends) - 1):
            entries[code] = number


class LocalWords:
    """Split the distinct words of texts, and give each text those of its words.

    Parameters
    ----------
    read : callable
        As of `Characters`.
    patterns : list of str
        Texts with one of them are left out.
    split : callable, default=None
        From the words, as UTF-8 in a buffer, their starts and ends, to their ids and
        where those of each word end. None for the tokenizer itself.
    """

    def __init__(self, read, patterns, split):
        self._characters, self._read = None, read
        encoded = [pattern.encode() for pattern in patterns]
        self._patterns = np.frombuffer(b"".join(encoded), np.uint8)
        self._pattern_ends = np.cumsum([len(p) for p in encoded], dtype=np.int64)
        self._split = split

    def pieces(self, encoded):
        """Return the `Pieces` of texts in UTF-8, and the rows that were left out.

        `tokenize` returns the ids of each of a list of words.
        """
        from ...sequences._split_numba import code_spans, hash_spans
        from ._kernels_numba import read_words, spread

        if self._characters is None:
            self._characters = Characters(self._read)
        characters = self._characters
        data = np.frombuffer(b"".join(encoded), np.uint8)
        table = characters.table(data)
        out = np.zeros(table.growth * len(data) + 8, np.uint8)
        starts, ends, counts, left_out = read_words(
            data,
            np.cumsum([len(text) for text in encoded], dtype=np.int64),
            characters.kinds,
            characters.written,
            table[:3],
            (self._patterns, self._pattern_ends),
            out,
        )
        hashes = hash_spans(out, starts, ends)
        codes, firsts = code_spans(out, starts, ends, hashes)
        words = out, starts[firsts], ends[firsts]
        ids, id_ends = self._split(*words)
        ids, text_ends = spread(codes, counts, ids, id_ends)
        offsets = np.concatenate([[0], text_ends])
        return Pieces(ids, offsets), np.flatnonzero(left_out)


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


def local_words(tokenizer, state):
    """Return the `LocalWords` of a tokenizer, None if words depend on their texts.

    `state` is the content of its tokenizer.json.
    """
    splits = _kinds(state["pre_tokenizer"], "pretokenizers")
    forms = _kinds(state["normalizer"], "normalizers")
    model, added = state["model"], state["added_tokens"]
    patterns = [token["content"] for token in added if token["content"]]
    if (
        model["type"] == "WordPiece"
        and set(splits) <= _SPLITS
        and splits
        and set(forms) <= _NORMALIZERS
        and _are_found(added)
        and model["unk_token"] in model["vocab"]
    ):
        read = _reader(tokenizer)
        if read is not None:
            return LocalWords(read, patterns, WordPiece(model).split)
    return None


def _kinds(part, key):
    """Return the types of a normalizer or pre-tokenizer and of what it consists of."""
    if part is None:
        return []
    parts = part[key] if part["type"] == "Sequence" else [part]
    return [each["type"] for each in parts]


def _are_found(added):
    """Return whether added tokens are searched in the original text only.

    Others are searched in the normalized text, where they may occur more often.
    """
    return not any(token["normalized"] for token in added)


def _reader(tokenizer):
    """Return the function of `Characters` of a tokenizer that is local by its parts.

    None if its characters are not what is expected of them.
    """
    normalizer, splitter = tokenizer.normalizer, tokenizer.pre_tokenizer

    def normal(text):
        return text if normalizer is None else normalizer.normalize_str(text)

    def read(character):
        form = normal(character)
        for mark in _MARKS:
            for pair in (character + mark, mark + character):
                apart = [normal(part) for part in pair]
                if normal(pair) != "".join(apart):
                    return None
        return "".join(map(split, form))

    def split(character):
        parts = [part for part, _ in splitter.pre_tokenize_str(f"x{character}x")]
        if parts == [f"x{character}x"]:
            return character
        return " " if parts == ["x", "x"] else f" {character} "

    ascii_forms = [read(chr(code)) for code in range(128)]
    if any(f is None or len(f.strip(" ")) > 1 or not f.isascii() for f in ascii_forms):
        return None
    if any(normal(mark) != mark for mark in _MARKS):
        return None
    return read
