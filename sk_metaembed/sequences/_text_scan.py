"""Texts as UTF-8 in one buffer, and where the tokens are in it, chunk by chunk.

Strings in ASCII are copied from where CPython keeps them, if this version's layout is
the expected one; all others are prepared and encoded by Python.
"""

import sys
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .._io._compiled import in_threads
from ._characters import character_classes

# Characters that are split at a time: bounds the memory of encoded copies and gives
# several threads work.
CHUNK = 1 << 20
_WORD = 8  # bytes
# Positions in a str object of CPython for 64 bits, in bytes.
_LENGTH, _STATE = 16, 32


class StringLayout(NamedTuple):
    """Where a str object in compact ASCII has its content; offsets in bytes."""

    length: int
    state: int
    flags: int  # bits of the state: all are set in compact ASCII only
    data: int


class TokenSpans(NamedTuple):
    """The tokens of some texts: spans of UTF-8."""

    buffer: np.ndarray  # uint8, with at least 7 bytes after the last token
    starts: np.ndarray  # (n_tokens,)
    ends: np.ndarray
    hashes: np.ndarray
    counts: np.ndarray  # tokens per text, (n_texts,)
    is_lowercase: bool  # known to be, because all is ASCII that was lowercased


class _Chunk(NamedTuple):
    """Tokens of one chunk of texts, as codes into its own types."""

    codes: np.ndarray
    counts: np.ndarray
    types: np.ndarray  # their bytes, each followed by a separator
    hashes: np.ndarray


@lru_cache(maxsize=1)
def string_layout():
    """Return the `StringLayout` of this interpreter, None if it is not understood."""
    is_known = sys.implementation.name == "cpython" and sys.maxsize == 2**63 - 1
    return probed_layout(sys.getsizeof("") - 1) if is_known else None


def probed_layout(header):
    """Return a `StringLayout` that known strings confirm, or None.

    `header` is the number of bytes before the characters.
    """
    import ctypes

    def state(text):
        read = ctypes.string_at(id(text) + _STATE, _WORD)
        return int.from_bytes(read, sys.byteorder)

    plain = ["", "a", "plain words", "x" * 1000, chr(127) + chr(0), sys.intern("ab c")]
    wide = ["\xe9", "\u0416 words", "\U0001f600", "words \xff" * 99]
    derived = type("Derived", (str,), {})
    apart = [derived("words"), derived("\xe9")]
    compact, ascii_only = [-1, -1]
    for text in plain:
        compact &= state(text)
        ascii_only &= state(text)
    for text in wide:
        compact &= state(text)
        ascii_only &= ~state(text)
    for text in apart:
        compact &= ~state(text)
    # Only the lower half is the state: 4 bytes of padding, or a pointer, follow it.
    flags = (compact | ascii_only) & 0xFFFFFFFF
    if not (compact & flags and ascii_only & flags):
        return None
    for text in plain:
        address = id(text)
        length = int.from_bytes(
            ctypes.string_at(address + _LENGTH, _WORD), sys.byteorder
        )
        if length != len(text):
            return None
        if ctypes.string_at(address + header, length) != text.encode():
            return None
    return StringLayout(_LENGTH, _STATE, flags, header)


