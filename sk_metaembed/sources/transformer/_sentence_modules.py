"""The modules of a sentence encoder, as functions of vectors of pieces and of texts.

The formulas are those of sentence-transformers, over rows that are padded on the right:
with a causal mask or an attention mask, the side does not change the vectors.
"""

import torch
from torch import nn
from torch.nn import functional

_TINY = 1e-9


class SentenceHead:
    """The modules behind a transformer, with weights in float32 on a device.

    Parameters
    ----------
    modules : SentenceModules
    device : torch device
    """

    def __init__(self, modules, device):
        self.modes = modules.pooling["modes"]
        self.include_prompt = modules.pooling["include_prompt"]
        place = [step["kind"] for step in modules.steps].index("Pooling")
        built = [
            _built(step, _weights(modules, i, device), device)
            for i, step in enumerate(modules.steps)
        ]
        self._of_pieces, self._of_vectors = built[:place], built[place + 1 :]
        self.mixes_layers = any(
            step["kind"] == "WeightedLayerPooling" for step in modules.steps
        )

    def pool(self, states, mask, ids, n_prompt=0, layers=None):
        """Return one vector per text, (n, length, dim) -> (n, pooled dim) in float32.

        Parameters
        ----------
        states : tensor of shape (n, length, dim)
            Last hidden states.
        mask : tensor of bool, shape (n, length)
            Which are pieces.
        ids : tensor of int, shape (n, length)
        n_prompt : int, default=0
            Number of pieces in front that are not pooled.
        layers : sequence of tensor, default=None
            All hidden states, if the modules read them.
        """
        pieces = _Pieces(states.float(), mask, ids, None, layers)
        for function in self._of_pieces:
            pieces = function(pieces)
        counted = mask.clone()
        counted[:, :n_prompt] = False
        pooled = [_POOLINGS[mode](pieces, counted) for mode in self.modes]
        return torch.cat(pooled, dim=1)

    def finish(self, vectors):
        """Return the vectors of texts, (n, pooled dim) -> (n, dim)."""
        for function in self._of_vectors:
            vectors = function(vectors)
        return vectors


class _Pieces:
    """Vectors of pieces with what modules know about them."""

    def __init__(self, states, mask, ids, total, layers):
        self.states, self.mask, self.ids = states, mask, ids
        self.total, self.layers = total, layers  # sum of word weights, hidden states

    def with_states(self, states, total=None):
        total = self.total if total is None else total
        return _Pieces(states, self.mask, self.ids, total, self.layers)


def _weights(modules, number, device):
    start = f"{number}."
    return {
        name.removeprefix(start): torch.from_numpy(array).to(device)
        for name, array in modules.weights.items()
        if name.startswith(start)
    }


def _built(step, weights, device):
    """Return the function of a step; of pieces if it is at that place."""
    kind = step["kind"]
    if kind == "WordWeights":
        return _WordWeights(torch.tensor(step["values"]).float().to(device))
    if kind == "WeightedLayerPooling":
        return _LayerMean(weights["layer_weights"], step["layer_start"])
    if kind == "Dense":
        function = _Dense(step, weights, device)
    elif kind == "LayerNorm":
        weight, bias = weights["norm.weight"], weights["norm.bias"]
        function = lambda x: functional.layer_norm(x, weight.shape, weight, bias)  # noqa: E731
    elif kind == "Normalize":
        function = lambda x: functional.normalize(x, dim=-1)  # noqa: E731
    else:  # Pooling has its own place, and Dropout no effect
        return lambda x: x
    if step.get("of") == "token_embeddings":
        return lambda pieces: pieces.with_states(function(pieces.states))
    return function


class _WordWeights:
    """Scale the vector of each piece by the weight of its id, and sum the weights."""

    def __init__(self, values):
        self.values = values

    def __call__(self, pieces):
        if int(pieces.ids.max()) >= len(self.values):
            raise ValueError(
                f"TransformerEmbedding: WordWeights has {len(self.values)} words, but "
                f"the tokenizer returned piece {int(pieces.ids.max())}."
            )
        weights = self.values[pieces.ids] * pieces.mask
        return pieces.with_states(pieces.states * weights[..., None], weights.sum(1))


class _LayerMean:
    """Mean of hidden states from `start` on, with learned weights."""

    def __init__(self, weights, start):
        self.weights, self.start = weights, start

    def __call__(self, pieces):
        if pieces.layers is None:  # as without output_hidden_states in config.json
            return pieces
        layers = torch.stack([layer.float() for layer in pieces.layers[self.start :]])
        weighted = (self.weights.view(-1, 1, 1, 1) * layers).sum(0)
        return pieces.with_states(weighted / self.weights.sum())


class _Dense:
    """A linear map with an activation, and optionally its input added."""

    def __init__(self, step, weights, device):
        self.weight, self.bias = weights["linear.weight"], weights.get("linear.bias")
        self.activation = _activation(step["activation"], weights).to(device)
        self.residual = weights.get("residual.weight")
        self.adds_input = step["use_residual"]

    def __call__(self, x):
        out = functional.linear(x, self.weight, self.bias)
        out = self.activation(out)
        if not self.adds_input:
            return out
        return out + (
            x if self.residual is None else functional.linear(x, self.residual)
        )


def _activation(name, weights):
    """Return torch's activation of a name, with its own weights if it has some."""
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
        from ._sentence_files import unknown_module

        raise unknown_module("Dense", f"activation_function={name!r}")
    start = "activation_function."
    state = {
        k.removeprefix(start): w for k, w in weights.items() if k.startswith(start)
    }
    module.load_state_dict(state)
    return module.eval().requires_grad_(False)


def _first(pieces, counted):
    places = counted.int().argmax(dim=1)
    return pieces.states[torch.arange(len(places), device=places.device), places]


def _last(pieces, counted):
    length = counted.shape[1]
    places = length - 1 - counted.flip(1).int().argmax(dim=1)
    rows = torch.arange(len(places), device=places.device)
    return pieces.states[rows, places] * counted[rows, places, None]


def _maximum(pieces, counted):
    found = pieces.states.masked_fill(~counted[..., None], -torch.inf).amax(dim=1)
    return found.masked_fill(~counted.any(dim=1, keepdim=True), 0)


def _mean(pieces, counted, power=1.0, weights=None):
    """Return sums over pieces, divided by a power of the sum of weights."""
    weights = counted.float() if weights is None else weights
    sums = (pieces.states * weights[..., None]).sum(dim=1)
    total = weights.sum(dim=1) if pieces.total is None else pieces.total
    return sums / total.clamp(min=_TINY).pow(power)[:, None]


def _mean_sqrt(pieces, counted):
    return _mean(pieces, counted, 0.5)


def _weighted_mean(pieces, counted):
    places = torch.arange(1, counted.shape[1] + 1, device=counted.device)
    return _mean(pieces, counted, weights=counted * places.float())


_POOLINGS = {
    "cls": _first,
    "max": _maximum,
    "mean": _mean,
    "mean_sqrt_len_tokens": _mean_sqrt,
    "weightedmean": _weighted_mean,
    "lasttoken": _last,
}
