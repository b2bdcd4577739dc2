"""Plain values in the structure of a saved file: placeholders and their codecs.

A list of a million words would be a million nodes, and dictionary keys that are not
strings would be restored as another type; arrays are compact and are validated before
anything is created from them.

Random states, generators and frozen distributions have codecs of their own although
skops has nodes for them. skops passes the position of a Mersenne Twister on unchecked
(10**6 instead of at most 624 crashes the process), needs one trusted class for each
distribution of scipy, and importing it to read a file would import torch.
"""

import os
from collections import OrderedDict, defaultdict
from pathlib import Path

import numpy as np
from scipy import sparse, stats
from scipy.stats._distn_infrastructure import rv_frozen, rv_generic


class Placeholder:
    """Inert data that `load` decodes once the whole file is validated.

    Parameters
    ----------
    kind : str
        Selects the decoder.
    **content : object
        Plain values, arrays and further placeholders.
    """

    def __init__(self, kind, **content):
        self.kind = kind
        self.content = content

    def __repr__(self):
        return f"Placeholder({self.kind!r})"


class MalformedEntryError(Exception):
    """An entry of a placeholder is missing or has the wrong type."""


def entry(content, name, *types):
    """Return an entry of a placeholder's content after checking its type."""
    value = content.get(name)
    if not isinstance(value, types) or isinstance(value, bool) > (bool in types):
        raise MalformedEntryError(f"the entry {name!r} is {type(value).__name__}")
    return value


def array_entry(content, name, dtype=None):
    """Return a one-dimensional array of a placeholder's content, checked."""
    array = entry(content, name, np.ndarray)
    if array.ndim != 1 or array.dtype != (array.dtype if dtype is None else dtype):
        raise MalformedEntryError(
            f"the array {name!r} has {array.ndim} dimensions of {array.dtype}"
        )
    return array


_MT_SIZE = 624
# Bit generators whose state holds no position or pointer into memory.
_GENERATORS = ("PCG64", "PCG64DXSM")
_POOL_SIZE = 4  # words; the default of SeedSequence


def _encode_random_state(value, where, copy):
    state = value.get_state(legacy=False)
    if state["bit_generator"] != "MT19937":
        return NotImplemented
    return Placeholder(
        "random state",
        key=state["state"]["key"],
        pos=int(state["state"]["pos"]),
        has_gauss=int(state["has_gauss"]),
        gauss=float(state["gauss"]),
    )


def _decode_random_state(content):
    key = array_entry(content, "key", np.uint32)
    pos = entry(content, "pos", int)
    if len(key) != _MT_SIZE or not 0 <= pos <= _MT_SIZE:
        raise MalformedEntryError("the position of a random state is out of bounds")
    state = np.random.RandomState()
    gauss = entry(content, "has_gauss", int), entry(content, "gauss", float)
    state.set_state(("MT19937", key, pos, *gauss))
    return state


def _encode_generator(value, where, copy):
    state = dict(value.bit_generator.state)
    name, seed = state.pop("bit_generator"), value.bit_generator.seed_seq
    default = type(seed) is np.random.SeedSequence and seed.pool_size == _POOL_SIZE
    if name not in _GENERATORS or not default:
        return NotImplemented
    # With its seed sequence, the generator also spawns the same children.
    seed = {k: v for k, v in seed.state.items() if k != "pool_size"}
    return Placeholder(
        "generator", name=name, state=copy(state, where), seed=copy(seed, where)
    )


def _decode_generator(content):
    name, seed = entry(content, "name", str), entry(content, "seed", dict)
    if name not in _GENERATORS or "pool_size" in seed:
        raise MalformedEntryError(f"the generator {name!r} is not supported")
    bits = getattr(np.random, name)(np.random.SeedSequence(**seed))
    bits.state = {**entry(content, "state", dict), "bit_generator": name}
    return np.random.Generator(bits)


