"""Which weights of a transformer are trained: all, those at the top, or LoRA's."""

from torch import nn

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
