"""Explanations of predictions, comparisons of sources, and displays."""

from ._compare_sources import compare_sources
from ._explain import explain
from ._explanation import Explanation
from ._source_comparison import SourceComparisonDisplay
from ._source_weights import SourceWeightsDisplay
from ._token_weights import TokenWeightsDisplay

__all__ = [
    "Explanation",
    "SourceComparisonDisplay",
    "SourceWeightsDisplay",
    "TokenWeightsDisplay",
    "compare_sources",
    "explain",
]
