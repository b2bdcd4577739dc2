"""PortablePair: a loaded model and its tokenizer, as pickles hold them."""

from ._fingerprint import is_plain
from ._transformer_loading import own_randomness


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
