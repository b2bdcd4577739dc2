"""State of a trained skorch net as plain values and named tensors."""

import json

import torch
from skorch.history import History

from ._random import local_generators, swap_default_generators

_PARTS = ("module", "criterion")


def net_state_dict(net, history=None):
    """Return plain values and tensors, two dicts, for `load_net_state_dict`.

    `history` replaces the history of the net.
    """
    history = net.history if history is None else history
    tensors = {}
    for part in _PARTS:
        module = getattr(net, f"{part}_")
        state = {} if module is None else _module(module).state_dict()
        tensors.update({f"{part}/{name}": value for name, value in state.items()})
    plain = {
        "device": str(net.device),
        "training": bool(net.module_.training),
        "history": json.dumps(list(history), default=float),
        "groups": None,
    }
    optimizer = getattr(net, "optimizer_", None)
    if optimizer is not None:
        state = optimizer.state_dict()
        plain["groups"] = json.dumps(state["param_groups"], default=float)
        for number, values in state["state"].items():
            tensors.update({f"optimizer/{number}/{k}": v for k, v in values.items()})
    return plain, tensors


def _module(module):
    return getattr(module, "_orig_mod", module)  # beneath torch.compile


def load_net_state_dict(net, plain, tensors):
    """Load the output of `net_state_dict` into an initialized net."""
    parts = _by_part(tensors)
    for part in _PARTS:
        _module(getattr(net, f"{part}_")).load_state_dict(parts.get(part, {}))
    if plain["groups"] is None:
        net.trim_for_prediction()
    else:
        state = _numbered(parts.get("optimizer", {}))
        groups = json.loads(plain["groups"])
        net.optimizer_.load_state_dict({"state": state, "param_groups": groups})
    net.module_.train(plain["training"])
    net.history_ = History(json.loads(plain["history"]))  # trimming clears the history


def _by_part(tensors):
    parts = {}
    for name, value in tensors.items():
        part, _, rest = name.partition("/")
        parts.setdefault(part, {})[rest] = value
    return parts


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
    load_net_state_dict(net, plain, tensors)


def _numbered(tensors):
    state = {}
    for name, value in tensors.items():
        number, _, key = name.partition("/")
        state.setdefault(int(number), {})[key] = value
    return state


def available_device(device):
    """Return the device of a saved net, or the CPU if there is no such GPU."""
    is_lost = str(device).startswith("cuda") and not torch.cuda.is_available()
    return torch.device("cpu" if is_lost else device)
