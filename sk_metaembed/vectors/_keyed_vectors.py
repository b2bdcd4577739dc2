"""Conversion from and to gensim's KeyedVectors."""

import numpy as np

from ._gensim import import_gensim
from ._subwords import Subwords

_CHUNK_BYTES = 1 << 24


def check_keyed_vectors(kv):
    """Return ``kv`` if it has the attributes of KeyedVectors, else raise TypeError."""
    if not hasattr(kv, "index_to_key") or not hasattr(kv, "vectors"):
        raise TypeError(
            f"from_keyed_vectors: expected gensim KeyedVectors; got "
            f"{type(kv).__name__}."
            + (" Pass its attribute wv." if hasattr(kv, "wv") else "")
        )
    matrices = [kv.vectors, getattr(kv, "vectors_ngrams", None)]
    kinds = [type(m).__name__ for m in matrices if not _is_array(m)]
    if kinds:
        raise TypeError(
            f"from_keyed_vectors: the matrices of this {type(kv).__name__} are not "
            f"arrays but {' and '.join(kinds)}, as in compressed models. Compute the "
            "vectors of your words with it, and pass both to "
            "WordVectors.from_arrays(words, [kv[word] for word in words])."
        )
    return kv


def _is_array(matrix):
    return matrix is None or isinstance(matrix, np.ndarray)


def filled_rows(kv):
    """Return the words and vectors of KeyedVectors, and the number of unused rows.

    gensim allocates rows in advance and leaves the word None where it adds none, for
    example after a file with repeated words.
    """
    unused = [row for row, word in enumerate(kv.index_to_key) if word is None]
    if not unused:
        return kv.index_to_key, kv.vectors, 0
    words = [word for word in kv.index_to_key if word is not None]
    return words, np.delete(kv.vectors, unused, axis=0), len(unused)


def ngram_table(kv):
    """Return the `Subwords` of FastTextKeyedVectors, None without n-grams."""
    table = getattr(kv, "vectors_ngrams", None)
    if table is None or not len(table) or kv.max_n < max(1, kv.min_n):
        return None
    return Subwords(table, int(kv.min_n), int(kv.max_n))


def row_chunks(matrix):
    """Yield (start, float32 rows) of a matrix in chunks of bounded size."""
    step = max(1, _CHUNK_BYTES // max(1, 4 * matrix.shape[1]))
    for start in range(0, len(matrix), step):
        with np.errstate(over="ignore"):
            yield start, np.asarray(matrix[start : start + step], np.float32)


def append_arrays(writer, packed, matrix, subwords=None):
    """Append packed words with their matrix, and n-gram vectors if there are any."""
    count = packed.n_words if writer.limit is None else writer.limit
    for start, rows in row_chunks(matrix[:count]):
        words = packed.take(np.arange(start, start + len(rows)))
        writer.append(words, rows)
    if subwords is not None:
        table, *settings = subwords
        writer.write_buckets((rows for _, rows in row_chunks(table)), *settings)


def to_keyed_vectors(words, vectors, subwords=None):
    """Return KeyedVectors in memory; FastTextKeyedVectors if there are n-grams."""
    if subwords is not None and subwords.floret is not None:
        raise ValueError(
            "gensim has no class for floret's vectors, which compose all words of "
            "n-grams. Pass the vectors of your words to it: kv.add_vectors(words, "
            "store.vectors_for(words)[0])."
        )
    models = import_gensim("to_keyed_vectors").models
    vectors = np.array(vectors, np.float32)
    if subwords is None:
        kv = models.KeyedVectors(vectors.shape[1])
        kv.add_vectors(words, vectors)
        return kv
    table, min_n, max_n, _ = subwords
    kv = models.fasttext.FastTextKeyedVectors(
        vectors.shape[1], min_n, max_n, len(table)
    )
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
