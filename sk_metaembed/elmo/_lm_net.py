"""The skorch net that trains a bidirectional language model, and its callbacks.

Checkpoints: all that training needs to go on as if it had never been interrupted.
"""

import copy
import math

import numpy as np
import torch
from skorch import NeuralNet
from skorch.callbacks import Callback, EpochTimer, PrintLog
from torch import nn

from .._training._checkpoint_file import (
    CheckpointWriter,
    CorruptCheckpointError,
    read_checkpoint,
)
from .._training._random import current_generators
from ._bptt import NOTHING
from ._lm_modules import TrainableBiLM, make_softmax

_WARM_UP = 0.02  # of all steps
_FLOOR = 0.02  # of the learning rate


class LanguageModule(nn.Module):
    """The network and its softmax, which both directions share.

    Parameters
    ----------
    options : ElmoOptions
    dropout : float
    n_words : int
        Of the vocabulary.
    softmax : {"auto", "full", "sampled", "adaptive"}
    n_samples : int
    weights : dict of str to ndarray, default=None
        Of the network; None for random ones.
    """

    def __init__(self, options, dropout, n_words, softmax, n_samples, weights=None):
        super().__init__()
        self.bilm = TrainableBiLM(options, dropout, weights)
        self.softmax = make_softmax(softmax, options.projection_dim, n_words, n_samples)

    def forward(self, batch, states, dtype):
        """Return ``-log p`` of each word, and what the rows end with.

        Parameters
        ----------
        batch : Batch
        states : list or None
            As `TrainableBiLM` takes them.
        dtype : torch dtype
            Of the products.

        Returns
        -------
        losses : tensor of shape (2, n_targets)
            Forward and backward, at the places that have a word.
        states : list
        """
        outs, states = self.bilm(batch, states, dtype)
        places = batch.targets != NOTHING
        losses = self.softmax(outs[places], batch.targets[places])
        return losses.view(2, -1), states


class LanguageNet(NeuralNet):
    """A skorch net over a `GridStream`, which carries states from batch to batch.

    Parameters
    ----------
    bfloat16 : bool
        Compute matrix products in this type while learning; weights stay float32.
    """

    def __init__(self, *args, bfloat16=False, **kwargs):
        self.bfloat16 = bfloat16
        super().__init__(*args, **kwargs)

    @property
    def _default_callbacks(self):
        return [("epoch_timer", EpochTimer()), ("print_log", PrintLog())]

    def infer(self, x, **fit_params):
        """Return the losses of a batch's words."""
        losses, self.carried_ = self.losses(x, getattr(self, "carried_", None))
        return losses

    def losses(self, batch, states):
        """Return the losses of a batch's words, and the states after it."""
        device = torch.device(self.device).type
        # What is told of held-out text must not depend on how it was learned.
        low = self.bfloat16 and self.module_.training
        dtype = torch.bfloat16 if low else torch.float32
        with torch.autocast(device, torch.bfloat16, enabled=low):
            return self.module_(batch, states, dtype)

    def get_loss(self, y_pred, y_true, X=None, training=False):
        """Return the mean loss of a word."""
        return y_pred.mean()

    def run_single_epoch(self, iterator, training, prefix, step_fn, **fit_params):
        """Go through a corpus once, from its beginning unless that is restored."""
        if not training:
            self.carried_ = None
        super().run_single_epoch(iterator, training, prefix, step_fn, **fit_params)
        self.carried_ = None


class Perplexities(Callback):
    """Records perplexities of both directions, for what is trained on and held out.

    Attributes
    ----------
    sums_ : dict of str to list
        Losses forward and backward, and words, so far in this epoch.
    """

    def __init__(self):
        self.restored = None

    def on_epoch_begin(self, net, **kwargs):
        """Start counting, or go on."""
        self.sums_ = {"train": [0.0, 0.0, 0], "valid": [0.0, 0.0, 0]}
        if self.restored:
            self.sums_["train"], self.restored = list(self.restored), None

    def on_batch_end(self, net, batch=None, training=False, y_pred=None, **kwargs):
        """Count a batch."""
        sums = self.sums_["train" if training else "valid"]
        losses = y_pred.detach().sum(dim=1, dtype=torch.float64).tolist()
        for k, more in enumerate((*losses, y_pred.shape[1])):
            sums[k] += more

    def on_epoch_end(self, net, **kwargs):
        """Write them into the history."""
        for part, (forward, backward, n) in self.sums_.items():
            if n:
                for name, value in perplexities(forward, backward, n).items():
                    net.history.record(f"{part}_{name}", value)
        # A record a batch would grow without end.
        net.history[-1]["batches"] = []

    def on_train_end(self, net, **kwargs):
        """Tell also of an epoch that was interrupted from the keyboard."""
        if net.history and net.history[-1]["batches"]:
            self.on_epoch_end(net)


