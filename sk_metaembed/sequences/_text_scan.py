"""TextScan: find the tokens of many texts in one UTF-8 buffer, chunk by chunk."""

from typing import NamedTuple

import numpy as np

from .._core._ragged import gather_spans
from .._kernels._compiled import in_threads
from ._characters import character_classes

# Characters that are split at a time: bounds the memory of encoded copies and gives
# several threads work.
CHUNK = 1 << 20
_PADDING = 8  # bytes, which compiled code reads at a time


class TokenSpans(NamedTuple):
    """The tokens of some texts: spans of UTF-8."""

    buffer: np.ndarray  # uint8, with at least 7 bytes after the last token
    starts: np.ndarray  # (n_tokens,)
    ends: np.ndarray
    hashes: np.ndarray
    counts: np.ndarray  # tokens per text, (n_texts,)
    is_lowercase: bool  # True only if all texts are ASCII and were lowercased


class _Chunk(NamedTuple):
    """Tokens of one chunk of texts, as codes into its own types."""

    codes: np.ndarray
    counts: np.ndarray
    types: np.ndarray  # their bytes, each followed by a separator
    hashes: np.ndarray


class TextScan:
    """Find the tokens of texts, chunk by chunk and in any order.

    Parameters
    ----------
    texts : ndarray of object, shape (n_texts,)
        At least one str. Not modified while the scan is in use.
    rule : Rule
        What a token is.
    prepare : callable
        Prepares a list of texts. It may lowercase ASCII texts and change others in any
        way.
    """

    def __init__(self, texts, rule, prepare):
        self.texts, self.rule, self.prepare = texts, rule, prepare
        self.lowercase = prepare(["A"]) == ["a"]
        self._lengths = np.fromiter(map(len, texts), np.int64, len(texts))

    def chunks(self, n_characters):
        """Return (first, last + 1) of runs of texts of about `n_characters`."""
        ends = np.cumsum(self._lengths)
        cuts = np.flatnonzero(np.diff(ends // n_characters, prepend=0)) + 1
        bounds = np.unique(np.concatenate([[0], cuts, [len(ends)]])).tolist()
        return list(zip(bounds, bounds[1:], strict=False))

    def tokens(self, first, last):
        """Return the `TokenSpans` of texts ``first`` to ``last - 1``."""
        from ._split_numba import find_ascii_tokens, find_tokens, hash_spans

        rule = self.rule
        buffer, text_ends, is_ascii = self._buffer(first, last)
        if is_ascii:
            arguments = rule.ascii_kinds, rule.min_length
            spans = find_ascii_tokens(buffer, text_ends, *arguments)
        else:
            classes = character_classes(rule.name)
            arguments = classes, rule.steps, rule.emits, rule.min_length
            spans = find_tokens(buffer, text_ends, *arguments)
        starts, ends, counts = spans
        hashes = hash_spans(buffer, starts, ends)
        is_lowercase = is_ascii and self.lowercase
        return TokenSpans(buffer, starts, ends, hashes, counts, is_lowercase)

    def _buffer(self, first, last):
        """Return the bytes of some texts, their ends, and whether all are ASCII."""
        texts, lengths = self.texts[first:last].tolist(), self._lengths[first:last]
        separator = chr(self.rule.separator)
        end = separator * _PADDING
        joined = separator.join([*texts, end])
        is_ascii = joined.isascii()
        if is_ascii:  # lowercasing the buffer takes less than half the time
            encoded = joined.encode()
            encoded = encoded.lower() if self.lowercase else encoded
        else:
            prepared = [t.encode("utf-8", "surrogatepass") for t in self.prepare(texts)]
            lengths = np.fromiter(map(len, prepared), np.int64, len(prepared))
            encoded = separator.encode().join([*prepared, end.encode()])
        buffer = np.frombuffer(bytearray(encoded), dtype=np.uint8)
        ends = np.cumsum(lengths + 1)
        buffer[ends - 1] = self.rule.separator  # it may have been lowercased
        return buffer, ends, is_ascii

    def split(self):
        """Return types, codes and offsets of a `TokenSequences`."""
        spans = self.chunks(CHUNK)
        chunks = in_threads(self._split_chunk, spans)
        types, codes = chunks[0].types, chunks[0].codes
        separator = self.rule.separator
        if len(chunks) > 1:
            types, codes = _merged_types(chunks, separator)
        names = types.tobytes().decode("utf-8", "surrogatepass").split(chr(separator))
        table = np.fromiter(names[:-1], object)
        counts = np.concatenate([[0], *(chunk.counts for chunk in chunks)])
        return table, codes, np.cumsum(counts, dtype=np.int64)

    def _split_chunk(self, first, last):
        from ._split_numba import code_spans

        buffer, starts, ends, hashes, counts, _ = self.tokens(first, last)
        codes, firsts = code_spans(buffer, starts, ends, hashes)
        separator = self.rule.separator
        types, _ = gather_spans(buffer, starts[firsts], ends[firsts], separator)
        return _Chunk(codes, counts, types, hashes[firsts])


def _merged_types(chunks, separator):
    """Return the types of all chunks as bytes, and the codes of all tokens."""
    from ._split_numba import code_spans

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
    types, _ = gather_spans(buffer, starts[firsts], ends[firsts], separator)
    return types, codes
