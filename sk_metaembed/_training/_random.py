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
from torch import nn

from .._io._handle import fork_safe_lock

_current = ContextVar("current", default=None)
_lock = fork_safe_lock()


class _Generators(dict):
    """The torch generators of one fit by device, created on first use.

    `swapped` is True within `swap_default_generators`, while torch's default generators
    have their state.
    """

    swapped = False

    def __init__(self, seed):
        self._seed = seed

    def __missing__(self, device):
        self[device] = torch.Generator(device).manual_seed(self._seed)
        return self[device]


@contextmanager
def local_generators(seed):
    """Use new generators for the code inside the context, in this thread."""
    token = _current.set(_Generators(seed))
    try:
        yield
    finally:
        _current.reset(token)


def generator_on(device):
    """Return the generator for a device; None, torch's default, outside a fit.

    It is None within `swap_default_generators`, too.
    """
    own = _current.get()
    return None if own is None or own.swapped else own[torch.device(device)]


class Dropout(nn.Module):
    """Dropout like torch's, with a mask from the generator of the fit.

    On a CPU the rate is rounded to a multiple of 1/256. torch draws a CPU mask in
    double precision, which takes a third of the training time of a mean encoder; random
    bytes take a quarter of that. The mean is exact.
    """

    def __init__(self, rate):
        super().__init__()
        self.rate = rate

    def forward(self, x):
        """Return x with entries dropped in training, otherwise x."""
        if not self.training or self.rate == 0:
            return x
        generator = generator_on(x.device)
        if x.device.type != "cpu":
            keep = torch.empty_like(x).bernoulli_(1 - self.rate, generator=generator)
            return x * keep.div_(1 - self.rate)
        words = torch.empty(-(-x.numel() // 8), dtype=torch.int64)
        # ``to=None`` is torch's way to ask for all 64 bits.
        words.random_(torch.iinfo(torch.int64).min, None, generator=generator)
        random = words.view(torch.uint8)[: x.numel()].view(x.shape)
        n_dropped = min(round(256 * self.rate), 255)  # of 256 values of a byte
        # In place: comparisons that create booleans are slow.
        keep = random.to(x.dtype).ge_(n_dropped)
        return x * keep.mul_(256 / (256 - n_dropped))


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
    pairs = [(own[torch.device("cpu")], torch.default_generator)]
    device = torch.empty(0, device=device).device  # with its index
    if device.type == "cuda":
        pairs.append((own[device], torch.cuda.default_generators[device.index]))
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
