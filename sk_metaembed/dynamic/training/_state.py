"""A trained net as plain values and tensors, for files without code."""

from copy import copy

from torch import nn

from ..._training._net_state import net_state_dict, restore_net
from ._net import KEPT_PARAMETERS


def net_parts(net):
    """Return a trained net as plain values and tensors, for `restore`."""
    plain, tensors = net_state_dict(net)
    plain["network"] = net.get_params_for("module")
    plain["settings"] = {name: getattr(net, name) for name in KEPT_PARAMETERS}
    plain["loss"] = net.criterion__kind
    return plain, tensors


def restore(net, plain, tensors):
    """Restore a net that is not initialized yet, from the output of `net_parts`."""
    # Parameters of the estimator may have changed since fit.
    network = plain["network"]
    vars(net).update({f"module__{name}": value for name, value in network.items()})
    vars(net).update({name: plain["settings"][name] for name in KEPT_PARAMETERS})
    net.criterion__kind = plain["loss"]
    prepared = network["sources"].prepared
    files = [i for i, source in enumerate(prepared) if hasattr(source, "source")]
    light = copy(network["sources"])  # without sources that are read from files
    light.prepared = [_Empty() if i in files else p for i, p in enumerate(prepared)]
    net.is_loading_ = True
    restore_net(
        net,
        lambda: net.module(**{**network, "sources": light}),
        plain,
        tensors,
        ignore=tuple(f"module/trained.{i}." for i in files),
    )
    del net.is_loading_


class _Empty:
    def network(self):
        return nn.Identity()
