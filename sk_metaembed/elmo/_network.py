"""BiLanguageModel: the network that computes ELMo's layers, for inference.

Sequences are packed, so that a step computes only the sequences that still have words.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch

from .._training._device import send
from .._training._onednn import pack_weight, packed_product, packed_product_plus
from ._characters import character_ids, mark_ids
from ._packing import N_MARKS, Packing
from ._weight_files import DIRECTIONS, cell_key

_MIN_PACKED_SIZE = 2**18  # entries of a matrix below which packing gains nothing


class PackedLinear:
    """Computes ``x @ weight + bias`` of float32 in the precision of the weight.

    Parameters
    ----------
    weight : tensor of shape (..., n_in, n_out)
        A leading dimension holds several matrices.
    bias : float32 tensor of shape (..., 1, n_out), default=None

    Examples
    --------
    >>> import torch
    >>> linear = PackedLinear(torch.tensor([[1.0], [10.0]]), torch.tensor([[0.5]]))
    >>> linear(torch.tensor([[3.0, 2.0]])).tolist()
    [[23.5]]
    """

    def __init__(self, weight, bias=None):
        self.dtype = weight.dtype
        self._weight, self._bias = weight, bias
        self._packed = _pack(weight)
        if self._packed is not None:
            self._weight = None

    def __call__(self, x, added=None):
        """Return a new float32 tensor, (..., n_rows, n_in) -> (..., n_rows, n_out).

        `added`, of the shape of the result, replaces the bias.
        """
        added = self._bias if added is None else added
        x = x.to(self.dtype)
        if self._packed is None:
            return self._unpacked_product(x, added)
        if added is None or self.dtype != torch.float32 or added is self._bias:
            product = packed_product(x, self._packed).float()
            return product if added is None else product.add_(added)
        return packed_product_plus(x, self._packed, added)

    def _unpacked_product(self, x, added):
        if added is None or self.dtype != torch.float32:
            product = torch.matmul(x, self._weight).float()
            return product if added is None else product.add_(added)
        product = torch.addmm if x.dim() == 2 else torch.baddbmm
        return product(added, x, self._weight)


def _pack(weight):
    """Return the weight in oneDNN's layout; None if impossible or not faster."""
    if weight.dim() != 2 or weight.numel() < _MIN_PACKED_SIZE:
        return None
    return pack_weight(weight.t().contiguous())


_WORDS_PER_BATCH = {"cpu": 256}
_WORDS_PER_BATCH_GPU = 4096
_GATES = ("carry", "transform")


