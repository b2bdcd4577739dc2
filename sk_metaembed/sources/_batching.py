"""Batches of like length within a budget of tokens; halved where memory runs out."""

import warnings

import numpy as np


def token_batches(lengths, budget, company="any", *, most_rows=None):
    """Return batches of rows, longest rows first, none above the budget if padded.

    Parameters
    ----------
    lengths : array-like of int, shape (n_rows,)
    budget : int
        Tokens a batch, padding included. A longer row is a batch by itself.
    company : {"any", "alike", "none"}, default="any"
        Which rows go together: any, those of one length, or none.
    most_rows : int, default=None
        Rows a batch; None for as many as the budget allows.

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
        if company != "any":
            n_alike = int((lengths[order[start:]] == longest).sum())
            size = min(size, n_alike) if company == "alike" else 1
        batches.append(order[start : start + size])
        start += size
    return batches


class BatchRunner:
    """Runs batches, and goes on with smaller ones where a GPU's memory runs out.

    Parameters
    ----------
    budget : int
        Tokens a batch; halved when memory runs out, for all that follows.
    caller : str, default="TransformerEmbedding"
        Begins the messages.
    shorter : str, default="a smaller max_length, "
        What may help where one row is too long.
    most_rows : int, default=None
        See `token_batches`.
    """

    def __init__(
        self,
        budget,
        *,
        caller="TransformerEmbedding",
        shorter="a smaller max_length, ",
        most_rows=None,
    ):
        self.budget = budget
        self._whose, self._shorter = caller, shorter
        self._most_rows = most_rows

    def run(self, lengths, forward, company="any"):
        """Call `forward` with batches of rows, all of them once.

        Parameters
        ----------
        lengths : array-like of int, shape (n_rows,)
        forward : callable
            Gets an array of row numbers.
        company : {"any", "alike", "none"}, default="any"
            As for `token_batches`.

        Raises
        ------
        MemoryError
            If the memory does not suffice for one row.
        """
        import torch

        lengths = np.asarray(lengths, dtype=np.int64)
        left = self._batches(lengths, company)
        while left:
            batch = left.pop()
            try:
                forward(batch)
                continue
            except torch.OutOfMemoryError as error:
                if len(batch) == 1:
                    raise MemoryError(
                        f"{self._whose}: the GPU's memory does not suffice for one "
                        f"sequence of {lengths[batch[0]]} pieces ({error}). Use "
                        f"{self._shorter}dtype='bfloat16' or device='cpu'."
                    ) from error
            # Outside of the handler, whose traceback holds the batch's tensors.
            self._halve(int(lengths[batch].max()), len(batch))
            rows = np.concatenate([batch, *left[::-1]])
            left = [rows[some] for some in self._batches(lengths[rows], company)]

    def _batches(self, lengths, company):
        """Return the batches, the first one last."""
        most = self._most_rows
        return token_batches(lengths, self.budget, company, most_rows=most)[::-1]

    def _halve(self, longest, size):
        import torch

        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        self.budget = max(1, longest * size // 2)
        warnings.warn(
            f"{self._whose}: the GPU's memory ran out on a batch of {size} "
            f"sequences. Going on with at most {self.budget} tokens a batch; "
            f"batch_tokens={self.budget} does so from the start.",
            UserWarning,
            stacklevel=3,
        )
