"""Nets of skorch: epochs, callbacks, saved state.

This module imports skorch and torch, so it must be imported inside functions.
"""

import json
from contextlib import suppress

import torch
from sklearn.base import clone
from skorch.callbacks import Callback
from skorch.helper import predefined_split
from skorch.history import History

from ._minimize import flush_denormals
from ._random import local_generators, swap_default_generators

_PARTS = ("module", "criterion")
_FLUSH_INTERVAL = 100  # steps


def run_epochs(net, callbacks, train_set, valid_set, n_epochs, *, context, task):
    """Train an initialized net with all of its (name, callback) pairs, in their order.

    Each epoch is skorch's and a task of scikit-learn's callbacks, which may request to
    stop. Early stopping and Ctrl-C end training too, and the net is kept. Afterwards
    the net has its own callbacks again: others may hold data and estimators, which must
    not be pickled with the net.

    `context` is the context of the whole fit, from `fit_task`. `task` has the
    estimator, and its training data X and y for callbacks that compute scores.
    """
    own = net.callbacks_, net.max_epochs
    for _, callback in callbacks:
        callback.initialize()
    net.callbacks_, net.max_epochs = callbacks, n_epochs
    net.train_split = None if valid_set is None else predefined_split(valid_set)
    try:
        net.notify("on_train_begin", X=train_set, y=None)
        ends = False
        with suppress(KeyboardInterrupt):  # in scikit-learn's callbacks
            for _ in range(n_epochs):
                epoch = context.subcontext(task_name="epoch")
                epoch.call_on_fit_task_begin(**task)
                try:
                    net.fit_loop(train_set, epochs=1)
                except KeyboardInterrupt:
                    ends = True
                stops = epoch.call_on_fit_task_end(
                    **task, reconstruction_attributes=lambda: {"net_": net}
                )
                if ends or stops:
                    break
        if not net.history:  # nothing is trained
            raise KeyboardInterrupt
        net.notify("on_train_end", X=train_set, y=None)
    finally:
        net.callbacks_, net.max_epochs = own
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


class FlushDenormals(Callback):
    """Call `flush_denormals` every 100 steps of training."""

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
