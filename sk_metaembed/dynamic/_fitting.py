"""From an estimator and its data to a trained net."""

import numpy as np
import torch

from ..sequences._device import chosen_device
from ..sequences._fit_tasks import FitTasks
from ..sequences._own_random import OwnWeights, own_random, weights_lock
from ._data import SequenceDataset
from ._pair_data import rows_of
from ._processes import processes_of
from ._shares import check_same_data
from ._together import settings
from ._training import (
    at_once,
    autocast_type,
    make_callbacks,
    make_net,
    set_trained_lrs,
    train,
)


def train_estimator(
    estimator, X, y, weights, held_out, epochs, context, checkpoint=None, *, new
):
    """Train an estimator's net and return it.

    Parameters
    ----------
    estimator : one of the Dynamic* estimators
    X : EmbeddedSequences, TokenSequences or SequencePairs
    y : ndarray
    weights : ndarray of float32, shape (n_sequences,)
    held_out : None, or rows (train, valid) of X, or other data (X_val, y_val)
    epochs : int
    context : sklearn.callback.CallbackContext
    checkpoint : Checkpoint, default=None
    new : bool
        Whether to begin with fresh weights.

    Returns
    -------
    SequenceNet
    """
    whose, processes = type(estimator).__name__, processes_of(estimator)
    device = _device(estimator, processes, new)
    train_set, valid_set = _datasets(estimator, X, y, weights, held_out, device)
    if processes.count > 1:
        asked = settings(estimator)
        check_same_data(processes, train_set, valid_set, asked, whose=whose)
    seed = estimator._random.randint(np.iinfo(np.int32).max)
    with own_random(seed):
        if new:
            net = _new_net(estimator, valid_set is not None, device, seed, processes)
        else:
            net = _old_net(estimator, valid_set is not None, processes)
        tasks = FitTasks(estimator, context, X, y)
        train(net, train_set, valid_set, epochs, tasks, processes, checkpoint)
    return net


def _device(estimator, processes, new):
    if processes.device is not None:
        return processes.device
    if new:
        return chosen_device(estimator.device, whose=type(estimator).__name__)
    # A net that goes on stays where it is: it may come from another machine.
    return torch.device(estimator.net_.device)


def _datasets(estimator, X, y, weights, held_out, device):
    whose = type(estimator).__name__
    target = estimator._target
    data = rows_of(X, device, estimator._trained, target.per_token)
    values = target.encode(y, whose=whose)
    everything = np.flatnonzero(weights)
    weights = target.spread(weights, y, whose=whose)
    if held_out is None:
        return SequenceDataset(data, everything, values, weights), None
    first, second = held_out
    if isinstance(first, np.ndarray):
        return (
            SequenceDataset(data, first, values, weights),
            SequenceDataset(data, second, values, weights),
        )
    ones, whose = np.ones(len(first), dtype=np.float32), f"{whose}'s y_val"
    valid = SequenceDataset(
        rows_of(first, device, estimator._trained, target.per_token),
        np.arange(len(first)),
        target.encode(second, whose=whose),
        target.spread(ones, second, whose=whose),
    )
    return SequenceDataset(data, everything, values, weights), valid


def _network(estimator):
    """Return the parameters of the estimator's network."""
    return {
        "trained": estimator._trained,
        "dims": list(estimator._source_dims().values()),
        "n_outputs": estimator._target.n_outputs,
        "projection_dim": estimator.projection_dim,
        "attention": estimator.attention,
        "gate": estimator.gate,
        "activation": estimator.activation,
        "layer_norm": estimator.layer_norm,
        "encoder_dims": tuple(np.atleast_1d(estimator.encoder_dim).tolist()),
        "hidden_dims": tuple(estimator.hidden_dims),
        "embedding_dropout": estimator.embedding_dropout,
        "encoder_dropout": estimator.encoder_dropout,
        "head_dropout": estimator.head_dropout,
        **estimator._network_parameters(),
    }


def _new_net(estimator, has_valid, device, seed, processes):
    net = make_net(
        estimator,
        _network(estimator),
        estimator._target.loss,
        _monitor(estimator, has_valid),
        device,
        np.random.RandomState(seed),
        processes,
    )
    with weights_lock, OwnWeights():
        return net.initialize()


def _monitor(estimator, has_valid):
    return estimator._target.monitor if has_valid else None


def _old_net(estimator, has_valid, processes):
    """Return the net that goes on, with the estimator's settings of now."""
    net = estimator.net_
    for name, asked in _network(estimator).items():
        has = getattr(net, f"module__{name}")
        if has != asked:
            raise ValueError(
                f"{type(estimator).__name__} goes on with the net of the last fit, "
                f"whose {name} is {has!r}, but {asked!r} is asked for. Set it back, "
                "or fit with warm_start=False, or a clone."
            )
    _move(net, processes.device)
    net.autocast = autocast_type(estimator, processes)
    net.at_once = at_once(estimator)
    net.mix_penalty = estimator.mix_penalty
    # The plateaus of the last fit must not slow this one down.
    net.set_params(
        lr=estimator.lr,
        optimizer__weight_decay=estimator.weight_decay,
        batch_size=estimator.batch_size,
        verbose=estimator.verbose,
    )
    set_trained_lrs(net, estimator._trained)
    monitor = _monitor(estimator, has_valid)
    net.callbacks = make_callbacks(estimator, monitor, processes)
    return net.initialize_callbacks()


def _move(net, device):
    """Bring a net that goes on to where Accelerate wants it."""
    if device is None or torch.device(net.device) == device:
        return
    net.device = str(device)
    net.module_.to(device)
    # Loading brings its state to where the weights are now.
    net.optimizer_.load_state_dict(net.optimizer_.state_dict())
