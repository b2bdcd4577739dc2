"""Words packed into one UTF-8 buffer, their index from word to row, their n-grams."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .._core._ragged import gather_spans
from .._kernels._compiled import use_compiled
from ..sequences._api import canonical_words

MAX_NGRAM = 999  # characters
_SECONDS = 3e-6  # for a word in Python
_NGRAM_SECONDS = 3e-5


def loops_for(n_words, seconds=_SECONDS):
    """Return the module of loops over bytes: compiled only if there are many words."""
    if use_compiled(seconds * n_words):
        from . import _kernels_numba as loops
    else:
        from . import _kernels_python as loops
    return loops


class PackedWords(NamedTuple):
    """Words in one buffer, each followed by a newline.

    Word ``i`` is ``blob[offsets[i] : offsets[i + 1] - 1]``. The offsets, not the
    newlines, mark the end of a word, so a word may contain a newline.
    """

    blob: np.ndarray
    offsets: np.ndarray

    @property
    def n_words(self):
        """Number of words."""
        return len(self.offsets) - 1

    @classmethod
    def concatenate(cls, packs):
        """Return the words of one or more `PackedWords` in order."""
        if len(packs) == 1:
            return packs[0]
        ends = np.cumsum([0] + [len(packed.blob) for packed in packs])
        offsets = [
            packed.offsets[:-1] + end for packed, end in zip(packs, ends, strict=False)
        ]
        blob = np.concatenate([packed.blob for packed in packs])
        return cls(blob, np.concatenate([*offsets, ends[-1:]]))

    def word(self, row):
        """Return one word as str."""
        start, end = int(self.offsets[row]), int(self.offsets[row + 1]) - 1
        return bytes(self.blob[start:end]).decode("utf-8", "backslashreplace")

    def take(self, rows):
        """Return the words of the given rows."""
        return pack_spans(
            self.blob, self.offsets[:-1][rows], self.offsets[1:][rows] - 1
        )

    def to_list(self, errors="strict"):
        """Decode all words."""
        data = self.blob.tobytes()
        words = data.decode("utf-8", errors).split("\n")
        if len(words) == len(self.offsets):
            return words[:-1]
        spans = pairwise(self.offsets.tolist())
        return [data[start : end - 1].decode("utf-8", errors) for start, end in spans]

    def decodable(self):
        r"""Return the words with bad UTF-8 escaped, as in ``caf\xe9``, and how many."""
        try:
            bytes(self.blob).decode()
            return self, 0
        except UnicodeDecodeError:
            pass
        escaped = pack(self.to_list("backslashreplace"))
        is_longer = np.diff(escaped.offsets) > np.diff(self.offsets)
        return escaped, int(is_longer.sum())


def pack(words):
    """Return the `PackedWords` of a sequence of str, TypeError for anything else.

    Lone surrogates are accepted; they match no stored word.
    """
    words = _as_list(words)
    try:
        text = "\n".join([*words, ""])
    except TypeError:
        row = next(i for i, word in enumerate(words) if not isinstance(word, str))
        raise TypeError(
            f"Words must be str; element {row} is {words[row]!r} of type "
            f"{type(words[row]).__name__}. Convert it with str() first."
        ) from None
    blob = np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)
    ends = np.flatnonzero(blob == ord("\n"))
    if len(ends) > len(words):  # a word contains a newline
        lengths = [len(word.encode("utf-8", "surrogatepass")) for word in words]
        ends = np.cumsum(np.array(lengths, np.int64) + 1) - 1
    return PackedWords(blob, np.concatenate([[0], ends + 1]))


def _as_list(words):
    if isinstance(words, str | bytes):
        raise TypeError(
            f"Expected a list or an array of words; got the single "
            f"{type(words).__name__} {words!r}. Wrap it in a list."
        )
    if isinstance(words, np.ndarray) and words.ndim != 1:
        raise ValueError(
            f"Words must be one-dimensional; got an array of shape {words.shape}."
        )
    return words.tolist() if isinstance(words, np.ndarray) else list(words)


def pack_spans(buf, starts, ends):
    """Return the `PackedWords` at the given spans of a byte buffer."""
    _check_spans(starts, ends, len(buf))
    return PackedWords(*gather_spans(buf, starts, ends, ord("\n")))


def _check_spans(starts, ends, size):
    """Raise ValueError for spans out of bounds, which compiled code does not check."""
    inside = not len(starts) or (starts.min() >= 0 and ends.max() <= size)
    if not inside or (np.asarray(starts) > ends).any():
        raise ValueError("The offsets of the words are out of bounds: corrupt data.")


def build_index(packed):
    """Build the open-addressed hash table of a vocabulary.

    Returns
    -------
    slots : ndarray of uint64, shape (n_slots, 2)
        At most half full. An entry is 24 bits of the word's hash, 8 bits of its
        length and 32 bits of its row + 1, and the first 8 bytes of the word: one line
        of the processor's cache tells a short word from all others.
    first : ndarray of int64, shape (n_words,)
        The row where each word occurs first: its own unless it is a duplicate.
    """
    from ._kernels_numba import fill_slots

    _check_spans(packed.offsets[:-1], packed.offsets[1:] - 1, len(packed.blob))
    size = 1 << max(3, (2 * packed.n_words - 1).bit_length())
    slots = np.zeros((size, 2), np.uint64)
    first = np.empty(packed.n_words, np.int64)
    fill_slots(*packed, slots, first)
    return slots, first


def find(queries, packed, slots):
    """Return the int32 row of each query, -1 if absent; bytes are compared."""
    rows = np.empty(queries.n_words, np.int32)
    loops_for(len(rows)).find_rows(*queries, *packed, slots, rows)
    return _checked(rows)


def find_respelled(words, lookup, *, case_fallback):
    """Return the rows of words in other spellings, int32, -1 where all are absent.

    Files are in either Unicode form, and so are texts: `words`, a list, are looked up
    in NFC and then in NFD; with `case_fallback`, each time also in lower case. If it is
    "words", this does not apply to tokens that may be something else.
    """
    rows = np.full(len(words), -1, np.int32)
    places = range(len(words))
    for form in (None, "NFC", "NFD"):
        if form is not None:
            places = [i for i in places if rows[i] < 0 and not words[i].isascii()]
        given = [words[i] for i in places]
        for lowercase in (False, True) if case_fallback else (False,):
            spelled = given
            if lowercase:
                is_word = _is_capitalized if case_fallback == "words" else bool
                spelled = [word.lower() if is_word(word) else word for word in given]
            spelled = spelled if form is None else canonical_words(spelled, form)
            changed = [
                (place, new)
                for place, old, new in zip(places, given, spelled, strict=True)
                if new != old and rows[place] < 0
            ]
            if changed:
                found, spellings = zip(*changed, strict=True)
                rows[list(found)] = lookup(list(spellings))
    return rows


def _is_capitalized(word):
    """Return whether a word has letters alone, the first or all of them capitals."""
    (word,) = canonical_words([word])
    letters = word.replace("'", "").replace("\u2019", "")
    is_title = word.istitle() or letters.istitle()  # "O'Neill" or "Don't"
    return (is_title or word.isupper()) and letters.isalpha() and len(letters) > 1


def _checked(rows):
    if len(rows) and rows.min() < -1:
        raise ValueError(
            "The index of the store is corrupt. Convert the source again, into another "
            "directory (cache_dir= or path=)."
        )
    return rows


def ngram_ids(packed, min_n, max_n, n_buckets):
    """Hash the n-grams of ``<word>`` for each word, as fastText does.

    Returns
    -------
    ids : ndarray of int64
        The buckets of all n-grams, word after word.
    indptr : ndarray of int64, shape (n_words + 1,)
        Word ``i`` has ``ids[indptr[i] : indptr[i + 1]]``.
    """
    starts, ends = packed.offsets[:-1].copy(), packed.offsets[1:] - 1
    indptr = np.zeros(packed.n_words + 1, np.int64)
    ids = np.empty(_most_ngrams(ends - starts + 2, min_n, max_n), np.int64)
    words = packed.blob, starts, ends
    loops = loops_for(packed.n_words, _NGRAM_SECONDS)
    loops.ngram_buckets(*words, min_n, max_n, n_buckets, indptr, ids)
    return ids[: indptr[-1]], indptr


def _most_ngrams(sizes, min_n, max_n):
    """Return the number of n-grams of words of some sizes if a byte is a character."""
    longest = np.minimum(sizes, max_n)
    kinds = np.maximum(longest - min_n + 1, 0)
    return int((kinds * (2 * sizes + 2 - min_n - longest) // 2).sum())


def mean_ngrams(packed, table, min_n, max_n, out, own=False):
    """Set ``out``, (n_words, dim), to the means of the n-gram vectors, in place.

    With ``own``, each row of ``out`` is the word's own vector and part of the mean.
    """
    ids, indptr = ngram_ids(packed, min_n, max_n, len(table))
    if table.dtype != np.float32:  # numba has no float16: widen the rows in use
        used, ids = np.unique(ids, return_inverse=True)
        table = table[used].astype(np.float32)
    loops = loops_for(len(out), _NGRAM_SECONDS)
    loops.add_means(ids, indptr, np.asarray(table), int(own), out)