def perplexities(forward, backward, n_words):
    """Return perplexities from summed losses.

    Parameters
    ----------
    forward, backward : float
    n_words : int

    Returns
    -------
    dict of str to float
        "forward", "backward", and "perplexity", of their mean loss.

    Examples
    --------
    >>> found = perplexities(0.0, 2 * math.log(16.0), 2)
    >>> {name: round(value, 6) for name, value in found.items()}
    {'forward': 1.0, 'backward': 16.0, 'perplexity': 4.0}
    """
    losses = {
        "forward": forward / n_words,
        "backward": backward / n_words,
        "perplexity": (forward + backward) / (2 * n_words),
    }
    # What is beyond numbers is told by StopWhenDiverged, not by an OverflowError.
    with np.errstate(over="ignore"):
        return {name: float(np.exp(loss)) for name, loss in losses.items()}


class StopWhenDiverged(Callback):
    """Ends training with a sentence where the loss is no longer a number."""

    def on_batch_end(self, net, training=False, loss=None, **kwargs):
        """Look at a batch's loss."""
        if not math.isfinite(loss.item()):
            raise FloatingPointError(
                f"ElmoLanguageModel: training diverged in epoch {len(net.history)}: "
                f"the loss is {loss.item()}. Use a smaller lr, or a smaller "
                "gradient_clip."
            )


def check_finite(net):
    """Raise if the last step of training left weights that are no numbers."""
    for name, tensor in net.module_.state_dict().items():
        if not torch.isfinite(tensor).all():
            raise FloatingPointError(
                f"ElmoLanguageModel: training diverged: {name} has entries that are no "
                "numbers. Use a smaller lr, or a smaller gradient_clip."
            )


class Schedule(Callback):
    """Sets the learning rate: it rises at first, then falls as a cosine.

    Parameters
    ----------
    lr : float
        At its highest.
    n_steps : int or None
        Of all epochs, about; None for a rate that stays.
    """

    def __init__(self, lr, n_steps):
        self.lr, self.n_steps = lr, n_steps
        self.step = 0

    def on_batch_begin(self, net, training=False, **kwargs):
        """Set the rate of the step to come."""
        if training:
            for group in net.optimizer_.param_groups:
                group["lr"] = self.rate(self.step)
            self.step += 1

    def on_epoch_end(self, net, **kwargs):
        """Record the rate that the epoch ended with."""
        net.history.record("lr", self.rate(max(0, self.step - 1)))

    def rate(self, step):
        """Return the rate of a step.

        >>> schedule = Schedule(lr=1.0, n_steps=100)
        >>> [round(schedule.rate(step), 2) for step in (0, 1, 51, 99)]
        [0.5, 1.0, 0.49, 0.02]
        """
        if self.n_steps is None:
            return self.lr
        warm = max(1, round(_WARM_UP * self.n_steps))
        if step < warm:
            return self.lr * (step + 1) / warm
        along = min(1.0, (step - warm + 1) / max(1, self.n_steps - warm))
        return self.lr * (_FLOOR + (1 - _FLOOR) * (1 + math.cos(math.pi * along)) / 2)


class KeepBest(Callback):
    """Keeps the weights of the epoch whose held-out perplexity is lowest.

    Parameters
    ----------
    patience : int or None
        Epochs without a lower one, after which training ends.

    Attributes
    ----------
    best : float
    n_worse : int
    weights : dict or None
    """

    def __init__(self, patience):
        self.patience = patience
        self.best, self.n_worse, self.weights = math.inf, 0, None

    def on_epoch_end(self, net, **kwargs):
        """Look at the epoch's perplexity."""
        came = net.history[-1].get("valid_perplexity")
        if came is None:
            return
        if came < self.best:
            self.best, self.n_worse = came, 0
            self.weights = copy.deepcopy(net.module_.state_dict())
        else:
            self.n_worse += 1

    def is_over(self):
        """Tell whether patience is at its end."""
        return self.patience is not None and self.n_worse >= self.patience

    def load_best(self, net):
        """Give the net the weights of its best epoch."""
        if self.weights is not None:
            net.module_.load_state_dict(self.weights)
            self.weights = None


