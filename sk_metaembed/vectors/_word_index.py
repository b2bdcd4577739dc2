"""Words packed into one UTF-8 buffer, and their compiled word -> row index."""

from typing import NamedTuple

import numpy as np

# Python needs a millisecond for this many words; loading numba, a third of a second.
FEW = 512


def loops_for(n_words):
    """Return the module of loops over bytes: compiled where there is work.

    Parameters
    ----------
    n_words : int
        Words to go through.

    Returns
    -------
    module
        `_kernel` or `_plain`; the results are the same.
    """
    if n_words <= FEW:
        from . import _kernels_python as loops
    else:
        from . import _kernels_numba as loops
    return loops


class PackedWords(NamedTuple):
    """Words side by side in one buffer, each followed by a newline.

    Word ``i`` is ``blob[offsets[i] : offsets[i + 1] - 1]``. Positions, not the
    newlines, say where a word ends, so a word may hold a newline itself.
    """

    blob: np.ndarray
    offsets: np.ndarray

    @property
    def n_words(self):
        """Number of words."""
        return len(self.offsets) - 1

    def word(self, row):
        """Return one word as str."""
        start, end = int(self.offsets[row]), int(self.offsets[row + 1]) - 1
        return bytes(self.blob[start:end]).decode("utf-8", "backslashreplace")

    def take(self, rows):
        """Return the words of the given rows."""
        starts = np.asarray(self.offsets)[:-1][rows]
        ends = np.asarray(self.offsets)[1:][rows] - 1
        return pack_spans(self.blob, starts, ends)

    def to_list(self):
        """Decode all words."""
        words = bytes(self.blob).decode().split("\n")
        if len(words) == len(self.offsets):
            return words[:-1]
        return [self.word(row) for row in range(self.n_words)]


def pack(words):
    """Pack a sequence of str; lone surrogates pass, and match no stored word.

    Raises
    ------
    TypeError
        If an element is not a str.
    """
    words = _as_list(words)
    try:
        text = "\n".join([*words, ""])
    except TypeError:
        row = next(i for i, word in enumerate(words) if not isinstance(word, str))
        raise TypeError(
            f"Words must be str, but element {row} is {words[row]!r} of type "
            f"{type(words[row]).__name__}. Convert it with str() first."
        ) from None
    data = text.encode("utf-8", "surrogatepass")
    offsets = np.zeros(len(words) + 1, np.int64)
    lengths = np.fromiter(map(len, words), np.int64, len(words))
    np.cumsum(lengths + 1, out=offsets[1:])
    blob = np.frombuffer(data, np.uint8)
    if len(data) != len(text):
        starts = np.flatnonzero((blob & 0xC0) != 0x80)
        offsets = np.append(starts, len(data))[offsets]
    return PackedWords(blob, offsets)


def _as_list(words):
    if isinstance(words, str | bytes):
        raise TypeError(
            f"Expected a list or an array of words, got the single "
            f"{type(words).__name__} {words!r}. Wrap it in a list."
        )
    if isinstance(words, np.ndarray) and words.ndim != 1:
        raise ValueError(
            f"Words must be one-dimensional, got an array of shape {words.shape}."
        )
    return words.tolist() if isinstance(words, np.ndarray) else list(words)


def pack_spans(buf, starts, ends):
    """Pack the words found at the given spans of a byte buffer."""
    _check_spans(starts, ends, len(buf))
    blob = np.empty(int((ends - starts).sum()) + len(starts), np.uint8)
    offsets = np.empty(len(starts) + 1, np.int64)
    loops_for(len(starts)).gather_words(np.asarray(buf), starts, ends, blob, offsets)
    return PackedWords(blob, offsets)


def _check_spans(starts, ends, size):
    """Refuse spans that lead out of a buffer: compiled code would follow them."""
    inside = not len(starts) or (starts.min() >= 0 and ends.max() <= size)
    if not inside or (np.asarray(starts) > ends).any():
        raise ValueError("The words' positions lead out of their text: it is damaged.")


def build_index(packed):
    """Build the open-addressed table of a vocabulary.

    Returns
    -------
    slots : ndarray of uint64
        At most half full; an entry is 32 bits of the word's hash above the
        word's row + 1.
    first : ndarray of int64, shape (n_words,)
        The row where each word occurs first: its own unless it is a duplicate.
    """
    from ._kernels_numba import fill_slots

    _check_spans(packed.offsets[:-1], packed.offsets[1:] - 1, len(packed.blob))
    size = 1 << max(3, (2 * packed.n_words - 1).bit_length())
    slots = np.zeros(size, np.uint64)
    first = np.empty(packed.n_words, np.int64)
    fill_slots(np.asarray(packed.blob), np.asarray(packed.offsets), slots, first)
    return slots, first


def find(queries, packed, slots):
    """Return the int32 rows of the queries, -1 where absent; bytes decide.

    Raises
    ------
    ValueError
        If the table or the positions of a store are damaged.
    """
    rows = np.empty(queries.n_words, np.int32)
    store = (np.asarray(packed.blob), np.asarray(packed.offsets), np.asarray(slots))
    loops_for(len(rows)).find_rows(queries.blob, queries.offsets, *store, rows)
    if len(rows) and rows.min() < -1:
        raise ValueError(
            "The table of a store's words is damaged. Delete the store's directory and "
            "convert the source again."
        )
    return rows
