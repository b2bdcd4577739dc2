"""The vectors of single words from anything that has some, whatever its interface."""

from collections.abc import Mapping

import numpy as np

from ._embedded_sequences import EmbeddedSequences
from ._find_step import embedded_by_branch, features_within
from ._token_sequences import TokenSequences


def lookup_vectors(embedding, words, *, caller):
    """Return the vectors of words from an embedding of any kind.

    Parameters
    ----------
    embedding : fitted estimator, WordVectors, KeyedVectors or mapping
        An estimator, perhaps a Pipeline, whose transform gives EmbeddedSequences with
        one block or an array, one row a sequence; each word is a sequence of its own.
        Of one that ends in a predictor, what the steps before it give. Or a
        `WordVectors`, gensim's KeyedVectors, or a mapping from words to vectors.
    words : sequence of str, length n
        Any words, a word any number of times.
    caller : str
        Begins the error messages.

    Returns
    -------
    values : ndarray of float32, shape (n, dim)
        Zeros for words that are not known.
    known : ndarray of bool, shape (n,)
        In an array that an estimator gives, a row of zeros is not known.

    Raises
    ------
    TypeError
        If the embedding is none of these.
    ValueError
        If an estimator gives several blocks or not one row a word, or a mapping holds
        something else than vectors of one length.
    """
    words = list(words)
    if hasattr(embedding, "transform") and not isinstance(embedding, type):
        given = embedding.transform(_one_a_sequence(words))
        return _of_output(given, words, embedding, caller)
    if hasattr(embedding, "predict") and not isinstance(embedding, type):
        one_a_word = _one_a_sequence(words)
        given = features_within(embedding, one_a_word, caller)
        if given is not one_a_word:
            return _of_output(given, words, embedding, caller)
    if hasattr(embedding, "vectors_for"):
        return _stored(embedding, words)
    if isinstance(embedding, Mapping) or hasattr(embedding, "key_to_index"):
        return _looked_up(embedding, words, caller)
    raise TypeError(
        f"{caller} takes a fitted estimator with transform, a WordVectors, gensim's "
        f"KeyedVectors or a dict of vectors, got {type(embedding).__name__}."
    )


def lookup_known(embedding, words, *, caller):
    """Tell which words an embedding knows, block by block.

    Parameters
    ----------
    embedding : fitted estimator, WordVectors, KeyedVectors or mapping
        As for `lookup_vectors`, and an estimator may give several blocks; or a search
        or a Pipeline that ends in a predictor. Of several steps that give
        EmbeddedSequences the last one with the most blocks counts.
    words : sequence of str, length n
        Any words, a word any number of times.
    caller : str
        Begins the error messages.

    Returns
    -------
    dict of str to ndarray of bool, shape (n,)
        By the blocks' names, of several branches with the branch's in front; by ""
        where there are no blocks.
    """
    words = list(words)
    if isinstance(embedding, type):
        return {"": lookup_vectors(embedding, words, caller=caller)[1]}
    given = _one_a_sequence(words)
    branches = embedded_by_branch(embedding, given, caller)
    if not any(branches.values()) and hasattr(embedding, "transform"):
        embedded = embedding.transform(given)
        if not isinstance(embedded, EmbeddedSequences):
            return {"": _array(embedded, words, embedding, caller).any(axis=1)}
        branches = {"": [embedded]}
    known = {}
    for branch, found in branches.items():
        # Of equally many blocks the last: what fills in unknown words is reported.
        embedded = max(reversed(found), key=lambda each: len(each.blocks))
        for block in embedded.blocks:
            name = f"{branch}.{block.name}" if len(branches) > 1 else block.name
            known[name] = word_rows(embedded, block)[1]
    return known or {"": lookup_vectors(embedding, words, caller=caller)[1]}


def _of_output(embedded, words, estimator, caller):
    if not isinstance(embedded, EmbeddedSequences):
        values = _array(embedded, words, estimator, caller)
        return values, values.any(axis=1)
    if len(embedded.blocks) != 1:
        raise ValueError(
            f"{caller}: {type(estimator).__name__} gives {len(embedded.blocks)} "
            f"blocks, {list(embedded.names)}. Put a meta-embedder behind it, such as "
            "ConcatMetaEmbedding, that makes them one."
        )
    return word_rows(embedded, embedded.blocks[0])


def _array(given, words, estimator, caller):
    """Return what is no EmbeddedSequences as an array, dense, one row a word."""
    given = given.toarray() if hasattr(given, "tocsr") else given
    values = np.asarray(given, dtype=np.float32)
    if values.ndim != 2 or len(values) != len(words):
        raise ValueError(
            f"{caller}: {type(estimator).__name__} gave shape {values.shape} for "
            f"{len(words)} words; expected is one vector a word."
        )
    return values


def _one_a_sequence(words):
    return TokenSequences.from_lists([word] for word in words)


def word_rows(embedded, block):
    """Return values and `known` of a block, one row a sequence of one word."""
    lengths = embedded.tokens.lengths
    block = embedded.broadcast(block, "token")
    if (lengths == 1).all():
        return block.values.astype(np.float32, copy=False), block.known
    # Some word is no token to the estimator, or several: those have no vector.
    single = lengths == 1
    rows = embedded.tokens.offsets[:-1][single]
    values = np.zeros((len(lengths), block.dim), dtype=np.float32)
    values[single] = block.values[rows]
    known = single.copy()
    known[single] = block.known[rows]
    return values, known


def _stored(store, words):
    values, known = store.vectors_for(words)
    unseen = np.flatnonzero(~known)
    if getattr(store, "has_subwords", False) and len(unseen):
        values[unseen] = store.subword_vectors([words[i] for i in unseen])
        known[unseen] = values[unseen].any(axis=1)
    return values, known


def _looked_up(table, words, caller):
    found = {i: table[word] for i, word in enumerate(words) if word in table}
    known = np.zeros(len(words), dtype=bool)
    known[list(found)] = True
    dim = getattr(table, "vector_size", None)
    if dim is None:
        if not table:
            raise ValueError(f"{caller}: the dict of vectors is empty.")
        dim = np.size(next(iter(table.values())))
    values = np.zeros((len(words), dim), dtype=np.float32)
    for i, vector in found.items():
        if np.shape(vector) != (dim,) or np.asarray(vector).dtype.kind not in "fiub":
            raise ValueError(
                f"{caller}: the vector of {words[i]!r} has shape {np.shape(vector)} "
                f"and dtype {np.asarray(vector).dtype}; expected are numbers of shape "
                f"({dim},), as of the others."
            )
        values[i] = vector
    if not np.isfinite(values).all():
        bad = words[int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0])]
        raise ValueError(f"{caller}: the vector of {bad!r} holds NaN or infinity.")
    return values, known
