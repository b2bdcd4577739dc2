"""Packing: sequences of unlike length, step by step, without padding."""

import numpy as np

# Rows of a table of words that no word has: a sentence's begin, and its end.
N_MARKS = 2


class Packing:
    """Where tokens of sequences stand when they are laid out step after step.

    Sequences are sorted by length, so that those that still go on at a step are the
    first ones, and what is computed shrinks with them.

    Parameters
    ----------
    lengths : array-like of int, shape (n_sequences,)
        Each at least 1.

    Attributes
    ----------
    order : ndarray of int, shape (n_sequences,)
        The sequences, longest first.
    starts : ndarray of int, shape (longest + 1,)
        Where each step's tokens begin, and the end.
    places : ndarray of int, shape (2, n_tokens)
        The token at each packed place, reading forward and reading backward, counted
        over the sequences in the order in which they came.
    last : ndarray of int, shape (n_sequences,)
        The packed place of each sequence's last step, in the order of `order`.

    Examples
    --------
    >>> packing = Packing([1, 3])
    >>> packing.order.tolist(), packing.starts.tolist()
    ([1, 0], [0, 2, 3, 4])
    >>> packing.places.tolist()
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
        self.places = np.stack([first + step, first + sizes[row] - 1 - step])
        self.last = self.starts[sizes - 1] + np.arange(len(sizes))

    def unpacked(self, direction):
        """Return the packed place of each token, in the order in which they came."""
        found = np.empty_like(self.places[direction])
        found[self.places[direction]] = np.arange(len(found))
        return found

    def spans(self, n_tokens):
        """Yield first and last step of stretches of at most so many tokens.

        A step that has more is a stretch by itself.
        """
        first, n_steps = 0, len(self.starts) - 1
        while first < n_steps:
            stop = int(
                np.searchsorted(self.starts, self.starts[first] + n_tokens, "right")
            )
            stop = max(stop - 1, first + 1)
            yield first, stop
            first = stop
