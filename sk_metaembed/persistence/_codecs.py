"""Plain values that the structure of a file would hold badly, as arrays.

A list of a million words would be a million entries, keys that are no str would come
back as another type, and an array is quick to check before anything is made of it.

Generators of random numbers, and the distributions that searches draw from.

StandIn: what stands in a saved structure for something that is kept elsewhere.
"""

import os
from collections import OrderedDict, defaultdict
from pathlib import Path

import numpy as np
from scipy import sparse, stats
from scipy.stats._distn_infrastructure import rv_frozen, rv_generic


class StandIn:
    """Inert data, of which `load` makes a thing once the whole file is checked.

    Parameters
    ----------
    kind : str
        What to make of it.
    **content : object
        What to make it from: plain values, arrays, and further stand-ins.
    """

    def __init__(self, kind, **content):
        self.kind = kind
        self.content = content

    def __repr__(self):
        return f"StandIn({self.kind!r})"


class Untold(Exception):  # noqa: N818 (never leaves this room)
    """A stand-in lacks an entry, or has one of another type."""


def part(content, name, *types):
    """Return an entry of a stand-in's content, of one of some types.

    Raises
    ------
    Untold
        If it is not there, or something else.
    """
    value = content.get(name)
    if not isinstance(value, types) or isinstance(value, bool) > (bool in types):
        raise Untold(f"the entry {name!r} is {type(value).__name__}")
    return value


def array_of(content, name, dtype=None, n_dims=1):
    """Return an array of a stand-in, checked.

    Raises
    ------
    Untold
        If it is none, or has another type or number of dimensions.
    """
    array = part(content, name, np.ndarray)
    if array.ndim != n_dims or (dtype is not None and array.dtype != dtype):
        raise Untold(f"the array {name!r} has {array.ndim} axes of {array.dtype}")
    return array


_MT_WORDS = 624
# Of numpy's, those whose state is numbers alone, none of which leads to memory.
_GENERATORS = ("PCG64", "PCG64DXSM")
_POOL = 4  # words; what numpy takes unless it is told otherwise


def random_state(thing, where, rewrite):
    """Return a stand-in for a RandomState."""
    state = thing.get_state(legacy=False)
    if state["bit_generator"] != "MT19937":
        return NotImplemented
    return StandIn(
        "random state",
        key=state["state"]["key"],
        pos=int(state["state"]["pos"]),
        has_gauss=int(state["has_gauss"]),
        gauss=float(state["gauss"]),
    )


def random_state_of(content):
    """Return a RandomState that goes on where it was."""
    key = array_of(content, "key", np.uint32)
    pos = part(content, "pos", int)
    if len(key) != _MT_WORDS or not 0 <= pos <= _MT_WORDS:
        raise Untold("the state of a generator reaches beyond itself")
    found = np.random.RandomState()
    gauss = part(content, "has_gauss", int), part(content, "gauss", float)
    found.set_state(("MT19937", key, pos, *gauss))
    return found


def generator(thing, where, rewrite):
    """Return a stand-in for a Generator, such as gradient boosting keeps."""
    state = dict(thing.bit_generator.state)
    name, seed = state.pop("bit_generator"), thing.bit_generator.seed_seq
    usual = type(seed) is np.random.SeedSequence and seed.pool_size == _POOL
    if name not in _GENERATORS or not usual:
        return NotImplemented
    told = {k: v for k, v in seed.state.items() if k != "pool_size"}
    return StandIn(
        "generator", name=name, state=rewrite(state, where), seed=rewrite(told, where)
    )


def generator_of(content):
    """Return a Generator that goes on, and spawns, where it was."""
    name, seed = part(content, "name", str), part(content, "seed", dict)
    if name not in _GENERATORS or "pool_size" in seed:
        raise Untold(f"no saving writes such a generator {name!r}")
    bits = getattr(np.random, name)(np.random.SeedSequence(**seed))
    bits.state = {**part(content, "state", dict), "bit_generator": name}
    return np.random.Generator(bits)


def distribution(thing, where, rewrite):
    """Return a stand-in for a frozen distribution of scipy."""
    found = getattr(stats, thing.dist.name, None)
    if type(found) is not type(thing.dist):
        raise TypeError(
            f"{where} is a distribution {thing.dist.name!r}, and only those that "
            "scipy.stats has by a name can be saved. Give a list of values."
        )
    own = thing.random_state is not np.random.mtrand._rand
    return StandIn(
        "distribution",
        name=thing.dist.name,
        args=rewrite(list(thing.args), where),
        kwds=rewrite(dict(thing.kwds), where),
        random_state=rewrite(thing.random_state, where) if own else None,
    )


def distribution_of(content):
    """Return the distribution with its parameters."""
    found = getattr(stats, part(content, "name", str), None)
    if not isinstance(found, rv_generic):
        raise Untold("scipy.stats has no such distribution")
    frozen = found(*part(content, "args", list), **part(content, "kwds", dict))
    state = part(content, "random_state", type(None), np.random.RandomState)
    if state is not None:
        frozen.random_state = state
    return frozen


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
