"""TunedTransformer: the torch module that trains a transformer's weights.

Which weights of a transformer are trained: all, those at the top, or LoRA's.
"""

import numpy as np
import torch
from torch import nn

from .._batching import token_batches
from ._forward import check_dimensions, pool_pieces
from ._loading import own_randomness, quiet
from ._network import NetworkCall

_ADAPTER = "sk_metaembed"


def unfreeze(call, opened):
    """Let the weights of the chosen layers be trained.

    Parameters
    ----------
    call : NetworkCall
        Of a frozen network.
    opened : OpenedTransformer

    Raises
    ------
    ValueError
        If there are not that many layers.
    """
    for part in _trained_parts(call, opened):
        part.requires_grad_(True)
    for part in _without_effect(call, opened):
        part.requires_grad_(False)


def add_lora(call, opened):
    """Add trainable maps of low rank to the linear maps of the chosen layers.

    Parameters
    ----------
    call : NetworkCall
        Of a frozen network.
    opened : OpenedTransformer

    Raises
    ------
    ImportError
        If peft is not installed.
    ValueError
        If there are not that many layers, or no linear map in them.
    """
    try:
        from peft import LoraConfig, inject_adapter_in_model
    except ImportError as error:
        raise ImportError(
            "FineTuned(method='lora') needs peft: pip install 'sk_metaembed[lora]'."
        ) from error
    left_out = {id(m) for p in _without_effect(call, opened) for m in p.modules()}
    chosen = {id(m) for p in _trained_parts(call, opened) for m in p.modules()}
    names = [
        name
        for name, module in call.network.named_modules()
        if id(module) in chosen - left_out and _is_linear(module)
    ]
    if not names:
        raise ValueError(
            "FineTuned: the chosen layers have no linear maps that LoRA could add to. "
            "Use method='full'."
        )
    config = LoraConfig(r=opened.rank, lora_alpha=2 * opened.rank, target_modules=names)
    inject_adapter_in_model(config, call.network, adapter_name=_ADAPTER)


def lora_merged(network, plain):
    """Return `plain`, the model as it came, with LoRA's additions in its weights."""
    for name, module in network.named_modules():
        if hasattr(module, "get_delta_weight"):
            weight = plain.get_submodule(name).weight
            weight.data += module.get_delta_weight(_ADAPTER).to(weight.device)
    return plain


def _is_linear(module):
    return isinstance(module, nn.Linear) or type(module).__name__ == "Conv1D"


def _trained_parts(call, opened):
    highest = max(opened.source._wanted.layers)
    if opened.n_layers == "all":
        return [call.body]
    layers = _layers(call, opened)
    if layers is None:
        raise ValueError(
            f"FineTuned: {type(call.body).__name__} does not keep its layers in "
            "lists, so that the upper ones cannot be told. Use n_layers='all'."
        )
    if opened.n_layers > highest:
        raise ValueError(
            f"FineTuned: n_layers={opened.n_layers}, but there are {highest} layers "
            f"below hidden state {highest}, the highest that the source takes. Use a "
            "smaller number, or 'all'."
        )
    return _parts(layers[highest - opened.n_layers : highest])


def _without_effect(call, opened):
    """Return parts that the vectors do not depend on."""
    highest = max(opened.source._wanted.layers)
    poolers = [m for name, m in call.body.named_children() if name == "pooler"]
    return poolers + _parts((_layers(call, opened) or [])[highest:])


def _parts(layers):
    return [part for layer in layers for part in layer]


def _layers(call, opened):
    """Return each layer's parts, from the input up; None if no list has the layers.

    Most networks keep their layers in one list; XLM and Flaubert have lists side by
    side, of attentions, norms and feed-forward parts.
    """
    n_layers = opened.source.n_hidden_states_ - 1
    for module in call.body.modules():
        lists = [
            child
            for child in module.children()
            if isinstance(child, nn.ModuleList) and len(child) == n_layers
        ]
        if lists:
            return list(zip(*lists, strict=True))
    return None


