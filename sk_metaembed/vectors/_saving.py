"""How stores come back from files that `save` wrote: a path, or a folder of theirs."""

import numpy as np

from ._layout import _fingerprint, map_array, read_meta
from ._registry import handle_of, reopen
from ._store import WordVectors
from ._words import PackedWords, build_index

_TOLD = ("version", "count", "dim", "dtype", "subwords")


def from_reference(kind, content):
    """Return the handle on the store at a path.

    Raises
    ------
    FileNotFoundError
        If there is none.
    ValueError
        If it holds something else by now.
    """
    return reopen(content["path"], content["fingerprint"], WordVectors)


def from_files(kind, content, folder):
    """Return the handle on a store that came in a file.

    Raises
    ------
    ValueError
        If it is not what it says, or would lead compiled code astray.
    """
    check_store(folder, content["fingerprint"])
    return handle_of(folder, WordVectors)


def check_store(folder, fingerprint):
    """See that a store of strangers is sound: compiled code goes by its numbers."""
    meta = read_meta(folder)
    count, dim = meta["count"], meta["dim"]
    packed = PackedWords(map_array(folder, "words"), map_array(folder, "offsets"))
    vectors, offsets = map_array(folder, "vectors"), np.asarray(packed.offsets)
    sound = [
        packed.blob.dtype == np.uint8 and packed.blob.ndim == 1,
        offsets.dtype == np.int64 and offsets.shape == (count + 1,),
        vectors.dtype == meta["dtype"] and vectors.shape == (count, dim),
        meta["dtype"] in ("float32", "float16") and count > 0,
    ]
    if all(sound):
        inside = offsets[0] == 0 and offsets[-1] == len(packed.blob)
        sound += [inside, np.diff(offsets).min() > 0]
    if all(sound):
        sound += [np.array_equal(build_index(packed)[0], map_array(folder, "index"))]
        sound += [_subwords_fit(folder, meta)]
    if all(sound):
        told = {name: meta[name] for name in _TOLD}
        sound += [_fingerprint(folder, told) == meta["fingerprint"] == fingerprint]
    if not all(sound):
        raise ValueError(f"{folder}: the arrays of the store do not fit each other.")


def _subwords_fit(folder, meta):
    if meta["subwords"] is None:
        return True
    buckets, n = map_array(folder, "buckets"), meta["subwords"]
    fits = buckets.dtype == meta["dtype"] and buckets.shape[1:] == (meta["dim"],)
    whole = all(type(n[name]) is int for name in ("min_n", "max_n"))
    return fits and whole and 0 <= n["min_n"] <= n["max_n"] < 1000
