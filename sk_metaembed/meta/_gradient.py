"""Mini-batch gradient descent, for meta-embeddings without a closed form.

torch is imported inside functions, because only `fit` of these methods needs it.
"""

import math
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from .._core._optional import progress_bar

_PATIENCE = 3  # consecutive epochs with too little progress
_STEPS = 64  # gradient steps per epoch, unless batches get too small or too large
_SMALLEST, _LARGEST = 32, 512  # rows per batch


def seeded_generator(random_state, device):
    """Return a torch generator with a seed drawn from a random state."""
    import torch

    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    return torch.Generator(device).manual_seed(seed)


def host_generator(generator):
    """Return a generator on the CPU with the seed of another, or that itself.

    Initial weights are drawn on the CPU, so that they are the same on every device.
    """
    import torch

    if generator.device.type == "cpu":
        return generator
    return torch.Generator().manual_seed(generator.initial_seed())


def minimize(batch_loss, optimizer, n_rows, estimator, generator):
    """Take gradient steps on shuffled mini-batches until the loss converges.

    ``batch_loss(rows)`` maps a tensor of row indices to their mean loss. The estimator
    has the parameters batch_size (an int or "auto"), max_iter, tol and verbose. Returns
    the mean loss per epoch. Raises FloatingPointError if the loss is not finite. A
    keyboard interrupt ends training with a warning; in the first epoch it propagates.
    """
    import torch

    batch_size = estimator.batch_size
    if batch_size == "auto":
        batch_size = min(max(n_rows // _STEPS, _SMALLEST), _LARGEST)
    curve, name = [], type(estimator).__name__
    epochs = range(estimator.max_iter)
    silent = not estimator.verbose
    with progress_bar(epochs, desc=name, unit="epoch", disable=silent) as bar:
        try:
            for _ in bar:
                order = torch.randperm(
                    n_rows, generator=generator, device=generator.device
                )
                batches = order.split(batch_size)
                curve.append(_epoch(batch_loss, optimizer, batches))
                if not math.isfinite(curve[-1]):
                    raise FloatingPointError(
                        f"training diverged: the loss is {curve[-1]} in epoch "
                        f"{len(curve)}. Use a smaller learning_rate, and "
                        "normalize=True."
                    )
                bar.set_postfix(loss=f"{curve[-1]:.4g}")
                if has_converged(curve, estimator.tol):
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
    from .._training._tiny_numbers import round_tiny_numbers

    round_tiny_numbers(optimizer)
    total = 0.0
    for rows in batches:
        optimizer.zero_grad()
        loss = batch_loss(rows)
        loss.backward()
        optimizer.step()
        # Summed on the device: fetching each loss would synchronize a GPU.
        total = total + loss.detach() * len(rows)
    return float(total) / sum(map(len, batches))


def has_converged(curve, tol):
    """Return whether the last steps each reduced the loss by a share below `tol`."""
    last = np.array(curve[-_PATIENCE - 1 :])
    if len(last) <= _PATIENCE:
        return False
    return bool((last[:-1] - last[1:] < tol * np.abs(last[:-1])).all())
