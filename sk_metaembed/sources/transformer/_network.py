"""Network: loads a transformer's network and computes hidden states from piece ids."""

import inspect
import random
from contextlib import contextmanager, nullcontext
from functools import cached_property, partial

import numpy as np

from ._forward import pool_pieces
from ._sentence_files import tokenizer_options
from ._tokenizer_checks import are_readable, has_vocabulary, no_tokenizer

_LARGEST_LIMIT = 10**6  # tokenizers without a limit report 10**30
_WORDS_PER_BATCH = 50_000


class Network:
    """A torch module, called with the arguments that it accepts.

    Parameters
    ----------
    module : torch Module
        With or without a head; an encoder, a decoder or both.
    config : object
        Its configuration.
    pad : int
        Id that pads shorter sequences of a batch.
    private : bool, default=False
        Whether the module belongs to this object alone. It then stays in evaluation
        mode, and on a CPU its weights can be stored in a faster layout.

    Attributes
    ----------
    body : torch Module
        The part that returns hidden states.
    takes_mask : bool
        Whether it accepts an attention mask.
    """

    def __init__(self, module, config, pad, *, private=False):
        self.module, self._pad = module, pad
        self.body = _body_of(module, config)
        self._parameters = names = set(inspect.signature(self.body.forward).parameters)
        # A forward method without input_ids is a wrapper that passes all arguments on.
        self.takes_mask = "attention_mask" in names or "input_ids" not in names
        self._limit = piece_limit(config)
        self._private = self._packs = private

    @property
    def device(self):
        """Device of the first parameter."""
        return next(self.module.parameters()).device

    def table(self):
        """Return the input table of pieces, a tensor of shape (n_pieces, dim)."""
        table = input_table(self.module)
        if table is None:
            raise ValueError(
                f"TransformerEmbedding: {type(self.module).__name__} has no input "
                "table of pieces, which static=True requires."
            )
        return table.detach()

    def hidden_states(self, rows, types):
        """Return all hidden states of a batch, without dropout and gradients.

        Parameters
        ----------
        rows : list of ndarray of int
            Piece ids of each sequence.
        types : list of ndarray of int, or None
            Their token types. None passes no types, for models that do not expect them.

        Returns
        -------
        tuple of tensor of shape (n_rows, longest, dim)
        """
        with self._inference():
            return self.states(rows, types)

    def last_states(self, rows, types, *, layers=False):
        """Return the last hidden states of a batch, as the model returns them.

        Some networks, such as ModernBERT, normalize them after the last layer.

        Parameters
        ----------
        rows, types : list, list or None
            As for `hidden_states`.
        layers : bool, default=False
            Whether to return all hidden states too.

        Returns
        -------
        states : tensor of shape (n_rows, longest, dim)
        mask : tensor of bool, shape (n_rows, longest)
        ids : tensor of int, shape (n_rows, longest)
        layers : tuple of tensor, or None
        """
        import torch

        with self._inference():
            options, shape = self._arguments(rows, types)
            output = self.body(**options, output_hidden_states=layers, return_dict=True)
        state = getattr(output, "last_hidden_state", None)
        if state is None or tuple(state.shape[:2]) != shape:
            raise ValueError(
                f"TransformerEmbedding: {type(self.body).__name__} returned no hidden "
                "state with one vector per piece, which a sentence encoder pools."
            )
        sizes = torch.tensor([len(row) for row in rows], device=state.device)
        mask = torch.arange(shape[1], device=state.device) < sizes[:, None]
        states = self._checked(output, shape) if layers else None
        return state, mask, options["input_ids"], states

    def states(self, rows, types):
        """Return all hidden states in the current mode of the module and of torch."""
        options, shape = self._arguments(rows, types)
        output = self.body(**options, output_hidden_states=True, return_dict=True)
        return self._checked(output, shape)

    def _arguments(self, rows, types):
        """Return the body's arguments, and the shape of ids."""
        from ..._training._device import send

        arrays = self._padded(rows, types)
        shape = arrays["input_ids"].shape
        options = {
            name: send(array.astype(np.int64), self.device)
            for name, array in arrays.items()
        }
        if "use_cache" in self._parameters:
            options["use_cache"] = False
        return options, shape

    @cached_property
    def batching_policy(self):
        """Which rows may share a batch without changing each other's vectors.

        The policy is found once, by a trial. Some networks have no mask, or padding
        changes the other pieces, for example by a convolution. In others, all rows of
        a batch share a scale, as with dynamic quantization.

        Returns
        -------
        {"any", "alike", "none"}
            A batch may contain any rows, rows of equal length only, or a single row.
        """
        with self._inference():
            return self._tried_policy()

    def trial_row(self, n_pieces=14):
        """Return ids of pieces to try the network with, an array without padding."""
        n_ids = self.n_ids or 20
        row = [i % n_ids for i in range(1, n_pieces + 1) if i != self._pad]
        return np.array(row)[: self._limit]

    @property
    def n_ids(self):
        """Number of pieces in the input table, None without a table."""
        table = input_table(self.module)
        return None if table is None else len(table)

    def _tried_policy(self):
        long = self.trial_row()
        short = long[: len(long) // 3 + 1]
        alone = self.states([short], None)
        if self.takes_mask and _first_rows_equal(
            alone, self.states([short, long], None)
        ):
            return "any"
        pair = self.states([short, long[-len(short) :]], None)
        return "alike" if _first_rows_equal(alone, pair) else "none"

    def prepare(self):
        """Store the weights of linear layers in oneDNN's layout where that is faster.

        Before the first pass; the input table alone needs none. Callers hold the lock
        of the model: no other thread may compute with layers that are being tried.
        """
        packs, self._packs = self._packs and self.device.type == "cpu", False
        if packs:
            from ..._training._onednn import pack_layers

            trial = partial(self.states, [self.trial_row()], None)
            pack_layers(self.module, trial, _first_rows_equal)

    @contextmanager
    def _inference(self):
        """Compute without dropout and gradients."""
        import torch

        self.prepare()
        mode = nullcontext() if self._private else _evaluation_mode(self.module)
        with torch.inference_mode(), mode:
            yield

    def _padded(self, rows, types):
        """Return the network's arguments, arrays of shape (n_rows, longest)."""
        sizes = np.array([len(row) for row in rows])
        inside = np.arange(sizes.max()) < sizes[:, None]
        arrays = {"input_ids": np.full(inside.shape, self._pad)}
        arrays["input_ids"][inside] = np.concatenate(rows)
        self.check_pieces(arrays["input_ids"])
        if self.takes_mask:
            arrays["attention_mask"] = inside
        if types is not None and "token_type_ids" in self._parameters:
            arrays["token_type_ids"] = np.zeros(inside.shape)
            arrays["token_type_ids"][inside] = np.concatenate(types)
        return arrays

    def check_pieces(self, ids):
        """Raise ValueError if ids are beyond the input table.

        torch's own error names only an index, and a GPU is unusable after it.
        """
        table = input_table(self.module)
        highest = ids.max()
        if table is not None and highest >= len(table):
            raise ValueError(
                f"TransformerEmbedding: the tokenizer returned piece {highest}, but "
                f"the input table of {type(self.module).__name__} ends at "
                f"{len(table) - 1}. Check that tokenizer and model belong together."
            )

    def _checked(self, output, shape):
        states = getattr(output, "hidden_states", None)
        if not states:
            raise ValueError(
                f"TransformerEmbedding: {type(self.body).__name__} returned no "
                "hidden states when called with output_hidden_states=True, so it has "
                "no layers to take vectors from."
            )
        odd = [tuple(s.shape) for s in states if tuple(s.shape[:2]) != shape]
        if odd:
            raise ValueError(
                f"TransformerEmbedding: {type(self.body).__name__} returned a hidden "
                f"state of shape {odd[0]} for {shape[0]} sequences of {shape[1]} "
                "pieces. Only models with one vector per piece in each layer can be "
                "used."
            )
        return states


def network_shape(config, get_network):
    """Return the number of hidden states and their dimension.

    Calls `get_network`, which loads weights, only if the configuration has not both.
    """
    text = config.get_text_config()
    layers = getattr(text, "num_hidden_layers", None)
    if getattr(text, "is_encoder_decoder", False):
        layers = getattr(text, "encoder_layers", layers)
    dim = getattr(text, "hidden_size", None)
    if isinstance(layers, int) and isinstance(dim, int):
        return layers + 1, dim
    states = get_network().hidden_states([np.ones(1, int)], None)
    return len(states), states[-1].shape[-1]


def piece_limit(config, tokenizer=None):
    """Return the maximum number of pieces a model accepts, None for no limit."""
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
    """Return the maximum number of pieces of a sentence encoder, None for no limit.

    `max_length` is the limit in the encoder's files, which takes precedence over those
    of the tokenizer and the configuration, as in sentence-transformers. A table of
    position embeddings still limits the length; rotary positions do not.
    """
    if max_length is None or max_length >= _LARGEST_LIMIT:
        return piece_limit(config, tokenizer)
    text = config.get_text_config()
    rotates = getattr(text, "rope_parameters", None) or getattr(
        text, "rope_theta", None
    )
    return min(max_length, (None if rotates else piece_limit(config)) or max_length)


# RoBERTa and related models number positions from behind the padding id.
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
    """Return the input table of pieces, None if there is none."""
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

    Words without a piece, or with only the unknown piece, are not known.
    """
    table = model.network.table()
    values = np.zeros((len(words), table.shape[1]), np.float32)
    known = np.zeros(len(words), dtype=bool)
    for start in range(0, len(words), _WORDS_PER_BATCH):
        with model.lock:
            pieces = aligner.encode_words(words[start : start + _WORDS_PER_BATCH])
        rows = np.flatnonzero(are_readable(pieces, model.tokenizer))
        if len(rows):
            readable = [pieces[i] for i in rows]
            model.network.check_pieces(np.concatenate(readable))
            values[rows + start] = _pooled(table, readable, subword)
            known[rows + start] = True
    return values, known


def _pooled(table, pieces, subword):
    import torch

    ids = torch.from_numpy(np.concatenate(pieces)).to(table.device)
    sizes = torch.tensor([len(p) for p in pieces], device=table.device)
    return pool_pieces(table[ids].float(), sizes, subword).cpu().numpy()


def load_config(folder, spec):
    """Return the model's configuration."""
    from transformers import AutoConfig

    with _named_errors(folder, "configuration (config.json)"):
        options, _, _ = tokenizer_options(folder)
        return AutoConfig.from_pretrained(
            folder,
            trust_remote_code=spec.trust_remote_code,
            local_files_only=True,
            **options,
        )


def load_tokenizer(folder, spec):
    """Return the model's tokenizer; raise FileNotFoundError if there is none."""
    from transformers import AutoTokenizer

    what = "tokenizer (tokenizer.json, tokenizer_config.json or vocab)"
    try:
        with _named_errors(folder, what):
            _, options, lower_case = tokenizer_options(folder)
            tokenizer = AutoTokenizer.from_pretrained(
                folder,
                trust_remote_code=spec.trust_remote_code,
                local_files_only=True,
                **options,
            )
    except ValueError as error:
        if has_vocabulary(folder):
            raise
        raise no_tokenizer(folder) from error
    # transformers makes an empty tokenizer if there are no files. CANINE, ByT5 and
    # Perceiver read characters or bytes and need none.
    names = (getattr(tokenizer, "vocab_files_names", None) or {}).values()
    if names and not has_vocabulary(folder, names):
        raise no_tokenizer(folder)
    if lower_case:
        _lower_case(tokenizer)
    return tokenizer


def _lower_case(tokenizer):
    """Make a tokenizer lower-case texts first, unless it does."""
    from tokenizers import normalizers

    if not getattr(tokenizer, "is_fast", False):
        tokenizer.do_lower_case = True
        return
    backend = tokenizer.backend_tokenizer
    current = backend.normalizer
    parts = [] if current is None else [current]
    if isinstance(current, normalizers.Sequence):
        parts = list(current)
    if not any(isinstance(part, normalizers.Lowercase) for part in parts):
        backend.normalizer = normalizers.Sequence([normalizers.Lowercase(), *parts])


def load_network(folder, spec):
    """Return the torch module for inference on its device.

    Raises
    ------
    ValueError
        If the weights miss parameters that hidden states depend on.
    """
    import torch

    config = load_config(folder, spec)
    with _named_errors(folder, "weights"), own_randomness(), quiet():
        module, report = _model_class(config).from_pretrained(
            folder,
            config=config,
            dtype=getattr(torch, spec.dtype),
            use_safetensors=None if spec.trusted else True,
            trust_remote_code=spec.trust_remote_code,
            local_files_only=True,
            output_loading_info=True,
        )
    # A pooler is a head on top, and no hidden state depends on it.
    missing = sorted(key for key in report["missing_keys"] if "pooler" not in key)
    if missing:
        raise ValueError(
            f"TransformerEmbedding: the weights in {folder} miss {len(missing)} of the "
            f"parameters of {type(module).__name__}, such as {missing[0]!r}, which "
            "would be random. Check that config.json and the weights belong together."
        )
    return module.eval().requires_grad_(False).to(spec.device)


def _model_class(config):
    """Return the class that loads a model; for T5, the encoder alone.

    The folder of a sentence encoder based on T5 has no weights of a decoder.
    """
    import transformers

    name = type(config).__name__.removesuffix("Config")
    if name in ("T5", "MT5", "UMT5", "LongT5", "SwitchTransformers"):
        return getattr(transformers, f"{name}EncoderModel")
    return transformers.AutoModel


@contextmanager
def _named_errors(folder, what):
    try:
        yield
    except Exception as error:  # the libraries' errors share no base class
        error_class = ImportError if isinstance(error, ImportError) else ValueError
        raise error_class(
            f"TransformerEmbedding: the {what} of {folder} could not be read: {error}"
        ) from error


@contextmanager
def quiet():
    """Disable the progress bars and reports of transformers."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


@contextmanager
def own_randomness():
    """Leave the global generators unchanged: networks begin with random weights."""
    from ..._training._random import local_generators, swap_default_generators

    # Its lock also protects the other global state that loading changes.
    with local_generators(0), swap_default_generators("cpu"):
        state = random.getstate()
        try:
            yield
        finally:
            random.setstate(state)
