"""NetworkCall: from arrays of piece ids to hidden states."""

import inspect
from contextlib import contextmanager

import numpy as np

_SANE = 10**6  # tokenizers without a limit say 10**30


class NetworkCall:
    """Calls a network in the way that it takes.

    Parameters
    ----------
    network : torch Module
        With a head or without, an encoder, a decoder or both.
    config : object
        Its configuration.
    compile : bool, default=False
        Whether `torch.compile` is asked to make it faster.

    Attributes
    ----------
    masks : bool
        Whether it takes an attention mask.
    n_passes : int
        How many batches went through.
    """

    def __init__(self, network, config, *, compile=False):
        self.network = network
        self.body = _body_of(network, config)
        self._taken = set(inspect.signature(self.body.forward).parameters)
        # What names no argument hands all of them on to a network that takes a mask.
        self.masks = "attention_mask" in self._taken or "input_ids" not in self._taken
        self._limit = piece_limit(config)
        self._company = {}
        self.n_passes = 0
        self._compiled = compile
        if compile:
            self.body.compile(dynamic=True)

    @property
    def device(self):
        """Where the first parameter is."""
        return next(self.network.parameters()).device

    def table(self):
        """Return the input table of pieces, a tensor of shape (n_pieces, dim)."""
        found = _table_of(self.network)
        if found is None:
            raise ValueError(
                f"TransformerEmbedding: {type(self.network).__name__} has no input "
                "table of pieces, which static=True asks for."
            )
        return found.detach()

    def hidden_states(self, rows, types, pad):
        """Return all hidden states of a batch, without dropout and gradients.

        Parameters
        ----------
        rows : list of ndarray of int
            Ids of each sequence.
        types : list of ndarray of int, or None
            Their token types. None gives none: some models take them for other ids.
        pad : int
            The id that shorter sequences are filled up with.

        Returns
        -------
        tuple of tensor of shape (n_rows, longest, dim)
        """
        import torch

        with torch.inference_mode(), _evaluating(self.network):
            return self.states(rows, types, pad)

    def states(self, rows, types, pad):
        """Return all hidden states in the mode that network and torch are in.

        Parameters
        ----------
        rows, types, pad
            As `hidden_states` takes them.

        Returns
        -------
        tuple of tensor of shape (n_rows, longest, dim)
        """
        states = self._states(rows, types, pad)
        self.n_passes += 1
        return states

    def _states(self, rows, types, pad):
        import torch

        given = self._given(rows, types, pad)
        shape = given["input_ids"].shape
        given = {
            name: torch.from_numpy(array.astype(np.int64)).to(self.device)
            for name, array in given.items()
        }
        if "use_cache" in self._taken:
            given["use_cache"] = False
        with self._compiling():
            output = self.body(**given, output_hidden_states=True, return_dict=True)
        return self._checked(output, shape)

    def company(self, pad):
        """Return beside which other rows a row comes out as it does alone.

        Tried once. Some networks take no mask, or mix what it covers into what it does
        not, by a convolution for example; some round by the range of a whole batch, as
        dynamic quantisation does.

        Parameters
        ----------
        pad : int
            The id that shorter sequences are filled up with.

        Returns
        -------
        {"any", "alike", "none"}
            Any, those of its own length, or none.
        """
        import torch

        if pad not in self._company:
            # Compiling would take the shapes of a trial for the usual ones.
            stance = torch.compiler.set_stance("force_eager")
            with stance, torch.inference_mode(), _evaluating(self.network):
                self._company[pad] = self._tried(pad)
        return self._company[pad]

    def _tried(self, pad):
        table = _table_of(self.network)
        n_pieces = 20 if table is None else len(table)
        long = np.array([i % n_pieces for i in range(1, 15) if i != pad])[: self._limit]
        short = long[: len(long) // 3 + 1]
        alone = self._states([short], None, pad)
        if self.masks and _same(alone, self._states([short, long], None, pad)):
            return "any"
        beside = self._states([short, long[-len(short) :]], None, pad)
        return "alike" if _same(alone, beside) else "none"

    def _given(self, rows, types, pad):
        sizes = np.array([len(row) for row in rows])
        inside = np.arange(sizes.max()) < sizes[:, None]
        given = {"input_ids": np.full(inside.shape, pad)}
        given["input_ids"][inside] = np.concatenate(rows)
        self.check_pieces(given["input_ids"])
        if self.masks:
            given["attention_mask"] = inside
        if types is not None and "token_type_ids" in self._taken:
            given["token_type_ids"] = np.zeros(inside.shape)
            given["token_type_ids"][inside] = np.concatenate(types)
        return given

    def check_pieces(self, ids):
        """See that the input table has all pieces.

        Raises
        ------
        ValueError
            If it has not. torch would stop with an index, and not go on on a GPU.
        """
        table = _table_of(self.network)
        highest = ids.max()
        if table is not None and highest >= len(table):
            raise ValueError(
                f"TransformerEmbedding: the tokenizer gives piece {highest}, but the "
                f"input table of {type(self.network).__name__} ends at "
                f"{len(table) - 1}. Do the tokenizer and the model belong together?"
            )

    @contextmanager
    def _compiling(self):
        """Say where an error comes from if the network is compiled."""
        import torch

        try:
            yield
        except torch.OutOfMemoryError:
            raise
        except Exception as error:
            if not self._compiled:
                raise
            reason = " ".join(str(error).split("\n\n")[0].split())
            raise RuntimeError(
                f"TransformerEmbedding: torch.compile failed on "
                f"{type(self.body).__name__}: {reason}. It needs a C++ compiler on a "
                "CPU. compile=False does without."
            ) from error

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
                f"TransformerEmbedding: {type(self.body).__name__} gave a hidden "
                f"state of shape {odd[0]} for {shape[0]} sequences of {shape[1]} "
                "pieces. Only models with one vector a piece in each layer can be used."
            )
        return states


