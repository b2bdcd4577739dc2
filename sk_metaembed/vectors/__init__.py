"""Word vectors on disk: an immutable, memory-mapped store, passed by reference.

This room deals with words, rows and file formats, not with estimators. Names that are
imported as themselves are for other rooms.
"""

from .._core._public_module import set_public_module
from ._align import AlignmentReport, align_vectors
from ._cache import cache_root as cache_root
from ._export import ExportReport, export_vectors
from ._store_files import STORE_VERSION as STORE_VERSION
from ._word_index import find_respelled as find_respelled
from ._word_index import ngram_ids as ngram_ids
from ._word_index import pack as pack
from ._word_vectors import WordVectors, reopen

__all__ = [
    "AlignmentReport",
    "ExportReport",
    "WordVectors",
    "align_vectors",
    "export_vectors",
]

set_public_module(globals(), reopen)  # pickles contain its name
