"""Train the net of a Dynamic* estimator: data sets, epochs, and the training itself."""

import math
from dataclasses import replace

import numpy as np
import torch
from skorch.callbacks import EarlyStopping, LRScheduler

from ..._training._callbacks import StopOnRequest, reported_fit, run_epochs
from ..._training._device import resolve_device
from ..._training._random import local_generators, swap_default_generators
from ._data import SequenceData, SequenceDataset
from ._skorch_net import make_net

# Chosen on the development sets of `benchmarks/dynamic_defaults.py`. The accuracy on a
# tenth of fewer rows says little about an epoch, and the net misses the tenth.
MIN_ROWS_TO_HOLD_OUT = 5000
N_STEPS, MIN_EPOCHS, MAX_EPOCHS = 400, 8, 100


def train(model, data, held_out=None, *, is_partial=False):
    """Train the net of an estimator, and set its fitted attributes.

    Parameters
    ----------
    model : BaseDynamicMeta
        Training continues if it has a `net_`.
    data, held_out : tuple of X, y and weights
        `held_out` is None if `early_stopping` decides whether rows of `data` are held
        out.
    is_partial : bool
        Whether to train for one epoch, without a held-out part.
    """
    net = getattr(model, "net_", None)
    # A loaded net stays on its device.
    device = resolve_device(net.device if net else model.device)
    try:
        train_set, valid_set = _data_set(model, device, *data), None
        n_rows, epochs = len(train_set), 1
        if held_out is not None:
            valid_set = _data_set(model, device, *held_out, name="y_val")
        elif not is_partial:
            train_set, valid_set = _split(model, train_set, data[1])
        if not is_partial:
            epochs = _count_epochs(model, n_rows, stops_early=valid_set is not None)
        with reported_fit(model, *data[:2], epochs) as tasks:
            model.net_ = _train_net(model, net, train_set, valid_set, epochs, tasks)
            model.history_ = model.net_.history
            model.n_iter_ = len(model.history_)
    except torch.OutOfMemoryError as error:
        raise MemoryError(
            f"Out of GPU memory in training with batches of about {model.batch_size} "
            f"sequences ({error}). Use a smaller batch_size, or the train option "
            "dtype='bfloat16'; for trained transformers, train fewer layers or use a "
            "smaller max_length."
        ) from error


def _data_set(model, device, X, y, weights, name="y"):
    """Return the `SequenceDataset` of the rows whose weight is not 0."""
    target = model._target
    return SequenceDataset(
        SequenceData(X, device, model._trained, target.per_token),
        np.flatnonzero(weights),
        target.encode(y, name),
        target.spread(weights, y),
    )


def _split(model, whole, y):
    """Return the part to train on, and the held-out part or None.

    Labels are kept in proportion if each part has room for every label.
    """
    from sklearn.model_selection import train_test_split

    n_rows, stops_early = len(whole), model.early_stopping
    if stops_early == "auto":
        stops_early = n_rows >= MIN_ROWS_TO_HOLD_OUT
    if not stops_early or n_rows < 2:
        return whole, None
    size = min(max(1, round(model.validation_fraction * n_rows)), n_rows - 1)
    labels = model._target.stratify(y)
    if labels is not None:
        labels = labels[whole.rows]
        _, counts = np.unique(labels, return_counts=True)
        room = min(size, n_rows - size)
        labels = labels if counts.min() > 1 and room >= len(counts) else None
    parts = train_test_split(
        whole.rows, test_size=size, stratify=labels, random_state=model._random
    )
    return [replace(whole, rows=rows) for rows in parts]


def _count_epochs(model, n_rows, *, stops_early):
    """Return the maximum number of epochs."""
    if model.max_epochs != "auto":
        return model.max_epochs
    if stops_early:
        return MAX_EPOCHS
    # Few rows have few batches.
    steps = max(n_rows / model.batch_size, 1)  # per epoch, approximately
    return max(MIN_EPOCHS, math.ceil(N_STEPS / steps))


def _train_net(model, net, train_set, valid_set, epochs, tasks):
    """Train a net, or a new one if it is None, and return it."""
    seed, device = model._draw_seed(), train_set.data.device
    monitor = None if valid_set is None else model._target.monitor
    new = make_net(model, device, monitor, seed)
    with local_generators(seed):
        if net is None:
            net = new
            with swap_default_generators("cpu"):
                net.initialize()
            net.module_.mixer.set_standards(train_set)
        else:
            net.resume(new)
        own = net.callbacks_
        callbacks = [("tasks", tasks), *own, ("stop_on_request", StopOnRequest(tasks))]
        try:
            run_epochs(net, callbacks, train_set, valid_set, epochs)
            net.module_.eval()  # without a held-out part, it is in training mode
        finally:
            _free(own)
    return net


def _free(callbacks):
    """Drop what pickles would contain as a second copy of the net's state."""
    for _, callback in callbacks:
        if isinstance(callback, EarlyStopping):
            callback.best_model_weights_ = None
        elif isinstance(callback, LRScheduler):
            callback.lr_scheduler_ = None