class StopWhenWorse(Callback):
    """Ends training where `KeepBest` says so; last, after the epoch is on disk."""

    def __init__(self, keeper):
        self.keeper = keeper

    def on_epoch_end(self, net, **kwargs):
        """Raise what skorch takes as the end of training."""
        if self.keeper.is_over():
            raise KeyboardInterrupt


class Checkpoints(Callback):
    """Writes a file every so many batches, and after each epoch.

    The file is written beside its place and put there in one go: a process that is
    killed leaves the last one whole. A disk that is full is told once.

    Parameters
    ----------
    file : Path
    every : int
        Batches.
    belongs : dict of str to str
        What the fit is told by; a file of another fit is refused.
    seed : int
        Of the fit.
    perplexities : Perplexities
    schedule : Schedule
    keeper : KeepBest
    """

    def __init__(self, file, every, belongs, seed, perplexities, schedule, keeper):
        self.writer = CheckpointWriter(file, "ElmoLanguageModel")
        self.every, self.belongs, self.seed = every, belongs, seed
        self.perplexities, self.schedule, self.keeper = perplexities, schedule, keeper
        self.n_batches = 0

    def on_batch_end(self, net, training=False, **kwargs):
        """Write, if it is time."""
        if training:
            self.n_batches += 1
            if self.n_batches % self.every == 0:
                self._write(net, epoch_over=False)

    def on_epoch_end(self, net, **kwargs):
        """Write that the epoch is over."""
        self.n_batches = 0
        self._write(net, epoch_over=True)

    def _write(self, net, epoch_over):
        finished = net.history if epoch_over else net.history[:-1]
        self.writer.write(
            {
                "belongs": self.belongs,
                "seed": self.seed,
                "module": net.module_.state_dict(),
                "optimizer": net.optimizer_.state_dict(),
                "generators": current_generators().states(net.device),
                "history": [_plain(epoch) for epoch in finished],
                "n_batches": self.n_batches,
                "sums": None if epoch_over else self.perplexities.sums_["train"],
                "carried": None if epoch_over else net.carried_,
                "step": self.schedule.step,
                "best": [self.keeper.best, self.keeper.n_worse],
                "best_weights": self.keeper.weights,
            },
        )

    def restore(self, net, found):
        """Bring a net and the other callbacks to where a checkpoint was written.

        Parameters
        ----------
        net : LanguageNet
            Initialised.
        found : dict
            As `read_matching_checkpoint` gives it.
        """
        net.module_.load_state_dict(found["module"])
        net.optimizer_.load_state_dict(found["optimizer"])
        for epoch in found["history"]:
            net.history.new_epoch()
            net.history.record("batches", [])
            for name, value in epoch.items():
                net.history.record(name, value)
        net.carried_ = found["carried"]
        self.n_batches = found["n_batches"]
        self.perplexities.restored = found["sums"]
        self.schedule.step = found["step"]
        self.keeper.best, self.keeper.n_worse = found["best"]
        self.keeper.weights = found["best_weights"]
        current_generators().set_states(found["generators"], net.device)


def read_matching_checkpoint(file, belongs, device):
    """Return what a checkpoint holds, or None where there is none.

    Parameters
    ----------
    file : Path
    belongs : dict of str to str
        As the fit at hand would write it.
    device : torch.device

    Returns
    -------
    dict or None

    Raises
    ------
    ValueError
        If the file is damaged, or of another fit.
    """
    if not file.exists():
        return None
    try:
        found = read_checkpoint(file, device)
        told = found["belongs"]
    except (CorruptCheckpointError, KeyError) as error:
        raise ValueError(
            f"ElmoLanguageModel: {file} is no checkpoint, or damaged ({error}). "
            "Delete it, or give another place as checkpoint."
        ) from error
    for name, value in belongs.items():
        if told.get(name) != value:
            raise ValueError(
                f"ElmoLanguageModel: the checkpoint {file} is of another fit: its "
                f"{name} is {told.get(name)}, and {value} is asked for. Delete it, or "
                "give another place as checkpoint."
            )
    return found


def _plain(epoch):
    return {k: v for k, v in epoch.items() if isinstance(v, int | float | bool)}
