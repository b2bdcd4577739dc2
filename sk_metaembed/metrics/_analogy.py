"""Accuracy on analogy questions, such as: man is to king as woman is to queen."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, overload

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils import Bunch

from .._core._arrays import normalize_rows
from .._core._checked_parameters import is_integer, is_real
from .._core._named_errors import names_errors
from ..sequences._word_lookup import lookup_vectors
from ._validation import check_option, check_vocabulary, check_words
from ._word_similarity import check_finite

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypedDict, Unpack

    from numpy.typing import ArrayLike

    from .._core._typing import WordEmbedding

    class AnalogyOptions(TypedDict, total=False):
        """Options of `analogy_score`, except the one that selects the result."""

        categories: ArrayLike | None
        vocabulary: Iterable[str] | int | None
        method: Literal["3cosadd", "3cosmul"]
        epsilon: float
        ignore_case: bool
        missing: Literal["omit", "wrong"]


_TILE = 1024  # candidates at a time: three rows of cosines stay in the CPU cache
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


@names_errors
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
    """Return the accuracy of an embedding on analogy questions.

    A question has words a, b, c and d: "a is to b as c is to d". The answer is the word
    of the vocabulary, other than a, b and c, with the best objective; only d is
    correct.

    Parameters
    ----------
    embedding : fitted estimator or Pipeline, WordVectors, KeyedVectors or dict
        Source of the word vectors. An estimator must return one block or an array;
        each word is passed as one sequence.
    questions : array-like of str, shape (n_questions, 4)
        Questions, for example of `datasets.load_analogies`.
    categories : array-like of str, shape (n_questions,), default=None
        Category of each question, for the report.
    vocabulary : sequence of str or int, default=None
        Candidate answers, most frequent first. A larger vocabulary is harder: compare
        only scores with the same one. An int is a number of words of the embedding,
        from the first; None means all of them. An estimator has no vocabulary and
        requires a list. Questions with a word that is not in the vocabulary are
        missing.
    method : {"3cosadd", "3cosmul"}, default="3cosadd"
        Objective; see Notes.
    epsilon : float, default=1e-3
        Positive constant of 3CosMul.
    ignore_case : bool, default=True
        Whether to ignore case: the first matching word of the vocabulary represents a
        word of the question, and all matching words are excluded as answers.
    missing : {"omit", "wrong"}, default="omit"
        How to treat questions with a word that is not in the vocabulary or has no
        vector: drop them or count them as wrong.
    return_report : bool, default=False
        Whether to return a report instead of the score.

    Returns
    -------
    score : float
        Between 0 and 1; 0 if all questions are missing, with an
        ``UndefinedMetricWarning`` if ``missing="omit"``.
    report : sklearn.utils.Bunch
        Returned instead of the score if `return_report`, with the attributes

        score : float
            The score.
        n_questions, n_missing, n_correct : int
            Number of questions, of missing ones and of correct answers.
        n_candidates : int
            Number of words of the vocabulary with a vector.
        rows : list of dict
            One row per category, with the keys category, n_questions, n_missing,
            n_correct and accuracy, which treats missing questions like the score;
            ``pandas.DataFrame(rows)`` makes a table.
        answers : ndarray of object, shape (n_questions,)
            The answer to each question, None for missing questions.
        correct, missing : ndarray of bool, shape (n_questions,)
            Whether a question is answered correctly, and whether it is missing.

    Raises
    ------
    TypeError
        If the embedding has an unsupported type, or a word is not a str.
    ValueError
        If there are no questions, an estimator is passed without a vocabulary, the
        lengths differ, or a vector is not finite.

    See Also
    --------
    make_unsupervised_scorer : Makes a scorer for a grid search.
    word_similarity_score : Evaluates word pairs with human ratings.
    load_analogies : Loads the questions of Google or Microsoft.

    Notes
    -----
    3CosAdd maximizes cos(x, b) - cos(x, a) + cos(x, c). 3CosMul maximizes cos(x, b)
    cos(x, c) / (cos(x, a) + epsilon), with cosines shifted to (cos + 1) / 2, so that a
    single large cosine does not dominate. The cosine with a zero vector is 0.

    Cosines are computed in float32, once per distinct word of the questions and
    candidate; questions only add or multiply them.

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
    check_options(method, epsilon, missing)
    words, codes = check_words(questions, 4, "questions")
    categories = _check_categories(categories, len(codes))
    candidates, unit = vocabulary_vectors(embedding, vocabulary)
    key = str.casefold if ignore_case else str
    rows, excluded, offsets = _match(words, candidates, key)
    complete = (rows[codes] >= 0).all(axis=1)
    used, inverse = np.unique(codes[complete, :3], return_inverse=True)
    excluded, offsets = _select(used, excluded, offsets)
    abc = inverse.reshape(-1, 3)
    shift = np.float32(epsilon) if method == "3cosmul" else None
    best = _best_candidates(unit, rows[used], abc, excluded, offsets, shift)
    answers = np.full(len(codes), None, dtype=object)
    answers[complete] = [candidates[i] if i >= 0 else None for i in best]
    correct = np.zeros(len(codes), dtype=bool)
    expected = [words[i] for i in codes[complete, 3]]
    correct[complete] = [
        answer is not None and key(answer) == key(d)
        for answer, d in zip(answers[complete], expected, strict=True)
    ]
    report = _report(categories, correct, ~complete, missing)
    report.update(answers=answers, n_candidates=len(candidates))
    if missing == "omit" and not complete.any():
        message = (
            f"The accuracy is undefined and set to 0: each of the {len(codes)} "
            "questions contains a word that is not among the "
            f"{len(candidates)} words of the vocabulary with a vector."
        )
        warnings.warn(message, UndefinedMetricWarning, stacklevel=3)
    return report if return_report else report.score


