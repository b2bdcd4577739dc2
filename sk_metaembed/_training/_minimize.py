"""Gradient steps on batches of rows, until the loss converges.

This module imports torch, so only functions that train may import it.
"""

import math
import warnings

import torch
from sklearn.exceptions import ConvergenceWarning
from torch.nn.functional import hardshrink

from .._core._optional import progress_bar

_TINY = 1e-30  # has no effect on sums in float32


def minimize(
    batch_loss, optimizer, epochs, has_converged, *, n_epochs, name, remedy, verbose=0
):
    """Take gradient steps, and return the mean loss of each epoch.

    A keyboard interrupt ends training with a warning; in the first epoch it propagates.

    Parameters
    ----------
    batch_loss : callable
        Returns the mean loss of the rows of a batch, a tensor.
    optimizer : torch Optimizer
    epochs : iterable of sequence of batches
        A batch is an array or a tensor of row numbers.
    has_converged : callable
        Returns whether to stop, from the mean losses of all epochs so far.
    n_epochs : int
        Length of `epochs`, for the progress bar.
    name : str
        Name of the estimator, for messages.
    remedy : str
        What to do if the loss is not finite, which raises a FloatingPointError.
    verbose : int, default=0
        Whether to show a progress bar.
    """
    curve, silent = [], not verbose
    with progress_bar(
        epochs, total=n_epochs, desc=name, unit="epoch", disable=silent
    ) as bar:
        try:
            for batches in bar:
                curve.append(_epoch(batch_loss, optimizer, batches))
                if not math.isfinite(curve[-1]):
                    raise FloatingPointError(
                        f"training diverged: the loss is {curve[-1]} in epoch "
                        f"{len(curve)}. {remedy}"
                    )
                bar.set_postfix(loss=f"{curve[-1]:.4g}")
                if has_converged(curve):
                    break
        except KeyboardInterrupt:
            if not curve:
                raise
            warnings.warn(
                f"{name}: training was interrupted after {len(curve)} epochs. The "
                "model of the last step is kept.",
                ConvergenceWarning,
                stacklevel=2,
            )
    return curve


def _epoch(batch_loss, optimizer, batches):
    total = 0.0
    for rows in batches:
        optimizer.zero_grad()
        loss = batch_loss(rows)
        loss.backward()
        optimizer.step()
        # Summed on the device: fetching each loss would synchronize a GPU.
        total = total + loss.detach() * len(rows)
    return float(total) / sum(map(len, batches))


def flush_denormals(optimizer):
    """Set trained weights and moments of an optimizer below 1e-30 to 0, in place.

    Processors take about a hundred times as long for numbers below 1.2e-38. Weights
    that only weight decay changes, and moments of Adam without gradients, shrink until
    all their products are that slow. torch can flush denormals in single threads only,
    not in the threads that share its products.
    """
    with torch.no_grad():
        for weights, moments in optimizer.state.items():
            for tensor in (weights, *moments.values()):
                if torch.is_tensor(tensor) and tensor.ndim:
                    tensor.copy_(hardshrink(tensor, _TINY))
