"""Training of the Dynamic* estimators: the skorch net, its callbacks, its epochs."""

import math
from contextlib import nullcontext
from dataclasses import replace
from numbers import Integral, Real

import numpy as np
import torch
from sklearn.model_selection import train_test_split
from skorch import NeuralNet
from skorch.callbacks import (
    Callback,
    EarlyStopping,
    GradientNormClipping,
    LRScheduler,
)
from skorch.utils import noop

from ..._core._sklearn import Interval, StrOptions, validate_parameter_constraints
from ..._training._callbacks import (
    StopOnRequest,
    cloned_callbacks,
    reported_fit,
    run_epochs,
)
from ..._training._device import resolve_device
from ..._training._net_state import restored_on_error
from ..._training._random import local_generators, swap_default_generators
from .._parameters import NETWORK
from ._data import BucketLoader, SequenceData, SequenceDataset, count_batches

# Chosen on development parts by `benchmarks/dynamic_defaults.py`.
MAX_EPOCHS, STEPS_PER_OUTPUT = 100, 16
MIN_BATCH_SIZE, MAX_BATCH_SIZE = 32, 256
# Above so many rows, the size of batches grows with the square root of their number.
ROWS_OF_SMALL_BATCHES = 2500

# Parameters that may differ when training continues, and that a saved net keeps.
SETTINGS = ("lr", "batch_size", "verbose", "mix_penalty", "autocast")


def train(model, net, y, data, held_out=None, *, is_partial=False):
    """Train the net of an estimator, and set its fitted attributes.

    Parameters
    ----------
    model : BaseDynamicMeta
    net : SequenceNet or None
        The net with which training continues; None for a new one.
    y : array or TokenSequences
        For callbacks.
    data, held_out : tuple of X, encoded targets and weights
        `held_out` is None if `early_stopping` decides whether rows of `data` are held
        out.
    is_partial : bool
        Whether to train for one epoch, without a held-out part.
    """
    # A loaded net stays on its device.
    device = resolve_device(net.device if net else model.device)
    kept = nullcontext()
    if net is not None:
        kept = restored_on_error(net, net.iterator_train__rng, model._random)
    try:
        with kept:
            _train(model, net, device, y, data, held_out, is_partial)
    except torch.OutOfMemoryError as error:
        raise MemoryError(
            f"Out of GPU memory in training with batches of about {model.batch_size} "
            f"sequences ({error}). Use a smaller batch_size, or the train option "
            "dtype='bfloat16'; for trained transformers, train fewer layers or use a "
            "smaller max_length."
        ) from error


def _train(model, net, device, y, data, held_out, is_partial):
    train_set, valid_set = _data_set(model, device, *data), None
    if held_out is not None:
        valid_set = _data_set(model, device, *held_out)
    elif model.early_stopping and not is_partial:
        train_set, valid_set = _split(model, train_set, data[1])
    epochs, n_steps = 1, None
    if not is_partial:
        epochs = _count_epochs(model, len(train_set), valid_set is not None)
    if not is_partial and valid_set is None:
        batch_size = count_batch_size(model, len(train_set))
        n_steps = epochs * count_batches(len(train_set), batch_size)
    with reported_fit(model, data[0], y, epochs) as tasks:
        sets = train_set, valid_set
        model.net_ = _train_net(model, net, *sets, epochs, n_steps, tasks)
        model.history_ = model.net_.history
        model.n_iter_ = len(model.history_)


def _data_set(model, device, X, codes, weights):
    """Return the `SequenceDataset` of the rows whose weight is not 0."""
    target = model._target
    return SequenceDataset(
        SequenceData(X, device, model._trained, target.per_token),
        np.flatnonzero(weights),
        codes,
        target.loss_weights(weights, codes),
    )


