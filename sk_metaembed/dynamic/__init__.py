"""Dynamic meta-embeddings: sources mixed by attention that is trained on labels."""

from ._embedding import DynamicMetaEmbedding
from ._predictors import DynamicMetaClassifier, DynamicMetaRegressor

__all__ = ["DynamicMetaClassifier", "DynamicMetaEmbedding", "DynamicMetaRegressor"]
