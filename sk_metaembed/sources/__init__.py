"""Sources: steps that map tokens to vectors."""

from ._base import BaseEmbedding
from ._cache import EmbeddingCache
from ._estimator import EstimatorEmbedding
from ._function import FunctionEmbedding
from ._make_embedding import make_embedding
from ._union import EmbeddingUnion, make_embedding_union, source_subsets
from .distillation._contextual_to_static import contextual_to_static
from .distillation._contrastive import ContrastiveEmbedding
from .distillation._distilled import DistilledEmbedding
from .elmo._embedding import ElmoEmbedding
from .elmo.language_model._language_model import ElmoLanguageModel
from .static_subword._embedding import StaticSubwordEmbedding
from .trainable._characters import TrainableCharacters
from .trainable._positions import TrainablePositions
from .trainable._tokens import TrainableTokens
from .trainable._transformer import TrainableTransformer
from .transformer._embedding import TransformerEmbedding
from .words._base import BaseWordEmbedding
from .words._fasttext import FastTextEmbedding
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
