"""Sentence similarity: what people find similar should have similar vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, overload

import numpy as np
from sklearn.utils import Bunch

from ..sequences import EmbeddedSequences
from ._validation import check_option, check_scores, check_text_pairs
from ._word_similarity import check_finite, correlation, cosines

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .._core._typing import SupportsTransform

KINDS = ("pearson", "spearman")


@overload
def sentence_similarity_score(
    estimator: SupportsTransform,
    pairs: ArrayLike,
    scores: ArrayLike,
    *,
    correlation: Literal["pearson", "spearman"] = ...,
    return_report: Literal[False] = ...,
) -> float: ...


@overload
def sentence_similarity_score(
    estimator: SupportsTransform,
    pairs: ArrayLike,
    scores: ArrayLike,
    *,
    correlation: Literal["pearson", "spearman"] = ...,
    return_report: Literal[True],
) -> Bunch: ...


def sentence_similarity_score(
    estimator: SupportsTransform,
    pairs: ArrayLike,
    scores: ArrayLike,
    *,
    correlation: Literal["pearson", "spearman"] = "pearson",
    return_report: bool = False,
) -> float | Bunch:
    """Correlate the cosines of pairs of sentences with the scores people gave them.

    Nothing is trained on the pairs, so that it tells what the vectors themselves hold.
    It measures similarity alone: vectors that classify better may score lower.

    Parameters
    ----------
    estimator : fitted estimator or Pipeline
        Turns texts into one vector each: an array or sparse matrix, such as behind
        `Pooling` or of a ``TfidfVectorizer``, or EmbeddedSequences with one block of
        level "sequence". It is called once, with both sides as one corpus.
    pairs : array-like of shape (n_pairs, 2)
        Texts, as of `datasets.fetch_sts_benchmark`, or lists of tokens.
    scores : array-like of float, shape (n_pairs,)
        How similar each pair is to people, on any scale.
    correlation : {"pearson", "spearman"}, default="pearson"
        Pearson's is the usual one for the STS benchmark and SICK.
    return_report : bool, default=False
        Return a report and not only the score.

    Returns
    -------
    score : float
        Between -1 and 1. 0, with an ``UndefinedMetricWarning``, if there are fewer than
        two pairs, or all cosines or all scores are equal.
    report : sklearn.utils.Bunch
        In place of the score if `return_report`, with the attributes

        score : float
            The same.
        n_pairs, n_missing : int
            All pairs, and those with a vector of zeros, such as of a sentence
            without a known word.
        similarities : ndarray of float64, shape (n_pairs,)
            The cosines, 0 for missing pairs. All of them are scored.

    Raises
    ------
    TypeError
        If the estimator cannot transform, or gives vectors of tokens, or a text is
        missing.
    ValueError
        If there are no pairs, pairs and scores do not fit together, or a vector is
        not finite.

    See Also
    --------
    make_sentence_similarity_scorer : The same, to search a grid with.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sk_metaembed.metrics import sentence_similarity_score
    >>> pairs = [("a red car", "the red car"), ("one tea", "one cup"), ("yes", "no")]
    >>> counts = CountVectorizer().fit([text for pair in pairs for text in pair])
    >>> round(sentence_similarity_score(counts, pairs, [5, 2, 0]), 2)
    0.97
    """
    caller = "sentence_similarity_score"
    check_option(correlation, KINDS, "correlation", caller)
    left, right = check_text_pairs(pairs, f"{caller}: pairs")
    scores = check_scores(scores, len(left), caller)
    values = sentence_vectors(estimator, left + right, caller)
    report = pairs_report(values, scores, correlation, caller)
    return report if return_report else report.score


def sentence_vectors(estimator, texts, caller):
    """Return one finite vector a text, as an array or sparse matrix."""
    if not hasattr(estimator, "transform"):
        raise TypeError(
            f"{caller} takes a fitted estimator with transform, got "
            f"{type(estimator).__name__}. Of a Pipeline that ends in a predictor, pass "
            "the steps before it: pipeline[:-1]. Word vectors become one in "
            "make_pipeline(PretrainedEmbedding(vectors), Pooling())."
        )
    values = estimator.transform(texts)
    if isinstance(values, EmbeddedSequences):
        values = _only_block(values, estimator, caller)
    if hasattr(values, "tocsr"):
        values = values.tocsr()
        check_finite(values.data[:, None], caller)
        return values
    values = np.asarray(values)
    if values.ndim != 2 or len(values) != len(texts):
        raise ValueError(
            f"{caller}: {type(estimator).__name__} gave shape {values.shape} for "
            f"{len(texts)} texts; expected is one vector a text."
        )
    check_finite(values, caller)
    return values


def _only_block(embedded, estimator, caller):
    if len(embedded.blocks) == 1 and embedded.level == "sequence":
        return embedded.blocks[0].values
    blocks = [f"{block.name} ({block.level})" for block in embedded.blocks]
    raise TypeError(
        f"{caller}: {type(estimator).__name__} gives the blocks {', '.join(blocks)}; "
        "expected is one vector a text. Put a meta-embedder behind several blocks, and "
        "Pooling behind vectors of words."
    )


def pairs_report(values, scores, kind, caller):
    """Score pairs whose left sides' vectors come first, then the right sides'."""
    n_pairs = len(scores)
    rows = np.arange(n_pairs)
    if hasattr(values, "tocsr"):
        found, empty = _sparse_cosines(values, n_pairs)
    else:
        found = cosines(values, rows, rows + n_pairs)
        empty = ~values.any(axis=1)
    return Bunch(
        score=correlation(found, scores, kind, caller),
        n_pairs=n_pairs,
        n_missing=int((empty[:n_pairs] | empty[n_pairs:]).sum()),
        similarities=found,
    )


def _sparse_cosines(values, n_pairs):
    from sklearn.preprocessing import normalize

    unit = normalize(values.astype(np.float64))
    found = unit[:n_pairs].multiply(unit[n_pairs:]).sum(axis=1)
    return np.asarray(found).ravel(), np.diff(unit.indptr) == 0
