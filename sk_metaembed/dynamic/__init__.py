"""Dynamic meta-embeddings: sources mixed by attention that is trained on labels.

Frozen sources are the blocks of X. Sources in `trainable` are trained with the network:
`TrainableTransformer`, `TrainableCharacters`, or any object with the method ``prepare``
that `sk_metaembed.sources.trainable` describes.
"""

from ._embedding import DynamicMetaEmbedding
from ._predictors import DynamicMetaClassifier, DynamicMetaRegressor
from ._tagger import DynamicMetaTagger

__all__ = [
    "DynamicMetaClassifier",
    "DynamicMetaEmbedding",
    "DynamicMetaRegressor",
    "DynamicMetaTagger",
]
