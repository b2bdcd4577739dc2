"""PortablePair: a loaded model and its tokenizer, as pickles hold them."""

import json
import tempfile
from pathlib import Path

from ._fingerprint import is_plain
from ._transformer_loading import own_randomness

_WEIGHTS, _TOLD = "model.safetensors", "loaded.json"


class PortablePair:
    """A model and a tokenizer that can be pickled and copied.

    Once a model of transformers has given hidden states, hooks hang on it that cannot
    be pickled: its class, configuration and weights are taken instead.

    Parameters
    ----------
    network : torch Module
    tokenizer : transformers tokenizer
    """

    def __init__(self, network, tokenizer):
        self.pair = network, tokenizer

    def files(self, where):
        """Return what a saved file takes in: files by name, none of which is code.

        Parameters
        ----------
        where : str
            Begins the error message.

        Raises
        ------
        TypeError
            If the model is no class of transformers.
        """
        import transformers
        from safetensors.torch import save

        network, tokenizer = self.pair
        name = type(network).__name__
        if getattr(transformers, name, None) is not type(network):
            raise TypeError(
                f"{where}: the loaded model is {name}, no class of transformers, so a "
                "file could not say how to build it. Give the path of its folder."
            )
        _, (_, config, dtype, weights, how, _) = self.__reduce__()
        told = {"class": name, "dtype": str(dtype).rpartition(".")[2], **how}
        told["attention"] = config._attn_implementation
        with tempfile.TemporaryDirectory() as folder:
            config.save_pretrained(folder)
            tokenizer.save_pretrained(folder)
            found = {p.name: p.read_bytes() for p in Path(folder).iterdir()}
        flat = {key: weight.clone().contiguous() for key, weight in weights.items()}
        return {**found, _WEIGHTS: save(flat), _TOLD: json.dumps(told).encode()}

    @classmethod
    def of_files(cls, folder):
        """Return the pair that `files` told of, from a folder with them.

        Parameters
        ----------
        folder : Path
        """
        import torch
        import transformers
        from safetensors.torch import load_file

        told = json.loads(Path(folder, _TOLD).read_text())
        kind = getattr(transformers, told["class"])
        if not issubclass(kind, transformers.PreTrainedModel):
            raise ValueError(f"{told['class']} is no model of transformers.")
        config = kind.config_class.from_pretrained(folder, local_files_only=True)
        config._attn_implementation = told["attention"]
        # Not left open: transformers would ask at the terminal whether to run code.
        tokenizer = transformers.AutoTokenizer.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False
        )
        weights, dtype = (
            load_file(Path(folder, _WEIGHTS)),
            getattr(torch, told["dtype"]),
        )
        return _rebuilt(kind, config, dtype, weights, told, tokenizer)

    def __reduce__(self):
        from transformers import PreTrainedModel

        network, tokenizer = self.pair
        if not isinstance(network, PreTrainedModel):
            return PortablePair, self.pair
        lost = [k for k, w in network.state_dict().items() if not is_plain(w)]
        if lost:
            raise TypeError(
                f"TransformerEmbedding: {lost[0]!r} of the loaded model is no plain "
                "tensor, as in quantised models, which cannot be pickled or copied. "
                "Use n_jobs=1, or a folder's path as model."
            )
        weights = {name: w.detach().cpu() for name, w in network.state_dict().items()}
        how = {"device": str(network.device), "training": network.training}
        kind = type(network), network.config, network.dtype
        return _rebuilt, (*kind, weights, how, tokenizer)


def _rebuilt(kind, config, dtype, weights, how, tokenizer):
    import torch

    with own_randomness():
        network = kind(config).to(dtype)
    network.load_state_dict(weights)
    if torch.device(how["device"]).type != "cuda" or torch.cuda.is_available():
        network.to(how["device"])
    return PortablePair(network.train(how["training"]), tokenizer)
