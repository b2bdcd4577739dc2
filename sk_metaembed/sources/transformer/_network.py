"""Network: compute hidden states from ids of subwords."""

import inspect
from contextlib import contextmanager, nullcontext
from functools import cached_property, partial

import numpy as np

from ..._core._arrays import gather_index
from ._alignment import are_readable
from ._forward import pool_subwords

_LARGEST_LIMIT = 10**6  # tokenizers without a limit report 10**30
_WORDS_PER_BATCH = 50_000


class Network:
    """A torch module, called with the arguments that it accepts.

    Parameters
    ----------
    module : torch Module
        With or without a head; an encoder, a decoder or both.
    config : object
    pad : int
        Id that pads shorter sequences of a batch.
    private : bool, default=False
        Whether the module belongs to this object alone. It then stays in evaluation
        mode, and on a CPU its weights can be stored in a faster layout.
    """

    def __init__(self, module, config, pad, *, private=False):
        self.module, self._pad = module, pad
        self.body = _body_of(module, config)
        self._parameters = names = set(inspect.signature(self.body.forward).parameters)
        # A forward method without input_ids is a wrapper that passes all arguments on.
        self.takes_mask = "attention_mask" in names or "input_ids" not in names
        self._limit = subword_limit(config)
        self._private = self._packs = private

    @property
    def device(self):
        """Device of the first parameter."""
        return next(self.module.parameters()).device

    def table(self):
        """Return the input table of subwords, a tensor of shape (n_subwords, dim)."""
        table = input_table(self.module)
        if table is None:
            raise ValueError(
                f"{type(self.module).__name__} has no input table of subwords, which "
                "static=True requires."
            )
        return table.detach()

    def hidden_states(self, ids, lengths, types):
        """Return all hidden states of a batch, without dropout and gradients.

        They are tensors (n_rows, longest, dim). `ids` and `types`, both (n_subwords,),
        contain the sequences one after the other, and `lengths` (n_rows,) their numbers
        of subwords. If `types` is None, the network gets no types.
        """
        with self._inference():
            return self.states(ids, lengths, types)

    def last_states(self, ids, lengths, types):
        """Return the last hidden states of a batch, and which are not padding.

        Some networks, such as ModernBERT, normalize them after the last layer.
        """
        from ..._training._device import send

        with self._inference():
            options, inside = self._arguments(ids, lengths, types)
            output = self.body(**options, output_hidden_states=False, return_dict=True)
        state = getattr(output, "last_hidden_state", None)
        if state is None or state.shape[:2] != inside.shape:
            raise ValueError(
                f"{type(self.body).__name__} returned no hidden state with one vector "
                "per subword, which a sentence encoder pools."
            )
        return state, send(inside, self.device)

    def states(self, ids, lengths, types):
        """Return all hidden states in the current mode of the module and of torch."""
        options, inside = self._arguments(ids, lengths, types)
        output = self.body(**options, output_hidden_states=True, return_dict=True)
        return self._checked(output, inside.shape)

    def _arguments(self, ids, lengths, types):
        """Return the network's arguments, and which subwords are not padding."""
        from ..._training._device import send

        inside = np.arange(lengths.max()) < lengths[:, None]
        arrays = {"input_ids": np.full(inside.shape, self._pad)}
        arrays["input_ids"][inside] = ids
        self.check_subwords(arrays["input_ids"])
        if self.takes_mask:
            arrays["attention_mask"] = inside
        if types is not None and "token_type_ids" in self._parameters:
            arrays["token_type_ids"] = np.zeros(inside.shape, np.int64)
            arrays["token_type_ids"][inside] = types
        device = self.device
        options = {
            name: send(array.astype(np.int64, copy=False), device)
            for name, array in arrays.items()
        }
        if "use_cache" in self._parameters:
            options["use_cache"] = False
        return options, inside

    @cached_property
    def batching_policy(self):
        """Which rows may share a batch: "any", "alike" (equal length) or "none".

        It is determined once, by a trial. Some networks have no mask, or padding
        affects the other subwords, for example through a convolution. In others, all
        rows of a batch share a scale, as with dynamic quantization.
        """
        long = self.trial_row()
        short = long[: len(long) // 3 + 1]
        with self._inference():
            alone = self._trial(short)
            if self.takes_mask and _first_rows_equal(alone, self._trial(short, long)):
                return "any"
            pair = self._trial(short, long[-len(short) :])
            return "alike" if _first_rows_equal(alone, pair) else "none"

    def _trial(self, *rows):
        """Return all hidden states of some rows of subwords."""
        lengths = np.array([len(row) for row in rows])
        return self.states(np.concatenate(rows), lengths, None)

    def trial_row(self, n_subwords=14):
        """Return ids of subwords for a trial run of the network, without padding."""
        n_ids = self.n_ids or 20
        row = [i % n_ids for i in range(1, n_subwords + 1) if i != self._pad]
        return np.array(row)[: self._limit]

    @property
    def n_ids(self):
        """Number of subwords in the input table, None without a table."""
        table = input_table(self.module)
        return None if table is None else len(table)

    def pack(self):
        """Store the weights of linear layers in oneDNN's layout where that is faster.

        The caller holds the lock of the model: no other thread may use its layers while
        they are tried.
        """
        packs, self._packs = self._packs and self.device.type == "cpu", False
        if packs:
            from ..._training._onednn import pack_layers

            trial = partial(self._trial, self.trial_row())
            pack_layers(self.module, trial, _first_rows_equal)

    @contextmanager
    def _inference(self):
        """Compute without dropout and gradients."""
        import torch

        self.pack()
        mode = nullcontext() if self._private else _evaluation_mode(self.module)
        with torch.inference_mode(), mode:
            yield

    def check_subwords(self, ids):
        """Raise ValueError if ids are beyond the input table.

        torch's own error names only an index, and a GPU is unusable after it.
        """
        table = input_table(self.module)
        highest = ids.max()
        if table is not None and highest >= len(table):
            raise ValueError(
                f"the tokenizer returned subword {highest}, but the input table of "
                f"{type(self.module).__name__} ends at {len(table) - 1}. Check that "
                "tokenizer and model belong together."
            )

    def _checked(self, output, shape):
        states = getattr(output, "hidden_states", None)
        if not states:
            raise ValueError(
                f"{type(self.body).__name__} returned no hidden states when called "
                "with output_hidden_states=True, so it has no layers to take vectors "
                "from."
            )
        odd = [tuple(s.shape) for s in states if s.shape[:2] != shape]
        if odd:
            raise ValueError(
                f"{type(self.body).__name__} returned a hidden state of shape {odd[0]} "
                f"for {shape[0]} sequences of {shape[1]} subwords. Only models with "
                "one vector per subword in each layer can be used."
            )
        return states


def network_shape(config, get_network):
    """Return the number of hidden states and their dimension.

    Calls `get_network`, which loads weights, only if the configuration lacks one.
    """
    text = config.get_text_config()
    layers = getattr(text, "num_hidden_layers", None)
    if getattr(text, "is_encoder_decoder", False):
        layers = getattr(text, "encoder_layers", layers)
    dim = getattr(text, "hidden_size", None)
    if isinstance(layers, int) and isinstance(dim, int):
        return layers + 1, dim
    one = np.ones(1, int)
    states = get_network().hidden_states(one, one, None)
    return len(states), states[-1].shape[-1]


def subword_limit(config, tokenizer=None):
    """Return the maximum number of subwords a model accepts, None for no limit."""
    text = config.get_text_config()
    positions = getattr(text, "max_position_embeddings", None)
    if positions is not None and _counts_from_padding(text):
        positions -= text.pad_token_id + 1
    longest = getattr(tokenizer, "model_max_length", None)
    limits = [
        n for n in (positions, longest) if n is not None and 0 < n < _LARGEST_LIMIT
    ]
    return int(min(limits)) if limits else None


def sentence_limit(config, tokenizer, max_length):
    """Return the maximum number of subwords of a sentence encoder, None for no limit.

    `max_length` is set by the user or in the encoder's files, and takes precedence over
    the tokenizer and the configuration, as in sentence-transformers. A table of
    position embeddings still limits the length; rotary positions do not.
    """
    if max_length is None or max_length >= _LARGEST_LIMIT:
        return subword_limit(config, tokenizer)
    text = config.get_text_config()
    rotates = getattr(text, "rope_parameters", None) or getattr(
        text, "rope_theta", None
    )
    return min(max_length, (None if rotates else subword_limit(config)) or max_length)


# RoBERTa and related models number positions from the one after the padding id.
_FROM_PADDING = (
    *("roberta", "camembert", "xmod", "longformer", "esm", "mpnet", "luke", "ibert"),
    *("data2vec-text", "lilt", "markuplm", "layoutlmv3"),
)


def _counts_from_padding(config):
    kind = getattr(config, "model_type", "") or ""
    has_padding = isinstance(getattr(config, "pad_token_id", None), int)
    return has_padding and any(name in kind for name in _FROM_PADDING)


def _body_of(module, config):
    """Return the part that computes hidden states: without head and decoder."""
    if getattr(config, "is_encoder_decoder", False) and hasattr(module, "get_encoder"):
        return module.get_encoder()
    return getattr(module, "base_model", module)


def _first_rows_equal(alone, batch):
    """Return whether the first rows are equal up to rounding, in each layer."""
    import torch

    return all(
        (a[0] - b[0, : a.shape[1]]).abs().max()
        <= a.abs().max() * torch.finfo(a.dtype).eps ** 0.5
        for a, b in zip(alone, batch, strict=True)
    )


def input_table(module):
    """Return the input table of subwords, None if there is none."""
    try:
        return getattr(module.get_input_embeddings(), "weight", None)
    except (AttributeError, NotImplementedError):
        return None


@contextmanager
def _evaluation_mode(module):
    """Switch dropout off, then on again in the parts where it was on."""
    training = [part for part in module.modules() if part.training]
    for part in training:
        part.training = False
    try:
        yield
    finally:
        for part in training:
            part.training = True


def static_vectors(model, aligner, words, subword):
    """Return pooled rows of the input table, (n_words, dim), and which are known.

    Words without a subword, or with only the unknown subword, are not known.
    """
    table = model.network.table()
    values = np.zeros((len(words), table.shape[1]), np.float32)
    known = np.zeros(len(words), dtype=bool)
    for start in range(0, len(words), _WORDS_PER_BATCH):
        with model.lock:
            ids, offsets = aligner.encode_words(words[start : start + _WORDS_PER_BATCH])
        rows = np.flatnonzero(are_readable(ids, offsets, model.tokenizer))
        if len(rows):
            places, offsets = gather_index(offsets, rows)
            model.network.check_subwords(ids[places])
            pooled = _pooled(table, ids[places], offsets, subword)
            values[rows + start], known[rows + start] = pooled, True
    return values, known


def _pooled(table, ids, offsets, subword):
    import torch

    ids, offsets = (torch.from_numpy(a).to(table.device) for a in (ids, offsets))
    states, places = table[ids].float(), torch.arange(len(ids), device=table.device)
    return pool_subwords(states, places, offsets, subword).cpu().numpy()