class TokenEncoder:
    """Convolutions over characters, highway layers and a projection.

    Parameters
    ----------
    weights : dict of str to ndarray
        From `read_weights`.
    options : ElmoOptions
    device : str
    dtype : torch dtype
        Precision of matrix products.
    """

    def __init__(self, weights, options, device, dtype):
        def tensor(name, kind=torch.float32):
            return torch.from_numpy(weights[name]).to(device, kind)

        self.options, self.device = options, device
        self._table = tensor("char_embed")
        self._filters = []
        for i, (width, number) in enumerate(options.filters):
            weight = tensor(f"CNN/W_cnn_{i}", dtype).reshape(-1, number)
            self._filters.append(
                (width, PackedLinear(weight), tensor(f"CNN/b_cnn_{i}"))
            )
        self._highways = []
        for k in range(options.n_highway):
            parts = [[f"CNN_high_{k}/{x}_{gate}" for gate in _GATES] for x in "Wb"]
            weight = torch.cat([tensor(name, dtype) for name in parts[0]], dim=1)
            bias = torch.cat([tensor(name) for name in parts[1]])
            self._highways.append(PackedLinear(weight, bias[None]))
        self._projection = None
        if "CNN_proj/W_proj" in weights:
            self._projection = PackedLinear(
                tensor("CNN_proj/W_proj", dtype), tensor("CNN_proj/b_proj")[None]
            )

    @torch.inference_mode()
    def marks(self):
        """Return the vectors of a sentence's begin and end, (2, projection_dim)."""
        return self._encode(*mark_ids(self.options.max_characters))

    @torch.inference_mode()
    def __call__(self, words):
        """Return the float32 vectors of words, (n_words, projection_dim)."""
        ids, lengths = character_ids(words, self.options.max_characters)
        out = torch.empty(len(words), self.options.projection_dim, device=self.device)
        order = np.argsort(lengths, kind="stable")
        size = _WORDS_PER_BATCH.get(self.device.type, _WORDS_PER_BATCH_GPU)
        for start in range(0, len(order), size):
            batch = order[start : start + size]
            vectors = self._encode(ids[batch], lengths[batch])
            out[send(batch, self.device)] = vectors
        return out

    def _encode(self, ids, lengths):
        characters = send(ids, self.device)
        vectors = self._convolve(self._table[characters], int(lengths.max()))
        for highway in self._highways:
            carry, new = highway(vectors).chunk(2, dim=1)
            # carry * new + (1 - carry) * old
            vectors = torch.lerp(vectors, new.relu_(), carry.sigmoid_())
        return vectors if self._projection is None else self._projection(vectors)

    def _convolve(self, characters, longest):
        """Return activated maxima over positions, (n_words, n_filters)."""
        pooled = []
        for width, product, bias in self._filters:
            # Windows after the longest word have only padding: one of them suffices.
            n_windows = min(characters.shape[1] - width, longest) + 1
            inputs = characters[:, : n_windows + width - 1]
            windows = inputs.unfold(1, width, 1).transpose(2, 3)
            flat = windows.reshape(len(windows) * n_windows, -1)
            maxima = product(flat).view(len(windows), n_windows, -1).amax(dim=1)
            pooled.append(maxima.add_(bias))
        pooled = torch.cat(pooled, dim=1)
        return pooled.relu_() if self.options.activation == "relu" else pooled.tanh_()


# Memory for input gates that are computed in one product.
_GATE_BYTES = {"cpu": 2**25}
_GATE_BYTES_GPU = 2**28
_TOKENS_PER_TYPE = 4  # estimate of how often a word recurs


