"""What other rooms may use of this one, in addition to its public names."""

from ._cache import cache_root
from ._detect_format import holds_vectors
from ._gensim import import_gensim
from ._store_files import STORE_VERSION
from ._word_index import find_respelled, ngram_ids, pack