class TextScan:
    """Find the tokens of texts, chunk by chunk and in any order.

    Parameters
    ----------
    texts : ndarray of object, shape (n_texts,)
        Exact str, at least one. Not modified while the scan is in use.
    rule : Rule
        What a token is.
    prepare : callable
        Prepares a list of texts. It may lowercase ASCII texts and change others in any
        way.
    """

    def __init__(self, texts, rule, prepare):
        self.texts, self.rule, self.prepare = texts, rule, prepare
        self.lowercase = prepare(["A"]) == ["a"]
        layout = string_layout()
        self._layout = np.array(layout or [0] * 4, dtype=np.int64)
        if layout is None:
            self._sizes = np.full(len(texts), -1, dtype=np.int64)
            return
        from ._split_numba import text_sizes

        self._sizes = np.empty(len(texts), dtype=np.int64)
        text_sizes(self._address(0), len(texts), self._layout, self._sizes)

    def chunks(self, n_characters):
        """Return (first, last + 1) of runs of texts of about `n_characters`."""
        lengths = self._sizes.copy()
        others = np.flatnonzero(lengths < 0)
        lengths[others] = [len(text) for text in self._texts_of(others)]
        ends = np.cumsum(lengths)
        cuts = np.flatnonzero(np.diff(ends // n_characters, prepend=0)) + 1
        bounds = np.unique(np.concatenate([[0], cuts, [len(lengths)]])).tolist()
        return list(zip(bounds, bounds[1:], strict=False))

    def tokens(self, first, last):
        """Return the `TokenSpans` of texts ``first`` to ``last - 1``."""
        from ._split_numba import find_ascii_tokens, find_tokens, hash_spans

        rule = self.rule
        buffer, text_ends, is_ascii, is_lowercase = self._buffer(first, last)
        if is_ascii:
            arguments = rule.ascii_kinds, rule.min_length
            spans = find_ascii_tokens(buffer, text_ends, *arguments)
        else:
            classes = character_classes(rule.name)
            arguments = classes, rule.steps, rule.emits, rule.min_length
            spans = find_tokens(buffer, text_ends, *arguments)
        starts, ends, counts = spans
        hashes = hash_spans(buffer, starts, ends)
        return TokenSpans(buffer, starts, ends, hashes, counts, is_lowercase)

    def _buffer(self, first, last):
        """Return the bytes of some texts, where each ends, and what is known of them.

        The latter is whether all bytes are ASCII, and of lowercased ASCII texts.
        """
        from ._split_numba import copy_texts

        sizes, is_ascii, is_lowercase, data = self._sizes[first:last], True, True, b""
        others = np.flatnonzero(sizes < 0)
        if len(others):
            texts = self._texts_of(first + others)
            prepared = self.prepare(texts)
            is_ascii = all(map(str.isascii, prepared))
            # A normal form may turn other characters into ASCII in upper case.
            is_lowercase = all(map(str.isascii, texts))
            encoded = [text.encode("utf-8", "surrogatepass") for text in prepared]
            sizes = sizes.copy()
            sizes[others] = [-1 - len(text) for text in encoded]
            data = b"".join(encoded)
        n_bytes = int(np.where(sizes < 0, -1 - sizes, sizes).sum()) + len(sizes)
        buffer = np.empty(n_bytes + _WORD, dtype=np.uint8)
        ends = copy_texts(
            self._address(first),
            sizes,
            self._layout,
            self.lowercase,
            np.frombuffer(data, dtype=np.uint8),
            self.rule.separator,
            buffer,
        )
        return buffer, ends, is_ascii, is_lowercase and self.lowercase

    def _texts_of(self, rows):
        """Return the texts of some rows, by number, as a list."""
        return self.texts[rows].tolist()

    def _address(self, i):
        """Return the address of the pointer to text i."""
        return self.texts.__array_interface__["data"][0] + _WORD * i

    def split(self):
        """Return types, codes and offsets of a `TokenSequences`."""
        spans = self.chunks(CHUNK)
        chunks = in_threads(self._split_chunk, spans)
        types, codes = chunks[0].types, chunks[0].codes
        separator = self.rule.separator
        if len(chunks) > 1:
            types, codes = _merged_types(chunks, separator)
        names = types.tobytes().decode("utf-8", "surrogatepass").split(chr(separator))
        table = np.empty(len(names) - 1, dtype=object)
        table[:] = names[:-1]
        counts = np.concatenate([[0], *(chunk.counts for chunk in chunks)])
        return table, codes, np.cumsum(counts, dtype=np.int64)

    def _split_chunk(self, first, last):
        from ._split_numba import code_spans, gather_spans

        buffer, starts, ends, hashes, counts, _ = self.tokens(first, last)
        codes, firsts = code_spans(buffer, starts, ends, hashes)
        separator = self.rule.separator
        types = gather_spans(buffer, starts[firsts], ends[firsts], separator)
        return _Chunk(codes, counts, types, hashes[firsts])


class LineScan(TextScan):
    """Find the tokens of `Lines`; only those that are not ASCII are decoded.

    Parameters
    ----------
    lines : Lines
        At least one.
    rule, prepare
        As for `TextScan`.
    """

    def __init__(self, lines, rule, prepare):
        self.texts, self.rule, self.prepare = lines, rule, prepare
        self.lowercase = prepare(["A"]) == ["a"]
        buffer = np.frombuffer(lines.data, dtype=np.uint8)
        if lines.data.isascii():
            self._sizes = np.diff(lines.ends, prepend=0) - 1
        else:
            from ._split_numba import line_sizes

            self._sizes = line_sizes(buffer, lines.ends)
        # Pointers to the lines, as those to str objects without a header.
        self._layout = np.zeros(4, dtype=np.int64)
        self._pointers = np.concatenate([[0], lines.ends[:-1]])
        self._pointers += buffer.__array_interface__["data"][0]

    def _texts_of(self, rows):
        return self.texts.decode(rows)

    def _address(self, i):
        return self._pointers.__array_interface__["data"][0] + _WORD * i


def _merged_types(chunks, separator):
    """Return the bytes of all types, and the codes of all tokens into them."""
    from ._split_numba import code_spans, gather_spans

    # The types of all chunks are coded like the tokens of a text.
    buffer = np.concatenate([chunk.types for chunk in chunks])
    ends = np.flatnonzero(buffer == separator)
    starts = np.concatenate([[0], ends + 1])[:-1]
    hashes = np.concatenate([chunk.hashes for chunk in chunks])
    rows, firsts = code_spans(buffer, starts, ends, hashes)
    own_rows = np.split(rows, np.cumsum([len(chunk.hashes) for chunk in chunks])[:-1])
    codes = np.concatenate(
        [own[chunk.codes] for own, chunk in zip(own_rows, chunks, strict=True)]
    )
    return gather_spans(buffer, starts[firsts], ends[firsts], separator), codes
