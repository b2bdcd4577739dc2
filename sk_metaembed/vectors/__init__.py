"""Word vectors on disk: an immutable, memory-mapped store, passed by reference.

This subpackage deals with words, rows and file formats, not with estimators.
"""

from ._export import export_vectors
from ._word_vectors import WordVectors

__all__ = [
    "WordVectors",
    "export_vectors",
]
