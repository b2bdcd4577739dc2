"""Meta-embeddings: combine the blocks of several sources, most without labels."""

from ._autoencoded import AutoencodedMetaEmbedding
from ._average import AverageMetaEmbedding
from ._base import BaseMetaEmbedding
from ._block_pca import BlockPCA
from ._concat import ConcatMetaEmbedding
from ._gcca import GCCAMetaEmbedding
from ._imputer import SourceImputer
from ._one_to_n import OneToNMetaEmbedding
from ._procrustes import ProcrustesMetaEmbedding
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
    "StackedMetaClassifier",
    "StackedMetaRegressor",
]
