"""Word similarity: words that people find similar should have similar vectors.

Cosines of pairs of rows, and how they agree with scores.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Literal, overload

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils import Bunch

from .._core._arrays import normalize_rows
from ..sequences._word_lookup import lookup_vectors
from ._validation import check_option, check_scores, check_words


def check_finite(values, caller):
    """Raise ValueError if vectors hold NaN or infinity."""
    bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if len(bad):
        raise ValueError(f"{caller}: {len(bad)} vectors hold NaN or infinity.")


def cosines(values, left, right):
    """Return the cosines of pairs of rows, 0 where one is zero.

    Parameters
    ----------
    values : ndarray of shape (n_rows, dim)
    left, right : ndarray of int, shape (n_pairs,)
        Rows of the pairs.

    Returns
    -------
    ndarray of float64, shape (n_pairs,)
    """
    unit = normalize_rows(values)
    return np.einsum("ij,ij->i", unit[left], unit[right], dtype=np.float64)


def correlation(found, scores, kind, caller):
    """Return the correlation of two arrays, 0 with a warning where it is undefined.

    Parameters
    ----------
    found, scores : ndarray of float64, shape (n_pairs,)
    kind : {"spearman", "pearson"}
    caller : str
        Begins the warning.

    Returns
    -------
    float
    """
    from scipy.stats import pearsonr, spearmanr

    reason = ""
    if len(found) < 2:
        reason = f"at least 2 pairs are needed, and {len(found)} can be scored"
    elif np.ptp(found) <= _noise(found):
        reason = "all cosines are equal"
    elif np.ptp(scores) == 0:
        reason = "all scores of the pairs that can be scored are equal"
    if reason:
        message = f"{caller} is undefined and set to 0: {reason}."
        # Of the caller of the metric, which calls its report, which calls this.
        warnings.warn(message, UndefinedMetricWarning, stacklevel=4)
        return 0.0
    measure = spearmanr if kind == "spearman" else pearsonr
    return float(measure(found, scores).statistic)


def _noise(found):
    """Return what rounding alone can set cosines apart."""
    return 4 * np.finfo(np.float32).eps * np.abs(found).max(initial=0.0)


if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .._core._typing import WordEmbedding

MISSING = ("omit", "zero", "mean")


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


def word_similarity_score(
    embedding: WordEmbedding,
    pairs: ArrayLike,
    scores: ArrayLike,
    *,
    missing: Literal["omit", "zero", "mean"] = "omit",
    case_fallback: bool = True,
    return_report: bool = False,
) -> float | Bunch:
    """Correlate the cosines of pairs of words with the scores people gave them.

    Spearman's rank correlation: only the order of the pairs counts. Compare embeddings
    on the same pairs: one that knows few words is scored on few pairs, so look at
    the number missing, or count them with ``missing="zero"``.

    Parameters
    ----------
    embedding : fitted estimator or Pipeline, WordVectors, KeyedVectors or dict
        Where the words' vectors come from. An estimator gives one block or an array,
        and each word is a sequence of its own.
    pairs : array-like of str, shape (n_pairs, 2)
        As of `datasets.load_word_similarity`.
    scores : array-like of float, shape (n_pairs,)
        How similar each pair is to people, on any scale.
    missing : {"omit", "zero", "mean"}, default="omit"
        What becomes of a pair with a word that the embedding does not know: it is
        left out, has the cosine 0, or the mean cosine of the other pairs.
    case_fallback : bool, default=True
        Look up a word that is not known once more in lower case.
    return_report : bool, default=False
        Return a report and not only the score.

    Returns
    -------
    score : float
        Between -1 and 1. 0, with an ``UndefinedMetricWarning``, if fewer than two pairs
        can be scored, or all cosines or all scores are equal.
    report : sklearn.utils.Bunch
        In place of the score if `return_report`, with the attributes

        score : float
            The same.
        n_pairs, n_missing : int
            All pairs, and those with a word that is not known.
        missing_words : list of str
            Words that are not known, as written, in order of appearance.
        similarities : ndarray of float64, shape (n_pairs,)
            The cosines; for missing pairs 0 or, with "mean", the mean.
        known : ndarray of bool, shape (n_pairs,)
            False for missing pairs.

    Raises
    ------
    TypeError
        If the embedding is none of these, or a word no str.
    ValueError
        If there are no pairs, pairs and scores do not fit together, or a vector is
        not finite.

    See Also
    --------
    make_word_similarity_scorer : The same, to search a grid with.

    Notes
    -----
    The cosine with a vector of zeros is 0. Pairs that occur twice count twice.

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
    caller = "word_similarity_score"
    check_option(missing, MISSING, "missing", caller)
    words, codes = check_words(pairs, 2, f"{caller}: pairs")
    scores = check_scores(scores, len(codes), caller)
    values, known = vectors_of_words(embedding, words, case_fallback, caller)
    report = similarity_report(values, known, codes, scores, missing, caller)
    report.missing_words = [words[i] for i in np.flatnonzero(~known)]
    return report if return_report else report.score


def vectors_of_words(embedding, words, case_fallback, caller):
    """Return distinct words' vectors and which are known, in lower case at need."""
    values, known = lookup_vectors(embedding, words, caller=caller)
    known = np.array(known)  # a store's or block's own may be read-only
    others = [i for i in np.flatnonzero(~known) if words[i].lower() != words[i]]
    if case_fallback and others:
        lower = [words[i].lower() for i in others]
        found, is_known = lookup_vectors(embedding, lower, caller=caller)
        rows = np.array(others)[is_known]
        values = np.array(values)
        values[rows], known[rows] = found[is_known], True
    check_finite(values, caller)
    return values, known


def similarity_report(values, known, codes, scores, missing, caller):
    """Score pairs, given as rows of vectors, all at once."""
    left, right = codes.T
    whole = known[left] & known[right]
    found = np.zeros(len(codes))
    found[whole] = cosines(values, left[whole], right[whole])
    if missing == "mean" and whole.any():
        found[~whole] = found[whole].mean()
    scored = whole if missing == "omit" else slice(None)
    return Bunch(
        score=correlation(found[scored], scores[scored], "spearman", caller),
        n_pairs=len(codes),
        n_missing=int((~whole).sum()),
        similarities=found,
        known=whole,
    )
