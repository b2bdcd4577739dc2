"""Looking at what fitted steps do: displays in scikit-learn's form."""

from ._source_weights import SourceWeightsDisplay

__all__ = ["SourceWeightsDisplay"]
