"""Looking at what fitted steps do: displays in scikit-learn's form."""

from ._distance import DistanceDisplay
from ._sense_projection import SenseProjectionDisplay
from ._similarity import SimilarityDisplay
from ._source_weights import SourceWeightsDisplay
from ._token_weights import TokenWeightsDisplay

__all__ = [
    "DistanceDisplay",
    "SenseProjectionDisplay",
    "SimilarityDisplay",
    "SourceWeightsDisplay",
    "TokenWeightsDisplay",
]
