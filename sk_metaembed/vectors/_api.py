"""What other rooms may use of this one, in addition to its public names."""

from ._cache import cache_root
from ._gensim import import_gensim
from ._store_files import STORE_VERSION, is_store
from ._word_index import find_respelled, ngram_ids, pack
