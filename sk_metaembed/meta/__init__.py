"""Meta-embeddings: combine the blocks of several sources, most without labels."""

from .._core._public_module import set_public_module
from ._autoencoded import AutoencodedMetaEmbedding, Layer
from ._average import AverageMetaEmbedding
from ._base import BaseMetaEmbedding
from ._block_pca import BlockPCA
from ._concat import ConcatMetaEmbedding
from ._gcca import GCCAMetaEmbedding
from ._imputer import SourceImputer
from ._label_regression import LabelRegression
from ._linear import SourceMap
from ._neighbors import SharedRows
from ._ngram_features import (
    CharacterFeatures,
    NgramFeatures,
    PositionFeatures,
    WordFeatures,
)
from ._one_to_n import OneToNMetaEmbedding
from ._procrustes import ProcrustesMetaEmbedding
from ._source_selector import SourceSelector
from ._stacked import StackedMetaClassifier, StackedMetaRegressor
from ._svd import SVDMetaEmbedding

__all__ = [
    "AutoencodedMetaEmbedding",
    "AverageMetaEmbedding",
    "BaseMetaEmbedding",
    "BlockPCA",
    "ConcatMetaEmbedding",
    "GCCAMetaEmbedding",
    "OneToNMetaEmbedding",
    "ProcrustesMetaEmbedding",
    "SVDMetaEmbedding",
    "SourceImputer",
    "SourceSelector",
    "StackedMetaClassifier",
    "StackedMetaRegressor",
]

set_public_module(
    globals(),
    CharacterFeatures,
    LabelRegression,
    Layer,
    NgramFeatures,
    PositionFeatures,
    SharedRows,
    SourceMap,
    WordFeatures,
)
