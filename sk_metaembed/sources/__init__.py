"""Sources: steps that map tokens to vectors."""

from .._core._public_module import set_public_module
from ._base import BaseEmbedding, Preprocessing
from ._estimator import EstimatorEmbedding
from ._function import FunctionEmbedding
from ._make_embedding import make_embedding
from ._source_subsets import source_subsets
from ._union import EmbeddingUnion, make_embedding_union
from .cache._embedding_cache import EmbeddingCache
from .elmo._embedding import ElmoEmbedding
from .elmo._forward import ElmoOutputSpec
from .elmo._model import ElmoModel
from .elmo._options import ElmoOptions
from .elmo.language_model._language_model import ElmoLanguageModel
from .static_subword._embedding import StaticSubwordEmbedding
from .static_subword._loaded_model import LoadedStaticModel
from .static_subword._model import StaticModel
from .students._contextual_to_static import contextual_to_static
from .students._contrastive import ContrastiveEmbedding
from .students._distilled import DistilledEmbedding, Student
from .trainable._characters import CharacterSpec, TrainableCharacters
from .trainable._positions import PositionSpec, TrainablePositions
from .trainable._tokens import TokenSpec, TrainableTokens
from .trainable._transformer import TrainableTransformer, TransformerSpec
from .transformer._embedding import TransformerEmbedding
from .transformer._forward import OutputSpec
from .transformer._loaded_model import LoadedModel
from .transformer._model import TransformerModel
from .words._base import BaseWordEmbedding
from .words._fasttext import FastTextEmbedding, NgramVectors
from .words._lsa import LSAEmbedding
from .words._pretrained import PretrainedEmbedding
from .words._word2vec import Word2VecEmbedding

__all__ = [
    "BaseEmbedding",
    "BaseWordEmbedding",
    "ContrastiveEmbedding",
    "DistilledEmbedding",
    "ElmoEmbedding",
    "ElmoLanguageModel",
    "EmbeddingCache",
    "EmbeddingUnion",
    "EstimatorEmbedding",
    "FastTextEmbedding",
    "FunctionEmbedding",
    "LSAEmbedding",
    "PretrainedEmbedding",
    "StaticSubwordEmbedding",
    "TrainableCharacters",
    "TrainablePositions",
    "TrainableTokens",
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
    CharacterSpec,
    PositionSpec,
    TokenSpec,
    TransformerSpec,
    OutputSpec,
    ElmoOptions,
    ElmoOutputSpec,
    Preprocessing,
    Student,
    ElmoModel,
    LoadedModel,
    LoadedStaticModel,
    StaticModel,
    TransformerModel,
)
