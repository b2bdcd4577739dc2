"""Sources: steps that give token sequences their vectors."""

from ._base import BaseEmbedding
from ._fasttext import FastTextEmbedding
from ._function import FunctionEmbedding
from ._pretrained import PretrainedEmbedding
from ._union import EmbeddingUnion, make_embedding_union
from ._word2vec import Word2VecEmbedding
from ._words import BaseWordEmbedding

__all__ = [
    "BaseEmbedding",
    "BaseWordEmbedding",
    "EmbeddingUnion",
    "FastTextEmbedding",
    "FunctionEmbedding",
    "PretrainedEmbedding",
    "Word2VecEmbedding",
    "make_embedding_union",
]
