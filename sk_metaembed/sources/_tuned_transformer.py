"""TunedTransformer: the torch module that trains a transformer's weights."""

import numpy as np
import torch
from torch import nn

from ._batching import token_batches
from ._contextual_pass import check_dimensions
from ._network_call import NetworkCall
from ._subwords import pool_pieces
from ._transformer_loading import own_randomness, quiet
from ._unfrozen import add_lora, lora_merged, unfreeze


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