def check_options(method, epsilon, missing):
    """Raise TypeError or ValueError for an invalid value of an option."""
    check_option(method, _METHODS, "method")
    check_option(missing, ("omit", "wrong"), "missing")
    if not is_real(epsilon):
        raise TypeError(f"epsilon must be a number above 0; got {epsilon!r}.")
    if not epsilon > 0:
        raise ValueError(f"epsilon must be above 0; got {epsilon!r}.")


def check_questions(
    questions,
    *,
    vocabulary=None,
    method="3cosadd",
    epsilon=1e-3,
    ignore_case=True,
    missing="omit",
):
    """Check the arguments of a scorer, for which the vocabulary is a list of words."""
    check_options(method, epsilon, missing)
    check_words(questions, 4, "questions")
    check_vocabulary(vocabulary)


def _check_categories(categories, n_questions):
    if categories is None:
        return np.full(n_questions, "all")
    categories = np.asarray(categories)
    if categories.shape != (n_questions,):
        raise ValueError(
            f"got {n_questions} questions and categories of shape "
            f"{categories.shape}; expected one per question, ({n_questions},)."
        )
    return categories


def vocabulary_vectors(embedding, vocabulary):
    """Return the words of a vocabulary with a vector, and unit vectors, (n, dim)."""
    words = _vocabulary(embedding, vocabulary)
    values, known = lookup_vectors(embedding, words)
    if not known.all():
        words = [words[i] for i in np.flatnonzero(known)]
        values = values[known]
    check_finite(values)
    return words, normalize_rows(values)


def _vocabulary(embedding, vocabulary):
    is_number = is_integer(vocabulary)
    if vocabulary is not None and not is_number:
        return check_vocabulary(vocabulary)
    if hasattr(embedding, "transform"):
        raise ValueError(
            f"vocabulary={vocabulary!r} uses the words of the embedding, and "
            f"{type(embedding).__name__} has none. Pass a list of words, the same for "
            "all embeddings to compare."
        )
    if is_number and vocabulary < 1:
        raise ValueError(
            f"vocabulary must be words or a number above 0; got {vocabulary}."
        )
    own = getattr(embedding, "index_to_key", None)
    if own is None:
        own = embedding.words if hasattr(embedding, "vectors_for") else embedding
    return list(own)[:vocabulary]


def _match(words, candidates, key):
    """Match words to candidates with an equal key.

    Returns
    -------
    rows : ndarray of int64, shape (n_words,)
        The first candidate of each word, -1 if there is none.
    excluded, offsets : ndarray of int64
        All candidates of word w are ``excluded[offsets[w]:offsets[w + 1]]``.
    """
    by_key = {key(word): [] for word in words}
    for i, candidate in enumerate(candidates):
        matches = by_key.get(key(candidate))
        if matches is not None:
            matches.append(i)
    matches = [by_key[key(word)] for word in words]
    rows = np.array([each[0] if each else -1 for each in matches], dtype=np.int64)
    excluded = np.array([i for each in matches for i in each], dtype=np.int64)
    offsets = np.cumsum([0, *map(len, matches)])
    return rows, excluded, offsets


def _select(used, excluded, offsets):
    """Return `excluded` and `offsets` of the words in use."""
    parts = [excluded[offsets[w] : offsets[w + 1]] for w in used]
    lengths = np.cumsum([0, *map(len, parts)]).astype(np.int64)
    return np.concatenate([excluded[:0], *parts]), lengths


def _best_candidates(unit, rows, abc, excluded, offsets, epsilon):
    """Return the best candidate of each question, (n_questions,), -1 if there is none.

    The objective is 3CosMul with an epsilon, 3CosAdd with None.
    """
    from numba import config

    from ._analogy_numba import best_in_tile

    best = np.full(len(abc), -np.inf, dtype=np.float32)
    answer = np.full(len(abc), -1, dtype=np.int64)
    n_threads = max(1, min(config.NUMBA_NUM_THREADS, len(abc) // 256))
    spans = list(pairwise(np.linspace(0, len(abc), n_threads + 1, dtype=np.int64)))
    queries, inverse = unit[rows], None
    with ThreadPoolExecutor(n_threads) as pool:
        for start in range(0, len(unit) if len(abc) else 0, _TILE):
            cosines = queries @ unit[start : start + _TILE].T
            if epsilon is not None:
                cosines = (cosines + np.float32(1)) * np.float32(0.5)
                np.maximum(cosines, 0, out=cosines)  # rounding can go below -1
                inverse = 1 / (cosines + epsilon)
            args = (cosines, inverse, start, abc, excluded, offsets)
            tasks = [pool.submit(best_in_tile, *args, *s, best, answer) for s in spans]
            for task in tasks:
                task.result()
    return answer


def _report(categories, correct, missing, treatment):
    """Return the report with counts per category and in total."""
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
    n_scored = len(correct) - (n_missing if treatment == "omit" else 0)
    return {
        "n_questions": len(correct),
        "n_missing": n_missing,
        "n_correct": n_correct,
        "accuracy": n_correct / n_scored if n_scored else 0.0,
    }
