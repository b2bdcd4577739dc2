"""Sources: steps that give token sequences their vectors."""

from ._base import BaseEmbedding
from ._cache_info import cache_info, clear_cache, limit_cache
from ._char_embedding import CharEmbedding
from ._elmo import ElmoEmbedding
from ._estimator import EstimatorEmbedding
from ._fasttext import FastTextEmbedding
from ._fine_tuned import FineTuned
from ._function import FunctionEmbedding
from ._pretrained import PretrainedEmbedding
from ._selector import SourceSelector
from ._static import contextual_to_static
from ._subsets import source_subsets
from ._transformer import TransformerEmbedding
from ._union import EmbeddingUnion
from ._union_making import make_embedding_union
from ._word2vec import Word2VecEmbedding
from ._words import BaseWordEmbedding

__all__ = [
    "BaseEmbedding",
    "BaseWordEmbedding",
    "CharEmbedding",
    "ElmoEmbedding",
    "EmbeddingUnion",
    "EstimatorEmbedding",
    "FastTextEmbedding",
    "FineTuned",
    "FunctionEmbedding",
    "PretrainedEmbedding",
    "SourceSelector",
    "TransformerEmbedding",
    "Word2VecEmbedding",
    "cache_info",
    "clear_cache",
    "contextual_to_static",
    "limit_cache",
    "make_embedding_union",
    "source_subsets",
]
