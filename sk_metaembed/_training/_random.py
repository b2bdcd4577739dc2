"""Random numbers of torch that belong to one fit.

torch's default generators are shared by all threads of a process: seeding them would
change the random numbers of fits in other threads and of the caller. Therefore a fit
runs within `local_generators(seed)`, which creates generators for this fit and thread.
Code of a fit draws from them in one of two ways:

- Our own code passes ``generator=generator_on(device)`` to torch's functions.
- Layers draw their initial weights without such a parameter, and so do third-party
  networks for dropout. `swap_default_generators` lends the state of the fit's
  generators to torch's default ones.

This module imports torch, so only modules that need torch may import it.
"""

from contextlib import contextmanager
from contextvars import ContextVar

import torch

from .._io._handle import fork_safe_lock

_current = ContextVar("current", default=None)
_lock = fork_safe_lock()


class Generators:
    """The torch generators of one fit: one per device, created on first use.

    `swapped` is True within `swap_default_generators`, while torch's default generators
    have their state.
    """

    def __init__(self, seed):
        self._seed, self._by_device = seed, {}
        self.swapped = False

    def on(self, device):
        """Return the generator for tensors on a device."""
        device = torch.device(device)
        if device not in self._by_device:
            generator = torch.Generator(device).manual_seed(self._seed)
            self._by_device[device] = generator
        return self._by_device[device]


def _devices(device):
    """Return the CPU and, if it is another device, `device` with its index."""
    index = torch.empty(0, device=device).device
    return [torch.device("cpu"), *([] if index.type == "cpu" else [index])]


@contextmanager
def local_generators(seed):
    """Use new `Generators` for the code inside the context, in this thread."""
    generators = Generators(seed)
    token = _current.set(generators)
    try:
        yield generators
    finally:
        _current.reset(token)


def generator_on(device):
    """Return the generator for a device; None, torch's default, outside a fit.

    It is None within `swap_default_generators`, too.
    """
    own = _current.get()
    return None if own is None or own.swapped else own.on(device)


def dropout(x, rate, training):
    """Apply dropout like torch, with a mask from the generator of the fit."""
    if not training or rate == 0:
        return x
    keep = torch.empty_like(x).bernoulli_(1 - rate, generator=generator_on(x.device))
    return x * keep.div_(1 - rate)


@contextmanager
def swap_default_generators(device):
    """Lend the state of the fit's generators to torch's, for one thread at a time.

    For code that can only draw from the default generators, such as the constructors of
    layers and the dropout of third-party networks. Afterwards the fit's generators have
    the new state, and the default generators their previous one.
    """
    own = _current.get()
    if own is None or own.swapped:
        yield
        return
    pairs = [(own.on(each), _default(each)) for each in _devices(device)]
    with _lock:
        saved = [default.get_state() for _, default in pairs]
        try:
            for generator, default in pairs:
                default.set_state(generator.get_state())
            own.swapped = True
            yield
        finally:
            own.swapped = False
            for (generator, default), state in zip(pairs, saved, strict=True):
                generator.set_state(default.get_state())
                default.set_state(state)


def _default(device):
    if device.type == "cuda":
        return torch.cuda.default_generators[device.index]
    return torch.default_generator