def _split(model, whole, codes):
    """Return the part to train on, and the held-out part or None.

    Labels are kept in proportion if each part has room for every label. Labels of one
    row are trained on.
    """
    rows, alone = whole.rows, whole.rows[:0]
    labels = model._target.stratify(codes)
    if labels is not None:
        labels = labels[rows]
        _, label, counts = np.unique(labels, return_inverse=True, return_counts=True)
        is_alone = counts[label] == 1
        if is_alone.all():
            labels = None
        else:
            alone, rows, labels = rows[is_alone], rows[~is_alone], labels[~is_alone]
    n_rows = len(rows)
    if n_rows < 2:
        return whole, None
    size = min(max(1, round(model.validation_fraction * n_rows)), n_rows - 1)
    if labels is not None and min(size, n_rows - size) < len(np.unique(labels)):
        labels = None
    train, held_out = train_test_split(
        rows, test_size=size, stratify=labels, random_state=model._random
    )
    parts = np.concatenate([train, alone]), held_out
    return [replace(whole, rows=part) for part in parts]


def _count_epochs(model, n_rows, stops_early):
    """Return the maximum number of epochs."""
    if model.max_epochs != "auto":
        return model.max_epochs
    if stops_early:
        return MAX_EPOCHS
    # Few rows have few batches, and each of many classes occurs in few of them.
    n_outputs = int(np.max(model._target.n_outputs))
    n_steps = max(model._n_steps, STEPS_PER_OUTPUT * n_outputs)
    per_epoch = count_batches(n_rows, count_batch_size(model, n_rows))
    return max(model._min_epochs, math.ceil(n_steps / per_epoch))


def count_batch_size(model, n_rows):
    """Return the number of sequences per step of training.

    Large batches take less time per sequence, because they look up and project each
    distinct word once, but few sequences need many steps. A trainable source may need
    much memory per sequence.
    """
    if model.batch_size != "auto":
        return model.batch_size
    if len(model._trained):
        return MIN_BATCH_SIZE
    size = MIN_BATCH_SIZE * math.sqrt(n_rows / ROWS_OF_SMALL_BATCHES)
    return round(min(max(size, MIN_BATCH_SIZE), MAX_BATCH_SIZE))


def _train_net(model, net, train_set, valid_set, epochs, n_steps, tasks):
    """Train a net, or a new one if it is None, and return it."""
    seed, device = model._draw_seed(), train_set.data.device
    monitor = None if valid_set is None else model._target.monitor
    batch_size = count_batch_size(model, len(train_set))
    new = make_net(model, device, batch_size, monitor, n_steps, seed)
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


def make_net(model, device, batch_size=1, monitor=None, n_steps=None, seed=None):
    """Return a net for an estimator; nothing is initialized yet.

    Parameters
    ----------
    model : BaseDynamicMeta
    device : torch.device
    batch_size : int
    monitor : {"valid_acc", "valid_f1", "valid_loss"} or None
        What early stopping and the learning rate follow; None without held-out part.
    n_steps : int or None
        Number of steps in which the learning rate falls to 0; None if it does not.
    seed : int
        Shuffles the batches.

    Returns
    -------
    SequenceNet
    """
    parts, *score = model._torch_parts()
    options = read_train_options(model)
    network = {
        "trained": model._trained,
        "dims": [*model.dims_in_.values(), *model._trained.dims.values()],
        "n_outputs": model._target.n_outputs,
        "encoder_dims": tuple(np.atleast_1d(model.encoder_dim).tolist()),
        "hidden_dims": tuple(model.hidden_dims),
        **{name: getattr(model, name) for name in NETWORK},
    }
    return SequenceNet(
        **parts,
        **{f"module__{name}": value for name, value in network.items()},
        criterion__kind=model._target.loss,
        optimizer=torch.optim.Adam,
        optimizer__weight_decay=options["weight_decay"],
        # One pass over each weight on a CPU, one kernel for all weights on a GPU.
        optimizer__fused=device.type in ("cpu", "cuda"),
        optimizer__param_groups=[
            (f"*trained.{i}.*", {"lr": opened.lr})
            for i, opened in enumerate(model._trained.opened)
        ],
        lr=model.lr,
        batch_size=batch_size,
        mix_penalty=model.mix_penalty,
        autocast=options["dtype"] == "bfloat16",
        iterator_train=BucketLoader,
        iterator_train__shuffle=True,
        iterator_train__rng=np.random.RandomState(seed),
        iterator_valid=BucketLoader,
        train_split=None,
        callbacks=_callbacks(model, options, monitor, score, n_steps),
        device=str(device),
        verbose=model.verbose,
    )