def _encode_distribution(value, where, copy):
    known = getattr(stats, value.dist.name, None)
    if type(known) is not type(value.dist):
        raise TypeError(
            f"{where} is the distribution {value.dist.name!r}, which is not one of "
            "scipy.stats; only those can be saved. Use a list of values."
        )
    own = value.random_state is not np.random.mtrand._rand
    return Placeholder(
        "distribution",
        name=value.dist.name,
        args=copy(list(value.args), where),
        kwds=copy(dict(value.kwds), where),
        random_state=copy(value.random_state, where) if own else None,
    )


def _decode_distribution(content):
    known = getattr(stats, entry(content, "name", str), None)
    if not isinstance(known, rv_generic):
        raise MalformedEntryError("scipy.stats has no distribution of that name")
    frozen = known(*entry(content, "args", list), **entry(content, "kwds", dict))
    state = entry(content, "random_state", type(None), np.random.RandomState)
    if state is not None:
        frozen.random_state = state
    return frozen


_MIN_SIZE = 16  # shorter lists and dictionaries are stored as they are
_DICTS = {"dict": dict, "ordered": OrderedDict, "default": defaultdict}
# Default factories that a defaultdict may have.
_FACTORIES = {t.__name__: t for t in (int, float, bool, str, list, dict, set)}
_FACTORIES["OrderedDict"] = OrderedDict
_NUMBERS = {int: np.int64, float: np.float64, bool: np.bool_}
_SPARSE_ARRAYS = {"csr": sparse.csr_array, "csc": sparse.csc_array}
_SPARSE_MATRICES = {"csr": sparse.csr_matrix, "csc": sparse.csc_matrix}


def encode_value(value, where, copy):
    """Return a Placeholder for a plain value, or NotImplemented if it needs none."""
    for kind, encode in _ENCODERS:
        if isinstance(value, kind):
            return encode(value, where, copy)
    # Of a column of dates with a time zone, by its name, to import no pandas.
    if type(value).__name__ == "DatetimeTZDtype":
        return Placeholder("zoned dates", name=str(value))
    return NotImplemented


def _encode_list(value, where, copy):
    if type(value) is not list or len(value) < _MIN_SIZE:
        return NotImplemented
    kinds = set(map(type, value))
    if kinds == {str}:
        return encode_words(value)
    kind = kinds.pop() if len(kinds) == 1 else None
    if kind not in _NUMBERS:
        return NotImplemented
    try:
        return Placeholder("numbers", values=np.array(value, _NUMBERS[kind]))
    except OverflowError:
        return NotImplemented


def encode_words(words):
    """Return a Placeholder for a list of str."""
    data = [word.encode("utf-8", "surrogatepass") for word in words]
    ends = np.cumsum([len(word) for word in data], dtype=np.int64)
    return Placeholder("words", text=np.frombuffer(b"".join(data), np.uint8), ends=ends)


def decode_words(content):
    """Return the list of str of a placeholder's content."""
    text = array_entry(content, "text", np.uint8)
    ends = array_entry(content, "ends", np.int64)
    if len(ends) and (np.diff(ends, prepend=0).min() < 0 or ends[-1] != len(text)):
        raise MalformedEntryError("word offsets decrease or do not cover the text")
    data, starts = bytes(text), [0, *ends.tolist()]
    return [
        data[start:end].decode("utf-8", "surrogatepass")
        for start, end in zip(starts, ends.tolist(), strict=False)
    ]


def _decode_numbers(content):
    values = entry(content, "values", np.ndarray)
    if values.dtype not in [np.dtype(kind) for kind in _NUMBERS.values()]:
        raise MalformedEntryError(f"numbers are {values.dtype}")
    return values.tolist()


