"""BiLanguageModel: the network that computes ELMo's layers.

TokenEncoder: words to vectors, from their characters alone.

Lane: clipped, projected LSTM layers of one direction, or of both at once.

Product: a matrix of weights that is multiplied with over and over.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch

from ._characters import character_ids, mark_ids
from ._packing import N_MARKS, Packing
from ._weight_files import DIRECTIONS, cell_key

# oneDNN's own layout of a matrix, laid out once: two to three times as fast on a CPU
# as products of torch that lay it out each time. Inductor uses the same operators.
_REORDER = getattr(torch.ops.mkldnn, "_reorder_linear_weight", None)
_LINEAR = getattr(torch.ops.mkldnn, "_linear_pointwise", None)
_WORTH_IT = 2**18  # entries of a matrix, below which there is nothing to gain
_ROWS = 64  # for which the layout is chosen; any number can come


class Product:
    """Computes ``x @ weight + bias``, in the precision of the weight.

    What comes and what is returned is float32; sums are of that precision too.

    Parameters
    ----------
    weight : tensor of shape (..., n_in, n_out)
        In front may stand one dimension, for several products at once.
    bias : tensor of shape (..., 1, n_out), default=None
        Float32.

    Examples
    --------
    >>> import torch
    >>> product = Product(torch.tensor([[1.0], [10.0]]), torch.tensor([[0.5]]))
    >>> product(torch.tensor([[3.0, 2.0]])).tolist()
    [[23.5]]
    """

    def __init__(self, weight, bias=None):
        self.dtype = weight.dtype
        self._weight, self._bias = weight, bias
        self._packed = _packed(weight)
        if self._packed is not None:
            self._weight = None

    def __call__(self, x, added=None):
        """Return the product with rows.

        Parameters
        ----------
        x : tensor of shape (..., n_rows, n_in)
        added : tensor of shape (..., n_rows, n_out), default=None
            Taken in place of the bias.

        Returns
        -------
        float32 tensor of shape (..., n_rows, n_out)
            A new one.
        """
        added = self._bias if added is None else added
        x = x.to(self.dtype)
        if self._packed is None:
            return self._plain(x, added)
        if added is None or self.dtype != torch.float32 or added is self._bias:
            product = _LINEAR.default(x, self._packed, None, "none", [], "").float()
            return product if added is None else product.add_(added)
        return _LINEAR.binary(x, added, self._packed, None, "add")

    def _plain(self, x, added):
        if added is None or self.dtype != torch.float32:
            product = torch.matmul(x, self._weight).float()
            return product if added is None else product.add_(added)
        product = torch.addmm if x.dim() == 2 else torch.baddbmm
        return product(added, x, self._weight)


def _packed(weight):
    """Return the weight in oneDNN's layout, or None where that cannot be had."""
    fits = weight.device.type == "cpu" and weight.dim() == 2
    fits = fits and weight.dtype in (torch.float32, torch.bfloat16)
    if not fits or weight.numel() < _WORTH_IT or None in (_REORDER, _LINEAR):
        return None
    try:
        packed = _REORDER(weight.t().contiguous(), _ROWS)
        found = _LINEAR.default(
            weight.new_ones(2, len(weight)), packed, None, "none", [], ""
        )
    except (RuntimeError, NotImplementedError, TypeError, AttributeError):
        # Processors without what oneDNN needs, and builds where the operators differ.
        return None
    # The operators are torch's own business: what they give is tried, not trusted.
    gap = (found.float() - weight.float().sum(dim=0)).abs().max()
    return packed if gap <= 0.02 * weight.float().abs().sum(dim=0).max() else None


_AT_ONCE = 256
_GATES = ("carry", "transform")


