"""The skorch net of a bidirectional language model, its callbacks and checkpoints.

A checkpoint holds everything that training needs to resume to the same result.
"""

import copy
import math
import warnings

import numpy as np
import torch
from skorch import NeuralNet
from skorch.callbacks import Callback, EpochTimer, PrintLog
from torch import nn

from ...._training._checkpoint_file import (
    CorruptCheckpointError,
    read_checkpoint,
    write_checkpoint,
)
from ...._training._net_state import load_net_state_dict, net_state_dict
from ...._training._random import current_generators
from ._bptt import NO_TARGET
from ._modules import TrainableBiLM, make_softmax

_WARM_UP = 0.02  # share of all steps
_FLOOR = 0.02  # final share of the learning rate


class LanguageModule(nn.Module):
    """The network and the softmax, which both directions share.

    Parameters
    ----------
    options : ElmoOptions
    dropout : float
    n_words : int
        Size of the vocabulary.
    softmax : {"auto", "full", "adaptive"}
    """

    def __init__(self, options, dropout, n_words, softmax):
        super().__init__()
        self.bilm = TrainableBiLM(options, dropout)
        self.softmax = make_softmax(softmax, options.projection_dim, n_words)

    def forward(self, batch, states):
        """Return ``-log p`` of the targets, and the states after the batch.

        Parameters
        ----------
        batch : Batch
        states : list or None
            From the batch before; None for zeros.

        Returns
        -------
        losses : tensor of shape (2, n_targets)
            Forward and backward.
        states : list
        """
        outs, states = self.bilm(batch, states)
        vectors, targets = outs.flatten(0, 2), batch.targets.flatten()
        if 2 * batch.n_targets < len(targets):
            has_target = targets != NO_TARGET
            vectors, targets = vectors[has_target], targets[has_target]
        return self.softmax(vectors, targets).view(2, -1), states


class LanguageNet(NeuralNet):
    """A skorch net over `BPTTBatches`, which carries states from batch to batch.

    Parameters
    ----------
    bfloat16 : bool
        Whether training computes matrix products in bfloat16; weights stay float32.
    """

    def __init__(self, *args, bfloat16=False, **kwargs):
        self.bfloat16 = bfloat16
        super().__init__(*args, **kwargs)

    @property
    def _default_callbacks(self):
        return [("epoch_timer", EpochTimer()), ("print_log", PrintLog())]

    def infer(self, x, **fit_params):
        """Return the losses of a batch, (2, n_targets)."""
        losses, self.carried_ = self.losses(x, getattr(self, "carried_", None))
        return losses

    def losses(self, batch, states):
        """Return the losses of a batch, (2, n_targets), and the states after it."""
        device = torch.device(self.device).type
        # Losses of held-out text must not depend on the precision of training.
        low = self.bfloat16 and self.module_.training
        with torch.autocast(device, torch.bfloat16, enabled=low):
            return self.module_(batch, states)

    def get_loss(self, y_pred, y_true, X=None, training=False):
        """Return the mean loss per word."""
        return y_pred.mean()

    def run_single_epoch(self, iterator, training, prefix, step_fn, **fit_params):
        """Run an epoch, from zero states unless a checkpoint restored them."""
        if not training:
            self.carried_ = None
        super().run_single_epoch(iterator, training, prefix, step_fn, **fit_params)
        self.carried_ = None


class RecordPerplexity(Callback):
    """Records perplexities of both directions; keeps the weights of the best epoch.

    Attributes
    ----------
    sums_ : dict of str to ndarray of shape (3,)
        Loss forward, loss backward and number of words so far in the epoch, of training
        and validation.
    best : float
        Lowest validation perplexity of an epoch.
    best_weights : dict or None
        The weights of that epoch; None without validation.
    """

    def __init__(self):
        self.restored, self.best, self.best_weights = None, math.inf, None

    def on_epoch_begin(self, net, **kwargs):
        """Reset the sums, or restore the sums of a checkpoint."""
        self.sums_ = {"train": np.zeros(3), "valid": np.zeros(3)}
        if self.restored:
            self.sums_["train"], self.restored = np.array(self.restored), None

    def on_batch_end(self, net, batch=None, training=False, y_pred=None, **kwargs):
        """Add a batch to the sums; raise an error if its loss is not finite."""
        losses = y_pred.detach().sum(dim=1, dtype=torch.float64).tolist()
        if not math.isfinite(sum(losses)):
            raise FloatingPointError(
                f"training diverged in epoch {len(net.history)}: the losses of a batch "
                f"are {losses}. Use a smaller lr."
            )
        self.sums_["train" if training else "valid"] += *losses, y_pred.shape[1]

    def on_epoch_end(self, net, **kwargs):
        """Record the perplexities, and copy the weights if they are the best."""
        self._record(net)
        perplexity = net.history[-1].get("valid_perplexity", math.inf)
        if perplexity < self.best:
            self.best = perplexity
            self.best_weights = copy.deepcopy(net.module_.state_dict())

    def on_train_end(self, net, **kwargs):
        """Record an epoch that a keyboard interrupt ended."""
        if net.history and net.history[-1]["batches"]:
            self._record(net)

    def _record(self, net):
        for part, (forward, backward, n) in self.sums_.items():
            if n:
                for name, value in perplexities(forward, backward, n).items():
                    net.history.record(f"{part}_{name}", value)
        # One record per batch would grow without bound.
        net.history[-1]["batches"] = []


