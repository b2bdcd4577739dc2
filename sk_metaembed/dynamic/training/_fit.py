"""Train a net by a plan: data sets, a new or a resumed net, and the training itself."""

import zlib
from contextlib import contextmanager
from numbers import Number

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
from ._distributed import sync_weights
from ._skorch_net import AverageWeights, make_net, update_net

# Callbacks that write or print: only the main one of several processes runs them.
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
            f"({error}). Use a smaller batch_size, or the train options "
            "micro_batch_size or dtype='bfloat16'; for trained transformers, train "
            "fewer layers or use a smaller max_length."
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
    if plan.processes.count > 1:
        check_identical_data(plan, train_set, valid_set)
    seed = plan.random_state.randint(np.iinfo(np.int32).max)
    with local_generators(seed):
        if plan.net is None:
            net = make_net(
                plan.model, device, np.random.RandomState(seed), plan.processes
            )
            with generator_mode_lock, GeneratorMode():
                net.initialize()
            net.module_.mixer.set_standards(train_set)
        else:
            net = _resumed_net(plan)
        _run(net, plan, train_set, valid_set, tasks)
    return net


def _device(plan):
    if plan.processes.device is not None:
        return plan.processes.device
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
    _move(net, plan.processes.device)
    update_net(net, model, plan.processes)
    return net


def _move(net, device):
    """Move a net to the device that Accelerate chose, if any."""
    if device is None or torch.device(net.device) == device:
        return
    net.device = str(device)
    net.module_.to(device)
    # Loading its own state moves it to the device of the weights.
    net.optimizer_.load_state_dict(net.optimizer_.state_dict())


def _run(net, plan, train_set, valid_set, tasks):
    """Train an initialized net for the epochs of the plan."""
    processes, checkpoint = plan.processes, plan.checkpoint
    callbacks, max_epochs, verbose = net.callbacks_, net.max_epochs, net.verbose
    net.train_split = predefined_split(valid_set) if valid_set is not None else None
    # For this run only: these hold the data and the estimator.
    net.callbacks_ = [
        *([] if tasks is None else [("fit_tasks", tasks)]),
        *_acting(callbacks, processes),
        *([] if checkpoint is None else [("checkpoint", checkpoint)]),
        *([] if tasks is None else [("stop_when_asked", StopOnRequest(tasks))]),
    ]
    n_done = 0 if checkpoint is None else checkpoint.restore(net)
    net.max_epochs, net.processes_ = plan.epochs - n_done, processes
    net.verbose = verbose if processes.is_main else 0
    try:
        sync_weights(net)
        net.partial_fit(train_set)
        if checkpoint is not None:
            checkpoint.end(net)
        sync_weights(net)
        net.history = processes.broadcast(net.history)
        net.module_.eval()  # without a held-out part, it is in training mode
    finally:
        net.callbacks_, net.max_epochs, net.verbose = callbacks, max_epochs, verbose
        net.train_split = None
        del net.processes_
        _free(callbacks)


def _acting(callbacks, processes):
    """Return the callbacks that run in this process."""
    if processes.is_main:
        return callbacks
    return [pair for pair in callbacks if not isinstance(pair[1], WRITERS)]


def _free(callbacks):
    """Drop what pickles would contain as a second copy of the net's state."""
    for _, callback in callbacks:
        if isinstance(callback, EarlyStopping):
            callback.best_model_weights_ = None
        elif isinstance(callback, LRScheduler):
            callback.lr_scheduler_ = None
        elif isinstance(callback, AverageWeights):
            callback.last_ = []


def check_identical_data(plan, train_set, valid_set):
    """Raise unless all processes were given the same data and settings.

    Parameters
    ----------
    plan : FitPlan
    train_set : SequenceDataset
    valid_set : SequenceDataset or None

    Raises
    ------
    ValueError
        With what differs.
    """
    processes = plan.processes
    marks = {f"the parameter {name}": v for name, v in _settings(plan.params).items()}
    marks |= _marks(train_set, "training")
    if valid_set is not None:
        marks |= _marks(valid_set, "held-out")
    first = processes.broadcast(marks)
    wrong = [name for name in {**first, **marks} if first.get(name) != marks.get(name)]
    if wrong:
        name = wrong[0]
        raise ValueError(
            f"{plan.model.caller}: {name} is {marks.get(name)!r} in process "
            f"{processes.rank}, but {first.get(name)!r} in process 0. Give all "
            "processes the same data and parameters; each takes its shard of every "
            "batch by itself."
        )


def _settings(params):
    """Return the parameters that must be the same in all processes, by name."""
    return {
        name: value
        for name, value in params.items()
        if isinstance(value, Number | str | tuple | None)
        and name not in ("random_state", "verbose")
        # Those of trainable sources have a device and a seed of their own.
        and ("__" not in name or name.split("__")[0].endswith("_options"))
    }


def _marks(dataset, part):
    data = getattr(dataset.data, "sequences", dataset.data)
    some = dataset.rows[:4096]
    arrays = {
        "targets": dataset.target[some],
        "weights": dataset.weights[some],
        "lengths": data.lengths,
        "tokens": data.codes,
    }
    marks = {f"the number of {part} sequences": len(dataset)}
    return marks | {
        f"the checksum of the {part} {name}": zlib.crc32(np.ascontiguousarray(array))
        for name, array in arrays.items()
    }