class TokenEncoder:
    """Convolutions over characters, highway layers and a projection.

    Parameters
    ----------
    weights : dict of str to ndarray
        As `read_weights` gives them.
    options : ElmoOptions
    device : str
    dtype : torch dtype
        Of the products.
    """

    def __init__(self, weights, options, device, dtype):
        def tensor(name, kind=torch.float32):
            return torch.from_numpy(weights[name]).to(device, kind)

        self.options, self.device = options, device
        self._table = tensor("char_embed")
        self._filters = []
        for i, (width, number) in enumerate(options.filters):
            weight = tensor(f"CNN/W_cnn_{i}", dtype).reshape(-1, number)
            self._filters.append((width, Product(weight), tensor(f"CNN/b_cnn_{i}")))
        self._highways = []
        for k in range(options.n_highway):
            parts = [[f"CNN_high_{k}/{x}_{gate}" for gate in _GATES] for x in "Wb"]
            weight = torch.cat([tensor(name, dtype) for name in parts[0]], dim=1)
            bias = torch.cat([tensor(name) for name in parts[1]])
            self._highways.append(Product(weight, bias[None]))
        self._projection = None
        if "CNN_proj/W_proj" in weights:
            self._projection = Product(
                tensor("CNN_proj/W_proj", dtype), tensor("CNN_proj/b_proj")[None]
            )

    @torch.inference_mode()
    def marks(self):
        """Return the vectors of a sentence's begin and end, (2, projection_dim)."""
        return self._of_ids(*mark_ids(self.options.max_characters))

    @torch.inference_mode()
    def __call__(self, words):
        """Return the vectors of words.

        Parameters
        ----------
        words : sequence of str

        Returns
        -------
        float32 tensor of shape (n_words, projection_dim)
        """
        ids, lengths = character_ids(words, self.options.max_characters)
        out = torch.empty(len(words), self.options.projection_dim, device=self.device)
        order = np.argsort(lengths, kind="stable")
        for start in range(0, len(order), _AT_ONCE):
            some = order[start : start + _AT_ONCE]
            found = self._of_ids(ids[some], lengths[some])
            out[torch.from_numpy(some).to(self.device)] = found
        return out

    def _of_ids(self, ids, lengths):
        characters = torch.from_numpy(ids).to(self.device)
        vectors = self._convolved(self._table[characters], int(lengths.max()))
        for highway in self._highways:
            carry, new = highway(vectors).chunk(2, dim=1)
            # carry * new + (1 - carry) * old
            vectors = torch.lerp(vectors, new.relu_(), carry.sigmoid_())
        return vectors if self._projection is None else self._projection(vectors)

    def _convolved(self, characters, longest):
        """Return the maxima over positions, activated, (n_words, n_filters).

        Behind the longest word all windows see nothing but padding, and give the same:
        one of them is computed.
        """
        found = []
        for width, product, bias in self._filters:
            n_windows = min(characters.shape[1] - width, longest) + 1
            seen = characters[:, : n_windows + width - 1]
            windows = seen.unfold(1, width, 1).transpose(2, 3)
            flat = windows.reshape(len(windows) * n_windows, -1)
            maxima = product(flat).view(len(windows), n_windows, -1).amax(dim=1)
            found.append(maxima.add_(bias))
        found = torch.cat(found, dim=1)
        return found.relu_() if self.options.activation == "relu" else found.tanh_()


# Of input gates that are computed together.
_BYTES_AT_ONCE = {"cpu": 2**25}
_ON_GPU = 2**28
_WORDS_TO_ONE = 4  # of which one is new