def _callbacks(model, options, monitor, score, n_steps):
    """Return the (name, skorch callback) pairs of a net, with the user's."""
    callbacks = [("diverged", StopWhenDiverged())]
    own = cloned_callbacks(model.callbacks)
    if n_steps is not None and not any(map(_is_schedule, own)):
        callbacks += [("decay", LinearDecay(n_steps))]
    if options["gradient_clip"] is not None:
        callbacks += [("clip", GradientNormClipping(options["gradient_clip"]))]
    higher = monitor not in (None, "valid_loss")
    if higher:
        # Before skorch's PrintLog, which is sorted last, so that it is shown.
        callbacks += [(monitor, HeldOutScore(monitor, *score))]
    # Before early stopping, which cuts the last epoch short for what follows it.
    callbacks += own
    if monitor is not None:
        plateau = LRScheduler(
            torch.optim.lr_scheduler.ReduceLROnPlateau,
            monitor=monitor,
            mode="max" if higher else "min",
            factor=options["lr_factor"],
            patience=options["lr_patience"],
        )
        stop = EarlyStopping(
            monitor=monitor,
            lower_is_better=not higher,
            patience=model.n_iter_no_change,
            load_best=True,
            sink=noop,
        )
        callbacks += [("plateau", plateau), ("stop", stop)]
    return callbacks


def _is_schedule(callback):
    """Return whether a callback, or (name, callback) pair, sets learning rates."""
    callback = callback[1] if isinstance(callback, tuple) else callback
    return isinstance(callback, LRScheduler)


_TRAIN_CONSTRAINTS = {
    "lr_factor": [Interval(Real, 0, 1, closed="neither")],
    "lr_patience": [Interval(Integral, 0, None, closed="left")],
    "weight_decay": [Interval(Real, 0, None, closed="left")],
    "gradient_clip": [Interval(Real, 0, None, closed="neither"), None],
    "dtype": [StrOptions({"float32", "bfloat16"})],
}


def read_train_options(model):
    """Return the parameter `train_options` with its defaults filled in."""
    options = {**model._train_options, **(model.train_options or {})}
    unknown = [key for key in options if key not in _TRAIN_CONSTRAINTS]
    if unknown:
        raise ValueError(
            f"train_options has the unknown key {unknown[0]!r}. Allowed keys are "
            f"{sorted(_TRAIN_CONSTRAINTS)}."
        )
    # To Python a bool is a number.
    shown = {k: repr(v) if isinstance(v, bool) else v for k, v in options.items()}
    owner = f"{type(model).__name__}'s train_options"
    validate_parameter_constraints(_TRAIN_CONSTRAINTS, shown, owner)
    return options


