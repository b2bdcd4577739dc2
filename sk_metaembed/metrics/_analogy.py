"""Accuracy on analogy questions, such as: man is to king as woman is to queen."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Literal, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils import Bunch

from .._core._arrays import normalize_rows
from .._core._errors import prefix_errors
from .._core._estimators import is_integer
from .._core._typing import WordEmbedding
from .._pipelines import lookup_vectors
from ..sequences._api import canonical_words
from ._validation import check_option, check_vocabulary, check_words


class AnalogyOptions(TypedDict, total=False):
    """Options of `analogy_score`, except the one that selects the result."""

    vocabulary: Iterable[str] | int | None
    ignore_case: bool
    missing: Literal["omit", "wrong"]


_ENTRIES_AT_ONCE = 1 << 22  # of the objective
_MISSING = ("omit", "wrong")


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


@prefix_errors
def analogy_score(
    embedding: WordEmbedding,
    questions: ArrayLike,
    *,
    vocabulary: Iterable[str] | int | None = None,
    ignore_case: bool = True,
    missing: Literal["omit", "wrong"] = "omit",
    return_report: bool = False,
) -> float | Bunch:
    """Return the accuracy of an embedding on analogy questions.

    A question has words a, b, c and d: "a is to b as c is to d". The answer is the word
    of the vocabulary, other than a, b and c, with the largest cos(x, b) - cos(x, a) +
    cos(x, c) (3CosAdd); only d is correct.

    Parameters
    ----------
    embedding : fitted estimator or Pipeline, WordVectors, KeyedVectors or dict
        Source of the word vectors. An estimator must return one block or an array;
        each word is passed as one sequence.
    questions : array-like of str, shape (n_questions, 4)
        Questions, for example of `datasets.load_analogies`.
    vocabulary : sequence of str or int, default=None
        Candidate answers, most frequent first. A larger vocabulary is harder: compare
        only scores with the same one. An int is a number of words of the embedding,
        from the first; None means all of them. An estimator has no vocabulary and
        requires a list. Questions with a word that is not in the vocabulary are
        missing.
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
        answers : ndarray of object, shape (n_questions,)
            The answer to each question, None for missing questions.
        correct, missing : ndarray of bool, shape (n_questions,)
            Whether a question is answered correctly, and whether it is missing; to be
            grouped by the categories of `datasets.load_analogies`, for example.

    Raises
    ------
    TypeError
        If the embedding has an unsupported type, or a word is not a str.
    ValueError
        If there are no questions, an estimator is passed without a vocabulary, the
        lengths differ, or a vector is not finite.

    See Also
    --------
    word_similarity_score : Evaluates word pairs with human ratings.
    load_analogies : Loads the questions of Google.

    Notes
    -----
    The cosine with a zero vector is 0. Cosines are computed in float32, once per pair
    of a distinct word of the questions and a candidate; each question adds three.

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
    check_option(missing, _MISSING, "missing")
    words, codes = check_words(questions, 4, "questions")
    candidates, unit = _vocabulary_vectors(embedding, vocabulary)
    key = str.casefold if ignore_case else str
    matches = _match(canonical_words(words), canonical_words(candidates), key)
    complete = np.array([all(matches[word] for word in row) for row in codes])
    best = _best_candidates(unit, matches, codes[complete, :3])
    answers = np.full(len(codes), None, dtype=object)
    answers[complete] = [candidates[i] if i >= 0 else None for i in best]
    correct = np.zeros(len(codes), dtype=bool)
    correct[complete] = [
        i in matches[d] for i, d in zip(best, codes[complete, 3], strict=True)
    ]
    n_correct, n_complete = int(correct.sum()), int(complete.sum())
    n_scored = n_complete if missing == "omit" else len(codes)
    report = Bunch(
        score=n_correct / max(n_scored, 1),
        n_questions=len(codes),
        n_missing=len(codes) - n_complete,
        n_correct=n_correct,
        n_candidates=len(candidates),
        answers=answers,
        correct=correct,
        missing=~complete,
    )
    if missing == "omit" and not complete.any():
        message = (
            f"The accuracy is undefined and set to 0: each of the {len(codes)} "
            "questions contains a word that is not among the "
            f"{len(candidates)} words of the vocabulary with a vector."
        )
        warnings.warn(message, UndefinedMetricWarning, stacklevel=3)
    return report if return_report else report.score


def _vocabulary_vectors(embedding, vocabulary):
    """Return the words of a vocabulary with vectors, and unit vectors (n, dim)."""
    words = _vocabulary(embedding, vocabulary)
    values, known = lookup_vectors(embedding, words)
    if not known.all():
        words = [words[i] for i in np.flatnonzero(known)]
        values = values[known]
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
    """Return, for each word, the list of candidates that have its key."""
    by_key = {key(word): [] for word in words}
    for i, candidate in enumerate(candidates):
        matches = by_key.get(key(candidate))
        if matches is not None:
            matches.append(i)
    return [by_key[key(word)] for word in words]


def _best_candidates(unit, matches, abc):
    """Return the best candidate of each question, (n_questions,), -1 if there is none.

    `matches` are the candidates of each word, of which the first represents it.
    """
    answers = np.full(len(abc), -1)
    if not len(abc):
        return answers
    used, abc = np.unique(abc, return_inverse=True)
    a, b, c = abc.reshape(-1, 3).T
    queries = unit[[matches[word][0] for word in used]]
    excluded = [
        (question, candidate)
        for question, row in enumerate(abc.reshape(-1, 3).tolist())
        for word in row
        for candidate in matches[used[word]]
    ]
    questions, excluded = np.array(excluded).T
    best = np.full(len(answers), -np.inf, dtype=np.float32)
    size = max(1, _ENTRIES_AT_ONCE // len(answers))
    for start in range(0, len(unit), size):
        cosines = queries @ unit[start : start + size].T
        objective = cosines[b] - cosines[a]
        objective += cosines[c]
        inside = (excluded >= start) & (excluded < start + size)
        objective[questions[inside], excluded[inside] - start] = -np.inf
        own = objective.argmax(axis=1)
        values = objective[np.arange(len(own)), own]
        is_better = values > best
        answers[is_better], best[is_better] = own[is_better] + start, values[is_better]
    return answers