class Lane:
    """One layer's cell, over packed sequences.

    On a CPU each direction has a lane, because a product with one matrix is quickest
    there; on a GPU one lane has both, in tensors with a dimension more.

    Parameters
    ----------
    weights : dict of str to ndarray
    options : ElmoOptions
    layer : int
    directions : tuple of int
    device : torch device
    dtype : torch dtype
        Of the products. Cells and sums are float32.

    Attributes
    ----------
    input : Product
        From input to gates.
    n_at_once : int
        Tokens whose input gates are computed together.
    """

    def __init__(self, weights, options, layer, directions, device, dtype):
        def stacked(part):
            arrays = [weights[cell_key(d, layer, part)] for d in directions]
            tensor = torch.stack([torch.from_numpy(array) for array in arrays])
            return (tensor if len(directions) > 1 else tensor[0]).to(device)

        dim, n = options.projection_dim, options.cell_dim
        both = _reordered(stacked("W_0"), n).to(dtype)
        bias = _reordered(stacked("B"), n).unsqueeze(-2)
        bias[..., n : 2 * n] += 1.0  # of the forget gate
        self.input = Product(both[..., :dim, :], bias)
        self._recurrent = Product(both[..., dim:, :])
        self._projection = Product(stacked("W_P_0").to(dtype))
        self._clips = options.cell_clip, options.proj_clip
        self._n = n
        budget = _BYTES_AT_ONCE.get(device.type, _ON_GPU)
        self.n_at_once = max(16, budget // (16 * n * len(directions)))

    def step(self, gates, hidden, cell):
        """Return hidden and cell after a step, (..., n_rows, dim).

        Parameters
        ----------
        gates : tensor of shape (..., n_rows, 4 * cell_dim)
            From the input; written to.
        hidden : tensor of shape (..., n_rows, projection_dim) or None
            None for zeros.
        cell : tensor of shape (..., n_rows, cell_dim) or None
            Written to.
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

    def run(self, packing, source, state=None):
        """Run over all steps of packed sequences.

        Parameters
        ----------
        packing : Packing
        source : InputGates
        state : (hidden, cell), default=None
            Of each sequence, in the packing's order; None for zeros. The cells are
            written to.

        Returns
        -------
        hidden : tensor of shape (..., n_tokens, projection_dim)
            At each packed place.
        cell : tensor of shape (..., n_sequences, cell_dim)
            When each sequence ended.
        """
        starts = packing.starts.tolist()
        out = source.empty(starts[-1])
        hidden, cell = (None, None) if state is None else state
        cells = cell
        for first, stop in packing.spans(source.n_at_once):
            gates_of = source.between(starts[first], starts[stop])
            for a, b in pairwise(starts[first : stop + 1]):
                if hidden is not None:
                    hidden, cell = hidden[..., : b - a, :], cell[..., : b - a, :]
                hidden, cell = self.step(gates_of(a, b), hidden, cell)
                out[..., a:b, :] = hidden
                cells = cell if cells is None else cells
        return out, cells


class InputGates:
    """The input's share of the gates, for many steps in one product.

    Parameters
    ----------
    lane : Lane
    vectors : tensor of shape (..., n_tokens, projection_dim)
        Packed; or with `words` a table that all of them share.
    words : tensor of int, shape (..., n_tokens), default=None
        Packed rows of the table. On a CPU what comes again is computed once.
    """

    def __init__(self, lane, vectors, words=None):
        self._lane, self._vectors, self._words = lane, vectors, words
        self.n_at_once = lane.n_at_once * (1 if words is None else _WORDS_TO_ONE)

    def empty(self, n_tokens):
        """Return room for the hidden states of all tokens."""
        packed = self._vectors if self._words is None else self._words[..., None]
        dim = self._vectors.shape[-1]
        return self._vectors.new_empty(*packed.shape[:-2], n_tokens, dim)

    def between(self, start, stop):
        """Return what gives the gates of packed places from start to stop."""
        if self._words is None:
            return self._sliced(self._vectors[..., start:stop, :], start)
        words = self._words[..., start:stop]
        if words.dim() > 1:
            return self._sliced(self._vectors[words], start)
        distinct, inverse = torch.unique(words, return_inverse=True)
        gates = self._lane.input(self._vectors[distinct])
        return lambda a, b: gates[inverse[a - start : b - start]]

    def _sliced(self, vectors, start):
        gates = self._lane.input(vectors)
        return lambda a, b: gates[..., a - start : b - start, :]


def _reordered(tensor, n):
    """Return gates i, j, f, o as i, f, o, j: three that go through a sigmoid, one not.

    >>> import torch
    >>> _reordered(torch.arange(8), 2).tolist()
    [0, 1, 4, 5, 6, 7, 2, 3]
    """
    i, j, f, o = tensor.split(n, dim=-1)
    return torch.cat([i, f, o, j], dim=-1)


class States(NamedTuple):
    """What the LSTMs hold when sequences have ended, on the CPU.

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

    def of(self, layer, rows):
        """Return copies of a layer's hidden states and cells, for some sequences."""
        rows = torch.from_numpy(rows)
        return self.hidden[layer][:, rows], self.cells[layer][:, rows]

    @classmethod
    def joined(cls, after, order):
        """Return the states that lanes ended with, in the order of the input.

        Parameters
        ----------
        after : list of list of (hidden, cells)
            Of each layer and lane.
        order : ndarray of int
            The sequences, as the lanes had them.
        """
        back = torch.from_numpy(np.argsort(order))
        parts = []
        for part in range(2):
            layers = []
            for lanes in after:
                tensors = [lane[part].cpu() for lane in lanes]
                both = torch.stack(tensors) if len(tensors) > 1 else tensors[0]
                layers.append(both[:, back])
            parts.append(torch.stack(layers))
        return cls(*parts)

    @classmethod
    def zeros(cls, options, n_sequences):
        """Return those of sequences that have not begun."""
        shape = options.n_layers, 2, n_sequences
        hidden = torch.zeros(*shape, options.projection_dim)
        return cls(hidden, torch.zeros(*shape, options.cell_dim))


class BiLanguageModel:
    """Token encoder and LSTMs of both directions, for inference.

    Parameters
    ----------
    weights : dict of str to ndarray
        As `read_weights` gives them.
    options : ElmoOptions
    device : str
    dtype : str
        Of the products: "float32", "float16" or "bfloat16".
    """

    def __init__(self, weights, options, device="cpu", dtype="float32"):
        self.options, self.device = options, torch.device(device)
        of = options, self.device, getattr(torch, dtype)
        with torch.inference_mode():
            self.encoder = TokenEncoder(weights, *of)
            self._layers = [
                [
                    Lane(weights, options, layer, lane, *of[1:])
                    for lane in _lanes(self.device)
                ]
                for layer in range(options.n_layers)
            ]

    @torch.inference_mode()
    def layers(self, table, sentences, depth=None, states=None):
        """Return the vectors of sentences' words at each layer.

        Parameters
        ----------
        table : tensor of shape (N_MARKS + n_words, projection_dim)
            Vectors of the marks and of words, from the encoder.
        sentences : list of ndarray of int
            Rows of the table, one a word; each with at least one.
        depth : int, default=None
            How many LSTM layers are wanted; None for all.
        states : States, default=None
            What the sentences go on from; None for nothing.

        Returns
        -------
        layers : list of tensor of shape (n_tokens, 2 * projection_dim)
            Over the sentences in the order in which they came; the token vectors,
            twice, come first.
        states : States or None
            After the sentences; None where none were given.
        """
        begin, end = range(N_MARKS)
        marked = [np.r_[begin, sentence, end] for sentence in sentences]
        lengths = np.array([len(rows) for rows in marked])
        rows, packing = np.concatenate(marked), Packing(lengths)
        words = self._for_lanes(torch.from_numpy(rows[packing.places]))
        inside = np.ones(len(rows), dtype=bool)
        inside[np.cumsum(lengths) - 1] = inside[np.cumsum(lengths) - lengths] = False
        places = [
            torch.from_numpy(packing.unpacked(d)[inside]).to(self.device)
            for d in DIRECTIONS
        ]
        found = [table[torch.from_numpy(rows[inside]).to(self.device)].repeat(1, 2)]
        outs, after = None, []
        for k, layer in enumerate(self._layers[:depth]):
            before = None if states is None else states.of(k, packing.order)
            outs, state = self._layer(layer, packing, table, words, outs, before)
            found.append(_side_by_side(outs, places))
            after.append(state)
        return found, None if states is None else States.joined(after, packing.order)

    def _layer(self, layer, packing, table, words, outs, before):
        """Return the hidden states of a layer's lanes, and what they end with."""
        states = [None] * len(layer)
        if before is not None:
            parts = [self._for_lanes(part) for part in before]
            states = list(zip(*parts, strict=True))
        found, after = [], []
        last = torch.from_numpy(packing.last).to(self.device)
        for lane, rows, x, state in zip(
            layer, words, outs or [None] * len(layer), states, strict=True
        ):
            gates = InputGates(lane, table, rows) if x is None else InputGates(lane, x)
            hidden, cells = lane.run(packing, gates, state)
            after.append((hidden[..., last, :], cells))
            if x is not None and self.options.skip_connections:
                hidden += x
            found.append(hidden)
        return found, after

    def _for_lanes(self, both):
        """Return what is given for both directions as each lane takes it."""
        both = both.to(self.device)
        return [both] if len(self._layers[0]) == 1 else list(both)


def _lanes(device):
    return [(d,) for d in DIRECTIONS] if device.type == "cpu" else [DIRECTIONS]


def _side_by_side(outs, places):
    """Return the directions' vectors of tokens, forward first."""
    directions = outs if len(outs) > 1 else outs[0]
    return torch.cat(
        [out[place] for out, place in zip(directions, places, strict=True)], dim=1
    )
