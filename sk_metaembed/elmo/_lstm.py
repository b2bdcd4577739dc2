"""Lane: clipped, projected LSTM layers of one direction, or of both at once."""

from itertools import pairwise

import torch

from ._product import Product
from ._weights import cell_key

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
