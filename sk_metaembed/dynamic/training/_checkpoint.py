"""Where a killed fit goes on: one file a fit, in a folder that many fits may share."""

import os
import warnings
from pathlib import Path

import joblib
import numpy as np
import torch
from skorch.callbacks import Callback, PassthroughScoring

from ..._training._checkpoint_file import (
    CheckpointWriter,
    CorruptCheckpointError,
    read_checkpoint,
)
from ..._training._net_state import load_net_state_dict, net_state_dict
from ..._training._random import current_generators
from .._trainable import blocks_of, tokens_of

_VERSION = 1
# Not part of what a fit is known by: they change no weights, or stand elsewhere in it.
_FREE = {
    "callbacks",
    "device",
    "random_state",
    "train_options",
    "train_options__checkpoint",
    "train_options__compile",
    "trainable",
    "verbose",
    "warm_start",
}


class Checkpoint(Callback):
    """Writes all that a fit needs to go on, at the end of each epoch.

    Parameters
    ----------
    file : Path
    random_state : RandomState
        The fit draws from it, and has not yet.
    found : dict or None
        What a fit that was killed has left.
    caller : str
        The estimator's name.
    """

    def __init__(self, file, random_state, found, caller):
        self._writer = CheckpointWriter(file, caller)
        self._random, self._found = _plain(random_state), found
        self._done = 0

    def restore(self, net):
        """Bring a net to where the killed fit was.

        Parameters
        ----------
        net : SequenceNet
            Initialised.

        Returns
        -------
        int
            Epochs that need not be trained any more.
        """
        if self._found is not None:
            load_net_state_dict(net, self._found["plain"], self._found["tensors"])
            _set(net.iterator_train__rng, self._found["batches"])
            self._done = self._found["done"]
        return self._done

    def on_train_begin(self, net, **kwargs):
        """Bring the callbacks, which have begun anew, to where they were."""
        if self._found is None:
            return
        for name, best in self._found["bests"].items():
            dict(net.callbacks_)[name].best_score_ = best
        stop, plateau = _followers(net)
        if stop is not None:
            told = self._found["stop"]
            stop.misses_, stop.dynamic_threshold_, stop.best_epoch_ = told
            stop.best_model_weights_ = self._found["best"]
            plateau.lr_scheduler_.load_state_dict(self._found["plateau"])
        current_generators().set_states(self._found["generators"], net.device)
        self._found = None

    def on_epoch_end(self, net, **kwargs):
        """Write, once all other callbacks have seen the epoch."""
        self._done += 1
        if not net.processes_.is_main:
            return
        stop, plateau = _followers(net)
        plain, tensors = net_state_dict(net)
        content = {
            "version": _VERSION,
            "done": self._done,
            "random": self._random,
            "plain": plain,
            "tensors": tensors,
            "batches": _plain(net.iterator_train__rng),
            "generators": current_generators().states(net.device),
            "bests": {name: float(c.best_score_) for name, c in _scores(net)},
        }
        if stop is not None:
            threshold = float(stop.dynamic_threshold_)
            content["stop"] = [stop.misses_, threshold, stop.best_epoch_]
            content["best"] = stop.best_model_weights_
            content["plateau"] = plateau.lr_scheduler_.state_dict()
        self._writer.write(content)

    def end(self, net):
        """Remove the file of a fit that is over; one that Ctrl-C ended may go on."""
        if "train_loss" in net.history[-1] and net.processes_.is_main:
            self._writer.file.unlink(missing_ok=True)


def with_checkpoint(plan, validation):
    """Return a plan with its `Checkpoint`, if any, and the random state of that.

    Parameters
    ----------
    plan : FitPlan
        Nothing was drawn from its random state in this fit yet.
    validation : tuple
        ``X_val`` and ``y_val`` as they were given.

    Returns
    -------
    FitPlan

    Raises
    ------
    OSError
        If there is no such folder, and none can be made, or it may not be written.
    """
    if plan.model.options.checkpoint is None:
        return plan
    caller = plan.model.caller
    folder = _folder(plan.model.options.checkpoint, caller)
    file = folder / f"{joblib.hash(_content_of(plan, validation))}.pt"
    # Of several processes the main one: others may be on machines without the folder.
    found = plan.processes.told(_found(file, caller))
    random_state = plan.random_state
    if plan.params["random_state"] is None:
        # Numbers that nobody could draw again: the fit gets a generator of its own.
        seed = random_state.randint(np.iinfo(np.int32).max)
        random_state = np.random.RandomState(seed)
        if found is not None:
            _set(random_state, found["random"])
    checkpoint = Checkpoint(file, random_state, found, caller)
    return plan._replace(checkpoint=checkpoint, random_state=random_state)


def _folder(place, caller):
    folder = Path(place).expanduser()
    told = f"{caller}: checkpoint={os.fspath(place)!r} is no folder to write to"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise type(error)(f"{told} ({error}). Give another.") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"{told}. Mend its rights, or give another.")
    return folder


def _found(file, caller):
    try:
        found = read_checkpoint(file, "cpu")
    except FileNotFoundError:
        return None
    except CorruptCheckpointError as error:
        warnings.warn(
            f"{caller}: the checkpoint {file} is damaged ({error}). Training begins "
            "anew.",
            UserWarning,
            stacklevel=2,
        )
        return None
    return found if found.get("version") == _VERSION else None


def _content_of(plan, validation):
    """Return all that the weights after the fit depend on."""
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
    """Tell whether a parameter goes in; sources that are trained do by their own."""
    return name not in _FREE and not hasattr(value, "get_params")


def _content(X):
    """Return what sequences hold, without what they may have worked out since."""
    if not hasattr(X, "blocks") and not hasattr(X, "codes"):
        sides = getattr(X, "sequences", None)
        return X if sides is None else ["pairs", _content(sides)]
    tokens = tokens_of(X)
    blocks = [(b.name, b.level, b.values, b.known) for b in blocks_of(X)]
    texts = [] if tokens.texts is None else [list(tokens.texts)]
    return [list(tokens.types), tokens.codes, tokens.offsets, blocks, *texts]


def _followers(net):
    """Return what follows the held-out part: early stopping, and the learning rate."""
    callbacks = dict(net.callbacks_)
    return callbacks.get("stop"), callbacks.get("plateau")


def _scores(net):
    """Return skorch's means of losses, which know the best epoch."""
    return [(n, c) for n, c in net.callbacks_ if isinstance(c, PassthroughScoring)]


def _plain(random):
    """Return a RandomState's state as torch saves it without pickles."""
    name, keys, *rest = random.get_state()
    return [name, torch.from_numpy(keys.astype(np.int64)), *rest]


def _set(random, plain):
    name, keys, *rest = plain
    random.set_state((name, keys.numpy().astype(np.uint32), *rest))