class SequenceNet(NeuralNet):
    """A skorch net whose batches are `Batch` objects and may run in bfloat16.

    Parameters
    ----------
    autocast : bool
        Whether matrix products are computed in bfloat16; weights stay float32.
    mix_penalty : float
        Factor of the squared norm of the scalar mix's scores in the training loss.
    """

    is_loading_ = False  # whether the state of the optimizer is loaded next

    def __init__(self, *args, autocast=False, mix_penalty=0.0, **kwargs):
        self.autocast = autocast
        self.mix_penalty = mix_penalty
        super().__init__(*args, **kwargs)

    def initialize_optimizer(self, triggered_directly=None):
        """Create the optimizer, or stand in for that of a loaded net until training."""
        if not self.is_loading_:
            return super().initialize_optimizer()
        self.optimizer_ = SavedOptimizer()
        return self

    def resume(self, new):
        """Continue training with the parameters of a new net."""
        network = self.get_params_for("module")
        for name, requested in new.get_params_for("module").items():
            if network[name] != requested:
                raise ValueError(
                    f"Training continues with the net of the last fit, whose {name} is "
                    f"{network[name]!r}, but {requested!r} is requested. Reset it, use "
                    "warm_start=False, or fit a clone."
                )
        if isinstance(self.optimizer_, SavedOptimizer):
            state = self.optimizer_.state_dict()
            super().initialize_optimizer()
            self.optimizer_.load_state_dict(state)
        # Also resets the learning rate, which the last fit may have reduced.
        self.set_params(
            optimizer__weight_decay=new.optimizer__weight_decay,
            **{name: getattr(new, name) for name in SETTINGS},
        )
        own = [each["lr"] for _, each in new.optimizer__param_groups]
        for group, lr in zip(self.optimizer_.param_groups, own, strict=False):
            group["lr"] = lr
        self.callbacks = new.callbacks
        self.initialize_callbacks()

    def run_single_epoch(self, iterator, training, prefix, step_fn, **fit_params):
        """Run an epoch, and read the losses at its end if they are on a GPU.

        Reading one after each step would stop the GPU while the next batch is made.
        Until then, `history` has tensors.
        """
        if iterator is None or not _is_asynchronous(self.device):
            arguments = iterator, training, prefix, step_fn
            return super().run_single_epoch(*arguments, **fit_params)
        n_batches, record = 0, self.history.record_batch
        try:
            for n_batches, batch in enumerate(iterator, start=1):  # noqa: B007
                self.notify("on_batch_begin", batch=batch, training=training)
                step = step_fn(batch, **fit_params)
                record(f"{prefix}_loss", step["loss"].detach())
                rows = batch[0] if isinstance(batch, tuple | list) else batch
                record(f"{prefix}_batch_size", len(rows))
                self.notify("on_batch_end", batch=batch, training=training, **step)
        finally:
            _read_losses(self.history, f"{prefix}_loss")
        self.history.record(f"{prefix}_batch_count", n_batches)

    def notify(self, method_name, **cb_kwargs):
        """Call the callbacks."""
        if method_name == "on_train_end" and not self.history:
            # skorch has swallowed Ctrl-C, and callbacks look for an epoch.
            raise KeyboardInterrupt
        super().notify(method_name, **cb_kwargs)

    def infer(self, x, **fit_params):
        """Return the module's outputs for a batch."""
        module, flag = self.module_, "takes_generator"
        own = all(getattr(source, flag, False) for source in module.trained)
        draws = module.training and not own  # from the default generators
        swapped = swap_default_generators(self.device) if draws else nullcontext()
        with swapped, self.computing():
            return module(x, **fit_params)

    def computing(self):
        """Return the context in which the module computes."""
        return torch.autocast(
            torch.device(self.device).type,
            dtype=torch.bfloat16,
            enabled=self.autocast,
        )

    def get_all_learnable_params(self):
        """Yield names and parameters that require gradients."""
        for name, parameter in super().get_all_learnable_params():
            if parameter.requires_grad:
                yield name, parameter

    def get_loss(self, y_pred, y_true, X=None, training=False):
        """Return the loss; all tensors are on the device already."""
        loss = self.criterion_(y_pred, y_true, X.weights)
        if training and self.mix_penalty:
            loss = loss + self.mix_penalty * self.module_.mixer.penalty()
        return loss

    def map_batches(self, function, batches):
        """Yield ``(rows, function(batch) as an array)``, without gradients."""
        self.module_.eval()
        with torch.inference_mode(), self.computing():
            for batch in batches:
                yield batch.rows, function(batch).float().cpu().numpy()


