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
from ._distributed import processes_of

_VERSION = 1
# Not part of what a fit is known by: they change no weights, or stand elsewhere in it.
_FREE = {
    "callbacks",
    "checkpoint",
    "compile",
    "device",
    "random_state",
    "trainable",
    "verbose",
    "warm_start",
}


class Checkpoint(Callback):
    """Writes all that a fit needs to go on, at the end of each epoch.

    Parameters
    ----------
    file : Path
    random : RandomState
        That the fit draws from, as it is before it draws.
    found : dict or None
        What a fit that was killed has left.
    caller : str
        The estimator's name.
    """

    def __init__(self, file, random, found, caller):
        self._writer = CheckpointWriter(file, caller)
        self._random, self._found = _plain(random), found
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


def checkpoint_of(estimator, X, y, weights, held_out, *, goes_on):
    """Return the `Checkpoint` of a fit, or None where none is asked for.

    Parameters
    ----------
    estimator : one of the Dynamic* estimators
        That has drawn no random number yet in this fit.
    X : EmbeddedSequences, TokenSequences or SequencePairs
    y : ndarray or list
    weights : ndarray
    held_out : tuple
        ``X_val`` and ``y_val`` as they were given.
    goes_on : bool
        Whether the fit goes on with the net of the last one.

    Returns
    -------
    Checkpoint or None

    Raises
    ------
    OSError
        If there is no such folder, and none can be made, or it may not be written.
    """
    if estimator.checkpoint is None:
        return None
    caller = type(estimator).__name__
    folder = _folder(estimator.checkpoint, caller)
    told = _told(estimator, X, y, weights, held_out, goes_on)
    file = folder / f"{joblib.hash(told)}.pt"
    # Of several processes the main one: others may be on machines without the folder.
    found = processes_of(estimator).told(_found(file, caller))
    if estimator.random_state is None:
        # Numbers that nobody could draw again: the fit gets a generator of its own.
        seed = estimator._random.randint(np.iinfo(np.int32).max)
        estimator._random = np.random.RandomState(seed)
        if found is not None:
            _set(estimator._random, found["random"])
    return Checkpoint(file, estimator._random, found, caller)


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


def _told(estimator, X, y, weights, held_out, goes_on):
    """Return all that the weights will depend on."""
    params = estimator.get_params()
    told = {
        "version": _VERSION,
        "class": type(estimator).__name__,
        "params": {k: v for k, v in sorted(params.items()) if _counts(k, v)},
        "trained": [getattr(o, "_key", None) for o in estimator._trained.opened],
        "X": _content(X),
        "y": y,
        "weights": weights,
        "held out": [None if part is None else _content(part) for part in held_out],
    }
    if estimator.random_state is not None:
        told["random"] = estimator._random.get_state()
    if goes_on:
        told["net"] = [
            (name, value.detach().cpu().float().numpy())
            for name, value in net_state_dict(estimator.net_)[1].items()
        ]
    return told


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
