"""Codecs of plain values and of values of NumPy and SciPy.

A node of a saved structure is a kind and its content, a dictionary of atoms, references
to other nodes, and lists of these. An `encode` function returns the content of a value,
or None if it cannot be saved; the `decode` function of the same kind takes the content
with its references resolved, and checks it. Lists in a content are part of it, other
containers become nodes of their own.
"""

import json
import os
from collections import OrderedDict, defaultdict
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator, RandomState
from scipy import sparse, special, stats
from scipy.stats._distn_infrastructure import rv_frozen, rv_generic
from sklearn.utils import Bunch


class MalformedEntryError(Exception):
    """The content of a node is missing an entry or has an invalid one."""


class UnsavableError(TypeError):
    """A value cannot be saved; the message continues the name of its place."""


def entry(content, name, *types):
    """Return an entry of a node's content after checking its type."""
    value = content.get(name)
    if not isinstance(value, types) or isinstance(value, bool) > (bool in types):
        raise MalformedEntryError(f"the entry {name!r} is {type(value).__name__}")
    return value


def array_entry(content, name, dtype=None):
    """Return a one-dimensional array of a node's content, checked."""
    array = entry(content, name, np.ndarray)
    if array.ndim != 1 or array.dtype != (array.dtype if dtype is None else dtype):
        raise MalformedEntryError(
            f"the array {name!r} has {array.ndim} dimensions of {array.dtype}"
        )
    return array


def _encode_items(value):
    if isinstance(value, set | frozenset):
        with suppress(TypeError):
            value = sorted(value)  # so that equal sets give equal files
    return {"items": list(value)}


def _decode_items(kind, content):
    return kind(entry(content, "items", list))


_DICTS = {kind.__name__: kind for kind in (dict, OrderedDict, defaultdict, Bunch)}


def _encode_dict(value):
    items = {"keys": list(value), "values": list(value.values())}
    default = {"default": value.default_factory} if type(value) is defaultdict else {}
    return {"type": type(value).__name__, **items, **default}


def _decode_dict(content):
    new = _DICTS[entry(content, "type", str)]()
    if type(new) is defaultdict:
        new.default_factory = entry(content, "default", type, type(None))
    keys, values = entry(content, "keys", list), entry(content, "values", list)
    new.update(zip(keys, values, strict=True))
    return new


def _encode_bytes(value):
    return {"data": np.frombuffer(value, np.uint8)}


def _decode_bytes(kind, content):
    return kind(array_entry(content, "data", np.uint8))


def _encode_slice(value):
    return {name: getattr(value, name) for name in ("start", "stop", "step")}


def _decode_slice(content):
    return slice(content["start"], content["stop"], content["step"])


def _encode_path(value):
    return {"path": os.fspath(value)}


def _decode_path(content):
    return Path(entry(content, "path", str))


def _encode_dtype(dtype):
    return None if dtype.hasobject else {"dtype": dtype_text(dtype)}


def dtype_text(dtype):
    """Return the text of a dtype without objects, for `dtype_entry`."""
    if dtype.names is None:
        return dtype.str
    return json.dumps(np.lib.format.dtype_to_descr(dtype))


def dtype_entry(content):
    """Return the dtype of a node's content."""
    text = entry(content, "dtype", str)
    descr = json.loads(text) if text.startswith("[") else text
    dtype = np.lib.format.descr_to_dtype(descr)
    if dtype.hasobject:
        raise MalformedEntryError(f"the dtype {dtype} holds objects")
    return dtype


def _encode_objects(array):
    if array.dtype != object:
        return None
    return {"shape": list(array.shape), "items": list(array.flat)}


def _decode_objects(content):
    items = entry(content, "items", list)
    array = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):  # assigning lists at once would nest them
        array[i] = item
    return array.reshape(entry(content, "shape", list))


def _encode_masked(array):
    return {"data": array.data, "mask": array.mask}


def _decode_masked(content):
    # No lists: those that share parts would become arrays of any size.
    mask = entry(content, "mask", np.ndarray, np.bool_)
    return np.ma.MaskedArray(entry(content, "data", np.ndarray), mask)


def _encode_text(value):
    return {"text": str(value)}


def _decode_text(content):
    return np.str_(entry(content, "text", str))


_UFUNCS = {"numpy": np, "scipy.special": special}


def _encode_ufunc(value):
    for module, package in _UFUNCS.items():
        if getattr(package, value.__name__, None) is value:
            return {"package": module, "ufunc": value.__name__}
    return None


def _decode_ufunc(content):
    package = _UFUNCS[entry(content, "package", str)]
    function = getattr(package, entry(content, "ufunc", str), None)
    return entry({"ufunc": function}, "ufunc", np.ufunc)


_SPARSE_ARRAYS = {"csr": sparse.csr_array, "csc": sparse.csc_array}
_SPARSE_MATRICES = {"csr": sparse.csr_matrix, "csc": sparse.csc_matrix}


def _encode_sparse(value):
    if value.format not in _SPARSE_ARRAYS:
        value = value.tocsr()
    return {
        "format": value.format,
        "matrix": isinstance(value, sparse.spmatrix),
        "shape": list(map(int, value.shape)),
        "data": value.data,
        "indices": value.indices,
        "indptr": value.indptr,
    }


def _decode_sparse(content):
    kinds = _SPARSE_MATRICES if entry(content, "matrix", bool) else _SPARSE_ARRAYS
    names = "data", "indices", "indptr"
    arrays = tuple(entry(content, name, np.ndarray) for name in names)
    shape = tuple(entry(content, "shape", list))
    # Compiled code reads where indices point: nothing else may write to the arrays.
    value = kinds[entry(content, "format", str)](arrays, shape=shape, copy=True)
    value.check_format(full_check=True)
    return value


