"""Sources: steps that map tokens to vectors."""

from .._core._public_module import set_public_module
from ._base import BaseEmbedding, Preprocessing
from ._byte_pair_embedding import BytePairEmbedding
from ._byte_pairs import BytePairs
from ._contextual_to_static import contextual_to_static
from ._distilled import DistilledEmbedding, Student
from ._elmo import ElmoEmbedding
from ._elmo_model import ElmoOutputSpec
from ._estimator import EstimatorEmbedding
from ._fasttext import FastTextEmbedding, NgramVectors
from ._function import FunctionEmbedding
from ._lsa import LSAEmbedding
from ._make_embedding import make_embedding
from ._pretrained import PretrainedEmbedding
from ._selector import SourceSelector
from ._source_subsets import source_subsets
from ._trainable_characters import CharacterSpec, TrainableCharacters
from ._union import EmbeddingUnion, make_embedding_union
from ._word2vec import Word2VecEmbedding
from ._word_base import BaseWordEmbedding, OOVPolicy
from .cache._embedding_cache import EmbeddingCache
from .static_subword._embedding import StaticSubwordEmbedding
from .transformer._contrastive import ContrastiveEmbedding
from .transformer._embedding import TransformerEmbedding
from .transformer._forward import OutputSpec
from .transformer._trainable_transformer import TrainableTransformer, TransformerSpec

__all__ = [
    "BaseEmbedding",
    "BaseWordEmbedding",
    "BytePairEmbedding",
    "ContrastiveEmbedding",
    "DistilledEmbedding",
    "ElmoEmbedding",
    "EmbeddingCache",
    "EmbeddingUnion",
    "EstimatorEmbedding",
    "FastTextEmbedding",
    "FunctionEmbedding",
    "LSAEmbedding",
    "PretrainedEmbedding",
    "SourceSelector",
    "StaticSubwordEmbedding",
    "TrainableCharacters",
    "TrainableTransformer",
    "TransformerEmbedding",
    "Word2VecEmbedding",
    "contextual_to_static",
    "make_embedding",
    "make_embedding_union",
    "source_subsets",
]

set_public_module(
    globals(),
    NgramVectors,
    OOVPolicy,
    BytePairs,
    CharacterSpec,
    TransformerSpec,
    OutputSpec,
    ElmoOutputSpec,
    Preprocessing,
    Student,
)
