"""State of a trained skorch net as plain values and named tensors."""

import json

import torch
from skorch.history import History

from ._random import local_generators, swap_default_generators

_PARTS = ("module", "criterion")


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
