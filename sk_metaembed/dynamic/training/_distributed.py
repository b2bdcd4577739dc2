"""Training of one net by several processes, launched by Hugging Face Accelerate.

Each process has all data and computes its shard of every batch, possibly in parts. The
loss of a part is weighted by its rows, so that losses and gradients add up to those of
the whole batch, however unequal the parts are.

skorch's AccelerateMixin is not used, for three reasons. It averages the gradients of
the processes, which for shards of unequal size is not the gradient of the batch, so it
trains another network than a single process does. Each process stops early by its own
loss, so they may stop in different epochs. And it refuses batch sizes that the number
of processes does not divide.
"""

import atexit
import os
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import distributed

from ..._training._choose_device import worker_index

# They wrap network or optimizer in classes that skorch does not support.
_REFUSED = {"FSDP", "DEEPSPEED", "MEGATRON_LM", "XLA", "TP"}


class ProcessFailedError(RuntimeError):
    """Another process failed, so this one cannot continue."""


class Processes:
    """The processes that train one net, of which this is one.

    Every collective operation first checks that all processes are able to continue: a
    process that fails joins the check with its error, and the others raise
    `ProcessFailedError`.

    Parameters
    ----------
    rank : int, default=0
        The number of this process.
    count : int, default=1
        The number of processes.
    device : torch.device, default=None
        The device of this process; None without Accelerate.
    bfloat16 : bool, default=False
        Whether Accelerate is set to mixed precision.
    """

    def __init__(self, rank=0, count=1, device=None, bfloat16=False):
        self.rank, self.count, self.device = rank, count, device
        self.bfloat16 = bfloat16

    def __reduce__(self):
        return Processes, ()  # a net that is saved in the middle is loaded alone

    @property
    def is_main(self):
        """Whether this is the process that writes and prints."""
        return self.rank == 0

    def check(self, error=None):
        """Continue if all processes can.

        Parameters
        ----------
        error : BaseException, default=None
            Why this process cannot.

        Raises
        ------
        ProcessFailedError
            If this process can continue and another cannot.
        """
        if self.count == 1:
            return
        failed = torch.tensor([float(error is not None)], device=self.device)
        self._all_reduce(failed)
        if not failed.item():
            return
        message = None if error is None else f"{type(error).__name__}: {error}"
        messages = self._all_gather(message)
        if error is None:
            rank, reason = next((i, m) for i, m in enumerate(messages) if m is not None)
            raise ProcessFailedError(
                f"Training ended in process {self.rank} because process {rank} of "
                f"{self.count} could not continue: {reason}"
            )

    def all_reduce(self, tensor):
        """Replace a tensor by its sum over all processes, and return it."""
        if self.count > 1:
            self.check()
            self._all_reduce(tensor)
        return tensor

    def broadcast_tensor(self, tensor):
        """Replace a tensor by that of the main process, and return it."""
        if self.count > 1:
            self.check()
            self._broadcast(tensor)
        return tensor

    def all_gather(self, value):
        """Return a list of the values of all processes, any objects."""
        if self.count == 1:
            return [value]
        self.check()
        return self._all_gather(value)

    def broadcast(self, value):
        """Return the main process's value, any object."""
        return self.all_gather(value if self.is_main else None)[0]

    def _all_reduce(self, tensor):
        self._run(distributed.all_reduce, tensor)

    def _broadcast(self, tensor):
        self._run(distributed.broadcast, tensor, 0)

    def _all_gather(self, value):
        values = [None] * self.count
        self._run(distributed.all_gather_object, values, value)
        return values

    def _run(self, function, *args):
        try:
            function(*args)
        except RuntimeError as error:
            raise ProcessFailedError(
                f"Training ended in process {self.rank} because another of the "
                f"{self.count} processes ended or timed out; see the messages of the "
                "others. All processes must call fit in the same order. If some need "
                "more time between these calls, set Accelerate's "
                "InitProcessGroupKwargs(timeout=...) at the beginning of the script. "
                f"({error})"
            ) from error


SINGLE_PROCESS = Processes()


