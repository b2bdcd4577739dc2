"""Names that other subpackages may use, in addition to the public ones."""

from ._convert import cache_root, holds_vectors
from ._gensim import import_gensim
from ._store import STORE_VERSION, pack
from ._subwords import ngram_ids
