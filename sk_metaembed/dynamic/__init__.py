"""Dynamic meta-embeddings: sources mixed by attention that is trained on labels.

Sources come embedded, in the blocks of X, or are trained along, in `trainable`:
`FineTuned` for transformers, `CharEmbedding` for words' characters, or whatever has the
method ``open`` that ``dynamic._trainable.TrainedSources`` describes.
"""

from ._embedding import DynamicMetaEmbedding
from ._predictors import DynamicMetaClassifier, DynamicMetaRegressor
from ._ranker import DynamicMetaRanker
from ._tagger import DynamicMetaTagger

__all__ = [
    "DynamicMetaClassifier",
    "DynamicMetaEmbedding",
    "DynamicMetaRanker",
    "DynamicMetaRegressor",
    "DynamicMetaTagger",
]