class LSTMLayer:
    """A clipped, projected LSTM layer of one or both directions, for packed sequences.

    With both directions, tensors have a leading dimension of size 2.

    Parameters
    ----------
    weights : dict of str to ndarray
    options : ElmoOptions
    layer : int
    directions : tuple of int
    device : torch device
    dtype : torch dtype
        Precision of matrix products; cells and sums are float32.

    Attributes
    ----------
    input : PackedLinear
        From input to gates.
    gate_tokens : int
        Number of tokens whose input gates are computed in one product.
    """

    def __init__(self, weights, options, layer, directions, device, dtype):
        def stacked(part):
            arrays = [weights[cell_key(d, layer, part)] for d in directions]
            tensor = torch.stack([torch.from_numpy(array) for array in arrays])
            return (tensor if len(directions) > 1 else tensor[0]).to(device)

        dim, n = options.projection_dim, options.cell_dim
        weight = _reorder_gates(stacked("W_0"), n).to(dtype)
        bias = _reorder_gates(stacked("B"), n).unsqueeze(-2)
        bias[..., n : 2 * n] += 1.0  # of the forget gate
        self.input = PackedLinear(weight[..., :dim, :], bias)
        self._recurrent = PackedLinear(weight[..., dim:, :])
        self._projection = PackedLinear(stacked("W_P_0").to(dtype))
        self._clips = options.cell_clip, options.proj_clip
        self._n = n
        budget = _GATE_BYTES.get(device.type, _GATE_BYTES_GPU)
        self.gate_tokens = max(16, budget // (16 * n * len(directions)))

    def step(self, gates, hidden, cell):
        """Return hidden state and cell after a step, (..., n_rows, dim).

        Parameters
        ----------
        gates : tensor of shape (..., n_rows, 4 * cell_dim)
            Input contribution; modified in place.
        hidden : tensor of shape (..., n_rows, projection_dim) or None
            None for zeros.
        cell : tensor of shape (..., n_rows, cell_dim) or None
            None for zeros; modified in place.
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

    def run(self, packing, gates, state=None):
        """Run all steps of packed sequences.

        Parameters
        ----------
        packing : Packing
        gates : InputGates
        state : (hidden, cell), default=None
            Initial state per sequence, in the order of the packing; None for zeros.
            Cells are modified in place.

        Returns
        -------
        hidden : tensor of shape (..., n_tokens, projection_dim)
            In packed order.
        cell : tensor of shape (..., n_sequences, cell_dim)
            After the last step of each sequence.
        """
        starts = packing.starts.tolist()
        out = gates.empty(starts[-1])
        hidden, cell = (None, None) if state is None else state
        cells = cell
        for first, stop in packing.spans(gates.n_tokens):
            slice_gates = gates.compute(starts[first], starts[stop])
            for a, b in pairwise(starts[first : stop + 1]):
                if hidden is not None:
                    hidden, cell = hidden[..., : b - a, :], cell[..., : b - a, :]
                hidden, cell = self.step(slice_gates(a, b), hidden, cell)
                out[..., a:b, :] = hidden
                cells = cell if cells is None else cells
        return out, cells


class InputGates:
    """The input contribution to the gates, computed for many steps in one product.

    Parameters
    ----------
    layer : LSTMLayer
    vectors : tensor of shape (..., n_tokens, projection_dim)
        Packed; with `words`, a table that all directions share.
    words : tensor of int, shape (..., n_tokens), default=None
        Packed rows of the table. With one direction, each distinct row is computed
        once.
    """

    def __init__(self, layer, vectors, words=None):
        self._layer, self._vectors, self._words = layer, vectors, words
        self.n_tokens = layer.gate_tokens * (1 if words is None else _TOKENS_PER_TYPE)

    def empty(self, n_tokens):
        """Return an uninitialized tensor for the hidden states of all tokens."""
        packed = self._vectors if self._words is None else self._words[..., None]
        dim = self._vectors.shape[-1]
        return self._vectors.new_empty(*packed.shape[:-2], n_tokens, dim)

    def compute(self, start, stop):
        """Return a function that slices the gates of packed positions [start, stop)."""
        if self._words is None:
            return self._compute_dense(self._vectors[..., start:stop, :], start)
        words = self._words[..., start:stop]
        if words.dim() > 1:
            return self._compute_dense(self._vectors[words], start)
        distinct, inverse = torch.unique(words, return_inverse=True)
        gates = self._layer.input(self._vectors[distinct])
        return lambda a, b: gates[inverse[a - start : b - start]]

    def _compute_dense(self, vectors, start):
        gates = self._layer.input(vectors)
        return lambda a, b: gates[..., a - start : b - start, :]


def _reorder_gates(tensor, n):
    """Return gates i, j, f, o as i, f, o, j: first the three with a sigmoid.

    >>> import torch
    >>> _reorder_gates(torch.arange(8), 2).tolist()
    [0, 1, 4, 5, 6, 7, 2, 3]
    """
    i, j, f, o = tensor.split(n, dim=-1)
    return torch.cat([i, f, o, j], dim=-1)


class States(NamedTuple):
    """States of the LSTMs after the last step of sequences, on the CPU.

    Parameters
    ----------
    hidden : tensor of shape (n_layers, 2, n_sequences, projection_dim)
    cells : tensor of shape (n_layers, 2, n_sequences, cell_dim)
    """

    hidden: object
    cells: object

    def take(self, rows):
        """Return copies of the states of some sequences."""
        rows = torch.from_numpy(rows)
        return States(self.hidden[:, :, rows], self.cells[:, :, rows])

    def put(self, rows, states):
        """Overwrite the states of some sequences."""
        rows = torch.from_numpy(rows)
        self.hidden[:, :, rows], self.cells[:, :, rows] = states

    def of_layer(self, layer, rows):
        """Return copies of a layer's hidden states and cells, (2, n_rows, dim) each."""
        rows = torch.from_numpy(rows)
        return self.hidden[layer][:, rows], self.cells[layer][:, rows]

    @classmethod
    def from_layers(cls, states, order):
        """Return the States of (hidden, cells) per layer and direction group.

        `order` has the index of each sequence in these tensors; the result is in input
        order.
        """
        back = torch.from_numpy(np.argsort(order))
        parts = []
        for part in range(2):
            layers = []
            for groups in states:
                tensors = [group[part].cpu() for group in groups]
                both = torch.stack(tensors) if len(tensors) > 1 else tensors[0]
                layers.append(both[:, back])
            parts.append(torch.stack(layers))
        return cls(*parts)

    @classmethod
    def zeros(cls, options, n_sequences):
        """Return zero states of sequences."""
        shape = options.n_layers, 2, n_sequences
        hidden = torch.zeros(*shape, options.projection_dim)
        return cls(hidden, torch.zeros(*shape, options.cell_dim))


class BiLanguageModel:
    """Token encoder and LSTMs of both directions.

    Parameters
    ----------
    weights : dict of str to ndarray
        From `read_weights`.
    options : ElmoOptions
    device : str
    dtype : str
        Precision of matrix products: "float32", "float16" or "bfloat16".
    """

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
    def layers(self, table, sentences, depth=None, states=None):
        """Return the vectors of the words of sentences at each layer.

        Parameters
        ----------
        table : tensor of shape (N_MARKS + n_words, projection_dim)
            Vectors of the marks and of words, from the encoder.
        sentences : list of ndarray of int
            Row of the table per word; at least one word each.
        depth : int, default=None
            Number of LSTM layers; None for all.
        states : States, default=None
            Initial states; None for zeros.

        Returns
        -------
        layers : list of tensor of shape (n_tokens, 2 * projection_dim)
            Tokens of all sentences in input order. The first layer is the token
            vectors, repeated for both directions.
        states : States or None
            After the sentences; None if no initial states were passed.
        """
        begin, end = range(N_MARKS)
        marked = [np.r_[begin, sentence, end] for sentence in sentences]
        lengths = np.array([len(rows) for rows in marked])
        rows, packing = np.concatenate(marked), Packing(lengths)
        words = self._by_group(send(rows[packing.tokens], self.device))
        is_word = np.ones(len(rows), dtype=bool)
        is_word[np.cumsum(lengths) - 1] = is_word[np.cumsum(lengths) - lengths] = False
        indices = [
            send(packing.unpack_index(d)[is_word], self.device) for d in DIRECTIONS
        ]
        layers = [table[send(rows[is_word], self.device)].repeat(1, 2)]
        outs, last_states = None, []
        for k, groups in enumerate(self._layers[:depth]):
            before = None if states is None else states.of_layer(k, packing.order)
            outs, state = self._run_layer(groups, packing, table, words, outs, before)
            layers.append(_concatenate_directions(outs, indices))
            last_states.append(state)
        if states is None:
            return layers, None
        return layers, States.from_layers(last_states, packing.order)

    def _run_layer(self, groups, packing, table, words, inputs, before):
        """Return hidden states and last states of a layer, per direction group."""
        states = [None] * len(groups)
        if before is not None:
            parts = [self._by_group(part) for part in before]
            states = list(zip(*parts, strict=True))
        outs, last_states = [], []
        last = send(packing.last, self.device)
        for group, rows, x, state in zip(
            groups, words, inputs or [None] * len(groups), states, strict=True
        ):
            source = (table, rows) if x is None else (x,)
            hidden, cells = group.run(packing, InputGates(group, *source), state)
            last_states.append((hidden[..., last, :], cells))
            if x is not None and self.options.skip_connections:
                hidden += x
            outs.append(hidden)
        return outs, last_states

    def _by_group(self, both):
        """Return a tensor of both directions as one tensor per direction group."""
        both = both.to(self.device)
        return [both] if len(self._layers[0]) == 1 else list(both)


def _direction_groups(device):
    # A CPU is fastest with one matrix per product, a GPU with both directions at once.
    return [(d,) for d in DIRECTIONS] if device.type == "cpu" else [DIRECTIONS]


def _concatenate_directions(outs, indices):
    """Return the vectors of tokens, forward then backward, (n_tokens, 2 * dim)."""
    directions = outs if len(outs) > 1 else outs[0]
    return torch.cat(
        [out[index] for out, index in zip(directions, indices, strict=True)], dim=1
    )
