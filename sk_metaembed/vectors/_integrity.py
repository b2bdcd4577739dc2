"""Whether a store's arrays fit each other, before compiled code goes by their numbers.

What costs time for millions of words is looked at by the compiled loops themselves, and
by `verify`, which reads every byte.
"""

import numpy as np

from ._detect_format import MAX_NGRAM
from ._store_files import _fingerprint, map_array, read_meta
from ._word_index import PackedWords, build_index

_TOLD = ("version", "count", "dim", "dtype", "subwords")


def damaged(path, what):
    """Return the error of a store that is not as it was written."""
    return ValueError(
        f"{path}: {what}; the store is damaged. Delete the directory and convert the "
        "source again."
    )


def mapped(path, meta):
    """Map a store's arrays, of the types and shapes that its meta data tell.

    Parameters
    ----------
    path : path-like
    meta : dict
        As `read_meta` gives it.

    Returns
    -------
    dict of str to ndarray
        ``buckets`` is None where there are none.

    Raises
    ------
    ValueError
        If they do not fit.
    """
    names = ["words", "offsets", "vectors", "index"]
    names += ["buckets"] if meta["subwords"] else []
    try:
        arrays = {name: map_array(path, name) for name in names}
    except FileNotFoundError as error:
        raise damaged(path, f"{error.filename} is missing") from error
    except Exception as error:  # numpy parses headers, and raises many kinds
        raise damaged(path, f"its arrays cannot be read ({error!r:.200})") from error
    wrong = [name for name in names if not _fits(name, arrays, meta)]
    if wrong:
        raise damaged(path, f"{wrong[0]}.npy is not what meta.json tells of it")
    return {"buckets": None, **arrays}


def _fits(name, arrays, meta):
    array, count, dim = arrays[name], meta["count"], meta["dim"]
    if not array.flags.c_contiguous:
        return False
    if name == "words":
        return array.dtype == np.uint8 and array.ndim == 1
    if name == "offsets":
        ends = array.dtype == np.int64 and array.shape == (count + 1,)
        return ends and array[0] == 0 and array[-1] == arrays["words"].size
    if name == "index":
        is_power = array.size > count and array.size & (array.size - 1) == 0
        return array.dtype == np.uint64 and array.ndim == 1 and is_power
    if name == "vectors":
        return array.dtype == meta["dtype"] and array.shape == (count, dim)
    fits = array.dtype == meta["dtype"] and array.shape[1:] == (dim,)
    return fits and 0 < len(array) < 2**32


def check_meta(path, meta):
    """See that a store's meta data are of the kinds that they should be.

    Raises
    ------
    ValueError
        If they are not.
    """
    numbers = [meta.get("count"), meta.get("dim"), *_sizes(meta.get("subwords"))]
    sound = all(type(number) is int and number >= 0 for number in numbers)
    sound = sound and numbers[0] > 0 < numbers[1]
    sound = sound and meta.get("dtype") in ("float32", "float16")
    sound = sound and isinstance(meta.get("fingerprint"), str)
    sound = sound and isinstance(meta.get("repairs"), dict)
    if not sound:
        raise damaged(path, "meta.json lacks a number, or has a strange one")


def _sizes(subwords):
    if subwords is None:
        return []
    if not isinstance(subwords, dict) or subwords.keys() != {"min_n", "max_n"}:
        return [None]
    n = subwords["min_n"], subwords["max_n"]
    whole = all(type(size) is int for size in n)
    return n if whole and 0 <= n[0] <= n[1] <= MAX_NGRAM else [None]


def check_content(path, fingerprint):
    """Read every byte of a store, and see that it is as it was written.

    Parameters
    ----------
    path : path-like
    fingerprint : str
        What it should be.

    Raises
    ------
    ValueError
        If it is not.
    """
    meta = read_meta(path)
    check_meta(path, meta)
    arrays = mapped(path, meta)
    told = {name: meta[name] for name in _TOLD}
    if not _fingerprint(path, told) == meta["fingerprint"] == fingerprint:
        raise damaged(path, "its words or vectors are not those that were written")
    packed = PackedWords(arrays["words"], arrays["offsets"])
    if not np.array_equal(build_index(packed)[0], arrays["index"]):
        raise damaged(path, "index.npy is not the one of these words")
