"""BiLanguageModel: the network that computes ELMo's layers, for inference.

Vectors of words are computed from their characters. Sequences are packed, so that a
step computes only the sequences that still have words.
"""

from itertools import pairwise

import numpy as np
import torch
from torch.nn import functional

from ..._training._device import send
from ..._training._onednn import pack_weight, packed_product
from ._character_ids import N_MARKS, character_ids, mark_ids
from ._model_files import DIRECTIONS, cell_key

# Words of similar length, encoded together.
_WORDS_PER_BATCH = {"cpu": 256}
_WORDS_PER_BATCH_GPU = 4096


def encode_words(weights, options, ids, lengths):
    """Return the float32 vectors of words, (n_words, projection_dim).

    `weights` are tensors by their names in weight files, and `ids` and `lengths` the
    results of `character_ids`. Matrix products have the dtype of the matrices.
    """
    order = np.argsort(lengths, kind="stable")
    size = _WORDS_PER_BATCH.get(ids.device.type, _WORDS_PER_BATCH_GPU)
    batches = [order[start : start + size] for start in range(0, len(order), size)]
    pooled = [
        _convolve(weights, options, ids[send(batch, ids.device)], lengths[batch].max())
        for batch in batches
    ]
    vectors = torch.cat(pooled) if pooled else ids.new_zeros(0, options.n_filters)
    for k in range(options.n_highway):
        prefix = f"CNN_high_{k}/"
        carry = torch.sigmoid(_linear(vectors, weights, prefix + "{}_carry"))
        new = torch.relu(_linear(vectors, weights, prefix + "{}_transform"))
        # carry * new + (1 - carry) * old
        vectors = torch.lerp(vectors, new, carry)
    if "CNN_proj/W_proj" in weights:
        vectors = _linear(vectors, weights, "CNN_proj/{}_proj")
    return vectors[send(np.argsort(order), ids.device)]


def _convolve(weights, options, ids, longest):
    """Return activated maxima over positions, (n_words, n_filters)."""
    embedded = functional.embedding(ids, weights["char_embed"])
    pooled = []
    for i, (width, number) in enumerate(options.filters):
        kernel = weights[f"CNN/W_cnn_{i}"].reshape(-1, number)
        # Windows after the longest word have only padding: one of them suffices.
        n_windows = min(ids.shape[1] - width, longest) + 1
        windows = embedded[:, : n_windows + width - 1].unfold(1, width, 1).mT
        windows = windows.reshape(-1, len(kernel)).to(kernel.dtype)
        maxima = (windows @ kernel).view(len(ids), n_windows, number).amax(dim=1)
        pooled.append(maxima.float() + weights[f"CNN/b_cnn_{i}"])
    activation = torch.relu if options.activation == "relu" else torch.tanh
    return activation(torch.cat(pooled, dim=1))


def _linear(x, weights, name):
    weight = weights[name.format("W")]
    return (x.to(weight.dtype) @ weight).float() + weights[name.format("b")]


class TokenEncoder:
    """Compute the vectors of words and of the marks of a sentence."""

    def __init__(self, weights, options, device, dtype):
        self.options, self.device, self._weights = options, device, {}
        for name, array in weights.items():
            if not name.startswith("RNN_"):
                kind = dtype if "/W_" in name else torch.float32
                self._weights[name] = torch.from_numpy(array).to(device, kind)

    def marks(self):
        """Return the vectors of the begin and end marks, (2, projection_dim)."""
        return self._encode(*mark_ids(self.options.max_characters))

    def __call__(self, words):
        """Return the float32 vectors of words, (n_words, projection_dim)."""
        return self._encode(*character_ids(words, self.options.max_characters))

    @torch.inference_mode()
    def _encode(self, ids, lengths):
        ids = send(ids, self.device)
        return encode_words(self._weights, self.options, ids, lengths)


