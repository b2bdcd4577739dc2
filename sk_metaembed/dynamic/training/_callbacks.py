"""Callbacks of the skorch net: learning rates, early stopping, scores."""

import math

import torch
from skorch.callbacks import Callback, EarlyStopping, GradientNormClipping, LRScheduler
from skorch.utils import noop

from ..._training._callbacks import cloned_callbacks


def net_callbacks(own, options, *, monitor, score, patience, n_steps):
    """Return the (name, skorch callback) pairs of a net.

    Parameters
    ----------
    own : list of callbacks or of pairs (name, callback)
        The user's.
    options : dict
        Output of `read_train_options`.
    monitor : {"valid_acc", "valid_f1", "valid_loss"} or None
        What early stopping and the learning rate follow; None without held-out part.
    score : HeldOutScore or None
        Records a score of the held-out part.
    patience : int
        Number of epochs without improvement after which training stops.
    n_steps : int or None
        Number of steps in which the learning rate falls to 0; None if it does not.
    """
    callbacks = [("diverged", StopWhenDiverged())]
    own = cloned_callbacks(own)
    if n_steps is not None and not any(map(_is_schedule, own)):
        callbacks += [("decay", LinearDecay(n_steps))]
    if options["gradient_clip"] is not None:
        callbacks += [("clip", GradientNormClipping(options["gradient_clip"]))]
    if monitor is not None and score is not None:
        # Before skorch's PrintLog, which is sorted last, so that it is shown.
        callbacks += [(score.name, score)]
    # Before early stopping, which cuts the last epoch short for what follows it.
    callbacks += own
    if monitor is not None:
        higher = monitor != "valid_loss"
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
            patience=patience,
            load_best=True,
            sink=noop,
        )
        callbacks += [("plateau", plateau), ("stop", stop)]
    return callbacks


def _is_schedule(callback):
    """Return whether a callback, or (name, callback) pair, sets learning rates."""
    callback = callback[1] if isinstance(callback, tuple) else callback
    return isinstance(callback, LRScheduler)


def free(callbacks):
    """Drop what pickles would contain as a second copy of the net's state."""
    for _, callback in callbacks:
        if isinstance(callback, EarlyStopping):
            callback.best_model_weights_ = None
        elif isinstance(callback, LRScheduler):
            callback.lr_scheduler_ = None


class LinearDecay(Callback):
    """Decrease the learning rates linearly to 0 over a number of steps.

    Parameters
    ----------
    n_steps : int
    """

    def __init__(self, n_steps):
        self.n_steps = n_steps

    def on_train_begin(self, net, **kwargs):
        """Read the initial learning rates; trainable sources have their own."""
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
    name : str
        Of the score in the history.
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
