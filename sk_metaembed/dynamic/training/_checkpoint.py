"""Checkpoints of fits: one file per fit, in a directory that fits may share."""

import json
import os
import warnings
from pathlib import Path

import joblib
import numpy as np
import torch
from skorch.callbacks import PassthroughScoring

from ..._training._checkpoint_file import (
    CheckpointCallback,
    CorruptCheckpointError,
    read_checkpoint,
)
from ..._training._net_state import net_state_dict
from ...sequences._sequence_pairs import tokens_of
from .._trainable import blocks_of
from ._skorch_net import AverageWeights

_VERSION = 2
# Not part of the key of a fit: they do not change the weights, or are in it otherwise.
_FREE = {
    "callbacks",
    "cv",
    "device",
    "random_state",
    "train_options",
    "train_options__checkpoint",
    "train_options__compile",
    "trainable",
    "verbose",
    "warm_start",
}


class Checkpoint(CheckpointCallback):
    """Write the state of a fit at the end of each epoch.

    Parameters
    ----------
    file : Path
    random_state : RandomState
        Used by the fit, which has not drawn from it yet.
    resumed : dict or None
        The state of an interrupted fit.
    caller : str
        Name of the estimator.
    """

    def __init__(self, file, random_state, resumed, caller):
        super().__init__(file, caller)
        self._random, self._resumed = _plain(random_state), resumed
        self._done = 0

    def restore(self, net):
        """Restore the state of an interrupted fit; return the number of epochs done."""
        if self._resumed is not None:
            self.restore_state(net, self._resumed)
            _set(net.iterator_train__rng, self._resumed["batches"])
            self._done = self._resumed["done"]
        return self._done

    def on_train_begin(self, net, **kwargs):
        """Restore the callbacks, which skorch has reset before."""
        if self._resumed is None:
            return
        for name, best in self._resumed["bests"].items():
            dict(net.callbacks_)[name].best_score_ = best
        average = _average(net)
        if average is not None:
            average.last_, average.is_averaged_ = self._resumed["average"], True
        stop, plateau = _followers(net)
        if stop is not None:
            state = self._resumed["stop"]
            stop.misses_, stop.dynamic_threshold_, stop.best_epoch_ = state
            stop.best_model_weights_ = self._resumed["best"]
            plateau.lr_scheduler_.load_state_dict(json.loads(self._resumed["plateau"]))
        self._resumed = None

    def on_epoch_end(self, net, **kwargs):
        """Write the state, after all other callbacks."""
        self._done += 1
        stop, plateau = _followers(net)
        content = {
            "version": _VERSION,
            "done": self._done,
            "random": self._random,
            "batches": _plain(net.iterator_train__rng),
            "bests": {name: float(c.best_score_) for name, c in _scores(net)},
        }
        average = _average(net)
        if average is not None:
            content["average"] = average.last_
        if stop is not None:
            threshold = float(stop.dynamic_threshold_)
            content["stop"] = [stop.misses_, threshold, stop.best_epoch_]
            content["best"] = stop.best_model_weights_
            # As JSON: NumPy's numbers among the options are not loaded without code.
            state = plateau.lr_scheduler_.state_dict()
            content["plateau"] = json.dumps(state, default=float)
        self.write_state(net, net.history, **content)

    def end(self, net):
        """Remove the file of a finished fit; a fit ended by Ctrl-C may be resumed."""
        if "train_loss" in net.history[-1]:
            self.file.unlink(missing_ok=True)


def with_checkpoint(plan, validation):
    """Return a plan with its `Checkpoint`, if any, and the random state of that.

    Nothing was drawn yet from the plan's random state in this fit. `validation` is
    ``X_val`` and ``y_val`` as they were given.
    """
    if plan.model.options.checkpoint is None:
        return plan
    caller = plan.model.caller
    folder = _folder(plan.model.options.checkpoint, caller)
    file = folder / f"{joblib.hash(_content_of(plan, validation))}.pt"
    resumed = _read(file, caller)
    random_state = plan.random_state
    if plan.params["random_state"] is None:
        # A later fit could not draw the same numbers from the global generator.
        seed = random_state.randint(np.iinfo(np.int32).max)
        random_state = np.random.RandomState(seed)
        if resumed is not None:
            _set(random_state, resumed["random"])
    checkpoint = Checkpoint(file, random_state, resumed, caller)
    return plan._replace(checkpoint=checkpoint, random_state=random_state)


def _folder(place, caller):
    folder = Path(place).expanduser()
    message = f"{caller}: checkpoint={os.fspath(place)!r} is not a writable directory"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise type(error)(f"{message} ({error}). Pass a different one.") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(
            f"{message}. Fix its permissions or pass a different one."
        )
    return folder


def _read(file, caller):
    try:
        state = read_checkpoint(file, "cpu")
    except FileNotFoundError:
        return None
    except CorruptCheckpointError as error:
        warnings.warn(
            f"{caller}: the checkpoint {file} is corrupt ({error}). Training "
            "starts from the beginning.",
            UserWarning,
            stacklevel=2,
        )
        return None
    return state if state.get("version") == _VERSION else None


def _content_of(plan, validation):
    """Return everything that the weights after a fit depend on."""
    content = {
        "version": _VERSION,
        "class": plan.model.caller,
        "params": {k: v for k, v in sorted(plan.params.items()) if _counts(k, v)},
        "trained": [getattr(o, "_key", None) for o in plan.model.trained.opened],
        "X": _content(plan.X),
        "y": plan.y,
        "weights": plan.weights,
        "held out": [None if part is None else _content(part) for part in validation],
    }
    if plan.params["random_state"] is not None:
        content["random"] = plan.random_state.get_state()
    if plan.net is not None:
        content["net"] = [
            (name, value.detach().cpu().float().numpy())
            for name, value in net_state_dict(plan.net)[1].items()
        ]
    return content


def _counts(name, value):
    """Return whether a parameter is part of it; trainable sources have own keys."""
    return name not in _FREE and not hasattr(value, "get_params")


def _content(X):
    """Return the content of sequences, without cached attributes."""
    if not hasattr(X, "blocks") and not hasattr(X, "codes"):
        sides = getattr(X, "sequences", None)
        return X if sides is None else ["pairs", _content(sides)]
    tokens = tokens_of(X)
    blocks = [(b.name, b.level, b.values, b.known) for b in blocks_of(X)]
    texts = [] if tokens.texts is None else [list(tokens.texts)]
    return [list(tokens.types), tokens.codes, tokens.offsets, blocks, *texts]


def _followers(net):
    """Return early stopping and learning-rate scheduler, or None for each."""
    callbacks = dict(net.callbacks_)
    return callbacks.get("stop"), callbacks.get("plateau")


def _average(net):
    """Return the callback that averages weights, or None."""
    return next((c for _, c in net.callbacks_ if isinstance(c, AverageWeights)), None)


def _scores(net):
    """Return the callbacks of mean losses, which store the best epoch."""
    return [(n, c) for n, c in net.callbacks_ if isinstance(c, PassthroughScoring)]


def _plain(random):
    """Return the state of a RandomState as torch saves it without pickle."""
    name, keys, *rest = random.get_state()
    return [name, torch.from_numpy(keys.astype(np.int64)), *rest]


def _set(random, plain):
    name, keys, *rest = plain
    random.set_state((name, keys.numpy().astype(np.uint32), *rest))
