"""What a trained skorch net has learned, as plain values and tensors by name."""

import json

_PARTS = ("module", "criterion")


def net_state_dict(net):
    """Return what `load_net_state_dict` gives to another net of the same shapes.

    Parameters
    ----------
    net : skorch NeuralNet
        Trained.

    Returns
    -------
    plain : dict
    tensors : dict of str to tensor
    """
    tensors = {}
    for part in _PARTS:
        module = getattr(net, f"{part}_")
        state = {} if module is None else _module(module).state_dict()
        tensors.update({f"{part}/{name}": value for name, value in state.items()})
    plain = {
        "device": str(net.device),
        "training": bool(net.module_.training),
        "history": json.dumps(list(net.history), default=float),
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
    """Give an initialised net what another had learned.

    Parameters
    ----------
    net : skorch NeuralNet
    plain : dict
    tensors : dict of str to tensor

    Raises
    ------
    RuntimeError
        If the shapes are not the net's.
    """
    from skorch.history import History

    parts = {}
    for name, value in tensors.items():
        part, _, rest = name.partition("/")
        parts.setdefault(part, {})[rest] = value
    for part in _PARTS:
        _module(getattr(net, f"{part}_")).load_state_dict(parts.get(part, {}))
    if plain["groups"] is None:
        net.trim_for_prediction()
    else:
        state = _numbered(parts.get("optimizer", {}))
        groups = json.loads(plain["groups"])
        net.optimizer_.load_state_dict({"state": state, "param_groups": groups})
    net.module_.train(plain["training"])
    net.history_ = History(json.loads(plain["history"]))  # trimming clears it


def check_shapes(build, tensors, *, ignore=()):
    """See that a module is no larger than its tensors, before memory is set aside.

    Parameters
    ----------
    build : callable
        Makes the module; called on torch's device without memory.
    tensors : dict of str to tensor
    but : tuple of str
        How the names begin of those that are not looked at.

    Raises
    ------
    ValueError
        If it has other parameters, or other shapes.
    """
    import torch

    with torch.device("meta"):
        wanted = {f"module/{n}": w.shape for n, w in build().state_dict().items()}
    names = {name for name in tensors if name.startswith("module/")}
    names = {name for name in names if not name.startswith(ignore)}
    wrong = names ^ {*wanted} or {n for n in names if tensors[n].shape != wanted[n]}
    if wrong:
        raise ValueError(f"the network and its weights differ in {sorted(wrong)[0]!r}")


def _numbered(tensors):
    state = {}
    for name, value in tensors.items():
        number, _, key = name.partition("/")
        state.setdefault(int(number), {})[key] = value
    return state


def available_device(device):
    """Return a device that a net was on, or the CPU where there is no such GPU.

    Parameters
    ----------
    device : str
    """
    import torch

    gone = str(device).startswith("cuda") and not torch.cuda.is_available()
    return torch.device("cpu" if gone else device)
