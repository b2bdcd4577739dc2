"""Positions of the tokens of a batch, which is never padded."""

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
    """Positions of the tokens of a batch.

    A grid position without a token has the number of another token: what is computed
    there is never read.

    Attributes
    ----------
    lengths : int64 tensor of shape (n_sequences,)
    segments : int64 tensor of shape (n_tokens,)
        The sequence of each token.
    forward_index, backward_index : int64 tensor of shape (max_length, n_sequences)
        The token at each step, read from the start or the end of each sequence.
    forward_position, backward_position : int64 tensor of shape (n_tokens,)
        The position of each token in the flattened grids.
    last : int64 tensor of shape (n_sequences,)
        The position of each sequence's last token in the flattened `forward_index`.
    known : Segments
        The tokens that some source knows.
    known_index : int64 tensor or None
        Their indices; None if all tokens are known.
    """

    lengths: torch.Tensor
    segments: torch.Tensor
    forward_index: torch.Tensor
    backward_index: torch.Tensor
    forward_position: torch.Tensor
    backward_position: torch.Tensor
    last: torch.Tensor
    known: Segments
    known_index: torch.Tensor | None = None

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
            "forward_index": np.minimum(starts + np.minimum(steps, ends), final),
            "backward_index": np.minimum(starts + np.maximum(ends - steps, 0), final),
            "forward_position": position * n + segments,
            "backward_position": (ends[segments] - position) * n + segments,
            "last": ends * n + np.arange(n),
        }
        parts = {name: send(part) for name, part in parts.items()}
        if known is None:
            return cls(**parts, known=Segments(parts["lengths"], parts["segments"]))
        known_index = np.flatnonzero(known)
        segments = segments[known_index]
        counts = np.bincount(segments, minlength=n)
        return cls(
            **parts,
            known=Segments(send(counts), send(segments)),
            known_index=send(known_index),
        )
