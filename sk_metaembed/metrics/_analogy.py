"""Analogies: man is to king as woman is to the word whose vector fits best."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, overload

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils import Bunch

from .._core._arrays import normalize_rows
from .._core._parameters import is_integer, is_real
from ..sequences._word_lookup import lookup_vectors
from ._validation import check_option, check_vocabulary, check_words
from ._word_similarity import check_finite

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypedDict, Unpack

    from numpy.typing import ArrayLike

    from .._core._typing import WordEmbedding

    class AnalogyOptions(TypedDict, total=False):
        """Options of `analogy_score`, but for the one that decides what it returns."""

        categories: ArrayLike | None
        vocabulary: Iterable[str] | int | None
        method: Literal["3cosadd", "3cosmul"]
        epsilon: float
        ignore_case: bool
        missing: Literal["omit", "wrong"]


_TILE = 1024  # candidates at a time: a question's three rows stay in the caches
_METHODS = ("3cosadd", "3cosmul")


@overload
def analogy_score(
    embedding: WordEmbedding,
    questions: ArrayLike,
    *,
    return_report: Literal[False] = ...,
    **options: Unpack[AnalogyOptions],
) -> float: ...


@overload
def analogy_score(
    embedding: WordEmbedding,
    questions: ArrayLike,
    *,
    return_report: Literal[True],
    **options: Unpack[AnalogyOptions],
) -> Bunch: ...


def analogy_score(
    embedding: WordEmbedding,
    questions: ArrayLike,
    *,
    categories: ArrayLike | None = None,
    vocabulary: Iterable[str] | int | None = None,
    method: Literal["3cosadd", "3cosmul"] = "3cosadd",
    epsilon: float = 1e-3,
    ignore_case: bool = True,
    missing: Literal["omit", "wrong"] = "omit",
    return_report: bool = False,
) -> float | Bunch:
    """Return the share of analogy questions that an embedding answers.

    A question is a, b, c, d: "a is to b as c is to d". The answer is the word of the
    vocabulary, other than a, b and c, that fits best; only d is right.

    Parameters
    ----------
    embedding : fitted estimator or Pipeline, WordVectors, KeyedVectors or dict
        Where the words' vectors come from. An estimator gives one block or an array,
        and each word is a sequence of its own.
    questions : array-like of str, shape (n_questions, 4)
        As of `datasets.load_analogies`.
    categories : array-like of str, shape (n_questions,), default=None
        For the report: category of each question.
    vocabulary : sequence of str or int, default=None
        The words that can be answers, the most frequent first. The larger, the harder:
        figures compare only with the same one. An int takes so many of the embedding's
        own words, None all; an estimator has none of its own and needs a list.
        Questions with a word that is not in it count as missing.
    method : {"3cosadd", "3cosmul"}, default="3cosadd"
        What fits best, see Notes.
    epsilon : float, default=1e-3
        Of 3CosMul; above 0.
    ignore_case : bool, default=True
        Words that differ in case alone are one: the first in the vocabulary stands
        for a question's word, and none of them is an answer if one is in the question.
    missing : {"omit", "wrong"}, default="omit"
        What becomes of a question with a word that is not in the vocabulary or has no
        vector: left out, or counted as answered wrongly.
    return_report : bool, default=False
        Return a report and not only the score.

    Returns
    -------
    score : float
        Between 0 and 1. 0, with an ``UndefinedMetricWarning`` unless missing ones are
        wrong, if every question is missing.
    report : sklearn.utils.Bunch
        In place of the score if `return_report`, with the attributes

        score : float
            The same.
        n_questions, n_missing, n_correct : int
            All questions, those with a word that is not known, and those answered.
        n_candidates : int
            Words of the vocabulary with a vector.
        rows : list of dict
            One a category, with the keys category, n_questions, n_missing, n_correct
            and accuracy, which treats missing ones as the score does; a
            ``pandas.DataFrame(rows)`` is a table.
        answers : ndarray of object, shape (n_questions,)
            The word that fits best, None for missing questions.
        correct, missing : ndarray of bool, shape (n_questions,)
            Missing questions are not correct.

    Raises
    ------
    TypeError
        If the embedding is none of these, or a word no str.
    ValueError
        If there are no questions, an estimator comes without a vocabulary, the arrays
        do not fit together, or a vector is not finite.

    See Also
    --------
    make_analogy_scorer : The same, to search a grid with.
    word_similarity_score : Rated pairs in place of questions.
    load_analogies : Loads the questions of Google or Microsoft.

    Notes
    -----
    3CosAdd takes the largest cos(x, b) - cos(x, a) + cos(x, c). 3CosMul takes the
    largest cos(x, b) cos(x, c) / (cos(x, a) + epsilon), the cosines shifted to
    (cos + 1) / 2; it lets no single large cosine decide. The cosine with a vector of
    zeros is 0.

    A cosine is computed once for each of the questions' distinct words and
    each candidate, in float32; questions only add or multiply them.

    References
    ----------
    O. Levy, Y. Goldberg (2014). Linguistic regularities in sparse and explicit word
    representations. CoNLL.

    Examples
    --------
    >>> from sk_metaembed.metrics import analogy_score
    >>> vectors = {
    ...     "man": [1.0, 0.0, 0.2],
    ...     "woman": [0.0, 1.0, 0.2],
    ...     "king": [1.0, 0.0, 1.0],
    ...     "queen": [0.0, 1.0, 1.0],
    ...     "band": [0.4, 0.4, 0.1],
    ... }
    >>> questions = [("man", "king", "woman", "queen"), ("he", "his", "she", "her")]
    >>> analogy_score(vectors, questions)
    1.0
    >>> report = analogy_score(vectors, questions, return_report=True)
    >>> report.answers.tolist(), report.n_missing
    (['queen', None], 1)
    """
    caller = "analogy_score"
    check_options(method, epsilon, missing, caller)
    words, codes = check_words(questions, 4, f"{caller}: questions")
    categories = _check_categories(categories, len(codes), caller)
    candidates, unit = _candidates(embedding, vocabulary, caller)
    key = str.casefold if ignore_case else str
    rows, banned, offsets = _places(words, candidates, key)
    whole = (rows[codes] >= 0).all(axis=1)
    used, asked = np.unique(codes[whole, :3], return_inverse=True)
    banned, offsets = _banned_of(used, banned, offsets)
    abc = asked.reshape(-1, 3)
    shift = np.float32(epsilon) if method == "3cosmul" else None
    found = _best_candidates(unit, rows[used], abc, banned, offsets, shift)
    answers = np.full(len(codes), None, dtype=object)
    answers[whole] = [candidates[i] if i >= 0 else None for i in found]
    right = np.zeros(len(codes), dtype=bool)
    expected = [words[i] for i in codes[whole, 3]]
    right[whole] = [
        answer is not None and key(answer) == key(d)
        for answer, d in zip(answers[whole], expected, strict=True)
    ]
    report = _report(categories, right, ~whole, missing)
    report.update(answers=answers, n_candidates=len(candidates))
    if missing == "omit" and not whole.any():
        message = (
            f"{caller} is undefined and set to 0: each of the {len(codes)} questions "
            f"has a word that is not among the {len(candidates)} of the vocabulary "
            "that have a vector."
        )
        warnings.warn(message, UndefinedMetricWarning, stacklevel=2)
    return report if return_report else report.score


def check_options(method, epsilon, missing, caller):
    """Raise TypeError or ValueError if an option has a value that it cannot have."""
    check_option(method, _METHODS, "method", caller)
    check_option(missing, ("omit", "wrong"), "missing", caller)
    if not is_real(epsilon):
        raise TypeError(f"{caller}: epsilon must be a number above 0, got {epsilon!r}.")
    if not epsilon > 0:
        raise ValueError(f"{caller}: epsilon must be above 0, got {epsilon!r}.")


def _check_categories(categories, n_questions, caller):
    if categories is None:
        return np.full(n_questions, "all")
    categories = np.asarray(categories)
    if categories.shape != (n_questions,):
        raise ValueError(
            f"{caller} got {n_questions} questions and categories of shape "
            f"{categories.shape}; expected is one a question, ({n_questions},)."
        )
    return categories


def _candidates(embedding, vocabulary, caller):
    """Return the words that can be answers, each once, and their unit vectors."""
    words = _vocabulary(embedding, vocabulary, caller)
    values, known = lookup_vectors(embedding, words, caller=caller)
    if not known.all():
        words = [words[i] for i in np.flatnonzero(known)]
        values = values[known]
    check_finite(values, caller)
    return words, normalize_rows(values)


def _vocabulary(embedding, vocabulary, caller):
    is_number = is_integer(vocabulary)
    if vocabulary is not None and not is_number:
        return check_vocabulary(vocabulary, caller)
    if hasattr(embedding, "transform"):
        raise ValueError(
            f"{caller}: vocabulary={vocabulary!r} takes an embedding's own words, and "
            f"{type(embedding).__name__} has none. Pass a list of words, the same for "
            "all embeddings that are compared."
        )
    if is_number and vocabulary < 1:
        raise ValueError(
            f"{caller}: vocabulary must be words or a number above 0, got {vocabulary}."
        )
    own = getattr(embedding, "index_to_key", None)
    if own is None:
        own = embedding.words if hasattr(embedding, "vectors_for") else embedding
    return list(own)[:vocabulary]


def _places(words, candidates, key):
    """Find words among candidates.

    Returns
    -------
    rows : ndarray of int64, shape (n_words,)
        The first candidate of a word's key, -1 where there is none.
    banned, offsets : ndarray of int64
        All candidates of word w's key are ``banned[offsets[w]:offsets[w + 1]]``.
    """
    same = {key(word): [] for word in words}
    for i, candidate in enumerate(candidates):
        places = same.get(key(candidate))
        if places is not None:
            places.append(i)
    places = [same[key(word)] for word in words]
    rows = np.array([each[0] if each else -1 for each in places], dtype=np.int64)
    banned = np.array([i for each in places for i in each], dtype=np.int64)
    offsets = np.cumsum([0, *map(len, places)])
    return rows, banned, offsets


def _banned_of(used, banned, offsets):
    """Return `banned` and `offsets` of some of the words."""
    parts = [banned[offsets[w] : offsets[w + 1]] for w in used]
    lengths = np.cumsum([0, *map(len, parts)]).astype(np.int64)
    return np.concatenate([banned[:0], *parts]), lengths


def _best_candidates(unit, rows, abc, banned, offsets, epsilon):
    """Return the candidate that fits each question best, -1 where there is none.

    3CosMul with an epsilon, 3CosAdd with None.
    """
    from numba import config

    from ._analogy_numba import best_in_tile

    best = np.full(len(abc), -np.inf, dtype=np.float32)
    answer = np.full(len(abc), -1, dtype=np.int64)
    n_threads = max(1, min(config.NUMBA_NUM_THREADS, len(abc) // 256))
    spans = list(pairwise(np.linspace(0, len(abc), n_threads + 1, dtype=np.int64)))
    asked, inverse = unit[rows], None
    with ThreadPoolExecutor(n_threads) as pool:
        for start in range(0, len(unit) if len(abc) else 0, _TILE):
            cosines = asked @ unit[start : start + _TILE].T
            if epsilon is not None:
                cosines = (cosines + np.float32(1)) * np.float32(0.5)
                np.maximum(cosines, 0, out=cosines)  # rounding may pass -1
                inverse = 1 / (cosines + epsilon)
            same = (cosines, inverse, start, abc, banned, offsets)
            done = [pool.submit(best_in_tile, *same, *s, best, answer) for s in spans]
            for each in done:
                each.result()
    return answer


def _report(categories, correct, missing, treatment):
    """Count by category, and over all."""
    rows = [
        {"category": str(name), **_counts(correct[of], missing[of], treatment)}
        for name in dict.fromkeys(categories.tolist())
        for of in [categories == name]
    ]
    total = _counts(correct, missing, treatment)
    score = total.pop("accuracy")
    return Bunch(score=score, **total, rows=rows, correct=correct, missing=missing)


def _counts(correct, missing, treatment):
    n_correct, n_missing = int(correct.sum()), int(missing.sum())
    asked = len(correct) - (n_missing if treatment == "omit" else 0)
    return {
        "n_questions": len(correct),
        "n_missing": n_missing,
        "n_correct": n_correct,
        "accuracy": n_correct / asked if asked else 0.0,
    }
