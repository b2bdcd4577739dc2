"""Train a net by a plan: data sets, a new or a resumed net, and the training itself."""

from contextlib import contextmanager

import numpy as np
import torch
from skorch.callbacks import (
    Checkpoint,
    EarlyStopping,
    LRScheduler,
    MlflowLogger,
    NeptuneLogger,
    ProgressBar,
    SacredLogger,
    TensorBoard,
    TrainEndCheckpoint,
    WandbLogger,
)
from skorch.helper import predefined_split

from ..._training._callbacks import StopOnRequest
from ..._training._choose_device import resolve_device
from ..._training._random import GeneratorMode, generator_mode_lock, local_generators
from ._data import SequenceDataset, rows_of
from ._skorch_net import make_net, update_net

# Callbacks that write or print, about the net that is fitted on all rows only.
WRITERS = (
    Checkpoint,
    MlflowLogger,
    NeptuneLogger,
    ProgressBar,
    SacredLogger,
    TensorBoard,
    TrainEndCheckpoint,
    WandbLogger,
)


@contextmanager
def _memory_errors(plan):
    """Say what to do if the memory of a GPU does not suffice."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        size = plan.model.settings["batch_size"]
        raise MemoryError(
            f"Out of GPU memory in training with batches of about {size} sequences "
            f"({error}). Use a smaller batch_size, or the train option "
            "dtype='bfloat16'; for trained transformers, train fewer layers or use a "
            "smaller max_length."
        ) from error


def train_net(plan, tasks=None):
    """Train a net by a plan and return it.

    Parameters
    ----------
    plan : FitPlan
    tasks : FitTaskReporter, default=None
        Reports the epochs to scikit-learn's callbacks.

    Returns
    -------
    SequenceNet
    """
    with _memory_errors(plan):
        return _trained(plan, tasks)


def _trained(plan, tasks):
    device = _device(plan)
    train_set, valid_set = _datasets(plan, device)
    seed = plan.random_state.randint(np.iinfo(np.int32).max)
    with local_generators(seed):
        if plan.net is None:
            net = make_net(plan.model, device, np.random.RandomState(seed))
            with generator_mode_lock, GeneratorMode():
                net.initialize()
            net.module_.mixer.set_standards(train_set)
        else:
            net = _resumed_net(plan)
        _run(net, plan, train_set, valid_set, tasks)
    return net


def _device(plan):
    if plan.net is None:
        return resolve_device(plan.device, caller=plan.model.caller)
    # Not that of the plan: the net may have been loaded on another machine.
    return torch.device(plan.net.device)


def _datasets(plan, device):
    """Return the training and the held-out `SequenceDataset`, which may be None."""
    caller, trained, target = plan.model.caller, plan.model.trained, plan.target
    data = rows_of(plan.X, device, trained, target.per_token)
    values = target.encode(plan.y, caller=caller)
    everything = np.flatnonzero(plan.weights)
    weights = target.spread(plan.weights, plan.y, caller=caller)
    if plan.held_out is None:
        return SequenceDataset(data, everything, values, weights), None
    first, second = plan.held_out
    if isinstance(first, np.ndarray):
        return (
            SequenceDataset(data, first, values, weights),
            SequenceDataset(data, second, values, weights),
        )
    ones, caller = np.ones(len(first), dtype=np.float32), f"{caller}'s y_val"
    valid = SequenceDataset(
        rows_of(first, device, trained, target.per_token),
        np.arange(len(first)),
        target.encode(second, caller=caller),
        target.spread(ones, second, caller=caller),
    )
    return SequenceDataset(data, everything, values, weights), valid


def _resumed_net(plan):
    """Return the net of the last fit with the settings of this one."""
    net, model = plan.net, plan.model
    for name, requested in model.network.items():
        has = getattr(net, f"module__{name}")
        if has != requested:
            raise ValueError(
                f"{model.caller} continues with the net of the last fit, whose {name} "
                f"is {has!r}, but {requested!r} is requested. Reset it, use "
                "warm_start=False, or fit a clone."
            )
    net.restore_optimizer()
    update_net(net, model)
    return net


def _run(net, plan, train_set, valid_set, tasks):
    """Train an initialized net for the epochs of the plan."""
    callbacks, max_epochs = net.callbacks_, net.max_epochs
    net.train_split = predefined_split(valid_set) if valid_set is not None else None
    # For this run only: these hold the data and the estimator.
    net.callbacks_ = [
        *([] if tasks is None else [("fit_tasks", tasks)]),
        *callbacks,
        *([] if tasks is None else [("stop_when_asked", StopOnRequest(tasks))]),
    ]
    net.max_epochs = plan.epochs
    try:
        net.partial_fit(train_set)
        net.module_.eval()  # without a held-out part, it is in training mode
    finally:
        net.callbacks_, net.max_epochs = callbacks, max_epochs
        net.train_split = None
        _free(callbacks)


def _free(callbacks):
    """Drop what pickles would contain as a second copy of the net's state."""
    for _, callback in callbacks:
        if isinstance(callback, EarlyStopping):
            callback.best_model_weights_ = None
        elif isinstance(callback, LRScheduler):
            callback.lr_scheduler_ = None
