"""The torch device that a parameter names.

The skorch callbacks that a user hands to an estimator.
"""

import multiprocessing
import re


def resolve_device(name, *, caller):
    """Return the torch device for "auto", "cuda:auto" or a name of torch's.

    Parameters
    ----------
    name : str
        "auto" takes a GPU if there is one; "cuda:auto" gives each process of joblib
        another one, as far as they go.
    caller : str
        Begins the error messages.

    Returns
    -------
    torch.device

    Raises
    ------
    ValueError
        If there is no such device.
    """
    import torch

    asked = name
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    elif name == "cuda:auto":
        name = f"cuda:{(worker_index() or 0) % max(torch.cuda.device_count(), 1)}"
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise ValueError(
            f"{caller}: device={name!r} is no torch device. Use 'auto', 'cpu', 'cuda', "
            "'cuda:1' or 'cuda:auto'."
        ) from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(
            f"{caller}: device={asked!r} was asked for, but torch sees no GPU (torch "
            f"{torch.__version__}). Use device='auto' or 'cpu'."
        )
    return device


def worker_index():
    """Return which of joblib's worker processes this is, from 0; None for another.

    They are counted up as they are started, so that those that run at the same time
    have numbers one behind the other.
    """
    worker = re.fullmatch(
        r"(?:Loky\w*Process|\w+PoolWorker)-(\d+)",
        multiprocessing.current_process().name,
    )
    return int(worker[1]) - 1 if worker else None


def check_callbacks(callbacks, *, caller):
    """Raise for what is no skorch callback.

    Parameters
    ----------
    callbacks : sequence or None
        Of skorch callbacks, or of pairs (name, callback).
    caller : str
        Begins the error message.

    Raises
    ------
    TypeError
        With what came and what is allowed.
    """
    for callback in callbacks or []:
        named = isinstance(callback, tuple) and len(callback) == 2
        if not hasattr(callback[1] if named else callback, "on_epoch_end"):
            raise TypeError(
                f"{caller}: callbacks must hold skorch callbacks or pairs (name, "
                f"callback), got {callback!r}."
            )