def network_shape(config, call):
    """Return the number of hidden states and their dimension.

    Parameters
    ----------
    config : object
        Asked first, so that nothing has to be loaded.
    call : callable
        Returns the NetworkCall, which is asked where the configuration does not tell.

    Returns
    -------
    n_states, dim : int
    """
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    layers = getattr(text, "num_hidden_layers", None)
    if getattr(text, "is_encoder_decoder", False):
        layers = getattr(text, "encoder_layers", layers)
    dim = getattr(text, "hidden_size", None)
    if isinstance(layers, int) and isinstance(dim, int):
        return layers + 1, dim
    states = call().hidden_states([np.ones(1, int)], None, 0)
    return len(states), states[-1].shape[-1]


def piece_limit(config, tokenizer=None):
    """Return the largest number of pieces a model takes, None for no limit."""
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    positions = getattr(text, "max_position_embeddings", None)
    if positions is not None and _counts_from_padding(text):
        positions -= text.pad_token_id + 1
    told = getattr(tokenizer, "model_max_length", None)
    limits = [n for n in (positions, told) if n is not None and 0 < n < _SANE]
    return int(min(limits)) if limits else None


# RoBERTa and its kin number positions from behind the padding id.
_FROM_PADDING = (
    *("roberta", "camembert", "xmod", "longformer", "esm", "mpnet", "luke", "ibert"),
    *("data2vec-text", "lilt", "markuplm", "layoutlmv3"),
)


def _counts_from_padding(config):
    kind = getattr(config, "model_type", "") or ""
    has_padding = isinstance(getattr(config, "pad_token_id", None), int)
    return has_padding and any(name in kind for name in _FROM_PADDING)


def _body_of(network, config):
    """Return the part that has the hidden states: no head, and of two the encoder."""
    if getattr(config, "is_encoder_decoder", False) and hasattr(network, "get_encoder"):
        return network.get_encoder()
    return getattr(network, "base_model", network)


def _same(alone, beside):
    """Tell whether the first row is the same but for rounding, in each layer."""
    import torch

    return all(
        (a[0] - b[0, : a.shape[1]]).abs().max()
        <= a.abs().max() * torch.finfo(a.dtype).eps ** 0.5
        for a, b in zip(alone, beside, strict=True)
    )


def _table_of(network):
    """Return the input table of pieces, None if there is none."""
    try:
        return getattr(network.get_input_embeddings(), "weight", None)
    except (AttributeError, NotImplementedError):
        return None


@contextmanager
def _evaluating(network):
    """Switch dropout off, and on again wherever it was on."""
    on = [module for module in network.modules() if module.training]
    for module in on:
        module.training = False
    try:
        yield
    finally:
        for module in on:
            module.training = True
