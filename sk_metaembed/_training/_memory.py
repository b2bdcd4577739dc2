"""Memory that the batches of a fit reuse.

A large array that is allocated anew for every batch is mapped anew by the system, page
by page.

This module imports torch, so only modules that need torch may import it.
"""

from contextlib import contextmanager
from contextvars import ContextVar

import torch

_ALIGNED = 16  # numbers in a line of the processor's cache
_free = ContextVar("free", default=None)


@contextmanager
def reused_memory():
    """Keep the `Arena` memory that is given back, for later ones in this context."""
    token = _free.set([])
    try:
        yield
    finally:
        _free.reset(token)


class Arena:
    """Memory for some tensors that are given back together.

    Parameters
    ----------
    size : int
        Numbers of float32, in at most 16 tensors.
    """

    def __init__(self, size):
        size += 16 * _ALIGNED
        free = _free.get()
        self._memory = free.pop() if free else torch.empty(0)
        if len(self._memory) < size:
            self._memory = torch.empty(size)
        self._used = 0

    def take(self, *shape, dtype=torch.float32):
        """Return a tensor without values, at most as large as a float32 one."""
        n = torch.Size(shape).numel()
        start = self._used
        self._used += -(-n // _ALIGNED) * _ALIGNED
        return self._memory[start : start + n].view(dtype)[:n].view(shape)

    def give_back(self):
        """Let another arena use the memory; the tensors must not be used any more."""
        free = _free.get()
        if free is not None:
            free.append(self._memory)
            free.sort(key=len)
        self._memory = None
