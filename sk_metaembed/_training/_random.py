"""Random numbers of torch that belong to one fit.

torch's default generators are shared by all threads of a process: seeding them would
change the random numbers of fits in other threads and of the caller. Therefore a fit
runs within `local_generators(seed)`, which creates generators for this fit and thread.
Code of a fit draws from them in one of three ways:

- Our own code passes ``generator=generator_on(device)`` to torch's functions.
- Layers draw their initial weights without such a parameter. `GeneratorMode` adds it.
- Third-party networks, such as those of transformers, use torch's default generators
  for dropout. `swap_default_generators` lends them the state of the fit's generators.

This module imports torch, so only modules that need torch may import it.
"""

import threading
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache

import torch
from torch.utils._python_dispatch import TorchDispatchMode

_current = ContextVar("current", default=None)
_lock = threading.RLock()
# Entered as `with generator_mode_lock, GeneratorMode():`. Locking in the mode's own
# methods would not be safe: Ctrl-C between two of their lines would leave it locked.
generator_mode_lock = threading.RLock()


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

    def manual_seed(self, seed):
        """Restart all generators from another seed."""
        self._seed, self._by_device = seed, {}

    def states(self, device):
        """Return the states of the generators that a net on a device draws from."""
        return [self.on(each).get_state() for each in _devices(device)]

    def set_states(self, states, device):
        """Restore the output of `states`, possibly on a machine without that GPU."""
        for each, state in zip(_devices(device), states, strict=False):
            self.on(each).set_state(state.cpu())


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


def current_generators():
    """Return the `Generators` of the fit in this thread, None outside a fit."""
    return _current.get()


def generator_on(device):
    """Return the generator for a device; None, torch's default, outside a fit.

    None also within `swap_default_generators`.
    """
    own = _current.get()
    return None if own is None or own.swapped else own.on(device)


def dropout(x, rate, training):
    """Apply dropout like torch, with a mask from the generator of the fit."""
    if not training or rate == 0:
        return x
    keep = torch.empty_like(x).bernoulli_(1 - rate, generator=generator_on(x.device))
    return x * keep.div_(1 - rate)


class GeneratorMode(TorchDispatchMode):
    """Context in which layers draw their initial weights from the fit's generators.

    Layers take no generator, so it is added to each operation that draws. This slows
    down every operation, which does not matter where a network is built once.

    `generator_mode_lock` admits one thread at a time: torch stores for the whole
    process whether a mode is active, and overlapping threads would leave this flag set,
    which disables `torch.compile`.
    """

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        """Run an operation with the generator that belongs to the fit."""
        kwargs = kwargs or {}
        packet = operation.overloadpacket
        if not _takes_generator(packet) or kwargs.get("generator") is not None:
            return operation(*args, **kwargs)
        is_method = args and isinstance(args[0], torch.Tensor)
        device = args[0].device if is_method else kwargs.get("device")
        device = device or torch.device("cpu")
        # A meta tensor has no values to draw.
        generator = None if device.type == "meta" else generator_on(device)
        if generator is None:
            return operation(*args, **kwargs)
        # Through the packet: some operations have an overload of their own for it.
        return packet(*args, **{**kwargs, "generator": generator})


@cache
def _takes_generator(packet):
    overloads = [getattr(packet, name) for name in packet.overloads()]
    return any(a.name == "generator" for o in overloads for a in o._schema.arguments)


@contextmanager
def swap_default_generators(device):
    """Give torch's default generators the state of the fit's, for one thread at a time.

    For code that can only draw from the default generators, such as the dropout of
    third-party networks. Afterwards the fit's generators have the new state, and the
    default generators their previous one.
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
