"""From an estimator and its data to a trained net.

Making the skorch net from an estimator, its callbacks, and training it.
"""

import math

import numpy as np
import torch
from sklearn.base import clone
from skorch.callbacks import (
    Callback,
    Checkpoint,
    EarlyStopping,
    GradientNormClipping,
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

from ..._training._callbacks import FitTaskReporter, StopOnRequest
from ..._training._parameters import resolve_device
from ..._training._random import GeneratorMode, generator_mode_lock, local_generators
from ..nets._mixing import share_of_hits
from ._data import BucketLoader, SequenceDataset, rows_of
from ._distributed import ALONE, align, check_same_data, processes_of
from ._distributed_fit import settings
from ._skorch_net import SequenceNet

# What writes or prints: once is enough where several processes train one net.
_WRITERS = (
    Checkpoint,
    MlflowLogger,
    NeptuneLogger,
    ProgressBar,
    SacredLogger,
    TensorBoard,
    TrainEndCheckpoint,
    WandbLogger,
)


class ValidAccuracy(Callback):
    """Records ``valid_acc``, the weighted share of right labels of the held-out part.

    Of several columns of labels it is their mean.

    skorch's own scoring would predict the held-out part a second time.
    """

    def on_epoch_begin(self, net, **kwargs):
        """Start counting."""
        self.right_ = self.total_ = 0.0

    def on_batch_end(self, net, batch=None, training=False, y_pred=None, **kwargs):
        """Count a batch of the held-out part."""
        if training or y_pred is None:
            return
        sequences, labels = batch
        hits = share_of_hits(y_pred, labels)
        self.right_ += float((hits * sequences.weights).sum())
        self.total_ += float(sequences.weights.sum())

    def on_epoch_end(self, net, **kwargs):
        """Write the share into the history."""
        counts = net.processes_.gathered((self.right_, self.total_))
        right, total = (sum(part) for part in zip(*counts, strict=True))
        net.history.record("valid_acc", right / max(total, 1e-12))


class StopWhenDiverged(Callback):
    """Ends training with a sentence where the loss is no longer a number."""

    def on_epoch_end(self, net, **kwargs):
        """Look at the epoch's mean losses."""
        epoch = net.history[-1]
        for name in ("train_loss", "valid_loss"):
            if not math.isfinite(epoch.get(name, 0.0)):
                raise FloatingPointError(
                    f"Training diverged: {name} is {epoch[name]} in epoch "
                    f"{epoch['epoch']}. Use a smaller lr, keep gradient_clip set, and "
                    "look for very large values in the vectors (preprocess='unit')."
                )


class AgreeOnEpoch(Callback):
    """Gives all processes the numbers of the main one, so that they decide alike.

    They are the same up to rounding, which may differ between machines.
    """

    def on_epoch_end(self, net, **kwargs):
        """Write the main process's losses and scores into the history."""
        epoch = net.history[-1]
        names = ("train_loss", "valid_loss", "valid_acc", "valid_f1", "valid_recall")
        found = {name: epoch[name] for name in names if name in epoch}
        for name, value in net.processes_.told(found).items():
            net.history.record(name, value)


def make_net(estimator, network, loss, monitor, device, rng, processes=ALONE):
    """Build the skorch net from an estimator's parameters; nothing is trained.

    Parameters
    ----------
    estimator : one of the Dynamic* estimators
    network : dict
        Parameters of the estimator's kind of network.
    loss : str
        As the estimator's kind of loss takes it.
    monitor : {"valid_acc", "valid_f1", "valid_recall", "valid_loss", None}
        What early stopping and the learning rate follow; None without held-out part.
    device : torch.device
    rng : numpy RandomState
        Orders the batches.
    processes : Processes, default=ALONE

    Returns
    -------
    SequenceNet
    """
    network_class, loss_class = estimator._torch_parts()
    return SequenceNet(
        network_class,
        **{f"module__{name}": value for name, value in network.items()},
        criterion=loss_class,
        criterion__kind=loss,
        optimizer=torch.optim.Adam,
        optimizer__weight_decay=estimator.weight_decay,
        optimizer__param_groups=_trained_groups(estimator._trained),
        lr=estimator.lr,
        max_epochs=estimator.max_epochs,
        batch_size=estimator.batch_size,
        iterator_train=BucketLoader,
        iterator_train__shuffle=True,
        iterator_train__rng=rng,
        iterator_valid=BucketLoader,
        train_split=None,
        callbacks=make_callbacks(estimator, monitor, processes),
        device=str(device),
        compile=estimator.compile,
        compile__dynamic=True,
        verbose=estimator.verbose,
        autocast=autocast_type(estimator, processes),
        mix_penalty=estimator.mix_penalty,
        at_once=at_once(estimator),
    )


def _trained_groups(trained):
    return [
        (f"*trained.{i}.*", {"lr": opened.lr})
        for i, opened in enumerate(trained.opened)
    ]


def set_trained_lrs(net, trained):
    """Give the weights of trained sources their learning rates of now.

    Parameters
    ----------
    net : SequenceNet
    trained : TrainedSources
    """
    for group, opened in zip(net.optimizer_.param_groups, trained.opened, strict=False):
        group["lr"] = opened.lr


def autocast_type(estimator, processes):
    """Return the type of matrix products, or None for that of the weights."""
    asked = estimator.dtype == "bfloat16" or processes.bfloat16
    return torch.bfloat16 if asked else None


def at_once(estimator):
    """Return how many rows are computed at once in training; None for whole batches."""
    return getattr(estimator, "micro_batch_size", None)  # a ranker has none


def make_callbacks(estimator, monitor, processes=ALONE):
    """Return the skorch callbacks of a net, the user's own among them.

    Parameters
    ----------
    estimator : one of the Dynamic* estimators
    monitor : {"valid_acc", "valid_f1", "valid_recall", "valid_loss", None}
        As `make_net` takes it.
    processes : Processes, default=ALONE

    Returns
    -------
    list
    """
    callbacks = [("diverged", StopWhenDiverged())]
    if estimator.gradient_clip is not None:
        callbacks += [("clip", GradientNormClipping(estimator.gradient_clip))]
    higher = monitor in ("valid_acc", "valid_f1", "valid_recall")
    if higher:
        # Before skorch's PrintLog, which is sorted last, so that it is shown.
        callbacks += [(monitor, estimator._valid_score())]
    if processes.count > 1:
        callbacks += [("agree", AgreeOnEpoch())]
    # Clones: skorch writes into its callbacks, and a parameter stays as it was given.
    # Before early stopping, which cuts the last epoch short for what follows it.
    callbacks += [clone(own, safe=False) for own in estimator.callbacks or []]
    if monitor is not None:
        plateau = LRScheduler(
            torch.optim.lr_scheduler.ReduceLROnPlateau,
            monitor=monitor,
            mode="max" if higher else "min",
            factor=estimator.lr_factor,
            patience=estimator.lr_patience,
        )
        stop = EarlyStopping(
            monitor=monitor,
            lower_is_better=not higher,
            patience=estimator.patience,
            load_best=True,
            sink=_say_nothing,
        )
        callbacks += [("plateau", plateau), ("stop", stop)]
    return callbacks


def _say_nothing(text):
    pass


def train(net, train_set, valid_set, epochs, tasks, processes, checkpoint=None):
    """Train an initialised net for some more epochs.

    Parameters
    ----------
    net : SequenceNet
    train_set : SequenceDataset
    valid_set : SequenceDataset or None
    epochs : int
    tasks : FitTaskReporter
    processes : Processes
    checkpoint : Checkpoint, default=None
        What may have been left of this fit, and where it is written to.
    """
    kept, asked, verbose = net.callbacks_, net.max_epochs, net.verbose
    net.train_split = predefined_split(valid_set) if valid_set is not None else None
    # The bridge holds the data and the estimator, so it must not outlive the fit.
    net.callbacks_ = [
        ("fit_tasks", tasks),
        *_acting(kept, processes),
        *([] if checkpoint is None else [("checkpoint", checkpoint)]),
        ("stop_when_asked", StopOnRequest(tasks)),
    ]
    epochs -= 0 if checkpoint is None else checkpoint.restore(net)
    net.max_epochs, net.processes_ = epochs, processes
    net.verbose = verbose if processes.is_main else 0
    try:
        align(net)
        net.partial_fit(train_set)
        if checkpoint is not None:
            checkpoint.end(net)
        align(net)
        net.history = processes.told(net.history)
    except torch.OutOfMemoryError as error:
        raise MemoryError(
            "The GPU's memory does not suffice for a step of about "
            f"{net.batch_size} sequences ({error}). Use a smaller batch_size or "
            "dtype='bfloat16', or a micro_batch_size; of trained transformers, fewer "
            "layers or a smaller max_length."
        ) from error
    finally:
        net.callbacks_, net.max_epochs, net.verbose = kept, asked, verbose
        net.train_split = None
        del net.processes_
        _let_go(kept)


def _acting(callbacks, processes):
    """Return the callbacks that act in this process."""
    if processes.is_main:
        return callbacks
    return [pair for pair in callbacks if not isinstance(pair[1], _WRITERS)]


def _let_go(callbacks):
    """Free what would go into pickles as a second copy of what the net holds."""
    for _, callback in callbacks:
        if isinstance(callback, EarlyStopping):
            callback.best_model_weights_ = None
        elif isinstance(callback, LRScheduler):
            callback.lr_scheduler_ = None


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
    caller, processes = type(estimator).__name__, processes_of(estimator)
    device = _device(estimator, processes, new)
    train_set, valid_set = _datasets(estimator, X, y, weights, held_out, device)
    if processes.count > 1:
        asked = settings(estimator)
        check_same_data(processes, train_set, valid_set, asked, caller=caller)
    seed = estimator._random.randint(np.iinfo(np.int32).max)
    with local_generators(seed):
        if new:
            net = _new_net(estimator, valid_set is not None, device, seed, processes)
        else:
            net = _old_net(estimator, valid_set is not None, processes)
        tasks = FitTaskReporter(estimator, context, X, y)
        train(net, train_set, valid_set, epochs, tasks, processes, checkpoint)
    return net


def _device(estimator, processes, new):
    if processes.device is not None:
        return processes.device
    if new:
        return resolve_device(estimator.device, caller=type(estimator).__name__)
    # A net that goes on stays where it is: it may come from another machine.
    return torch.device(estimator.net_.device)


def _datasets(estimator, X, y, weights, held_out, device):
    caller = type(estimator).__name__
    target = estimator._target
    data = rows_of(X, device, estimator._trained, target.per_token)
    values = target.encode(y, caller=caller)
    everything = np.flatnonzero(weights)
    weights = target.spread(weights, y, caller=caller)
    if held_out is None:
        return SequenceDataset(data, everything, values, weights), None
    first, second = held_out
    if isinstance(first, np.ndarray):
        return (
            SequenceDataset(data, first, values, weights),
            SequenceDataset(data, second, values, weights),
        )
    ones, caller = np.ones(len(first), dtype=np.float32), f"{caller}'s y_val"
    valid = SequenceDataset(
        rows_of(first, device, estimator._trained, target.per_token),
        np.arange(len(first)),
        target.encode(second, caller=caller),
        target.spread(ones, second, caller=caller),
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
    with generator_mode_lock, GeneratorMode():
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
