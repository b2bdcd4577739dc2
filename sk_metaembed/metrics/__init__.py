"""Metrics of embeddings, computed without labels, and span scores of tags."""

from .._core._public_module import set_public_module
from ._analogy import analogy_score
from ._coverage import coverage_report
from ._scorers import (
    SpanScorer,
    UnsupervisedScorer,
    make_span_f1_scorer,
    make_unsupervised_scorer,
)
from ._sentence_similarity import sentence_similarity_score
from ._spans import span_classification_report, span_f1_score
from ._word_similarity import word_similarity_score

__all__ = [
    "analogy_score",
    "coverage_report",
    "make_span_f1_scorer",
    "make_unsupervised_scorer",
    "sentence_similarity_score",
    "span_classification_report",
    "span_f1_score",
    "word_similarity_score",
]

set_public_module(globals(), SpanScorer, UnsupervisedScorer)
