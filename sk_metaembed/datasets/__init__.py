"""Loaders of public corpora, word vectors and evaluation sets by name.

None of the data is part of this package. Some sets come in pip packages. The
``fetch_*`` functions search the folder in the environment variable
``SK_METAEMBED_DATA`` first, and download missing files into the cache. Error messages
name the missing file and what to do.

The type that a loader returns depends on the kind of data:

- A table (`load_birds`) is a data frame, ``as_frame=True`` by default: its columns have
  different types and are selected by name, while an array of them can only have the
  dtype object.
- Texts and pairs of texts (`load_bbc_news`, `fetch_sentence_pairs`) are lists or
  arrays, which every step reads, and need no pandas. ``as_frame=True`` returns frames.
- Tokens (`load_conll`, `fetch_wnut17`) are `TokenSequences` and have no `as_frame`: the
  number of tokens differs by row, and where each token has a tag the target does too,
  so a column of a frame would hold lists.
"""

from ._bbc import load_bbc_news
from ._conll import fetch_wnut17, load_conll
from ._evaluation_sets import fetch_sentence_pairs, load_word_similarity
from ._models import encoder_path, load_glove_6b_50d
from ._tables import load_birds

__all__ = [
    "encoder_path",
    "fetch_sentence_pairs",
    "fetch_wnut17",
    "load_bbc_news",
    "load_birds",
    "load_conll",
    "load_glove_6b_50d",
    "load_word_similarity",
]