_MT_SIZE = 624
# Bit generators whose state holds no position or pointer into memory.
_GENERATORS = ("PCG64", "PCG64DXSM")
_POOL_SIZE = 4  # words; the default of SeedSequence


def _encode_random_state(value):
    state = value.get_state(legacy=False)
    if state["bit_generator"] != "MT19937":
        return None
    return {
        "key": state["state"]["key"],
        "pos": int(state["state"]["pos"]),
        "has_gauss": int(state["has_gauss"]),
        "gauss": float(state["gauss"]),
    }


def _decode_random_state(content):
    key = array_entry(content, "key", np.uint32)
    pos = entry(content, "pos", int)
    # numpy reads memory at any position, 10**6 crashes the process.
    if len(key) != _MT_SIZE or not 0 <= pos <= _MT_SIZE:
        raise MalformedEntryError("the position of a random state is out of bounds")
    state = RandomState()
    gauss = entry(content, "has_gauss", int), entry(content, "gauss", float)
    state.set_state(("MT19937", key, pos, *gauss))
    return state


def _encode_generator(value):
    state = dict(value.bit_generator.state)
    name, seed = state.pop("bit_generator"), value.bit_generator.seed_seq
    default = type(seed) is np.random.SeedSequence and seed.pool_size == _POOL_SIZE
    if name not in _GENERATORS or not default:
        return None
    # With its seed sequence, the generator also spawns the same children.
    seed = {k: v for k, v in seed.state.items() if k != "pool_size"}
    return {"name": name, "state": state, "seed": seed}


def _decode_generator(content):
    name, seed = entry(content, "name", str), entry(content, "seed", dict)
    if name not in _GENERATORS or "pool_size" in seed:
        raise MalformedEntryError(f"the generator {name!r} is not supported")
    for value in seed.values():  # nested lists could share parts without end
        parts = value if isinstance(value, list | tuple) else [value]
        if not all(
            part is None or isinstance(part, int | np.integer) for part in parts
        ):
            raise MalformedEntryError("the seed of a generator is not of integers")
    bits = getattr(np.random, name)(np.random.SeedSequence(**seed))
    bits.state = {**entry(content, "state", dict), "bit_generator": name}
    return Generator(bits)


def _encode_distribution(value):
    known = getattr(stats, value.dist.name, None)
    if type(known) is not type(value.dist):
        raise UnsavableError(
            f"is the distribution {value.dist.name!r}, which is not one of "
            "scipy.stats; only those can be saved. Use a list of values."
        )
    own = value.random_state is not np.random.mtrand._rand
    return {
        "name": value.dist.name,
        "args": list(value.args),
        "kwds": value.kwds,
        "random_state": value.random_state if own else None,
    }


def _decode_distribution(content):
    known = getattr(stats, entry(content, "name", str), None)
    if not isinstance(known, rv_generic):
        raise MalformedEntryError("scipy.stats has no distribution of that name")
    frozen = known(*entry(content, "args", list), **entry(content, "kwds", dict))
    state = entry(content, "random_state", type(None), RandomState)
    if state is not None:
        frozen.random_state = state
    return frozen


def _encode_zoned(value):
    return {"zone": str(value)}


def _decode_zoned(content):
    from pandas import DatetimeTZDtype

    return DatetimeTZDtype.construct_from_string(entry(content, "zone", str))


# Types, encode and decode by kind. Values have exactly one of the types.
CODECS: dict[str, tuple[Any, Any, Any]] = {
    "list": ([list], _encode_items, partial(_decode_items, list)),
    "tuple": ([tuple], _encode_items, partial(_decode_items, tuple)),
    "set": ([set], _encode_items, partial(_decode_items, set)),
    "frozenset": ([frozenset], _encode_items, partial(_decode_items, frozenset)),
    "dict": (_DICTS.values(), _encode_dict, _decode_dict),
    "bytes": ([bytes], _encode_bytes, partial(_decode_bytes, bytes)),
    "bytearray": ([bytearray], _encode_bytes, partial(_decode_bytes, bytearray)),
    "slice": ([slice], _encode_slice, _decode_slice),
    "path": ([os.PathLike], _encode_path, _decode_path),
    "text": ([np.str_], _encode_text, _decode_text),
    "dtype": ([np.dtype], _encode_dtype, dtype_entry),
    "objects": ([np.ndarray], _encode_objects, _decode_objects),
    "masked array": ([np.ma.MaskedArray], _encode_masked, _decode_masked),
    "ufunc": ([np.ufunc], _encode_ufunc, _decode_ufunc),
    "sparse": ([sparse.spmatrix, sparse.sparray], _encode_sparse, _decode_sparse),
    "random state": ([RandomState], _encode_random_state, _decode_random_state),
    "generator": ([Generator], _encode_generator, _decode_generator),
    "distribution": ([rv_frozen], _encode_distribution, _decode_distribution),
    "zoned dates": ([], _encode_zoned, _decode_zoned),
}
_KINDS = {kind: name for name, (kinds, *_) in CODECS.items() for kind in kinds}
# Types of which values are instances of subclasses.
_BASES = (os.PathLike, np.dtype, sparse.spmatrix, sparse.sparray, rv_frozen)


def encode_value(value):
    """Return kind and content of a value, or None if it has no codec here."""
    kind = _KINDS.get(type(value))
    if kind is None:
        kind = next((_KINDS[base] for base in _BASES if isinstance(value, base)), None)
    # The type of a column of dates with a time zone, by its name, to import no pandas.
    if type(value).__name__ == "DatetimeTZDtype":
        kind = "zoned dates"
    content = None if kind is None else CODECS[kind][1](value)
    return None if content is None else (kind, content)
