"""Parameters of all trained estimators: the torch device and skorch callbacks."""

import multiprocessing
import re


def resolve_device(name):
    """Return the torch device of "auto", "cuda:auto" or a torch device name.

    "auto" is a GPU if there is one; "cuda:auto" assigns the GPUs to joblib's workers in
    turn. A ValueError is raised if the device does not exist.
    """
    import torch

    requested = name
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    elif name == "cuda:auto":
        name = f"cuda:{(worker_index() or 0) % max(torch.cuda.device_count(), 1)}"
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise ValueError(
            f"device={name!r} is not a torch device. Use 'auto', 'cpu', "
            "'cuda', 'cuda:1' or 'cuda:auto'."
        ) from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(
            f"device={requested!r} was requested, but torch finds no GPU "
            f"(torch {torch.__version__}). Use device='auto' or 'cpu'."
        )
    return device


def worker_index():
    """Return the number of this joblib worker process, from 0; None in other processes.

    Workers are numbered in the order in which they start, so those that run at the same
    time have consecutive numbers.
    """
    worker = re.fullmatch(
        r"(?:Loky\w*Process|\w+PoolWorker)-(\d+)",
        multiprocessing.current_process().name,
    )
    return int(worker[1]) - 1 if worker else None


def check_callbacks(callbacks):
    """Raise a TypeError unless all are skorch callbacks or pairs (name, callback)."""
    for callback in callbacks or []:
        named = isinstance(callback, tuple) and len(callback) == 2
        if not hasattr(callback[1] if named else callback, "on_epoch_end"):
            raise TypeError(
                "callbacks must hold skorch callbacks or pairs (name, "
                f"callback), got {callback!r}."
            )
