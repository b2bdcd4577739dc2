"""Packing of sequences of different lengths, step by step, without padding."""

import numpy as np


class Packing:
    """Positions of tokens in sequences that are packed step after step.

    Sequences are sorted by decreasing length, so that the sequences that have a token
    at a step are always the first ones.

    Parameters
    ----------
    lengths : array-like of int, shape (n_sequences,)
        Each at least 1.

    Attributes
    ----------
    order : ndarray of int, shape (n_sequences,)
        Indices of the sequences, longest first.
    starts : ndarray of int, shape (longest + 1,)
        First packed position of each step, and the number of tokens.
    tokens : ndarray of int, shape (2, n_tokens)
        Index of the token at each packed position, reading forward and backward. Tokens
        are counted over the sequences in input order.
    last : ndarray of int, shape (n_sequences,)
        Packed position of the last step of each sequence, in the order of `order`.

    Examples
    --------
    >>> packing = Packing([1, 3])
    >>> packing.order.tolist(), packing.starts.tolist()
    ([1, 0], [0, 2, 3, 4])
    >>> packing.tokens.tolist()
    [[1, 0, 2, 3], [3, 0, 2, 1]]
    """

    def __init__(self, lengths):
        lengths = np.asarray(lengths, dtype=np.int64)
        self.order = np.argsort(-lengths, kind="stable")
        sizes = lengths[self.order]
        steps = np.arange(sizes[0])
        active = np.searchsorted(-sizes, -steps, side="left")
        self.starts = np.r_[0, np.cumsum(active)]
        step = np.repeat(steps, active)
        row = np.arange(len(step)) - self.starts[step]
        first = (np.cumsum(lengths) - lengths)[self.order][row]
        self.tokens = np.stack([first + step, first + sizes[row] - 1 - step])
        self.last = self.starts[sizes - 1] + np.arange(len(sizes))

    def spans(self, n_tokens):
        """Yield (first, stop) of runs of steps with at most `n_tokens` tokens.

        A step with more tokens is a run of its own.
        """
        first, n_steps = 0, len(self.starts) - 1
        while first < n_steps:
            stop = int(
                np.searchsorted(self.starts, self.starts[first] + n_tokens, "right")
            )
            stop = max(stop - 1, first + 1)
            yield first, stop
            first = stop
