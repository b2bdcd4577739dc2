"""The public names for type checkers and editors; `__init__.py` loads them lazily."""

from . import adapters as adapters
from . import datasets as datasets
from . import dynamic as dynamic
from . import elmo as elmo
from . import inspection as inspection
from . import meta as meta
from . import metrics as metrics
from . import persistence as persistence
from . import pooling as pooling
from . import scale as scale
from . import sequences as sequences
from . import sources as sources
from . import tables as tables
from . import utils as utils
from . import vectors as vectors
from ._version import __version__
from .adapters import PairEncoder, TokenClassifier
from .dynamic import (
    DynamicMetaClassifier,
    DynamicMetaEmbedding,
    DynamicMetaRegressor,
    DynamicMetaTagger,
)
from .elmo import ElmoLanguageModel
from .meta import (
    AutoencodedMetaEmbedding,
    AverageMetaEmbedding,
    BlockPCA,
    ConcatMetaEmbedding,
    GCCAMetaEmbedding,
    OneToNMetaEmbedding,
    ProcrustesMetaEmbedding,
    SourceImputer,
    StackedMetaClassifier,
    StackedMetaRegressor,
    SVDMetaEmbedding,
)
from .persistence import load, save
from .pooling import (
    CommonComponentRemoval,
    EmbeddingQuantizer,
    Pooling,
)
from .scale import TextStream, transform_in_batches, transform_partitions
from .sequences import (
    Block,
    EmbeddedSequences,
    SequencePairs,
    Tokenizer,
    TokenSequences,
)
from .sources import (
    BytePairEmbedding,
    CharEmbedding,
    ContrastiveEmbedding,
    DistilledEmbedding,
    ElmoEmbedding,
    EmbeddingCache,
    EmbeddingUnion,
    EstimatorEmbedding,
    FastTextEmbedding,
    FineTuned,
    FunctionEmbedding,
    LSAEmbedding,
    PretrainedEmbedding,
    SourceSelector,
    StaticSubwordEmbedding,
    TransformerEmbedding,
    Word2VecEmbedding,
    contextual_to_static,
    make_embedding,
    make_embedding_union,
    source_subsets,
)
from .tables import (
    TextMetaEncoder,
    make_table_pipeline,
    make_text_pipeline,
    search_space,
)
from .vectors import WordVectors, align_vectors, export_vectors

__all__ = [
    "__version__",
    "AutoencodedMetaEmbedding",
    "AverageMetaEmbedding",
    "Block",
    "BlockPCA",
    "BytePairEmbedding",
    "CharEmbedding",
    "CommonComponentRemoval",
    "ConcatMetaEmbedding",
    "ContrastiveEmbedding",
    "DistilledEmbedding",
    "DynamicMetaClassifier",
    "DynamicMetaEmbedding",
    "DynamicMetaRegressor",
    "DynamicMetaTagger",
    "ElmoEmbedding",
    "ElmoLanguageModel",
    "EmbeddedSequences",
    "EmbeddingCache",
    "EmbeddingQuantizer",
    "EmbeddingUnion",
    "EstimatorEmbedding",
    "FastTextEmbedding",
    "FineTuned",
    "FunctionEmbedding",
    "GCCAMetaEmbedding",
    "LSAEmbedding",
    "OneToNMetaEmbedding",
    "PairEncoder",
    "Pooling",
    "PretrainedEmbedding",
    "ProcrustesMetaEmbedding",
    "SVDMetaEmbedding",
    "SequencePairs",
    "SourceImputer",
    "SourceSelector",
    "StackedMetaClassifier",
    "StackedMetaRegressor",
    "StaticSubwordEmbedding",
    "TextMetaEncoder",
    "TextStream",
    "TokenClassifier",
    "TokenSequences",
    "Tokenizer",
    "TransformerEmbedding",
    "Word2VecEmbedding",
    "WordVectors",
    "align_vectors",
    "contextual_to_static",
    "export_vectors",
    "load",
    "make_embedding",
    "make_embedding_union",
    "make_table_pipeline",
    "make_text_pipeline",
    "save",
    "search_space",
    "source_subsets",
    "transform_in_batches",
    "transform_partitions",
]