class Packing:
    """Positions of tokens in sequences that are packed step after step.

    Sequences are sorted by decreasing length, so that the sequences that have a token
    at a step are always the first ones.

    Attributes
    ----------
    starts : ndarray of int, shape (longest + 1,)
        First packed position of each step, and the number of tokens.
    tokens : ndarray of int, shape (2, n_tokens)
        Index of the token at each packed position, reading forward and backward. Tokens
        are counted over the sequences in input order.

    Examples
    --------
    >>> packing = Packing([1, 3])
    >>> packing.starts.tolist()
    [0, 2, 3, 4]
    >>> packing.tokens.tolist()
    [[1, 0, 2, 3], [3, 0, 2, 1]]
    """

    def __init__(self, lengths):
        lengths = np.asarray(lengths, dtype=np.int64)
        order = np.argsort(-lengths, kind="stable")
        sizes = lengths[order]
        steps = np.arange(sizes[0])
        active = np.searchsorted(-sizes, -steps, side="left")
        self.starts = np.r_[0, np.cumsum(active)]
        step = np.repeat(steps, active)
        row = np.arange(len(step)) - self.starts[step]
        first = (np.cumsum(lengths) - lengths)[order][row]
        self.tokens = np.stack([first + step, first + sizes[row] - 1 - step])

    def spans(self, n_tokens):
        """Yield (first, stop) of runs of steps with at most `n_tokens` tokens.

        A step with more tokens is a run of its own.
        """
        first, n_steps = 0, len(self.starts) - 1
        while first < n_steps:
            stop = int(
                np.searchsorted(self.starts, self.starts[first] + n_tokens, "right")
            )
            stop = max(stop - 1, first + 1)
            yield first, stop
            first = stop


class MixedPrecisionLinear:
    """``x @ weight + added`` in float32; the product has the dtype of the weight.

    On a CPU, matrices are laid out for oneDNN where that is faster: 1.6 times at the
    published size of ELMo on an AMD EPYC with AVX-512.
    """

    def __init__(self, weight):
        self._weight, self._dtype, self._packed = weight, weight.dtype, None
        if weight.dim() == 2:
            self._packed = pack_weight(weight.t().contiguous())
        if self._packed is not None:
            self._weight = None

    def __call__(self, x, added=None):
        """Return a new tensor, (..., n_rows, n_in) -> (..., n_rows, n_out)."""
        x = x.to(self._dtype)
        if self._packed is not None:
            product = packed_product(x, self._packed).float()
        elif added is not None and self._dtype == torch.float32:
            plus = torch.addmm if x.dim() == 2 else torch.baddbmm
            return plus(added, x, self._weight)
        else:
            product = (x @ self._weight).float()
        return product if added is None else product.add_(added)


# Memory for input gates that are computed in one product.
_GATE_BYTES = {"cpu": 2**25}
_GATE_BYTES_GPU = 2**28
_TOKENS_PER_TYPE = 4  # estimate of how often a word recurs


