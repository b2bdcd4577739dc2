"""gensim: KeyedVectors in memory, and the files of its ``save``.

These files are pickles and large arrays in files next to them. The data of a pickle is
read without running code: no class or function is imported and none is called. Each
becomes an `Inert` record of its name, its arguments and its state; numbers, texts,
lists, dicts and arrays of numbers are read as they are.
"""

from __future__ import annotations

import os
import pickle
from functools import partial
from io import BytesIO
from typing import Any, ClassVar

import numpy as np

from ._read_word2vec import SourceStream
from ._store import MAX_NGRAM, StoreWriter, Subwords, append_arrays, pack
from ._subwords import mean_ngrams


class Inert:
    """A record of an object in a pickle: name, arguments and state; nothing is run."""

    name, args, state = "", (), None

    def __new__(cls, *args, **options):
        """Store the arguments of the class or function."""
        record = super().__new__(cls)
        record.args = args
        return record

    def __setstate__(self, state):
        self.state = state

    def get(self, attribute, default=None):
        """Return an attribute of the object."""
        state = self.state if isinstance(self.state, dict) else {}
        return state.get(attribute, default)


class _Tuple(tuple):
    """Tuple hashed by identity, at a cost that does not depend on the file."""

    __slots__ = ()
    __hash__ = object.__hash__


# The C version allocates as much memory as a corrupt file asks for.
class _InertUnpickler(pickle._Unpickler):
    """Unpickler in which each class and function is a subclass of `Inert`."""

    dispatch: ClassVar[dict[int, Any]] = dict(pickle._Unpickler.dispatch)

    def find_class(self, module, name):
        """Return a class of records with this name."""
        return type("Record", (Inert,), {"name": f"{module}.{name}"})

    def _load_bytearray(self):
        """Read the bytes of an array, for which the base class reserves memory."""
        self.append(self.read(int.from_bytes(self.read(8), "little")))

    def _load_tuple(self, opcode):
        pickle._Unpickler.dispatch[opcode](self)
        self.stack[-1] = _Tuple(self.stack[-1])

    dispatch[pickle.BYTEARRAY8[0]] = _load_bytearray
    for _opcode in pickle.TUPLE + pickle.TUPLE1 + pickle.TUPLE2 + pickle.TUPLE3:
        dispatch[_opcode] = partial(_load_tuple, opcode=_opcode)


def _as_array(value):
    """Return the array that a record of NumPy describes, None for other records."""
    try:
        if value.name.endswith("._frombuffer"):  # protocol 5
            data, kind, shape, order = value.args
        else:
            _, shape, kind, is_fortran, data = value.state
            order = "F" if is_fortran else "C"
        (code, *_), (_, byte_order, *_) = kind.args, kind.state
        if isinstance(data, Inert):  # protocol 2 writes bytes as a text to be encoded
            data = data.args[0].encode("latin1")
        is_array = value.name.startswith("numpy.") and kind.name == "numpy.dtype"
        if is_array and code in _CODES:
            dtype = np.dtype(code).newbyteorder(byte_order)
            return np.frombuffer(data, dtype).reshape(shape, order=order)
    except (AttributeError, LookupError, TypeError, ValueError):
        pass  # not an array
    return None


_CODES = ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
_BLOCK = 1 << 24
_WORDS = ("index_to_key", "index2word", "index2entity")  # the last two: gensim 3
_HOW = (
    "Load it with the library that wrote it. Pass KeyedVectors of gensim to "
    "WordVectors.from_keyed_vectors, and the words and vectors of others to "
    "WordVectors.from_arrays(words, matrix)."
)


def import_gensim(purpose):
    """Return gensim with its models; an ImportError names the purpose.

    gensim has no wheel for the newest Python.
    """
    try:
        import gensim.models
    except ImportError as error:
        raise ImportError(
            f"{purpose} requires gensim: pip install gensim. If there is no wheel for "
            "your version of Python (3.14 has none so far), use an older one.",
            name="gensim",
        ) from error
    return gensim


