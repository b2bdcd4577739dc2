"""The processes that train one net together, as Hugging Face Accelerate starts them."""

import atexit
import os
import threading
from functools import lru_cache

import torch
from torch import distributed

from ..sequences._device import worker_number

# They wrap network or optimizer in ways that a skorch net knows nothing of.
_REFUSED = {"FSDP", "DEEPSPEED", "MEGATRON_LM", "XLA", "TP"}


class PartedError(RuntimeError):
    """Some other process cannot go on, so that this one cannot either."""


class Processes:
    """Processes that train one net, of which this is one; or this one alone.

    Whatever they do together begins by asking whether all of them can: one that fails
    comes to the same place with its error, and the others end with a sentence.

    Parameters
    ----------
    rank : int, default=0
        The number of this process.
    count : int, default=1
        How many there are.
    device : torch.device, default=None
        Where this one computes; None where Accelerate has no say.
    bfloat16 : bool, default=False
        Whether matrix products are asked for in mixed precision.
    """

    def __init__(self, rank=0, count=1, device=None, bfloat16=False):
        self.rank, self.count, self.device = rank, count, device
        self.bfloat16 = bfloat16

    def __reduce__(self):
        return Processes, ()  # a net that is saved in the middle is loaded alone

    @property
    def is_main(self):
        """Whether this is the one that writes and prints."""
        return self.rank == 0

    def check(self, error=None):
        """Go on if all can.

        Parameters
        ----------
        error : BaseException, default=None
            Why this process cannot.

        Raises
        ------
        PartedError
            If this one can and another cannot.
        """
        if self.count == 1:
            return
        failed = torch.tensor([float(error is not None)], device=self.device)
        self._all_reduce(failed)
        if not failed.item():
            return
        said = None if error is None else f"{type(error).__name__}: {error}"
        reasons = self._all_gather(said)
        if error is None:
            rank, why = next((i, r) for i, r in enumerate(reasons) if r is not None)
            raise PartedError(
                f"Training ended in process {self.rank} because process {rank} of "
                f"{self.count} could not go on. It says: {why}"
            )

    def total(self, tensor):
        """Replace a tensor by its sum over all processes, and return it."""
        if self.count > 1:
            self.check()
            self._all_reduce(tensor)
        return tensor

    def from_main(self, tensor):
        """Replace a tensor by that of the main process, and return it."""
        if self.count > 1:
            self.check()
            self._broadcast(tensor)
        return tensor

    def gathered(self, value):
        """Return a list of all processes' values, any objects."""
        if self.count == 1:
            return [value]
        self.check()
        return self._all_gather(value)

    def told(self, value):
        """Return the main process's value, any object."""
        return self.gathered(value if self.is_main else None)[0]

    def rows(self, own, sizes):
        """Return the rows of all processes, those of this one with their gradient.

        Parameters
        ----------
        own : tensor of shape (sizes[rank], ...)
        sizes : list of int

        Returns
        -------
        tensor of shape (sum(sizes), ...)
        """
        start = sum(sizes[: self.rank])
        stop = start + sizes[self.rank]
        whole = own.new_zeros(sum(sizes), *own.shape[1:])
        whole[start:stop] = own.detach()
        self.total(whole)
        return torch.cat([whole[:start], own, whole[stop:]])

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
            raise PartedError(
                f"Training ended in process {self.rank} because another of the "
                f"{self.count} processes ended, or did not come within the time limit; "
                "look at what the others say. Every process must make the same calls "
                "of fit in the same order. Where some need long in between, set "
                "Accelerate's InitProcessGroupKwargs(timeout=...) at the beginning "
                f"of the script. ({error})"
            ) from error


ALONE = Processes()


def processes_of(estimator):
    """Return the processes that an estimator is trained by.

    Parameters
    ----------
    estimator : one of the Dynamic* estimators

    Returns
    -------
    Processes

    Raises
    ------
    ImportError
        If they are asked for and Accelerate is not installed.
    ValueError
        If Accelerate is set to what cannot be done.
    """
    if estimator.device != "accelerate":
        return ALONE
    whose = type(estimator).__name__
    _refuse_workers(whose)
    try:
        from accelerate import Accelerator
    except ImportError as error:
        raise ImportError(
            f"{whose}: device='accelerate' needs Hugging Face Accelerate: pip install "
            "'sk_metaembed[distributed]'."
        ) from error
    accelerator = Accelerator()
    _check_settings(accelerator, whose)
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
    """Have this process leave the group before it ends.

    Else a thread of gloo may still run then, which aborts it, and the launcher ends
    the others.
    """
    atexit.register(_leave)


def _leave():
    if distributed.is_available() and distributed.is_initialized():
        distributed.destroy_process_group()


def _n_launched():
    return int(os.environ.get("WORLD_SIZE", 1))


def _refuse_workers(whose):
    """Raise where a fit runs beside others in one of the launched processes."""
    is_thread = threading.current_thread() is not threading.main_thread()
    if _n_launched() > 1 and (worker_number() is not None or is_thread):
        raise ValueError(
            f"{whose}: device='accelerate' shares each fit among the "
            f"{_n_launched()} processes of the launch, which must come to it one fit "
            "after the other; but this is a worker of joblib or a thread. Use n_jobs=1 "
            "in searches and cross-validation."
        )


def _check_settings(accelerator, whose):
    kind = accelerator.distributed_type.name
    if kind in _REFUSED:
        raise ValueError(
            f"{whose}: device='accelerate' trains on several CPUs, GPUs or machines, "
            f"each with all the weights; Accelerate is set to {kind}. Answer no to it "
            "in `accelerate config`."
        )
    if accelerator.mixed_precision not in ("no", "bf16"):
        raise ValueError(
            f"{whose}: device='accelerate' computes in float32 or bfloat16; Accelerate "
            f"is set to {accelerator.mixed_precision!r}. Use --mixed_precision bf16, "
            "or no."
        )
    if _n_launched() > accelerator.num_processes:
        raise ValueError(
            f"{whose}: {_n_launched()} processes were started, but Accelerate sees "
            f"this one alone, on {accelerator.device}. Without GPUs it wants to be "
            "told: set the environment variable ACCELERATE_USE_CPU=true."
        )