def _encode_dict(value, where, copy):
    names = {kind: name for name, kind in _DICTS.items()}
    if type(value) not in names:
        return NotImplemented
    small = all(type(key) is str for key in value) and len(value) < _MIN_SIZE
    if small and type(value) is not defaultdict:
        return NotImplemented
    extra = {"type": names[type(value)]} if type(value) is not dict else {}
    if type(value) is defaultdict:
        extra["default"] = _factory_name(value.default_factory, where)
    return Placeholder(
        "mapping",
        keys=copy(list(value), where),
        values=copy(list(value.values()), where),
        **extra,
    )


def _factory_name(factory, where):
    if factory is None:
        return None
    name = getattr(factory, "__name__", "")
    if _FACTORIES.get(name) is not factory:
        raise TypeError(
            f"{where} is a defaultdict of {factory!r}; only defaultdicts of "
            f"{', '.join(_FACTORIES)} can be saved. Use a dict."
        )
    return name


def _decode_dict(content):
    keys, values = entry(content, "keys", list), entry(content, "values", list)
    kind = _DICTS[entry(content, "type", str) if "type" in content else "dict"]
    items = zip(keys, values, strict=True)
    if kind is not defaultdict:
        return kind(items)
    name = entry(content, "default", str, type(None))
    return kind(None if name is None else _FACTORIES[name], items)


def _encode_set(value, where, copy):
    try:
        values = sorted(value)  # so that equal sets give equal files
    except TypeError:
        values = list(value)
    frozen = isinstance(value, frozenset)
    return Placeholder("set", values=copy(values, where), frozen=frozen)


def _decode_set(content):
    values = entry(content, "values", list)
    return frozenset(values) if entry(content, "frozen", bool) else set(values)


def _encode_bytes(value, where, copy):
    mutable = isinstance(value, bytearray)
    return Placeholder("bytes", values=np.frombuffer(value, np.uint8), mutable=mutable)


def _decode_bytes(content):
    kind = bytearray if entry(content, "mutable", bool) else bytes
    return kind(array_entry(content, "values", np.uint8))


def _encode_sparse(value, where, copy):
    if value.format not in _SPARSE_ARRAYS:
        value = value.tocsr()
    return Placeholder(
        "sparse",
        format=value.format,
        matrix=isinstance(value, sparse.spmatrix),
        shape=list(map(int, value.shape)),
        data=value.data,
        indices=value.indices,
        indptr=value.indptr,
    )


def _decode_sparse(content):
    kinds = _SPARSE_MATRICES if entry(content, "matrix", bool) else _SPARSE_ARRAYS
    names = "data", "indices", "indptr"
    arrays = tuple(entry(content, name, np.ndarray) for name in names)
    shape = tuple(entry(content, "shape", list))
    # Compiled code reads where indices point: nothing else may write to the arrays.
    value = kinds[entry(content, "format", str)](arrays, shape=shape, copy=True)
    value.check_format(full_check=True)
    return value


def _encode_path(value, where, copy):
    return Placeholder("path", path=os.fspath(value))


def _decode_path(content):
    return Path(entry(content, "path", str))


def _decode_zoned(content):
    from pandas import DatetimeTZDtype

    return DatetimeTZDtype.construct_from_string(entry(content, "name", str))


_ENCODERS = [
    (np.memmap, lambda value, where, copy: np.array(value)),
    (list, _encode_list),
    (dict, _encode_dict),
    (set | frozenset, _encode_set),
    (bytes | bytearray, _encode_bytes),
    (sparse.spmatrix | sparse.sparray, _encode_sparse),
    (np.random.RandomState, _encode_random_state),
    (np.random.Generator, _encode_generator),
    (rv_frozen, _encode_distribution),
    (os.PathLike, _encode_path),
]

DECODERS = {
    "words": decode_words,
    "numbers": _decode_numbers,
    "mapping": _decode_dict,
    "set": _decode_set,
    "bytes": _decode_bytes,
    "sparse": _decode_sparse,
    "random state": _decode_random_state,
    "generator": _decode_generator,
    "distribution": _decode_distribution,
    "path": _decode_path,
    "zoned dates": _decode_zoned,
}
