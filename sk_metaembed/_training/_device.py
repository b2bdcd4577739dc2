"""The device of a net, and the threads of BLAS."""

import multiprocessing
import re
from contextlib import contextmanager

import numpy as np
from threadpoolctl import threadpool_limits

from .._io._handle import fork_safe_lock

# Devices on which autocast computes recurrent layers in float16 even if bfloat16 is
# requested (cuDNN's layers in torch). Gradients would underflow without loss scaling.
_HALF_UNDER_AUTOCAST = {"cuda"}
_limiting = fork_safe_lock()


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


def send(array, device):
    """Return an array as a tensor on a device.

    Arrays for a GPU are copied from pinned memory, which is asynchronous: a copy from
    other memory would wait for the GPU.
    """
    import torch

    tensor = torch.from_numpy(np.ascontiguousarray(array))
    if device.type == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


def run_recurrent(layer, x):
    """Return the states of all steps of a torch RNN, in float32 instead of float16.

    Under autocast on a GPU, torch would compute these layers in float16. They may still
    use TensorFloat-32, which torch allows for them by default.
    """
    import torch

    kind = x.device.type
    if kind not in _HALF_UNDER_AUTOCAST or not torch.is_autocast_enabled(kind):
        return layer(x)[0]
    with torch.autocast(kind, enabled=False):
        return layer(x.float())[0]


def fits(array, device):
    """Return whether an array needs at most half of the free memory of a GPU.

    The other half is for later arrays, the network, its gradients and batches. True for
    other devices.
    """
    import torch

    if device.type != "cuda":
        return True
    free, _ = torch.cuda.mem_get_info(device)
    # Memory that torch has reserved but not allocated is available too.
    free += torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return array.nbytes <= free // 2


@contextmanager
def one_blas_thread():
    """Limit BLAS to one thread, unless another thread of the process has done so.

    Many small products take several times as long in more threads.

    The number of threads belongs to the process, and a limit restores what it found. If
    two overlapped, the one that ends last would restore the limit of the other.
    """
    if not _limiting.acquire(blocking=False):
        yield
        return
    try:
        with threadpool_limits(1, user_api="blas"):
            yield
    finally:
        _limiting.release()
