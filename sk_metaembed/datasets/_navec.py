"""Navec: Russian word vectors of news, in product-quantized form."""

from __future__ import annotations

import gzip
import tarfile
from typing import TYPE_CHECKING

import numpy as np

from ..vectors import WordVectors
from ..vectors._cache import cache_root
from ..vectors._download import sha256
from ..vectors._store_files import VERSION
from ._files import package_folder

if TYPE_CHECKING:
    from .._core._typing import StrPath

# The packages that natasha depends on read its models; the vectors need none of them.
_INSTALL = "pip install --no-deps natasha==1.6.0"
_FILE = "navec_news_v1_1B_250K_300d_100q.tar"
_SHA256 = "f07270833d78523edc5781538d67038e95b43975e4a7ae757c693b687f9cbfca"


def load_navec_news(*, cache_dir: StrPath | None = None) -> WordVectors:
    """Load Navec: 250,000 lowercase Russian words of news, with 300 dimensions.

    The vectors, trained by GloVe on a billion tokens, are part of the pip package
    ``natasha`` (34 MB; install it with ``--no-deps``). The first call unpacks them into
    a float16 store of 150 MB in the cache, which takes a few seconds; later calls map
    the store.

    Parameters
    ----------
    cache_dir : str or path-like, default=None
        Directory of the store, as for `WordVectors.open`.

    Returns
    -------
    WordVectors
        Words in order of frequency; an argument of `PretrainedEmbedding`. About a
        fiftieth are in Latin script: names and abbreviations.

    Raises
    ------
    ModuleNotFoundError
        If ``natasha`` is not installed.
    OSError
        If the checksum of the file is not that of the published vectors.

    See Also
    --------
    load_glove_6b_50d : Loads English vectors.
    sk_metaembed.align_vectors : Maps them into the space of another language.

    References
    ----------
    Kukushkin, A. (2020). Navec: compact high quality word embeddings for Russian
    language. https://github.com/natasha/navec

    Examples
    --------
    >>> from sk_metaembed.datasets import load_navec_news
    >>> navec = load_navec_news()  # doctest: +SKIP
    >>> len(navec), navec.dim  # doctest: +SKIP
    (250000, 300)
    """
    store = cache_root(cache_dir) / f"navec-news-1-layout-{VERSION}"
    if not store.exists():
        file = package_folder("natasha", "data", "emb", install=_INSTALL) / _FILE
        if sha256(file) != _SHA256:
            raise OSError(
                f"{file} is not the published file: its checksum differs. Reinstall it "
                f"with: {_INSTALL} --force-reinstall"
            )
        words, matrix = read_navec(file)
        try:
            return WordVectors.from_arrays(words, matrix, path=store, dtype="float16")
        except FileExistsError:  # another process has created it
            pass
    return WordVectors.open(store)


def read_navec(file):
    """Return the words, most frequent first, and vectors, float32, of a navec file.

    A tar archive of two members. ``vocab.bin``, compressed by gzip, has the number of
    words, their counts and the words by line. ``pq.bin`` has the number of vectors,
    their dimension, of parts and of centroids per part; the centroid of each part of
    each vector; and the centroids. Words and vectors end with two special rows.
    """
    with tarfile.open(file) as archive:
        vocabulary = gzip.decompress(archive.extractfile("vocab.bin").read())
        quantized = archive.extractfile("pq.bin").read()
    n_words = int(np.frombuffer(vocabulary, "<u4", 1)[0])
    counts = np.frombuffer(vocabulary, "<u4", n_words, offset=4)
    words = vocabulary[4 + 4 * n_words :].decode("utf-8").split("\n")
    n_vectors, dim, n_parts, n_centroids = np.frombuffer(quantized, "<u4", 4).tolist()
    size = n_vectors * n_parts
    codes = np.frombuffer(quantized, np.uint8, size, offset=16)
    centroids = np.frombuffer(quantized, "<f4", offset=16 + size)
    centroids = centroids.reshape(n_parts, n_centroids, -1)
    vectors = centroids[np.arange(n_parts), codes.reshape(n_vectors, n_parts)]
    special = np.array([word in ("<unk>", "<pad>") for word in words])
    order = np.argsort(-counts.astype(np.int64), kind="stable")
    order = order[~special[order]]
    return [words[i] for i in order], vectors.reshape(n_vectors, dim)[order]
