"""Generators of random numbers, and the distributions that searches draw from."""

import numpy as np
from scipy import stats
from scipy.stats._distn_infrastructure import rv_generic

from ._stand_in import StandIn, Untold, array_of, part

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
