"""What other rooms may use of this one, in addition to its public names."""

from ._convert import cache_root
from ._detect_format import holds_vectors
from ._gensim import import_gensim
from ._store import STORE_VERSION, pack
from ._subwords import ngram_ids