def _is_asynchronous(device):
    return torch.device(device).type == "cuda"


def _read_losses(history, name):
    """Replace the tensors of an epoch's losses by numbers, with one transfer."""
    batches = [batch for batch in history[-1]["batches"] if name in batch]
    if batches:
        losses = torch.stack([batch[name] for batch in batches]).tolist()
        for batch, loss in zip(batches, losses, strict=True):
            batch[name] = loss


class LinearDecay(Callback):
    """Decrease the learning rates linearly to 0 over a number of steps.

    Parameters
    ----------
    n_steps : int
    """

    def __init__(self, n_steps):
        self.n_steps = n_steps

    def on_train_begin(self, net, **kwargs):
        """Read the initial learning rates; those of trainable sources differ."""
        self.step_ = 0
        self.rates_ = [group["lr"] for group in net.optimizer_.param_groups]

    def on_batch_begin(self, net, training=False, **kwargs):
        """Set the learning rates of a step."""
        if training:
            left = max(0.0, 1 - self.step_ / self.n_steps)
            for group, rate in zip(
                net.optimizer_.param_groups, self.rates_, strict=True
            ):
                group["lr"] = rate * left
            self.step_ += 1

    def on_train_end(self, net, **kwargs):
        """Restore the learning rates."""
        for group, rate in zip(net.optimizer_.param_groups, self.rates_, strict=True):
            group["lr"] = rate


class StopWhenDiverged(Callback):
    """Raise an error when the loss is not finite."""

    def on_epoch_end(self, net, **kwargs):
        """Check the mean losses of the epoch."""
        epoch = net.history[-1]
        for name in ("train_loss", "valid_loss"):
            if not math.isfinite(epoch.get(name, 0.0)):
                raise FloatingPointError(
                    f"Training diverged: {name} is {epoch[name]} in epoch "
                    f"{epoch['epoch']}. Use a smaller lr, keep the train option "
                    "gradient_clip, and check the vectors for very large values "
                    "(preprocess='unit')."
                )


class HeldOutScore(Callback):
    """Record a score of the held-out part.

    skorch's EpochScoring would compute the outputs of the held-out part once more.

    Parameters
    ----------
    collect : callable
        Returns what the score needs of a batch, from outputs, batch and targets.
    score : callable
        Returns the score, from the list of what `collect` has returned.
    """

    def __init__(self, name, collect, score):
        self.name, self.collect, self.score = name, collect, score

    def on_epoch_begin(self, net, **kwargs):
        """Discard the results of an epoch that was interrupted."""
        self.parts_ = []

    def on_batch_end(self, net, batch=None, training=False, y_pred=None, **kwargs):
        """Collect the results of a batch."""
        if not training and y_pred is not None:
            self.parts_.append(self.collect(y_pred, *batch))

    def on_epoch_end(self, net, **kwargs):
        """Write the score into the history."""
        net.history.record(self.name, self.score(self.parts_))
        self.parts_ = []

    def on_train_end(self, net, **kwargs):
        """Discard tensors of a GPU, which another machine could not load."""
        self.parts_ = []


class SavedOptimizer(torch.optim.Optimizer):
    """The state of an optimizer that is created when training continues.

    Creating an optimizer imports torch's compiler, which takes longer than loading a
    small net for prediction.

    Parameters
    ----------
    state : dict, default=None
        Output of the ``state_dict`` of an optimizer; None if it is loaded later.
    """

    def __init__(self, state=None):  # without the constructor of the base
        if state is not None:
            self.load_state_dict(state)

    def __reduce__(self):
        return SavedOptimizer, (self._state_dict,)

    def __repr__(self):
        return "SavedOptimizer()"

    def state_dict(self):
        """Return the state."""
        return self._state_dict

    def load_state_dict(self, state_dict):
        """Replace the state."""
        self._state_dict, self.param_groups = state_dict, state_dict["param_groups"]
