"""Plain values that the structure of a file would hold badly, as arrays.

A list of a million words would be a million entries, keys that are no str would come
back as another type, and an array is quick to check before anything is made of it.
"""

import os
from collections import OrderedDict, defaultdict
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.stats._distn_infrastructure import rv_frozen

from ._random import (
    distribution,
    distribution_of,
    generator,
    generator_of,
    random_state,
    random_state_of,
)
from ._stand_in import StandIn, Untold, array_of, part

_MANY = 16  # what fewer values cost is nothing
_DICTS = {"dict": dict, "ordered": OrderedDict, "default": defaultdict}
# The default factories that a defaultdict may have.
_DEFAULTS = {t.__name__: t for t in (int, float, bool, str, list, dict, set)}
_DEFAULTS["OrderedDict"] = OrderedDict
_NUMBERS = {int: np.int64, float: np.float64, bool: np.bool_}
_FORMATS = {"csr": sparse.csr_array, "csc": sparse.csc_array}
_MATRICES = {"csr": sparse.csr_matrix, "csc": sparse.csc_matrix}


def packed(thing, where, rewrite):
    """Return a stand-in for a plain value, or NotImplemented if it can stay."""
    for kind, pack in _PACKS:
        if isinstance(thing, kind):
            return pack(thing, where, rewrite)
    return NotImplemented


def _list(thing, where, rewrite):
    if type(thing) is not list or len(thing) < _MANY:
        return NotImplemented
    kinds = set(map(type, thing))
    if kinds == {str}:
        return words_stand_in(thing)
    kind = kinds.pop() if len(kinds) == 1 else None
    if kind not in _NUMBERS:
        return NotImplemented
    try:
        return StandIn("numbers", values=np.array(thing, _NUMBERS[kind]))
    except OverflowError:
        return NotImplemented


def words_stand_in(words):
    """Return a stand-in for a list of str."""
    data = [word.encode("utf-8", "surrogatepass") for word in words]
    ends = np.cumsum([len(word) for word in data], dtype=np.int64)
    return StandIn("words", text=np.frombuffer(b"".join(data), np.uint8), ends=ends)


def _dict(thing, where, rewrite):
    names = {made: name for name, made in _DICTS.items()}
    if type(thing) not in names:
        return NotImplemented
    few = all(type(key) is str for key in thing) and len(thing) < _MANY
    if few and type(thing) is not defaultdict:
        return NotImplemented
    told = {"type": names[type(thing)]} if type(thing) is not dict else {}
    if type(thing) is defaultdict:
        told["default"] = _default_name(thing.default_factory, where)
    return StandIn(
        "mapping",
        keys=rewrite(list(thing), where),
        values=rewrite(list(thing.values()), where),
        **told,
    )


def _default_name(factory, where):
    if factory is None:
        return None
    name = getattr(factory, "__name__", "")
    if _DEFAULTS.get(name) is not factory:
        raise TypeError(
            f"{where} is a defaultdict of {factory!r}, and only those of "
            f"{', '.join(_DEFAULTS)} can be saved. Use a dict."
        )
    return name


def _set(thing, where, rewrite):
    try:
        values = sorted(thing)  # so that equal sets give equal files
    except TypeError:
        values = list(thing)
    frozen = isinstance(thing, frozenset)
    return StandIn("set", values=rewrite(values, where), frozen=frozen)


def _bytes(thing, where, rewrite):
    return StandIn("bytes", values=np.frombuffer(thing, np.uint8))


def _sparse(thing, where, rewrite):
    if thing.format not in _FORMATS:
        thing = thing.tocsr()
    return StandIn(
        "sparse",
        format=thing.format,
        matrix=isinstance(thing, sparse.spmatrix),
        shape=list(map(int, thing.shape)),
        data=thing.data,
        indices=thing.indices,
        indptr=thing.indptr,
    )


def _path(thing, where, rewrite):
    return StandIn("path", path=os.fspath(thing))


def _memmap(thing, where, rewrite):
    return np.array(thing)


_PACKS = [
    (np.memmap, _memmap),
    (list, _list),
    (dict, _dict),
    (set | frozenset, _set),
    (bytes, _bytes),
    (sparse.spmatrix | sparse.sparray, _sparse),
    (np.random.RandomState, random_state),
    (np.random.Generator, generator),
    (rv_frozen, distribution),
    (os.PathLike, _path),
]


def words_of(content):
    """Return the list of str behind a stand-in."""
    text = array_of(content, "text", np.uint8)
    ends = array_of(content, "ends", np.int64)
    if len(ends) and (np.diff(ends, prepend=0).min() < 0 or ends[-1] != len(text)):
        raise Untold("words overlap")
    data, begins = bytes(text), [0, *ends.tolist()]
    return [
        data[begin:end].decode("utf-8", "surrogatepass")
        for begin, end in zip(begins, ends.tolist(), strict=False)
    ]


def _numbers_of(content):
    values = part(content, "values", np.ndarray)
    if values.dtype not in [np.dtype(kind) for kind in _NUMBERS.values()]:
        raise Untold(f"numbers are {values.dtype}")
    return values.tolist()


def _mapping_of(content):
    keys, values = part(content, "keys", list), part(content, "values", list)
    made = _DICTS[part(content, "type", str) if "type" in content else "dict"]
    pairs = zip(keys, values, strict=True)
    if made is not defaultdict:
        return made(pairs)
    name = part(content, "default", str, type(None))
    return made(None if name is None else _DEFAULTS[name], pairs)


def _set_of(content):
    values = part(content, "values", list)
    return frozenset(values) if part(content, "frozen", bool) else set(values)


def _sparse_of(content):
    kind = part(content, "format", str)
    classes = _MATRICES if part(content, "matrix", bool) else _FORMATS
    arrays = [part(content, name, np.ndarray) for name in ("data", "indices", "indptr")]
    found = classes[kind](tuple(arrays), shape=tuple(part(content, "shape", list)))
    found.check_format(full_check=True)  # compiled code reads where indices say
    return found


UNPACK = {
    "words": words_of,
    "numbers": _numbers_of,
    "mapping": _mapping_of,
    "set": _set_of,
    "bytes": lambda content: bytes(array_of(content, "values", np.uint8)),
    "sparse": _sparse_of,
    "random state": random_state_of,
    "generator": generator_of,
    "distribution": distribution_of,
    "path": lambda content: Path(part(content, "path", str)),
}
