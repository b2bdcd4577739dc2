"""Nearest neighbours of words, under several embeddings."""

from typing import NamedTuple

import numpy as np

from ..sequences import TokenSequences
from ..sequences._rows import chunks, unit_rows
from ..sequences._steps import embedded_within
from ..sequences._word_vectors import _word_rows, word_vectors_of


class Nearest(NamedTuple):
    """Neighbours of words under one embedding, nearest first."""

    neighbors: np.ndarray  # (n_words, n_neighbors) of str, None where there are fewer
    cosines: np.ndarray  # (n_words, n_neighbors), NaN there


def nearest(values, known, queries, vocabulary, n_neighbors):
    """Return the nearest words of each query, itself left out.

    Parameters
    ----------
    values : ndarray of shape (n_vocabulary, dim)
    known : ndarray of bool, shape (n_vocabulary,)
        Words that are not known are neighbours of none, and have none.
    queries : ndarray of int, shape (n_words,)
        Rows of the words that are asked for.
    vocabulary : list of str, length n_vocabulary
    n_neighbors : int

    Returns
    -------
    Nearest
        Of words that are equally near the earlier ones.
    """
    unit = unit_rows(np.asarray(values))
    cosines = np.empty((len(queries), len(unit)), dtype=np.float32)
    for rows in chunks(len(unit)):
        cosines[:, rows] = unit[queries] @ unit[rows].T
    lacks = ~(known & unit.any(axis=1))
    cosines[:, lacks] = np.nan
    cosines[lacks[queries]] = np.nan
    cosines[np.arange(len(queries)), queries] = np.nan
    order = np.argsort(-cosines, axis=1, kind="stable")[:, :n_neighbors]
    found = np.clip(np.take_along_axis(cosines, order, axis=1), -1, 1)
    words = np.array(vocabulary, dtype=object)[order]
    return Nearest(np.where(np.isnan(found), None, words), found.astype(np.float64))


def embeddings_within(estimator, words, whose):
    """Return the word vectors that a fitted estimator and its steps give.

    Parameters
    ----------
    estimator : fitted estimator
        As `embedded_within` takes it.
    words : list of str
        Each is read as a text of its own.
    whose : str
        Begins the error message.

    Returns
    -------
    dict of str to (ndarray of shape (n_words, dim), ndarray of bool)
        By the blocks' names: all blocks of the first step that gives several, and
        those of the last step that gives any.
    """
    given = TokenSequences.from_lists([word] for word in words)
    found = embedded_within(estimator, given, whose)
    if not found:
        raise TypeError(
            f"{whose}: {type(estimator).__name__} gives no EmbeddedSequences for "
            "words. Pass a fitted source, union or Pipeline with one, or vectors by "
            "from_embeddings."
        )
    first = next((each for each in found if len(each.blocks) > 1), found[0])
    shown = [first] if first is found[-1] else [first, found[-1]]
    return {
        _free_name(block.name, shown, each): _word_rows(each, block)
        for each in shown
        for block in each.blocks
    }


def _free_name(name, shown, each):
    """Return a block's name, told apart from a source of the same name."""
    is_taken = each is not shown[0] and name in shown[0].names
    return f"{name} (combined)" if is_taken else name


def embeddings_named(embeddings, words, whose):
    """Return the word vectors of several embeddings by name.

    Parameters
    ----------
    embeddings : mapping of str to embedding
        As `word_vectors_of` takes them.
    words : list of str
    whose : str
        Begins the error messages.

    Returns
    -------
    dict of str to (ndarray of shape (n_words, dim), ndarray of bool)
    """
    return {
        str(name): word_vectors_of(embedding, words, whose=whose)
        for name, embedding in embeddings.items()
    }


def asked_words(words, vocabulary, whose):
    """Return the words, all words there are to choose from, and where the former stand.

    Parameters
    ----------
    words : str or sequence of str
    vocabulary : sequence of str or TokenSequences
    whose : str
        Begins the error messages.

    Returns
    -------
    words : list of str
    vocabulary : list of str
        Each once; words that it lacks are added.
    rows : ndarray of int, shape (n_words,)
    """
    words = [words] if isinstance(words, str) else list(dict.fromkeys(words))
    if not words:
        raise ValueError(f"{whose}: there is no word to show.")
    if isinstance(vocabulary, str):
        raise TypeError(
            f"{whose}: vocabulary must hold the words to choose from, got a single str."
        )
    if isinstance(vocabulary, TokenSequences):
        vocabulary = vocabulary.types
    vocabulary = list(dict.fromkeys([*vocabulary, *words]))
    strange = [word for word in vocabulary if not isinstance(word, str)]
    if strange:
        raise TypeError(
            f"{whose}: words must be str, got {strange[0]!r} of type "
            f"{type(strange[0]).__name__}."
        )
    places = {word: place for place, word in enumerate(vocabulary)}
    return words, vocabulary, np.array([places[word] for word in words])
