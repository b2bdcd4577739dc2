"""Gradient descent by mini-batches, for combinations that have no closed form.

torch is imported late: only what is trained needs it, and only in fit.
"""

import math
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

_PATIENCE = 3  # epochs in a row without the progress asked for


def seeded_generator(random_state, device):
    """Return a torch generator with a seed drawn from a random state.

    Parameters
    ----------
    random_state : int, RandomState or None
    device : torch.device

    Returns
    -------
    torch.Generator
    """
    import torch

    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    return torch.Generator(device).manual_seed(seed)


def minimise(
    batch_loss,
    optimizer,
    n_rows,
    *,
    batch_size,
    max_iter,
    tol,
    generator,
    verbose,
    caller,
):
    """Take gradient steps on shuffled mini-batches until the loss stands still.

    Parameters
    ----------
    batch_loss : callable
        Takes a tensor of row numbers, returns the mean loss of these rows.
    optimizer : torch optimizer
    n_rows : int
    batch_size : int
        Rows of one step.
    max_iter : int
        Most epochs.
    tol : float
        Training ends when three epochs in a row lower the loss by less than this
        share.
    generator : torch.Generator
        Shuffles the rows, on its device.
    verbose : bool or int
        Whether to show a progress bar.
    caller : str
        Names the bar, and begins the messages.

    Returns
    -------
    list of float
        The mean loss of each epoch.

    Raises
    ------
    FloatingPointError
        When the loss is no number any more.

    Notes
    -----
    An interrupt from the keyboard ends training with a warning, and what was learned
    is kept; before the end of the first epoch it is passed on.
    """
    import torch
    from tqdm.auto import tqdm

    curve = []
    with tqdm(range(max_iter), desc=caller, unit="epoch", disable=not verbose) as bar:
        try:
            for _ in bar:
                order = torch.randperm(
                    n_rows, generator=generator, device=generator.device
                )
                curve.append(_epoch(batch_loss, optimizer, order.split(batch_size)))
                _check_finite(curve, caller)
                bar.set_postfix(loss=f"{curve[-1]:.4g}")
                if stands_still(curve, tol):
                    break
        except KeyboardInterrupt:
            if not curve:
                raise
            warnings.warn(
                f"{caller}: training was interrupted after {len(curve)} epochs; what "
                "was learned by then is kept.",
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
        # Summed where it lies: to ask a GPU for each would make it wait.
        total = total + loss.detach() * len(rows)
    return float(total) / sum(map(len, batches))


def _check_finite(curve, caller):
    if not math.isfinite(curve[-1]):
        raise FloatingPointError(
            f"{caller}: the loss became {curve[-1]} in epoch {len(curve)}. Use a "
            "smaller learning_rate, and keep normalize=True."
        )


def stands_still(curve, tol, patience=_PATIENCE):
    """Tell whether the last steps each lowered the loss by too small a share.

    Parameters
    ----------
    curve : list of float
    tol : float
    patience : int, default=3

    Returns
    -------
    bool
    """
    last = np.array(curve[-patience - 1 :])
    if len(last) <= patience:
        return False
    return bool((last[:-1] - last[1:] < tol * np.abs(last[:-1])).all())