def perplexities(forward, backward, n_words):
    """Return the perplexities of summed losses: per direction, and of their mean.

    >>> values = perplexities(0.0, 2 * math.log(16.0), 2)
    >>> {name: round(value, 6) for name, value in values.items()}
    {'forward': 1.0, 'backward': 16.0, 'perplexity': 4.0}
    """
    losses = np.array([forward, backward, (forward + backward) / 2]) / n_words
    with np.errstate(over="ignore"):
        values = np.exp(losses).tolist()
    return dict(zip(("forward", "backward", "perplexity"), values, strict=True))


def check_finite(net):
    """Raise unless the last training step left finite weights."""
    for name, tensor in net.module_.state_dict().items():
        if not torch.isfinite(tensor).all():
            raise FloatingPointError(
                f"training diverged: {name} has entries that are "
                "not finite. Use a smaller lr."
            )


class LRSchedule(Callback):
    """Sets the learning rate: linear warm-up, then cosine decay.

    Parameters
    ----------
    lr : float
        Maximum learning rate.
    n_steps : int
        Approximate number of steps of all epochs.
    """

    def __init__(self, lr, n_steps):
        self.lr, self.n_steps = lr, n_steps
        self.step = 0

    def on_batch_begin(self, net, training=False, **kwargs):
        """Set the learning rate of the next step."""
        if training:
            for group in net.optimizer_.param_groups:
                group["lr"] = self.rate(self.step)
            self.step += 1

    def on_epoch_end(self, net, **kwargs):
        """Record the learning rate at the end of the epoch."""
        net.history.record("lr", self.rate(max(0, self.step - 1)))

    def rate(self, step):
        """Return the learning rate of a step.

        >>> schedule = LRSchedule(lr=1.0, n_steps=100)
        >>> [round(schedule.rate(step), 2) for step in (0, 1, 51, 99)]
        [0.5, 1.0, 0.49, 0.02]
        """
        warm = max(1, round(_WARM_UP * self.n_steps))
        if step < warm:
            return self.lr * (step + 1) / warm
        progress = min(1.0, (step - warm + 1) / max(1, self.n_steps - warm))
        cosine = (1 + math.cos(math.pi * progress)) / 2
        return self.lr * (_FLOOR + (1 - _FLOOR) * cosine)


CHECKPOINT_EVERY = 500  # batches


class WriteCheckpoints(Callback):
    """Writes a checkpoint every `CHECKPOINT_EVERY` batches and after each epoch.

    If the file cannot be written, it warns once and training continues.

    Parameters
    ----------
    file : Path
    identity : dict of str to str
        Identifies the fit; a checkpoint of another fit is refused.
    seed : int
    record : RecordPerplexity
    schedule : LRSchedule
    """

    def __init__(self, file, identity, seed, record, schedule):
        self.file, self.identity, self.seed = file, identity, seed
        self.record, self.schedule = record, schedule
        self.n_batches, self._has_warned = 0, False

    def on_batch_end(self, net, training=False, **kwargs):
        """Write a checkpoint if one is due."""
        if training:
            self.n_batches += 1
            if self.n_batches % CHECKPOINT_EVERY == 0:
                self._write(net, epoch_over=False)

    def on_epoch_end(self, net, **kwargs):
        """Write a checkpoint of the finished epoch."""
        self.n_batches = 0
        self._write(net, epoch_over=True)

    def _write(self, net, epoch_over):
        finished = net.history if epoch_over else net.history[:-1]
        plain, tensors = net_state_dict(net, [_scalars(epoch) for epoch in finished])
        content = {
            "plain": plain,
            "tensors": tensors,
            "n_epochs": len(finished),
            "generators": current_generators().states(net.device),
            "identity": self.identity,
            "seed": self.seed,
            "n_batches": self.n_batches,
            "sums": None if epoch_over else self.record.sums_["train"].tolist(),
            "carried": None if epoch_over else net.carried_,
            "step": self.schedule.step,
            "best": self.record.best,
            "best_weights": self.record.best_weights,
        }
        try:
            write_checkpoint(self.file, content)
        except OSError as error:
            if not self._has_warned:
                warnings.warn(
                    f"ElmoLanguageModel: the checkpoint {self.file} cannot be written "
                    f"({error}). Training continues; if it is killed, it resumes from "
                    "the last checkpoint that was written, if any.",
                    UserWarning,
                    stacklevel=2,
                )
            self._has_warned = True

    def restore(self, net, state):
        """Restore an initialized net and the other callbacks from a checkpoint."""
        load_net_state_dict(net, state["plain"], state["tensors"])
        current_generators().set_states(state["generators"], net.device)
        net.carried_ = state["carried"]
        self.n_batches = state["n_batches"]
        self.schedule.step = state["step"]
        self.record.restored, self.record.best = state["sums"], state["best"]
        self.record.best_weights = state["best_weights"]


def read_matching_checkpoint(file, identity, device):
    """Return the content of this fit's checkpoint; None if there is no file.

    Raises ValueError if the file is corrupt or belongs to another fit.
    """
    if not file.exists():
        return None
    try:
        state = read_checkpoint(file, device)
        saved = state["identity"]
    except (CorruptCheckpointError, KeyError) as error:
        raise ValueError(
            f"{file} is not a checkpoint, or it is corrupt "
            f"({error}). Delete it, or set checkpoint to another file."
        ) from error
    for name, value in identity.items():
        if saved.get(name) != value:
            raise ValueError(
                f"the checkpoint {file} belongs to another fit: its "
                f"{name} is {saved.get(name)}; got {value}. Delete it, or set "
                "checkpoint to another file."
            )
    return state


def _scalars(epoch):
    values = {k: v for k, v in epoch.items() if isinstance(v, int | float | bool)}
    return {"batches": [], **values}
