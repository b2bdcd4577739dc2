"""Meta-embeddings as scikit-learn steps.

Public names are loaded on first use, so importing the package is fast and does not
import torch, gensim or transformers.
"""

from importlib import import_module

from ._version import __version__

_HOME = {
    "ColumnsEncoder": "adapters",
    "PairEncoder": "adapters",
    "TokenClassifier": "adapters",
    "Block": "sequences",
    "EmbeddedSequences": "sequences",
    "SequencePairs": "sequences",
    "TokenSequences": "sequences",
    "Tokenizer": "sequences",
    "WordVectors": "vectors",
    "align_vectors": "vectors",
    "export_vectors": "vectors",
    "BytePairEmbedding": "sources",
    "CharEmbedding": "sources",
    "ContrastiveEmbedding": "sources",
    "DistilledEmbedding": "sources",
    "ElmoEmbedding": "sources",
    "ElmoLanguageModel": "elmo",
    "EmbeddingUnion": "sources",
    "EstimatorEmbedding": "sources",
    "FastTextEmbedding": "sources",
    "FineTuned": "sources",
    "FunctionEmbedding": "sources",
    "LSAEmbedding": "sources",
    "PretrainedEmbedding": "sources",
    "SourceSelector": "sources",
    "StaticSubwordEmbedding": "sources",
    "TransformerEmbedding": "sources",
    "Word2VecEmbedding": "sources",
    "cache_info": "sources",
    "clear_cache": "sources",
    "contextual_to_static": "sources",
    "limit_cache": "sources",
    "make_embedding_union": "sources",
    "source_subsets": "sources",
    "AutoencodedMetaEmbedding": "meta",
    "AverageMetaEmbedding": "meta",
    "ConcatMetaEmbedding": "meta",
    "ProcrustesMetaEmbedding": "meta",
    "SourceImputer": "meta",
    "GCCAMetaEmbedding": "meta",
    "MatryoshkaMetaEmbedding": "meta",
    "OneToNMetaEmbedding": "meta",
    "SVDMetaEmbedding": "meta",
    "SourcePCA": "meta",
    "StackedMetaClassifier": "meta",
    "StackedMetaRegressor": "meta",
    "LocallyLinearMetaEmbedding": "meta",
    "DynamicMetaClassifier": "dynamic",
    "DynamicMetaEmbedding": "dynamic",
    "DynamicMetaRanker": "dynamic",
    "DynamicMetaRegressor": "dynamic",
    "DynamicMetaTagger": "dynamic",
    "CommonComponentRemoval": "pooling",
    "EmbeddingQuantizer": "pooling",
    "Pooling": "pooling",
    "RandomEncoderPooling": "pooling",
    "TextMetaEncoder": "tables",
    "make_table_pipeline": "tables",
    "make_text_pipeline": "tables",
    "search_space": "tables",
    "TextStream": "scale",
    "transform_in_batches": "scale",
    "transform_partitions": "scale",
    "load": "persistence",
    "save": "persistence",
}
_ROOMS = (
    "adapters",
    "datasets",
    "dynamic",
    "elmo",
    "inspection",
    "meta",
    "metrics",
    "persistence",
    "pooling",
    "scale",
    "sequences",
    "sources",
    "tables",
    "utils",
    "vectors",
)

__all__ = ["__version__", *sorted(_HOME)]


def __getattr__(name):
    if name in _HOME:
        value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    elif name in _ROOMS:
        value = import_module(f".{name}", __name__)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *__all__, *_ROOMS})
