"""What TransformerEmbedding's parameters mean for a given model."""

import os

from ..._core._parameters import is_integer
from ..._training._parameters import resolve_device
from ._model import ModelSpec, loaded_model, shared_model

OUTPUTS = ("words", "cls", "mean")


class Shared:
    """Holds something that copies share, however deep they are."""

    def __init__(self, value):
        self.value = value

    def __deepcopy__(self, memo):
        return self


def opened_model(source):
    """Return the model that a TransformerEmbedding's parameters name.

    Raises
    ------
    TypeError
        If a pair is none of a model and a tokenizer.
    ValueError
        If a pair comes with options that only loading could follow.
    ImportError
        If transformers is not installed.
    """
    try:
        import transformers  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "TransformerEmbedding needs transformers: pip install "
            "'sk_metaembed[transformers]'."
        ) from error
    if not isinstance(source.model, str | os.PathLike):
        return _of_pair(source)
    return shared_model(
        ModelSpec(
            os.path.expanduser(os.fspath(source.model)),
            source.revision,
            source.trust_remote_code,
            source.trusted,
            str(resolve_device(source.device, caller="TransformerEmbedding")),
            source.dtype,
            source.attn_implementation,
            source.compile,
        )
    )


def _of_pair(source):
    if hasattr(source.model, "state_dict"):
        raise TypeError(
            f"TransformerEmbedding: model is a {type(source.model).__name__} without a "
            "tokenizer. Pass both, model=(model, tokenizer), as transformers loads "
            "them, or pass the model's folder or its name on the Hugging Face hub."
        )
    if not is_pair(source.model):
        kinds = [type(part).__name__ for part in source.model]
        raise TypeError(
            "TransformerEmbedding: model must be a folder, a name on the Hugging Face "
            f"hub, or (model, tokenizer) as transformers loads them; got {kinds}."
        )
    asked = {
        "revision": None,
        "device": "auto",
        "dtype": "float32",
        "attn_implementation": None,
        "compile": False,
    }
    beyond = [name for name, usual in asked.items() if getattr(source, name) != usual]
    if beyond:
        raise ValueError(
            "TransformerEmbedding: a loaded model is used where and as it is, so "
            f"{beyond} can only be left at their defaults. Prepare the model itself, "
            "for example by model.to('cuda'), or give its folder or name."
        )
    return loaded_model(*source.model)


def is_pair(model):
    """Tell whether something is a loaded model and a tokenizer."""
    return (
        isinstance(model, tuple | list)
        and len(model) == 2
        and hasattr(model[0], "config")
        and hasattr(model[0], "state_dict")
        and callable(model[1])
    )


def chosen_layers(layers, n_states, static):
    """Return the numbers of hidden states, counted from 0.

    Examples
    --------
    >>> chosen_layers((-1, 0), 7, static=False)
    (6, 0)
    >>> chosen_layers("all", 3, static=False)
    (0, 1, 2)
    """
    if isinstance(layers, str):
        return tuple(range(n_states))
    asked = [layers] if is_integer(layers) else list(layers)
    wrong = [
        layer
        for layer in asked
        if not is_integer(layer) or not -n_states <= layer < n_states
    ]
    if wrong:
        raise ValueError(
            f"TransformerEmbedding: layers={layers!r} names {wrong[0]!r}, but the "
            f"model has {n_states} hidden states: use 0 (the input to the first "
            f"layer) to {n_states - 1}, or {-n_states} to -1 (the last one's output)."
        )
    found = tuple(int(layer) % n_states for layer in asked)
    if len(set(found)) < len(found):
        raise ValueError(
            f"TransformerEmbedding: layers={layers!r} names a layer twice; counted "
            f"from 0 they are {found}."
        )
    if not found and not static:
        raise ValueError(
            "TransformerEmbedding: layers is empty and static=False, so there is "
            "nothing to give. Name a layer, or use static=True."
        )
    return found


def chosen_outputs(output, frame):
    """Return the outputs as a tuple, for a tokenizer with these special tokens."""
    outputs = (output,) if isinstance(output, str) else tuple(output)
    wrong = [kind for kind in outputs if kind not in OUTPUTS]
    if wrong or not outputs or len(set(outputs)) < len(outputs):
        raise ValueError(
            f"TransformerEmbedding: output must be one or more of {OUTPUTS}, each "
            f"once; got {output!r}."
        )
    if "cls" in outputs and frame.cls is None:
        raise ValueError(
            "TransformerEmbedding: output='cls' takes the vector of the classification "
            "token, and this tokenizer puts none around a text (or special_tokens is "
            "False). Use output='mean'."
        )
    return outputs
