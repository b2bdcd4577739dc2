"""Train a net: a new or a resumed one, and the training itself."""

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
from ..._training._random import GeneratorMode, generator_mode_lock, local_generators
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
def explained_memory_errors(batch_size):
    """Say what to do if the memory of a GPU does not suffice."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise MemoryError(
            f"Out of GPU memory in training with batches of about {batch_size} "
            f"sequences ({error}). Use a smaller batch_size, or the train option "
            "dtype='bfloat16'; for trained transformers, train fewer layers or use a "
            "smaller max_length."
        ) from error


def train_net(net, params, callbacks, train_set, valid_set, *, seed, epochs, tasks):
    """Train a net and return it.

    Parameters
    ----------
    net : SequenceNet or None
        The net whose training continues; None for a new one.
    params : dict
        Parameters of the net.
    callbacks : list of (str, skorch callback)
    train_set : SequenceDataset
    valid_set : SequenceDataset or None
        The held-out part.
    seed, epochs : int
    tasks : FitTaskReporter
        Reports the epochs to scikit-learn's callbacks.

    Returns
    -------
    SequenceNet
    """
    with local_generators(seed):
        if net is None:
            rng = np.random.RandomState(seed)
            net = make_net(params, callbacks, train_set.data.device, rng)
            with generator_mode_lock, GeneratorMode():
                net.initialize()
            net.module_.mixer.set_standards(train_set)
        else:
            update_net(net, params, callbacks)
        _run(net, train_set, valid_set, epochs, tasks)
    return net


def _run(net, train_set, valid_set, epochs, tasks):
    """Train an initialized net for some epochs."""
    callbacks, max_epochs = net.callbacks_, net.max_epochs
    net.train_split = predefined_split(valid_set) if valid_set is not None else None
    # For this run only: these hold the data and the estimator.
    net.callbacks_ = [
        ("fit_tasks", tasks),
        *callbacks,
        ("stop_when_asked", StopOnRequest(tasks)),
    ]
    net.max_epochs = epochs
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
