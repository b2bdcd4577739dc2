"""Correlation of cosines of word vectors with human similarity ratings."""

from __future__ import annotations

import warnings
from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils import Bunch

from .._core._arrays import normalize_rows
from .._core._errors import check_choice, prefix_errors
from .._core._typing import WordEmbedding
from .._pipelines import lookup_vectors
from ._validation import check_scores, check_word_pairs

_MISSING = ("omit", "zero", "mean")


@overload
def word_similarity_score(
    embedding: WordEmbedding,
    pairs: ArrayLike,
    scores: ArrayLike,
    *,
    missing: Literal["omit", "zero", "mean"] = ...,
    case_fallback: bool = ...,
    return_report: Literal[False] = ...,
) -> float: ...


@overload
def word_similarity_score(
    embedding: WordEmbedding,
    pairs: ArrayLike,
    scores: ArrayLike,
    *,
    missing: Literal["omit", "zero", "mean"] = ...,
    case_fallback: bool = ...,
    return_report: Literal[True],
) -> Bunch: ...


@prefix_errors
def word_similarity_score(
    embedding: WordEmbedding,
    pairs: ArrayLike,
    scores: ArrayLike,
    *,
    missing: Literal["omit", "zero", "mean"] = "omit",
    case_fallback: bool = True,
    return_report: bool = False,
) -> float | Bunch:
    """Return the Spearman correlation of cosines of word pairs and human ratings.

    The score depends only on the order of the pairs. Compare embeddings on the same
    pairs: an embedding that knows few words is scored on few pairs, so check the number
    of missing pairs, or include them with ``missing="zero"``.

    Parameters
    ----------
    embedding : fitted estimator or Pipeline, WordVectors, KeyedVectors or dict
        Source of the word vectors. An estimator must return one block or an array;
        each word is passed as one sequence.
    pairs : array-like of str, shape (n_pairs, 2)
        Word pairs, for example of `datasets.load_word_similarity`.
    scores : array-like of float, shape (n_pairs,)
        Human similarity rating of each pair, on any scale.
    missing : {"omit", "zero", "mean"}, default="omit"
        How to treat pairs with an unknown word: drop them, or set their cosine to 0 or
        to the mean cosine of the other pairs.
    case_fallback : bool, default=True
        Whether to look up unknown words again in lower case.
    return_report : bool, default=False
        Whether to return a report instead of the score.

    Returns
    -------
    score : float
        Between -1 and 1; 0, with an ``UndefinedMetricWarning``, if fewer than two pairs
        can be scored, or all cosines or all scores are equal.
    report : sklearn.utils.Bunch
        Returned instead of the score if `return_report`, with the attributes

        score : float
            The score.
        n_pairs, n_missing : int
            Number of pairs, and of pairs with an unknown word.
        missing_words : list of str
            Unknown words, in order of appearance.
        similarities : ndarray of float64, shape (n_pairs,)
            The cosines; for missing pairs 0 or, with "mean", the mean.
        known : ndarray of bool, shape (n_pairs,)
            False for missing pairs.

    Raises
    ------
    TypeError
        If the embedding has an unsupported type, or a word is not a str.
    ValueError
        If there are no pairs, the lengths of pairs and scores differ, or a vector is
        not finite.

    See Also
    --------
    sentence_similarity_score : Evaluates pairs of texts.

    Notes
    -----
    The cosine with a zero vector is 0. Repeated pairs are counted repeatedly.

    Examples
    --------
    >>> from sk_metaembed.metrics import word_similarity_score
    >>> vectors = {"cat": [1.0, 0.2], "dog": [0.9, 0.3], "car": [0.0, 1.0]}
    >>> pairs = [("cat", "dog"), ("dog", "car"), ("cat", "car"), ("cat", "gnu")]
    >>> round(word_similarity_score(vectors, pairs, [9, 2, 1, 7]), 2)
    1.0
    >>> report = word_similarity_score(
    ...     vectors, pairs, [9, 2, 1, 7], missing="zero", return_report=True
    ... )
    >>> round(report.score, 2), report.n_missing, report.missing_words
    (0.4, 1, ['gnu'])
    """
    check_choice(missing, _MISSING, "missing")
    words, codes = check_word_pairs(pairs)
    ratings = check_scores(scores, len(codes))
    values, known = _vectors_of_words(embedding, words, case_fallback)
    left, right = codes.T
    complete = known[left] & known[right]
    similarities = np.zeros(len(codes))
    similarities[complete] = cosines(values, left[complete], right[complete])
    if missing == "mean" and complete.any():
        similarities[~complete] = similarities[complete].mean()
    scored = complete if missing == "omit" else slice(None)
    report = Bunch(
        score=correlate(similarities[scored], ratings[scored], "spearman"),
        n_pairs=len(codes),
        n_missing=int((~complete).sum()),
        missing_words=[words[i] for i in np.flatnonzero(~known)],
        similarities=similarities,
        known=complete,
    )
    return report if return_report else report.score


def _vectors_of_words(embedding, words, case_fallback):
    """Return vectors (n_words, dim) and which words are known, with a case fallback."""
    values, known = lookup_vectors(embedding, words)
    known = np.array(known)  # stores and blocks have read-only arrays
    retry = [i for i in np.flatnonzero(~known) if words[i].lower() != words[i]]
    if case_fallback and retry:
        lower = [words[i].lower() for i in retry]
        lower_values, lower_known = lookup_vectors(embedding, lower)
        rows = np.array(retry)[lower_known]
        values = np.array(values)
        values[rows], known[rows] = lower_values[lower_known], True
    return values, known


def cosines(values, left, right):
    """Return float64 cosines of pairs of rows, (n_pairs,); 0 for zero rows."""
    unit = normalize_rows(values)
    return np.einsum("ij,ij->i", unit[left], unit[right], dtype=np.float64)


def correlate(similarities, scores, kind):
    """Return the correlation of two (n_pairs,) arrays; 0 and a warning if undefined."""
    from scipy.stats import pearsonr, spearmanr

    # Cosines that differ by less are equal up to rounding.
    noise = 4 * np.finfo(np.float32).eps * np.abs(similarities).max(initial=0.0)
    reason = ""
    if len(similarities) < 2:
        reason = f"at least 2 pairs are required, and {len(similarities)} can be scored"
    elif np.ptp(similarities) <= noise:
        reason = "all cosines are equal"
    elif np.ptp(scores) == 0:
        reason = "all scores of the pairs that can be scored are equal"
    if reason:
        message = f"The correlation is undefined and set to 0: {reason}."
        # Report the line that calls the decorated metric.
        warnings.warn(message, UndefinedMetricWarning, stacklevel=4)
        return 0.0
    if kind == "spearman":
        return float(spearmanr(_merge_ties(similarities, noise), scores).statistic)
    return float(pearsonr(similarities, scores).statistic)


def _merge_ties(values, noise):
    """Return ranks (n,) of values; values within `noise` of the smallest are tied.

    A chain of close values can span much more than the noise, and is divided.

    >>> _merge_ties(np.array([0.5, 0.1, 0.50001, 0.50011]), 1e-4)
    array([1, 0, 1, 2])
    """
    order = np.argsort(values)
    ascending = values[order]
    ranks = np.empty(len(values), dtype=np.int64)
    start = rank = 0
    while start < len(values):
        stop = np.searchsorted(ascending, ascending[start] + noise, side="right")
        ranks[order[start:stop]] = rank
        start, rank = stop, rank + 1
    return ranks
