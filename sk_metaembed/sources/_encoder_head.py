"""SentenceHead: compute the modules of a sentence encoder after its first module.

The formulas are as in sentence-transformers, over rows that are padded on the right:
with a causal mask or an attention mask, the side does not change the vectors.
"""

from functools import partial

import torch
from torch import nn
from torch.nn import functional

_TINY = 1e-9


class SentenceHead:
    """The pooling and the modules after it, with weights in float32 on a device."""

    def __init__(self, modules, device):
        self._device = device
        self.modes = modules.pooling["modes"]
        self.include_prompt = modules.pooling["include_prompt"]
        self._functions = [
            _built(step, _weights(modules, i, device), device)
            for i, step in enumerate(modules.steps)
            if i > 0  # step 0 is the pooling
        ]

    def pool(self, states, mask, n_prompt=0):
        """Return one vector per text, (n, length, dim) -> (n, pooled dim) in float32.

        `mask` (n, length) is False for padding. The first `n_prompt` subwords are not
        pooled.
        """
        counted = mask.clone()
        counted[:, :n_prompt] = False
        pooled = [_POOLINGS[mode](states.float(), counted) for mode in self.modes]
        return torch.cat(pooled, dim=1)

    def finish(self, pooled):
        """Return the vectors of texts, arrays of (n, pooled dim) -> (n, dim)."""
        vectors = torch.from_numpy(pooled).to(self._device)
        with torch.inference_mode():
            for function in self._functions:
                vectors = function(vectors)
        return vectors.cpu().numpy()


def _weights(modules, number, device):
    start = f"{number}."
    return {
        name.removeprefix(start): torch.from_numpy(array).to(device)
        for name, array in modules.weights.items()
        if name.startswith(start)
    }


def _built(step, weights, device):
    """Return the function of a step, which maps text vectors."""
    if step["kind"] == "Dense":
        activation = _activation(step["activation"], weights).to(device)
        options = {"activation": activation, "adds_input": step["use_residual"]}
        return partial(_dense, weights=weights, **options)
    if step["kind"] == "Normalize":
        return partial(functional.normalize, dim=-1)
    weight, bias = weights["norm.weight"], weights["norm.bias"]
    options = {"normalized_shape": weight.shape, "weight": weight, "bias": bias}
    return partial(functional.layer_norm, **options)


def _dense(x, weights, activation, adds_input):
    """Return a linear map with an activation, and optionally its input added."""
    out = functional.linear(x, weights["linear.weight"], weights.get("linear.bias"))
    out, residual = activation(out), weights.get("residual.weight")
    if not adds_input:
        return out
    return out + (x if residual is None else functional.linear(x, residual))


def _activation(name, weights):
    """Return the torch activation with a name, including its weights if any."""
    function = getattr(nn, name, None)
    known = isinstance(function, type) and issubclass(function, nn.Module)
    inside = known and function.__module__ in (
        *("torch.nn.modules.activation", "torch.nn.modules.linear"),
    )
    try:
        module = function() if inside else None
    except TypeError:  # needs arguments, which the files do not have
        module = None
    if module is None:
        from ._encoder_modules import unknown_module

        raise unknown_module("Dense", f"activation_function={name!r}")
    start = "activation_function."
    state = {
        k.removeprefix(start): w for k, w in weights.items() if k.startswith(start)
    }
    module.load_state_dict(state)
    return module.eval().requires_grad_(False)


def _first(states, counted):
    places = counted.int().argmax(dim=1)
    return states[torch.arange(len(places), device=places.device), places]


def _last(states, counted):
    length = counted.shape[1]
    places = length - 1 - counted.flip(1).int().argmax(dim=1)
    rows = torch.arange(len(places), device=places.device)
    return states[rows, places] * counted[rows, places, None]


def _maximum(states, counted):
    found = states.masked_fill(~counted[..., None], -torch.inf).amax(dim=1)
    return found.masked_fill(~counted.any(dim=1, keepdim=True), 0)


def _mean(states, weights, power=1.0):
    """Return weighted sums over subwords, divided by a power of the sum of weights."""
    weights = weights.float()
    sums = (states * weights[..., None]).sum(dim=1)
    return sums / weights.sum(dim=1).clamp(min=_TINY).pow(power)[:, None]


def _weighted_mean(states, counted):
    places = torch.arange(1, counted.shape[1] + 1, device=counted.device)
    return _mean(states, counted * places)


_POOLINGS = {
    "cls": _first,
    "max": _maximum,
    "mean": _mean,
    "mean_sqrt_len_tokens": partial(_mean, power=0.5),
    "weightedmean": _weighted_mean,
    "lasttoken": _last,
}
