"""Correlation of cosines of sentence vectors with human similarity ratings."""

from __future__ import annotations

from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Bunch

from .._core._arrays import infinite_rows
from .._core._errors import check_choice, prefix_errors
from .._core._typing import SupportsTransform
from ..sequences import EmbeddedSequences
from ._validation import check_scores, check_text_pairs
from ._word_similarity import correlate, cosines


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


@prefix_errors
def sentence_similarity_score(
    estimator: SupportsTransform,
    pairs: ArrayLike,
    scores: ArrayLike,
    *,
    correlation: Literal["pearson", "spearman"] = "pearson",
    return_report: bool = False,
) -> float | Bunch:
    """Return the correlation of cosines of sentence pairs and human ratings.

    Nothing is trained on the pairs. The score measures similarity only: vectors that
    are better for classification may have a lower score.

    Parameters
    ----------
    estimator : fitted estimator or Pipeline
        Returns one vector per text: an array or sparse matrix, for example of `Pooling`
        or a ``TfidfVectorizer``, or EmbeddedSequences with one block of level
        "sequence". It is called once, with all texts.
    pairs : array-like of shape (n_pairs, 2)
        Texts, for example of `datasets.fetch_sentence_pairs`, or lists of tokens.
    scores : array-like of float, shape (n_pairs,)
        Human similarity rating of each pair, on any scale.
    correlation : {"pearson", "spearman"}, default="pearson"
        Type of correlation; Pearson's is usual for the STS benchmark and SICK.
    return_report : bool, default=False
        Whether to return a report instead of the score.

    Returns
    -------
    score : float
        Between -1 and 1; 0, with an ``UndefinedMetricWarning``, if there are fewer than
        two pairs, or all cosines or all scores are equal.
    report : sklearn.utils.Bunch
        Returned instead of the score if `return_report`, with the attributes

        score : float
            The score.
        n_pairs, n_missing : int
            Number of pairs, and of pairs with a zero vector, for example of a sentence
            without known words.
        similarities : ndarray of float64, shape (n_pairs,)
            The cosines, 0 for missing pairs, which are scored too.

    Raises
    ------
    TypeError
        If the estimator has no transform method or returns vectors of tokens, or a
        text is missing.
    ValueError
        If there are no pairs, the lengths of pairs and scores differ, or a vector is
        not finite.

    See Also
    --------
    word_similarity_score : Evaluates word pairs.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sk_metaembed.metrics import sentence_similarity_score
    >>> pairs = [("a red car", "the red car"), ("one tea", "one cup"), ("yes", "no")]
    >>> counts = CountVectorizer().fit([text for pair in pairs for text in pair])
    >>> round(sentence_similarity_score(counts, pairs, [5, 2, 0]), 2)
    0.97
    """
    check_choice(correlation, ("pearson", "spearman"), "correlation")
    left, right = check_text_pairs(pairs)
    scores = check_scores(scores, len(left))
    values, n_pairs = _sentence_vectors(estimator, left + right), len(left)
    if hasattr(values, "tocsr"):
        similarities, empty = _sparse_cosines(values, n_pairs)
    else:
        rows = np.arange(n_pairs)
        similarities = cosines(values, rows, rows + n_pairs)
        empty = ~values.any(axis=1)
    report = Bunch(
        score=correlate(similarities, scores, correlation),
        n_pairs=n_pairs,
        n_missing=int((empty[:n_pairs] | empty[n_pairs:]).sum()),
        similarities=similarities,
    )
    return report if return_report else report.score


def _sentence_vectors(estimator, texts):
    """Return one finite vector per text: array or sparse matrix, (n_texts, dim)."""
    if not hasattr(estimator, "transform"):
        raise TypeError(
            f"requires a fitted estimator with a transform method; got "
            f"{type(estimator).__name__}. For a Pipeline that ends in a predictor, "
            "pass the steps before it: pipeline[:-1]. For word vectors, pass "
            "make_pipeline(PretrainedEmbedding(vectors), Pooling())."
        )
    values = estimator.transform(texts)
    if isinstance(values, EmbeddedSequences):
        values = _only_block(values, estimator)
    is_sparse = hasattr(values, "tocsr")
    values = values.tocsr() if is_sparse else np.asarray(values)
    if values.ndim != 2 or values.shape[0] != len(texts):
        raise ValueError(
            f"{type(estimator).__name__} returned shape {values.shape} for "
            f"{len(texts)} texts; expected one vector per text."
        )
    bad = infinite_rows(values.data[:, None] if is_sparse else values)
    if len(bad):
        raise ValueError(f"{len(bad)} vectors contain NaN or infinity.")
    return values


def _only_block(embedded, estimator):
    if len(embedded.blocks) == 1 and embedded.level == "sequence":
        return embedded.blocks[0].values
    blocks = [f"{block.name} ({block.level})" for block in embedded.blocks]
    raise TypeError(
        f"{type(estimator).__name__} returned the blocks "
        f"{', '.join(blocks)}; expected one vector per text. Add a meta-embedder after "
        "several blocks, and Pooling after word vectors."
    )


def _sparse_cosines(values, n_pairs):
    from sklearn.preprocessing import normalize

    unit = normalize(values.astype(np.float64))
    products = unit[:n_pairs].multiply(unit[n_pairs:])
    return np.asarray(products.sum(axis=1)).ravel(), np.diff(unit.indptr) == 0