def check_keyed_vectors(kv):
    """Raise TypeError unless ``kv`` has the attributes of KeyedVectors."""
    matrices = getattr(kv, "vectors", None), getattr(kv, "vectors_ngrams", None)
    is_array = [isinstance(matrix, np.ndarray) for matrix in matrices]
    is_whole = is_array[0] and (is_array[1] or matrices[1] is None)
    if not hasattr(kv, "index_to_key") or not is_whole:
        raise TypeError(
            "from_keyed_vectors: expected gensim KeyedVectors with arrays; got "
            f"{type(kv).__name__}. "
            + (
                "Pass its attribute wv."
                if hasattr(kv, "wv")
                else "For other vectors, use WordVectors.from_arrays(words, matrix)."
            )
        )


def filled_rows(words, matrix):
    """Return words and their vectors, and the number of rows without a word.

    gensim allocates rows in advance, and unused rows keep None as their word, for
    example after a file with repeated words.
    """
    used = [row for row, word in enumerate(words) if word is not None]
    if len(used) < len(words):
        return [words[row] for row in used], matrix[used], len(words) - len(used)
    return words, matrix[: len(words)], 0


def ngram_table(kv):
    """Return the `Subwords` of FastTextKeyedVectors, None without n-grams."""
    table = getattr(kv, "vectors_ngrams", None)
    if table is None or not len(table) or kv.max_n < max(1, kv.min_n):
        return None
    return Subwords(table, int(kv.min_n), int(kv.max_n))


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
        raise saved.error("it does not have one vector per word")
    words, matrix, writer.repairs["rows_without_word"] = filled_rows(words, matrix)
    append_arrays(writer, pack(words), matrix, subwords)


class _Saved:
    """KeyedVectors in a file that gensim saved."""

    def __init__(self, stream):
        self.path, self.prefix = stream.path, stream.path
        self.is_compressed = stream.path.endswith((".gz", ".bz2"))  # as gensim does
        data = _content(stream)
        try:
            self.object = _InertUnpickler(BytesIO(data), encoding="bytes").load()
        except Exception as error:  # pickle raises many error types
            reason = (
                "its data cannot be read without running code: it is truncated or "
                f"corrupt, or needs code ({error!r:.80})"
            )
            if b"joblib" in data[:1000]:
                reason = "joblib wrote it, as for wikipedia2vec"
            raise self.error(reason) from error
        model = self.object
        if isinstance(model, Inert) and isinstance(model.get("wv"), Inert):
            self.object, self.prefix = model.get("wv"), f"{self.path}.wv"
        self.words = self._words()

    def error(self, reason):
        """Return the error for a pickle that cannot be read."""
        kind = getattr(getattr(self, "object", None), "name", "")
        what = f"the pickle of a {kind}" if kind else "a pickle"
        return ValueError(
            f"{self.path} is {what}, and pickles can run code: {reason}. {_HOW}"
        )

    def _words(self):
        words = None
        if isinstance(self.object, Inert):
            values = map(self.object.get, _WORDS)
            words = next((value for value in values if value), None)
        if not isinstance(words, list):
            raise self.error("it contains no KeyedVectors of gensim")
        wrong = [w for w in words if not isinstance(w, str | None)][:1]
        if wrong:
            raise self.error(f"its keys are not texts; one is {wrong[0]!r:.40}")
        return words

    def array(self, *names):
        """Return the first array with one of these names, (n, dim), or None.

        A value that is not an array raises an error, because classes of other packages
        compute vectors from their own attributes.
        """
        for name in names:
            if name in (self.object.get("__numpys") or ()):
                return self._array_file(name)
            value = self.object.get(name)
            if value is not None:
                array = _as_array(value)
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
        except Exception as error:  # numpy raises many error types
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
        """Return the vectors of words, composed as gensim does after loading."""
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