class LSTMLayer:
    """A clipped, projected LSTM layer of one or both directions, for packed sequences.

    With both directions, tensors have a leading dimension of size 2. Matrix products
    have the dtype; cells and sums are float32.
    """

    def __init__(self, weights, options, layer, directions, device, dtype):
        def stacked(part):
            arrays = [weights[cell_key(d, layer, part)] for d in directions]
            tensor = torch.stack([torch.from_numpy(array) for array in arrays])
            return (tensor if len(directions) > 1 else tensor[0]).to(device)

        dim, n = options.projection_dim, options.cell_dim
        weight = _reorder_gates(stacked("W_0"), n).to(dtype)
        bias = _reorder_gates(stacked("B"), n).unsqueeze(-2)
        bias[..., n : 2 * n] += 1.0  # bias of the forget gate
        self._input, self._bias = MixedPrecisionLinear(weight[..., :dim, :]), bias
        self._recurrent = MixedPrecisionLinear(weight[..., dim:, :])
        self._projection = MixedPrecisionLinear(stacked("W_P_0").to(dtype))
        self._clips = options.cell_clip, options.proj_clip
        self._n = n
        budget = _GATE_BYTES.get(device.type, _GATE_BYTES_GPU)
        # Number of tokens whose input gates are computed in one product.
        self._gate_tokens = max(16, budget // (16 * n * len(directions)))

    def step(self, gates, hidden, cell):
        """Return hidden state and cell after a step, (..., n_rows, dim).

        `gates` (..., n_rows, 4 * cell_dim) are the contribution of the input. The gates
        and the cell are modified in place. None means a hidden state or cell of zeros.
        """
        n, (cell_clip, proj_clip) = self._n, self._clips
        if hidden is not None:
            gates = self._recurrent(hidden, gates)
        i, f, o = gates[..., : 3 * n].sigmoid_().split(n, dim=-1)
        j = gates[..., 3 * n :].tanh_()
        cell = i * j if cell is None else cell.mul_(f).addcmul_(i, j)
        if cell_clip is not None:
            cell.clamp_(-cell_clip, cell_clip)
        hidden = self._projection(torch.tanh(cell).mul_(o))
        if proj_clip is not None:
            hidden.clamp_(-proj_clip, proj_clip)
        return hidden, cell

    def run(self, packing, vectors, words=None):
        """Return the hidden states of packed sequences, (..., n_tokens, dim).

        `vectors` have the same shape. With `words`, `vectors` is a table, and `words`
        (..., n_tokens) has its packed rows.
        """
        starts = packing.starts.tolist()
        leading = (vectors if words is None else words[..., None]).shape[:-2]
        out = vectors.new_empty(*leading, starts[-1], vectors.shape[-1])
        hidden = cell = None
        n_tokens = self._gate_tokens * (1 if words is None else _TOKENS_PER_TYPE)
        for first, stop in packing.spans(n_tokens):
            gates = self._input_gates(vectors, words, starts[first], starts[stop])
            for a, b in pairwise(starts[first : stop + 1]):
                if hidden is not None:
                    hidden, cell = hidden[..., : b - a, :], cell[..., : b - a, :]
                hidden, cell = self.step(gates(a, b), hidden, cell)
                out[..., a:b, :] = hidden
        return out

    def _input_gates(self, vectors, words, start, stop):
        """Compute the input contribution to the gates of positions in one product.

        Returns a function that slices them, for packed positions in [start, stop). With
        words of one direction, each distinct word is computed once.
        """
        if words is not None and words.dim() == 1:
            distinct, inverse = torch.unique(words[start:stop], return_inverse=True)
            gates = self._input(vectors[distinct], self._bias)
            return lambda a, b: gates[inverse[a - start : b - start]]
        if words is None:
            vectors = vectors[..., start:stop, :]
        else:
            vectors = vectors[words[..., start:stop]]
        gates = self._input(vectors, self._bias)
        return lambda a, b: gates[..., a - start : b - start, :]


def _reorder_gates(tensor, n):
    """Return the gates i, j, f, o in the order i, f, o, j: those with a sigmoid first.

    >>> import torch
    >>> _reorder_gates(torch.arange(8), 2).tolist()
    [0, 1, 4, 5, 6, 7, 2, 3]
    """
    i, j, f, o = tensor.split(n, dim=-1)
    return torch.cat([i, f, o, j], dim=-1)


class BiLanguageModel:
    """Token encoder and LSTMs of both directions; matrix products have the dtype."""

    def __init__(self, weights, options, device="cpu", dtype="float32"):
        self.options, self.device = options, torch.device(device)
        target = self.device, getattr(torch, dtype)
        with torch.inference_mode():
            self.encoder = TokenEncoder(weights, options, *target)
            self._layers = [
                [
                    LSTMLayer(weights, options, layer, directions, *target)
                    for directions in _direction_groups(self.device)
                ]
                for layer in range(options.n_layers)
            ]

    @torch.inference_mode()
    def layers(self, table, sentences, depth):
        """Return the vectors of the words of sentences at each layer up to `depth`.

        Parameters
        ----------
        table : tensor of shape (N_MARKS + n_words, projection_dim)
            Vectors of the marks and of words, from the encoder.
        sentences : list of ndarray of int
            Row of the table per word; at least one word each.
        depth : int
            Number of LSTM layers.

        Returns
        -------
        list of tensor of shape (n_tokens, 2 * projection_dim)
            Tokens of all sentences in input order. The first layer is the token
            vectors, repeated for both directions.
        """
        begin, end = range(N_MARKS)
        marked = [np.r_[begin, sentence, end] for sentence in sentences]
        lengths = np.array([len(rows) for rows in marked])
        rows, packing = np.concatenate(marked), Packing(lengths)
        words = send(rows[packing.tokens], self.device)
        words = [words] if len(self._layers[0]) == 1 else list(words)
        is_word = np.ones(len(rows), dtype=bool)
        is_word[np.cumsum(lengths) - 1] = is_word[np.cumsum(lengths) - lengths] = False
        # The packed position of each word, in input order.
        positions = np.argsort(packing.tokens, axis=1)[:, is_word]
        indices = [send(index, self.device) for index in positions]
        layers = [table[send(rows[is_word], self.device)].repeat(1, 2)]
        outs = [None] * len(words)
        for groups in self._layers[:depth]:
            groups = zip(groups, words, outs, strict=True)
            outs = [self._run(group, packing, table, *each) for group, *each in groups]
            both = zip(outs if len(outs) > 1 else outs[0], indices, strict=True)
            layers.append(torch.cat([out[index] for out, index in both], dim=1))
        return layers

    def _run(self, group, packing, table, words, inputs):
        """Return the packed output of a layer for a group of directions.

        `inputs` is the output of the layer before; None for the first, which reads
        `words`.
        """
        if inputs is None:
            return group.run(packing, table, words)
        hidden = group.run(packing, inputs)
        if self.options.skip_connections:
            hidden += inputs
        return hidden


def _direction_groups(device):
    # A CPU is fastest with one matrix per product, a GPU with both directions at once.
    return [(d,) for d in DIRECTIONS] if device.type == "cpu" else [DIRECTIONS]
