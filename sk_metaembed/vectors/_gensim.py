"""gensim's KeyedVectors, in memory or saved, to and from rows."""

import os

import numpy as np

from ._word_index import pack

_CHUNK_BYTES = 1 << 24


def sidecars(path):
    """Return the file and the ``.npy`` files that gensim's ``save`` put beside it."""
    folder, name = os.path.split(os.path.abspath(path))
    beside = sorted(
        os.path.join(folder, other)
        for other in os.listdir(folder)
        if other.startswith(f"{name}.") and other.endswith(".npy")
    )
    return [os.path.abspath(path), *beside]


def refuse_untrusted(path):
    """Raise, as unpickling runs whatever code the file holds."""
    raise ValueError(
        f"{path}: this is a Python pickle (as gensim's .save writes), and loading one "
        f"can run any code its author chose. If you trust where it comes from, pass "
        f"trusted=True; otherwise export it with save_word2vec_format and open that."
    )


def load(path):
    """Unpickle a saved KeyedVectors, or a model that holds one in ``wv``."""
    from gensim.utils import SaveLoad

    try:
        found = SaveLoad.load(os.fspath(path))
    except Exception as error:
        raise ValueError(
            f"{path}: gensim cannot load this pickle ({type(error).__name__}: "
            f"{error}). It must be what gensim's KeyedVectors.save or a model's .save "
            f"wrote, with all files whose names begin with its own beside it."
        ) from error
    return check(getattr(found, "wv", found), path)


def check(kv, label="from_keyed_vectors"):
    """Return ``kv`` if it has the parts of a KeyedVectors.

    Raises
    ------
    TypeError
        If it has not.
    """
    if hasattr(kv, "index_to_key") and hasattr(kv, "vectors"):
        return kv
    raise TypeError(
        f"{label}: expected gensim KeyedVectors, got {type(kv).__name__}."
        + (" Pass its attribute wv." if hasattr(kv, "wv") else "")
    )


def buckets_of(kv):
    """Return (n-gram matrix, min_n, max_n) of FastTextKeyedVectors, or None."""
    table = getattr(kv, "vectors_ngrams", None)
    if table is None or not len(table) or kv.max_n < max(1, kv.min_n):
        return None
    return table, kv.min_n, kv.max_n


def row_chunks(matrix):
    """Yield (start, rows) of a matrix in float32, a bounded piece at a time."""
    step = max(1, _CHUNK_BYTES // max(1, 4 * matrix.shape[1]))
    for start in range(0, len(matrix), step):
        with np.errstate(over="ignore"):
            yield start, np.asarray(matrix[start : start + step], np.float32)


def push_arrays(writer, packed, matrix, buckets=None):
    """Push packed words with their matrix, and n-gram vectors if there are any."""
    count = packed.n_words if writer.limit is None else writer.limit
    for start, rows in row_chunks(matrix[:count]):
        words = packed.take(np.arange(start, start + len(rows)))
        writer.append(words, rows)
    if buckets is not None:
        table, min_n, max_n = buckets
        writer.write_buckets((rows for _, rows in row_chunks(table)), min_n, max_n)


def read_gensim(path, writer):
    """Push a gensim file that the caller trusts."""
    kv = load(path)
    push_arrays(writer, pack(list(kv.index_to_key)), kv.vectors, buckets_of(kv))


def to_keyed_vectors(words, vectors, buckets=None):
    """Build KeyedVectors in memory; FastTextKeyedVectors where there are n-grams."""
    from gensim.models import KeyedVectors
    from gensim.models.fasttext import FastTextKeyedVectors

    vectors = np.array(vectors, np.float32)
    if buckets is None:
        kv = KeyedVectors(vectors.shape[1])
        kv.add_vectors(words, vectors)
        return kv
    table, min_n, max_n = buckets
    kv = FastTextKeyedVectors(vectors.shape[1], min_n, max_n, len(table))
    kv.index_to_key = list(words)
    kv.key_to_index = {word: row for row, word in enumerate(words)}
    kv.vectors, kv.vectors_ngrams = vectors, np.array(table, np.float32)
    kv.recalc_char_ngram_buckets()
    # gensim saves the words' own vectors and composes the rest again on loading
    kv.vectors_vocab = vectors.copy()
    for row, ids in enumerate(kv.buckets_word):
        own = vectors[row] * (len(ids) + 1) - kv.vectors_ngrams[ids].sum(axis=0)
        kv.vectors_vocab[row] = own
    return kv
