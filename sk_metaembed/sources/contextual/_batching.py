"""Batches of similar length within a token budget, halved when GPU memory runs out."""

import warnings

import numpy as np


def token_batches(lengths, budget, policy="any", *, most_rows=None):
    """Return batches of row numbers, longest rows first.

    Parameters
    ----------
    lengths : array-like of int, shape (n_rows,)
    budget : int
        Tokens per batch, padding included. A longer row is a batch of its own.
    policy : {"any", "alike", "none"}, default="any"
        Which rows may share a batch: any, rows of equal length, or none.
    most_rows : int, default=None
        Maximum number of rows per batch, None for no limit.

    Returns
    -------
    list of ndarray of int

    Examples
    --------
    >>> [batch.tolist() for batch in token_batches([2, 9, 3, 2, 2], 6)]
    [[1], [2, 0], [3, 4]]
    """
    lengths = np.asarray(lengths, dtype=np.int64)
    order = np.argsort(-lengths, kind="stable")
    batches, start = [], 0
    while start < len(order):
        longest = int(lengths[order[start]])
        size = max(1, min(budget // max(1, longest), most_rows or budget))
        if policy != "any":
            n_alike = int((lengths[order[start:]] == longest).sum())
            size = min(size, n_alike) if policy == "alike" else 1
        batches.append(order[start : start + size])
        start += size
    return batches


class BatchRunner:
    """Run batches, and continue with smaller ones if GPU memory runs out.

    Parameters
    ----------
    budget : int
        Tokens per batch. Reduced for all later batches if memory runs out.
    most_rows : int, default=None
        See `token_batches`.
    """

    def __init__(self, budget, *, most_rows=None):
        self.budget, self._most_rows = budget, most_rows

    def run(self, lengths, forward, policy="any"):
        """Call ``forward(rows)`` with batches of row numbers, each row once.

        Parameters
        ----------
        lengths : array-like of int, shape (n_rows,)
        forward : callable
        policy : {"any", "alike", "none"}, default="any"
            As for `token_batches`.

        Raises
        ------
        MemoryError
            If a single row does not fit into memory.
        """
        import torch

        lengths = np.asarray(lengths, dtype=np.int64)
        remaining = self._batches(lengths, policy)
        while remaining:
            batch = remaining.pop()
            try:
                forward(batch)
                continue
            except torch.OutOfMemoryError as error:
                if len(batch) == 1:
                    raise MemoryError(
                        "out of GPU memory on a single sequence of "
                        f"{lengths[batch[0]]} pieces ({error}). Use shorter sequences, "
                        "dtype='bfloat16' or device='cpu'."
                    ) from error
            # Not in the handler: its traceback keeps the batch's tensors alive.
            self._halve(int(lengths[batch].max()), len(batch))
            rows = np.concatenate([batch, *remaining[::-1]])
            remaining = [rows[part] for part in self._batches(lengths[rows], policy)]

    def _batches(self, lengths, policy):
        """Return the batches in reverse order, to be popped."""
        most = self._most_rows
        return token_batches(lengths, self.budget, policy, most_rows=most)[::-1]

    def _halve(self, longest, size):
        import torch

        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        self.budget = max(1, longest * size // 2)
        warnings.warn(
            f"Ran out of GPU memory on a batch of {size} sequences. Continuing with at "
            f"most {self.budget} tokens per batch; set "
            f"batch_tokens={self.budget} to start with that.",
            stacklevel=3,
        )