@contextmanager
def joint_fit(device, *, caller):
    """Run a fit that ends in all processes if it ends in one of them.

    Parameters
    ----------
    device : str
        The parameter of the estimator.
    caller : str
        Name of the estimator.

    Yields
    ------
    Processes
    """
    processes = processes_of(device, caller=caller)
    try:
        yield processes
    except ProcessFailedError:
        raise
    except BaseException as error:
        try:
            processes.check(error)
        except ProcessFailedError as lost:
            error.add_note(str(lost))
        raise
    processes.check()


def processes_of(device, *, caller):
    """Return the processes that train together.

    Parameters
    ----------
    device : str
        Only "accelerate" means more than this process.
    caller : str
        Name of the estimator.

    Raises
    ------
    ImportError
        If Accelerate is required and not installed.
    ValueError
        If a setting of Accelerate is not supported.
    """
    if device != "accelerate":
        return SINGLE_PROCESS
    _refuse_workers(caller)
    try:
        from accelerate import Accelerator
    except ImportError as error:
        raise ImportError(
            f"{caller}: device='accelerate' needs Hugging Face Accelerate: pip install "
            "'sk_metaembed[distributed]'."
        ) from error
    accelerator = Accelerator()
    _check_settings(accelerator, caller)
    if accelerator.num_processes > 1:
        _leave_at_exit()
    return Processes(
        accelerator.process_index,
        accelerator.num_processes,
        accelerator.device,
        accelerator.mixed_precision == "bf16",
    )


@lru_cache(maxsize=1)
def _leave_at_exit():
    """Leave the process group at exit.

    A thread of gloo could otherwise still run and abort the process, and then the
    launcher ends the others.
    """
    atexit.register(_leave)


def _leave():
    if distributed.is_available() and distributed.is_initialized():
        distributed.destroy_process_group()


def _n_launched():
    return int(os.environ.get("WORLD_SIZE", 1))


def _refuse_workers(caller):
    """Raise in workers and threads, where the fits of processes can get mixed up."""
    is_thread = threading.current_thread() is not threading.main_thread()
    if _n_launched() > 1 and (worker_index() is not None or is_thread):
        raise ValueError(
            f"{caller}: device='accelerate' shares each fit among the "
            f"{_n_launched()} processes of the launch, which must run the same fits in "
            "the same order, but this call is in a worker of joblib or in a thread. "
            "Use n_jobs=1 in searches and cross-validation."
        )


def _check_settings(accelerator, caller):
    kind = accelerator.distributed_type.name
    if kind in _REFUSED:
        raise ValueError(
            f"{caller}: device='accelerate' trains on several CPUs, GPUs or machines, "
            f"each with all the weights; the Accelerate backend {kind} is not "
            "supported. Disable it in `accelerate config`."
        )
    if accelerator.mixed_precision not in ("no", "bf16"):
        raise ValueError(
            f"{caller}: device='accelerate' computes in float32 or bfloat16; "
            f"Accelerate is set to {accelerator.mixed_precision!r}. Use "
            "--mixed_precision bf16, or no."
        )
    if _n_launched() > accelerator.num_processes:
        raise ValueError(
            f"{caller}: {_n_launched()} processes were started, but Accelerate sees "
            f"only this one, on {accelerator.device}. Without GPUs, set the "
            "environment variable ACCELERATE_USE_CPU=true."
        )


@dataclass(frozen=True)
class ShardedBatch:
    """The shard of a batch that one process computes.

    Unpacking returns its last part, to which the outputs of a training step belong.

    Attributes
    ----------
    parts : list of (Batch, target)
        Computed one after the other. Empty if there are more processes than rows.
    weights : list of float
        The weight of each part in the whole batch.
    sizes : list of int
        The number of rows of each process.
    """

    parts: list
    weights: list
    sizes: list

    def __len__(self):
        return sum(self.sizes)

    def __iter__(self):
        return iter(self.parts[-1])

    def __getitem__(self, i):
        return self.parts[-1][i]


