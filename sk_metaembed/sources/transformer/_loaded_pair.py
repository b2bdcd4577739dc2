"""LoadedPair: a model and its tokenizer in pickles and in saved files."""

import json
import tempfile
from pathlib import Path

from .._fingerprint import is_dense_tensor
from ._model_files import own_randomness

_WEIGHTS, _SETTINGS = "model.safetensors", "loaded.json"


class LoadedPair:
    """A model and a tokenizer that can be pickled and copied.

    After a model of transformers has returned hidden states, it has hooks that cannot
    be pickled. The pickle therefore contains its class, configuration and weights.

    Parameters
    ----------
    module : torch Module
    tokenizer : transformers tokenizer
    """

    def __init__(self, module, tokenizer):
        self.pair = module, tokenizer

    def files(self):
        """Return the content of a bundle's files by name, without code.

        Raises
        ------
        TypeError
            If the model's class does not belong to transformers.
        """
        import transformers
        from safetensors.torch import save

        module, tokenizer = self.pair
        name = type(module).__name__
        if getattr(transformers, name, None) is not type(module):
            raise TypeError(
                f"the loaded model is a {name}, which is not a class of transformers, "
                "so a saved file cannot describe how to build it. Pass the path of its "
                "folder instead."
            )
        _, (_, config, dtype, weights, state, _) = self.__reduce__()
        settings = {"class": name, "dtype": str(dtype).rpartition(".")[2], **state}
        settings["attention"] = config._attn_implementation
        with tempfile.TemporaryDirectory() as folder:
            config.save_pretrained(folder)
            tokenizer.save_pretrained(folder)
            files = {p.name: p.read_bytes() for p in Path(folder).iterdir()}
        flat = {key: weight.clone().contiguous() for key, weight in weights.items()}
        content = json.dumps(settings).encode()
        return {**files, _WEIGHTS: save(flat), _SETTINGS: content}

    @classmethod
    def from_files(cls, folder):
        """Return the pair whose `files` are in a folder."""
        import torch
        import transformers
        from safetensors.torch import load_file

        settings = json.loads(Path(folder, _SETTINGS).read_text(encoding="utf-8"))
        model_class = getattr(transformers, settings["class"])
        if not issubclass(model_class, transformers.PreTrainedModel):
            raise ValueError(f"{settings['class']} is not a model of transformers.")
        config = model_class.config_class.from_pretrained(folder, local_files_only=True)
        config._attn_implementation = settings["attention"]
        # Without a value, transformers would ask at the terminal whether to run code.
        tokenizer = transformers.AutoTokenizer.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False
        )
        weights = load_file(Path(folder, _WEIGHTS))
        dtype = getattr(torch, settings["dtype"])
        return _rebuilt(model_class, config, dtype, weights, settings, tokenizer)

    def __reduce__(self):
        from transformers import PreTrainedModel

        module, tokenizer = self.pair
        if not isinstance(module, PreTrainedModel):
            return LoadedPair, self.pair
        weights = module.state_dict()
        lost = [name for name, w in weights.items() if not is_dense_tensor(w)]
        if lost:
            raise TypeError(
                f"{lost[0]!r} of the loaded model is not a dense tensor, as in "
                "quantized models, which cannot be pickled or copied. Use n_jobs=1, or "
                "pass the path of a folder as model."
            )
        weights = {name: w.detach().cpu() for name, w in weights.items()}
        state = {"device": str(module.device), "training": module.training}
        model = type(module), module.config, module.dtype
        return _rebuilt, (*model, weights, state, tokenizer)


def _rebuilt(model_class, config, dtype, weights, state, tokenizer):
    import torch

    with own_randomness():
        module = model_class(config).to(dtype)
    module.load_state_dict(weights)
    if torch.device(state["device"]).type != "cuda" or torch.cuda.is_available():
        module.to(state["device"])
    return LoadedPair(module.train(state["training"]), tokenizer)


def is_pair(model):
    """Return whether something is a loaded model with its tokenizer."""
    return (
        isinstance(model, tuple | list)
        and len(model) == 2
        and hasattr(model[0], "config")
        and hasattr(model[0], "state_dict")
        and callable(model[1])
    )


def check_pair(model):
    """Raise TypeError if something is not a loaded model with its tokenizer."""
    if is_pair(model):
        return
    parts = model if isinstance(model, tuple | list) else [model]
    found = [type(part).__name__ for part in parts]
    hint = ""
    if hasattr(model, "encode"):  # such as a SentenceTransformer
        hint = (
            " Pass the folder or name that it was loaded from, or use "
            "FunctionEmbedding(model.encode, level='sequence', as_text=True)."
        )
    raise TypeError(
        "model must be a folder, a name on the Hugging Face hub, or (model, "
        f"tokenizer) as transformers loads them; got {found}.{hint}"
    )
