"""Nets of skorch: epochs, callbacks, tasks of scikit-learn's callbacks, saved state.

This module imports skorch and torch, so it must be imported inside functions.
"""

import json
from contextlib import contextmanager

import torch
from sklearn.base import clone
from skorch.callbacks import Callback
from skorch.helper import predefined_split
from skorch.history import History

from .._core._estimators import fit_task
from ._minimize import flush_denormals
from ._random import local_generators, swap_default_generators

_PARTS = ("module", "criterion")
_FLUSH_INTERVAL = 100  # steps


@contextmanager
def reported_fit(estimator, X, y, epochs):
    """Report a fit to scikit-learn's callbacks; yield a skorch callback of epochs."""
    with fit_task(estimator, X, y, epochs) as context:
        yield FitTaskReporter(estimator, context, X, y)


def run_epochs(net, callbacks, train_set, valid_set, epochs):
    """Train an initialized net with all of its (name, callback) pairs, in their order.

    Afterwards the net has its own callbacks again: others may hold data and estimators,
    which must not be pickled with the net.
    """
    before = net.callbacks_, net.max_epochs
    for _, callback in callbacks:
        callback.initialize()
    net.callbacks_, net.max_epochs = callbacks, epochs
    net.train_split = None if valid_set is None else predefined_split(valid_set)
    try:
        net.partial_fit(train_set)  # skorch's loop: `SequenceNet` lists its steps
    finally:
        net.callbacks_, net.max_epochs = before
        net.train_split = None


def cloned_callbacks(callbacks):
    """Return copies of callbacks passed by the user, because skorch changes them."""
    for callback in callbacks or []:
        named = isinstance(callback, tuple) and len(callback) == 2
        if not hasattr(callback[1] if named else callback, "on_epoch_end"):
            raise TypeError(
                "callbacks must hold skorch callbacks or pairs (name, "
                f"callback), got {callback!r}."
            )
    return [clone(callback, safe=False) for callback in callbacks or []]


class FitTaskReporter(Callback):
    """Report epochs to scikit-learn's callbacks.

    `estimator` has scikit-learn's `CallbackSupportMixin`, and `context` is the
    `CallbackContext` of the whole fit. X and y are the training data, for callbacks
    that compute scores.
    """

    def __init__(self, estimator, context, X, y):
        self.estimator = estimator
        self.context = context
        self.X = X
        self.y = y

    def on_epoch_begin(self, net, **kwargs):
        """Begin the epoch's task."""
        self.epoch_ = self.context.subcontext(task_name="epoch")
        self.epoch_.call_on_fit_task_begin(estimator=self.estimator)

    def on_epoch_end(self, net, **kwargs):
        """End the epoch's task, and record whether a callback requests to stop."""
        self.stop_ = self.epoch_.call_on_fit_task_end(
            estimator=self.estimator,
            X=self.X,
            y=self.y,
            reconstruction_attributes=lambda: {"net_": net},
        )


class StopOnRequest(Callback):
    """End training if a scikit-learn callback requested it.

    This is a separate callback because of the order of callbacks: it must run after
    those that store the best weights, whereas `FitTaskReporter` must run before early
    stopping ends training.
    """

    def __init__(self, tasks):
        self.tasks = tasks

    def on_epoch_end(self, net, **kwargs):
        """Raise KeyboardInterrupt, at which skorch ends training and keeps the net."""
        if self.tasks.stop_:
            raise KeyboardInterrupt


class FlushDenormals(Callback):
    """Call `flush_denormals` once in 100 steps of training."""

    def on_train_begin(self, net, **kwargs):
        """Reset the number of steps."""
        self.n_steps_ = 0

    def on_batch_end(self, net, training=False, **kwargs):
        """Count a step."""
        self.n_steps_ += training
        if training and self.n_steps_ % _FLUSH_INTERVAL == 0:
            flush_denormals(net.optimizer_)


def net_state_dict(net):
    """Return plain values and tensors, two dicts, for `restore_net`."""
    tensors = {}
    for part in _PARTS:
        module = getattr(net, f"{part}_")
        state = {} if module is None else module.state_dict()
        tensors.update({f"{part}/{name}": value for name, value in state.items()})
    history = json.dumps(list(net.history), default=float)
    return {"device": str(net.device), "history": history}, tensors


def restore_net(net, build, plain, tensors, *, ignore=()):
    """Initialize a net and load the output of `net_state_dict` from a file.

    First `build` creates the module on torch's meta device, which allocates no memory,
    and the names and shapes of its weights are compared with the tensors; a difference
    raises a ValueError. A malicious file can therefore not make the process allocate
    more memory than the file contains. Names that begin with `ignore` are not compared.
    """
    with torch.device("meta"):
        expected = {f"module/{n}": w.shape for n, w in build().state_dict().items()}
    names = {name for name in tensors if name.startswith("module/")}
    names = {name for name in names if not name.startswith(ignore)}
    wrong = names ^ {*expected}
    wrong = wrong or {n for n in names if tensors[n].shape != expected[n]}
    if wrong:
        raise ValueError(f"the network and its weights differ in {sorted(wrong)[0]!r}")
    with local_generators(0), swap_default_generators("cpu"):
        net.initialize()
    for part in _PARTS:
        state = {
            name.removeprefix(f"{part}/"): value
            for name, value in tensors.items()
            if name.startswith(f"{part}/")
        }
        getattr(net, f"{part}_").load_state_dict(state)
    net.trim_for_prediction()
    net.module_.eval()
    net.history_ = History(json.loads(plain["history"]))  # trimming clears the history


def available_device(device):
    """Return the device of a saved net, or the CPU if there is no such GPU."""
    is_lost = str(device).startswith("cuda") and not torch.cuda.is_available()
    return torch.device("cpu" if is_lost else device)
