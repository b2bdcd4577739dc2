"""Reader of the files of gensim's ``save``: KeyedVectors, and models that hold them.

They are pickles, whose data is read without running code, and large arrays in files
next to them.
"""

from __future__ import annotations

import os

import numpy as np

from ._detect_format import SourceStream
from ._inert_pickle import Inert, as_array, read_pickle
from ._keyed_vectors import append_arrays
from ._store_files import StoreWriter
from ._subwords import Subwords
from ._word_index import MAX_NGRAM, mean_ngrams, pack

_BLOCK = 1 << 24
_WORDS = ("index_to_key", "index2word", "index2entity")  # the latter of gensim 3
_HOW = (
    "Load it with the library that wrote it. Pass KeyedVectors of gensim to "
    "WordVectors.from_keyed_vectors, and the words and vectors of others to "
    "WordVectors.from_arrays(words, matrix)."
)


def read_gensim(stream: SourceStream, writer: StoreWriter) -> None:
    """Append all words, and write the n-gram vectors of FastText."""
    saved = _Saved(stream)
    words = saved.words
    table = saved.array("vectors_ngrams")
    subwords = None if table is None else saved.subwords(table)
    matrix = saved.array("vectors", "syn0")
    if matrix is None and table is not None:
        matrix = saved.composed(subwords)
    if matrix is None or len(matrix) < len(words):
        raise saved.error("it has not one vector per word")
    used = [row for row, word in enumerate(words) if word is not None]
    if len(used) < len(words):
        writer.repairs["rows_without_word"] += len(words) - len(used)
        words, matrix = [words[row] for row in used], matrix[used]
    append_arrays(writer, pack(words), matrix[: len(words)], subwords)


class _Saved:
    """KeyedVectors in a file that gensim saved."""

    def __init__(self, stream):
        self.path, self.prefix = stream.path, stream.path
        self.is_compressed = stream.path.endswith((".gz", ".bz2"))  # as gensim decides
        data = _content(stream)
        try:
            self.object = read_pickle(data)
        except ValueError as error:
            reason = f"its data cannot be read without running code: {error}"
            if b"joblib" in data[:1000]:
                reason = "joblib wrote it, as for wikipedia2vec"
            raise self.error(reason) from error
        model = self.object
        if isinstance(model, Inert) and isinstance(model.get("wv"), Inert):
            self.object, self.prefix = model.get("wv"), f"{self.path}.wv"
        self.words = self._words()

    def error(self, reason):
        """Return the error to raise for a pickle that is not read."""
        kind = getattr(getattr(self, "object", None), "name", "")
        what = f"the pickle of a {kind}" if kind else "a pickle"
        return ValueError(
            f"{self.path} is {what}, and pickles can run code: {reason}. {_HOW}"
        )

    def _words(self):
        kv = self.object
        if not isinstance(kv, Inert):
            raise self.error("it contains no KeyedVectors of gensim")
        words = next((kv.get(name) for name in _WORDS if kv.get(name)), None)
        if not isinstance(words, list):
            raise self.error("it contains no KeyedVectors of gensim")
        wrong = [w for w in words if not isinstance(w, str | None)][:1]
        if wrong:
            raise self.error(f"its keys are not texts, but such as {wrong[0]!r:.40}")
        return words

    def array(self, *names):
        """Return the first array of these names, (n, dim), or None.

        A value that is no array is an error, since classes of other packages compute
        vectors from their own.
        """
        for name in names:
            if name in (self.object.get("__numpys") or ()):
                return self._array_file(name)
            value = self.object.get(name)
            if value is not None:
                array = as_array(value)
                if array is None or array.ndim != 2 or array.dtype.kind != "f":
                    kind = getattr(value, "name", type(value).__name__)
                    raise self.error(f"{name} is not an array of numbers but {kind}")
                return array
        return None

    def _array_file(self, name):
        path = f"{self.prefix}.{name}.{'npz' if self.is_compressed else 'npy'}"
        if not os.path.exists(path):
            raise ValueError(
                f"{path} is missing: gensim's save writes large arrays next to "
                f"{self.path}. Copy it too."
            )
        try:
            if self.is_compressed:
                with np.load(path, allow_pickle=False) as arrays:
                    array = arrays["val"]
            else:
                array = np.load(path, mmap_mode="r", allow_pickle=False)
            valid = array.ndim == 2 and array.dtype.kind == "f"
        except Exception as error:  # numpy parses headers, and raises many kinds
            raise ValueError(f"{path} is not readable ({error!r:.200}).") from error
        if not valid:
            raise ValueError(
                f"{path} should be a matrix; got shape {array.shape}, {array.dtype}."
            )
        return array

    def subwords(self, table):
        """Return the `Subwords` of FastText, None if it has no n-grams."""
        sizes = self.object.get("min_n"), self.object.get("max_n")
        valid = all(type(n) is int and 0 <= n <= MAX_NGRAM for n in sizes)
        if not valid or self.object.get("compatible_hash") is not True:
            raise self.error(
                "its n-grams are hashed as before gensim 3.8, or not named"
            )
        if not len(table) or sizes[1] < max(1, sizes[0]):
            return None
        return Subwords(table, *sizes)

    def composed(self, subwords):
        """Return words' vectors, which gensim composes again after loading."""
        own = self.array("vectors_vocab")
        if own is None or len(own) < len(self.words):
            raise self.error("it lacks vectors_vocab")
        out = np.array(own[: len(self.words)], np.float32)
        if subwords is not None:
            words = pack([word or "" for word in self.words])
            sizes = subwords.min_n, subwords.max_n
            mean_ngrams(words, subwords.table, *sizes, out, own=True)
        return out


def _content(stream):
    blocks = []
    while block := stream.read(_BLOCK):
        blocks.append(block)
    return b"".join(blocks)
