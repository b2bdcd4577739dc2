"""Dropout whose mask is drawn a byte an entry.

torch draws a CPU mask in double precision, which took a third of the time of
training a mean encoder; random bytes take a quarter of that.
"""

import torch
from torch import nn

from ..sequences._own_random import dropout, generator_on


class ByteDropout(nn.Module):
    """Set entries to zero with some probability, in steps of 1/256.

    What is kept is divided by the probability of keeping, as counted in those steps,
    so that the mean is exact. A GPU and a compiled network drop as torch does.

    Parameters
    ----------
    rate : float
        In [0, 1); rounded to the nearest 1/256.
    """

    def __init__(self, rate):
        super().__init__()
        self.rate = rate

    def forward(self, x):
        """Return x with entries dropped while training, else x."""
        if not self.training or self.rate == 0:
            return x
        if torch.compiler.is_compiling():
            return nn.functional.dropout(x, self.rate)
        if x.device.type != "cpu":
            return dropout(x, self.rate, self.training)
        dropped = min(round(256 * self.rate), 255)
        keep = (_random_bytes(x.shape) >= dropped).to(x.dtype)
        return x * keep.mul_(256 / (256 - dropped))

    def extra_repr(self):
        """Return the rate, for the network's repr."""
        return f"rate={self.rate}"


def _random_bytes(shape):
    n = shape.numel()
    words = torch.empty(-(-n // 8), dtype=torch.int64)
    # ``to=None`` is torch's way to ask for all 64 bits.
    lowest = torch.iinfo(torch.int64).min
    words.random_(lowest, None, generator=generator_on(words.device))
    return words.view(torch.uint8)[:n].view(shape)
