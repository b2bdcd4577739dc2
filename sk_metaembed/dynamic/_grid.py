"""Where the tokens of a batch stand: one behind the other, and in a grid of steps.

Worked out in NumPy and sent along with the batch, so that the network itself never
asks the device for a number: that would stall a GPU and break compiled graphs.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch


class Segments(NamedTuple):
    """Some tokens of a batch, sequence after sequence.

    Attributes
    ----------
    lengths : int64 tensor of shape (n_sequences,)
    segments : int64 tensor of shape (n_tokens,)
        The sequence of each token.
    """

    lengths: torch.Tensor
    segments: torch.Tensor


@dataclass(frozen=True)
class Grid:
    """Places of a batch's tokens.

    A grid place without a token holds the number of some other token: what is
    computed there is never read.

    Attributes
    ----------
    lengths : int64 tensor of shape (n_sequences,)
    segments : int64 tensor of shape (n_tokens,)
        The sequence of each token.
    onwards, backwards : int64 tensor of shape (max_length, n_sequences)
        The token at each step, read from each sequence's beginning or end.
    at_onwards, at_backwards : int64 tensor of shape (n_tokens,)
        The place of each token in the flattened grids.
    last : int64 tensor of shape (n_sequences,)
        The place of each sequence's last token in the flattened `onwards`.
    known : Segments
        The tokens that some source knows.
    kept : int64 tensor or None
        Their indices; None if all tokens are known.
    """

    lengths: torch.Tensor
    segments: torch.Tensor
    onwards: torch.Tensor
    backwards: torch.Tensor
    at_onwards: torch.Tensor
    at_backwards: torch.Tensor
    last: torch.Tensor
    known: Segments
    kept: torch.Tensor | None = None

    @classmethod
    def of(cls, lengths, send, known=None):
        """Return the grid of sequences of the given lengths.

        Parameters
        ----------
        lengths : ndarray of int64, shape (n_sequences,)
        send : callable
            Turns an array into a tensor on the device.
        known : ndarray of bool, shape (n_tokens,), default=None
            Which tokens some source knows; None for all.
        """
        n = len(lengths)
        starts = np.cumsum(lengths) - lengths
        longest = int(lengths.max()) if n else 0
        steps = np.arange(longest)[:, None]
        ends = np.maximum(lengths - 1, 0)
        final = max(int(lengths.sum()) - 1, 0)
        segments = np.repeat(np.arange(n), lengths)
        position = np.arange(len(segments)) - starts[segments]
        parts = {
            "lengths": lengths,
            "segments": segments,
            "onwards": np.minimum(starts + np.minimum(steps, ends), final),
            "backwards": np.minimum(starts + np.maximum(ends - steps, 0), final),
            "at_onwards": position * n + segments,
            "at_backwards": (ends[segments] - position) * n + segments,
            "last": ends * n + np.arange(n),
        }
        parts = {name: send(part) for name, part in parts.items()}
        if known is None:
            return cls(**parts, known=Segments(parts["lengths"], parts["segments"]))
        kept = np.flatnonzero(known)
        segments = segments[kept]
        counts = np.bincount(segments, minlength=n)
        return cls(
            **parts, known=Segments(send(counts), send(segments)), kept=send(kept)
        )