class ShardLoader:
    """Yield the shard of this process in each batch of a loader.

    Parameters
    ----------
    loader : BucketLoader
    processes : Processes
    micro_batch_size : int or None
        Largest number of rows per part.
    """

    def __init__(self, loader, processes, micro_batch_size):
        self.loader, self.processes, self.micro_batch_size = (
            loader,
            processes,
            micro_batch_size,
        )

    def __iter__(self):
        for rows in self.loader.row_batches():
            yield self._shard(rows)

    def _shard(self, rows):
        dataset, processes = self.loader.dataset, self.processes
        # In strides, because rows are sorted by length.
        shards = [rows[rank :: processes.count] for rank in range(processes.count)]
        own = shards[processes.rank]
        n_parts = -(-len(own) // (self.micro_batch_size or max(len(own), 1)))
        parts = np.array_split(own, n_parts) if n_parts else []
        whole = max(_sum(dataset.weights[rows]), 1e-12)
        return ShardedBatch(
            [dataset.batch(part) for part in parts],
            [_sum(dataset.weights[part]) / whole for part in parts],
            [len(shard) for shard in shards],
        )


def _sum(weights):
    return float(weights.sum(dtype=np.float64))


def train_shard(net, batch):
    """Compute the shard of this process and the gradients of the whole batch.

    Returns a dict with the ``loss`` of the whole batch and ``y_pred`` of the last part.
    """
    net._set_training(True)
    loss, y_pred = torch.zeros((), device=net.device), None
    for part, weight in _parts(batch):
        y_pred, own = _forward(net, part, weight)
        if own.requires_grad:
            own.backward()
        loss += own.detach()
    if net.mix_penalty:
        penalty = net.mix_penalty * net.module_.mixer.penalty()
        if torch.is_tensor(penalty):
            penalty = penalty / net.processes_.count
            penalty.backward()
            loss += penalty.detach()
    return {"loss": _add_up(net, loss), "y_pred": y_pred}


def valid_shard(net, batch):
    """Return the loss of a whole batch, and ``y_pred`` of this process's shard."""
    net._set_training(False)
    loss, y_pred = torch.zeros((), device=net.device), None
    with torch.no_grad():
        for part, weight in _parts(batch):
            y_pred, own = _forward(net, part, weight)
            loss += own
    return {"loss": net.processes_.all_reduce(loss), "y_pred": y_pred}


def _parts(batch):
    return zip(batch.parts, batch.weights, strict=True)


def _forward(net, part, weight):
    """Return the outputs and the weighted loss of a part of a batch."""
    X, y = part
    y_pred = net.infer(X)
    return y_pred, weight * net.get_loss(y_pred, y, X=X)


def _add_up(net, loss):
    """Sum gradients and loss over all processes; return the loss."""
    processes = net.processes_
    if processes.count == 1:
        return loss
    weights = [weight for _, weight in net.get_all_learnable_params()]
    grads = [torch.zeros_like(w) if w.grad is None else w.grad for w in weights]
    # A weight that no process used keeps no gradient, so that Adam leaves it alone.
    used = loss.new_tensor([float(weight.grad is not None) for weight in weights])
    flat = [grad.reshape(-1).float() for grad in grads]
    whole = processes.all_reduce(torch.cat([*flat, used, loss.reshape(1)]))
    sizes = [len(grad) for grad in flat]
    *flat, used, loss = whole.split([*sizes, len(weights), 1])
    for weight, grad, n_users in zip(weights, flat, used.tolist(), strict=True):
        weight.grad = grad.view_as(weight).to(weight.dtype) if n_users else None
    return loss[0]


def sync_weights(net):
    """Copy the weights of the main process to all others, bit by bit."""
    if net.processes_.count == 1:
        return
    by_type = {}
    with torch.no_grad():
        for tensor in net.module_.state_dict().values():
            if tensor.is_floating_point():
                by_type.setdefault(tensor.dtype, []).append(tensor)
        for tensors in by_type.values():
            flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
            parts = net.processes_.broadcast_tensor(flat).split(
                [t.numel() for t in tensors]
            )
            for tensor, part in zip(tensors, parts, strict=True):
                tensor.copy_(part.view_as(tensor))
