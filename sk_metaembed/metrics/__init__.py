"""Metrics of embeddings, computed without labels, and span scores of tags."""

from ._coverage import coverage_report
from ._sentence_similarity import sentence_similarity_score
from ._spans import span_f1_score
from ._word_similarity import word_similarity_score

__all__ = [
    "coverage_report",
    "sentence_similarity_score",
    "span_f1_score",
    "word_similarity_score",
]
