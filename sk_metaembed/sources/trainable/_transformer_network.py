"""TrainableModule: the torch module that trains a transformer's weights.

Trains all layers, or only the upper ones.
"""

import numpy as np
import torch
from torch import nn

from ..._training._device import send
from .._contextual import token_batches
from ..transformer._forward import check_dimensions, pool_subwords
from ..transformer._model_files import own_randomness, quiet
from ..transformer._network import Network


def unfreeze(network, spec):
    """Make the weights of the chosen layers of a frozen Network trainable."""
    for part in _trained_parts(network, spec):
        part.requires_grad_(True)
    for part in _without_effect(network, spec):
        part.requires_grad_(False)


def _trained_parts(network, spec):
    highest = max(spec.source._spec.layers)
    if spec.n_layers == "all":
        return [network.body]
    layers = _layers(network, spec)
    if layers is None:
        raise ValueError(
            f"{type(network.body).__name__} does not have its layers in lists, so the "
            "upper ones cannot be identified. Use n_layers='all' in the trainable "
            "source."
        )
    if spec.n_layers > highest:
        raise ValueError(
            f"n_layers={spec.n_layers} of the trainable source, but there are "
            f"{highest} layers below hidden state {highest}, its highest. Use a "
            "smaller number, or 'all'."
        )
    return _parts(layers[highest - spec.n_layers : highest])


def _without_effect(network, spec):
    """Return parts that the vectors do not depend on."""
    highest = max(spec.source._spec.layers)
    poolers = [m for name, m in network.body.named_children() if name == "pooler"]
    return poolers + _parts((_layers(network, spec) or [])[highest:])


def _parts(layers):
    return [part for layer in layers for part in layer]


def _layers(network, spec):
    """Return each layer's parts, from the input up; None if no list has the layers.

    Most networks have one list of layers; XLM and Flaubert have parallel lists of
    attentions, norms and feed-forward parts.
    """
    n_layers = spec.source.n_hidden_states_ - 1
    for module in network.body.modules():
        lists = [
            child
            for child in module.children()
            if isinstance(child, nn.ModuleList) and len(child) == n_layers
        ]
        if lists:
            return list(zip(*lists, strict=True))
    return None


class TrainableModule(nn.Module):
    """A private copy of a transformer with some of its weights unfrozen.

    States and pickles contain the trained weights only: the others never change, and
    are read from the model's files.

    Parameters
    ----------
    spec : TransformerSpec

    Attributes
    ----------
    network : torch Module
        As transformers loads it.
    """

    def __init__(self, spec):
        super().__init__()
        self.spec = spec
        model = spec.source._model
        self.network = model.private_module()
        self._network = Network(self.network, self.network.config, model.padding_id)
        self._policy = self._network.batching_policy
        unfreeze(self._network, spec)
        self.register_load_state_dict_pre_hook(_with_frozen)

    # Batches are assembled in NumPy, which torch.compile would trace for minutes.
    @torch.compiler.disable
    def forward(self, batch):
        """Return (values, known) per layer of a `SubwordBatch`.

        Values have shape (n_rows, dim), and are zero where a row is not known.
        """
        source = self.spec.source
        spec, device = source._spec, self._network.device
        lengths = np.diff(batch.windows.offsets)
        chunks = token_batches(lengths, source._budget(device.type), self._policy)
        states = [self._states(batch.windows.take(chunk)) for chunk in chunks]
        begins = send(_begins(lengths, chunks), device)
        rows = batch.pooled.rows
        places = begins[batch.pooled.windows] + batch.pooled.positions
        known = torch.zeros(batch.n_rows, dtype=torch.bool, device=device)
        known = known.index_fill(0, rows, True)
        results = []
        for layer in spec.layers:
            flat = [s[layer].reshape(-1, spec.dim).float() for s in states]
            flat = torch.cat([torch.zeros(0, spec.dim, device=device), *flat])
            vectors = pool_subwords(flat, places, batch.pooled.offsets, spec.mode)
            values = flat.new_zeros(batch.n_rows, spec.dim)
            results.append((values.index_copy(0, rows, vectors), known))
        return results

    def _states(self, windows):
        lengths = np.diff(windows.offsets)
        states = self._network.states(windows.ids, lengths, windows.types)
        check_dimensions(states, self.spec.source._spec)
        return states

    def trained_parameters(self):
        """Return the trained weights by name."""
        named = self.network.named_parameters()
        return {name: weight for name, weight in named if weight.requires_grad}

    def save(self, folder):
        """Write the model with its trained weights, in the format of transformers.

        Parameters
        ----------
        folder : str or path-like
            ``TransformerEmbedding(folder)`` loads it.
        """
        with quiet():
            self.network.save_pretrained(folder)
            self.spec.source._model.tokenizer.save_pretrained(folder)

    def state_dict(self, *args, **kwargs):
        """Return the state without the frozen weights, which never change."""
        state = super().state_dict(*args, **kwargs)
        prefix = kwargs.get("prefix", "")
        trained = {f"{prefix}network.{name}" for name in self.trained_parameters()}
        for name in [n for n in state if n.startswith(f"{prefix}network.")]:
            if name not in trained:
                del state[name]
        return state

    def __reduce__(self):
        return _rebuilt, (self.spec, self.trained_parameters(), self.training)


def _with_frozen(module, state, prefix, *args):
    for name, weight in module.network.state_dict().items():
        state.setdefault(f"{prefix}network.{name}", weight)


def _begins(lengths, chunks):
    """Return where each window begins in the flattened, padded chunks."""
    begins, start = np.zeros(len(lengths), dtype=np.int64), 0
    for chunk in chunks:
        longest = int(lengths[chunk].max())
        begins[chunk] = start + longest * np.arange(len(chunk))
        start += longest * len(chunk)
    return begins


def _rebuilt(spec, trained, training):
    with own_randomness():
        module = TrainableModule(spec)
    # The pickle's own tensors: the optimizer in the same pickle refers to them too.
    fresh = {id(w): trained[name] for name, w in module.trained_parameters().items()}
    for part in module.network.modules():
        for name, weight in part._parameters.items():
            part._parameters[name] = fresh.get(id(weight), weight)
    return module.to(next(iter(trained.values())).device).train(training)