class TunedTransformer(nn.Module):
    """A private copy of a transformer, some of its weights unfrozen.

    States and pickles hold the trained weights alone: the others never change, and
    come from the model's files.

    Parameters
    ----------
    opened : OpenedTransformer

    Attributes
    ----------
    network : torch Module
        As transformers loads it.
    """

    def __init__(self, opened):
        super().__init__()
        self.opened = opened
        self.network = opened.source._model.own_network()
        self._call = NetworkCall(self.network, self.network.config)
        self._pad = opened.padding_id
        self._company = self._call.company(self._pad)
        train = add_lora if opened.method == "lora" else unfreeze
        train(self._call, opened)
        self.register_load_state_dict_pre_hook(_with_frozen)

    # Batches are put together in NumPy, which torch.compile was minutes in tracing.
    @torch.compiler.disable
    def forward(self, batch):
        """Return vectors as training needs them, with gradients.

        Parameters
        ----------
        batch : PieceBatch

        Returns
        -------
        list of (values, known)
            One a layer and output: values of shape (n_rows, dim), zero where a row is
            not known.
        """
        source = self.opened.source
        wanted, device = source._wanted, self._call.device
        lengths = np.array([len(ids) for ids in batch.ids], dtype=np.int64)
        chunks = token_batches(lengths, source._budget(device.type), self._company)
        states = [self._states(batch, chunk) for chunk in chunks]
        begins = torch.from_numpy(_begins(lengths, chunks)).to(device)
        results = []
        for layer in wanted.layers:
            flat = [s[layer].reshape(-1, wanted.dim).float() for s in states]
            flat = torch.cat([torch.zeros(0, wanted.dim, device=device), *flat])
            parts = (batch.outputs[kind] for kind in wanted.outputs)
            results += [_pooled(flat, begins, part) for part in parts]
        return results

    def _states(self, batch, chunk):
        ids = [batch.ids[i] for i in chunk]
        types = None if batch.types is None else [batch.types[i] for i in chunk]
        states = self._call.states(ids, types, self._pad)
        check_dimensions(states, self.opened.source._wanted)
        return states

    def trained_parameters(self):
        """Return the weights that are trained, by name."""
        named = self.network.named_parameters()
        return {name: weight for name, weight in named if weight.requires_grad}

    def save(self, folder):
        """Write the model as transformers does, with what was trained in it.

        Parameters
        ----------
        folder : str or path-like
            ``TransformerEmbedding(folder)`` loads it.
        """
        network = self.network
        if self.opened.method == "lora":
            plain = self.opened.source._model.own_network()
            network = lora_merged(network, plain)
        with quiet():
            network.save_pretrained(folder)
            self.opened.source._model.tokenizer.save_pretrained(folder)

    def state_dict(self, *args, **kwargs):
        """Return the state without frozen weights, which are the model's own."""
        state = super().state_dict(*args, **kwargs)
        prefix = kwargs.get("prefix", "")
        kept = {f"{prefix}network.{name}" for name in self.trained_parameters()}
        for name in [n for n in state if n.startswith(f"{prefix}network.")]:
            if name not in kept:
                del state[name]
        return state

    def __reduce__(self):
        return _rebuilt, (self.opened, self.trained_parameters(), self.training)


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


def _pooled(flat, begins, part):
    places = begins[part.windows] + part.positions
    vectors = pool_pieces(flat[places], part.sizes, part.how)
    values = flat.new_zeros(part.n_rows, flat.shape[1])
    known = torch.zeros(part.n_rows, dtype=torch.bool, device=flat.device)
    return values.index_copy(0, part.rows, vectors), known.index_fill(
        0, part.rows, True
    )


def _rebuilt(opened, trained, training):
    with own_randomness():
        module = TunedTransformer(opened)
    # The very weights of the pickle: an optimizer beside it holds them too.
    fresh = {id(w): trained[name] for name, w in module.trained_parameters().items()}
    for part in module.network.modules():
        for name, weight in part._parameters.items():
            part._parameters[name] = fresh.get(id(weight), weight)
    return module.to(next(iter(trained.values())).device).train(training)
