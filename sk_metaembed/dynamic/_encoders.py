"""Encoders that turn the tokens of each sequence into one vector.

Tokens that no source knows are zero vectors. Pools skip them, as `Pooling` does;
convolutions and recurrent layers read them, so that distances between other tokens are
preserved. A sequence without known tokens is encoded as zeros.

Convolutions run over the tokens of all sequences, one after the other. A window reads
tokens of other sequences as zeros, so nothing is padded.

Recurrent layers run over sequences without padding. A bidirectional layer over padded
input would read padding before the first word in backward direction. Here each
direction is a layer of its own, and the backward one starts at the end of every
sequence. The batch stays dense, and steps after a sequence are ignored. A batch with
few very long sequences is computed in several parts, each of them dense.
"""

import torch
from torch import nn

from .._training._device import run_recurrent
from .._training._random import Dropout


def _columns(tokens, places):
    """Return tokens in a grid, extra axes as further columns: (steps, columns, dim)."""
    # On a GPU, the gradient of `tokens[places]` sorts the indices. `index_select` adds
    # gradients in any order, which is still deterministic: only grid positions without
    # a token repeat an index, and their gradients are 0, because nothing reads them.
    columns = tokens.index_select(0, places.flatten())
    return columns.reshape(places.shape[0], -1, tokens.shape[-1])


def _at(states, places, shape):
    """Return the states at positions of the flattened grid, (*shape[:-1], dim)."""
    n_columns = states.shape[0] * states.shape[1]
    extra = shape[1:-1].numel()
    flat = states.reshape(n_columns // extra, *shape[1:-1], states.shape[-1])
    return flat.index_select(0, places)


class MaskedLSTM(nn.Module):
    """A bidirectional LSTM over a batch, with `dim` units per direction."""

    def __init__(self, dim_in, dim):
        super().__init__()
        self.forward_lstm = nn.LSTM(dim_in, dim)
        self.backward_lstm = nn.LSTM(dim_in, dim)

    def forward(self, tokens, grid):
        """Return the states of both directions, (n_tokens, 2 * dim).

        Tokens may have independent streams, (n_tokens, n_streams, dim_in).
        """
        if len(tokens) == 0:
            shape = *tokens.shape[:-1], 2 * self.forward_lstm.hidden_size
            return tokens.new_zeros(shape)
        return grid.map_steps(self._states, tokens)

    def _states(self, tokens, steps):
        """Return the states of the tokens in a `Steps`."""
        directions = (
            (self.forward_lstm, steps.forward_index, steps.forward_position),
            (self.backward_lstm, steps.backward_index, steps.backward_position),
        )
        states = [
            _at(run_recurrent(lstm, _columns(tokens, index)), position, tokens.shape)
            for lstm, index, position in directions
        ]
        return torch.cat(states, dim=-1)


def segment_sum(tokens, grid):
    """Return the sum of each sequence's tokens, float32 (n_sequences, dim)."""
    # A long sum in half precision would stop growing.
    tokens = tokens.float()
    total = tokens.new_zeros(len(grid.lengths), tokens.shape[1])
    return total.index_add(0, grid.segments, tokens)


class _SegmentMax(torch.autograd.Function):
    """The largest values of segments; equal ones share the gradient.

    The gradient of `scatter_reduce` itself takes twice as long on a CPU, and loses the
    share of the initial zeros where a maximum is 0.
    """

    @staticmethod
    def forward(ctx, tokens, segments, n_segments):
        index = segments[:, None].expand_as(tokens)
        largest = tokens.new_zeros(n_segments, tokens.shape[1])
        largest.scatter_reduce_(0, index, tokens, "amax", include_self=False)
        ctx.save_for_backward(tokens, segments, largest)
        return largest

    @staticmethod
    def backward(ctx, gradient):
        tokens, segments, largest = ctx.saved_tensors
        share = largest.index_select(0, segments).eq_(tokens).to(gradient.dtype)
        counts = torch.zeros_like(gradient).index_add_(0, segments, share)
        gradient = gradient / counts.clamp_(min=1)
        return share.mul_(gradient.index_select(0, segments)), None, None


def segment_max(tokens, grid):
    """Return each sequence's largest values, (n_sequences, dim); 0 for an empty one."""
    return _SegmentMax.apply(tokens, grid.segments, len(grid.lengths))


def or_zeros(vectors, grid):
    """Return the vectors, with zeros for sequences without known tokens."""
    return vectors * (grid.n_known > 0).to(vectors.dtype)[:, None]


class MeanEncoder(nn.Module):
    """The mean over the known tokens."""

    reads_types = False

    def __init__(self, dim_in):
        super().__init__()
        self.dim = dim_in

    def forward(self, tokens, grid):
        """Return (n_sequences, dim)."""
        # Unknown tokens add zeros.
        return segment_sum(tokens, grid) / grid.n_known.clamp(min=1)[:, None]


class MaxEncoder(nn.Module):
    """The maximum over the known tokens."""

    reads_types = False

    def __init__(self, dim_in):
        super().__init__()
        self.dim = dim_in

    def forward(self, tokens, grid):
        """Return (n_sequences, dim)."""
        if grid.unknown is not None:
            least = torch.finfo(tokens.dtype).min
            tokens = tokens.masked_fill(grid.unknown[:, None], least)
        return or_zeros(segment_max(tokens, grid), grid)


class BiLSTM(nn.Module):
    """Stacked bidirectional LSTM layers, with `dims` units per direction.

    `dropout` is the rate of dropout on the input of each layer.
    """

    reads_types = False

    def __init__(self, dim_in, dims, dropout):
        super().__init__()
        sizes = [dim_in, *(2 * dim for dim in dims)]
        self.layers = nn.ModuleList(
            MaskedLSTM(a, b) for a, b in zip(sizes[:-1], dims, strict=True)
        )
        self.dropout = Dropout(dropout)
        self.dim = sizes[-1]

    def forward(self, tokens, grid):
        """Return the last layer's states, (n_tokens, 2 * dims[-1])."""
        for layer in self.layers:
            tokens = layer(self.dropout(tokens), grid)
        return tokens


class BiLSTMMaxEncoder(BiLSTM):
    """A bidirectional LSTM, then the maximum over time (BiLSTM-Max)."""

    def forward(self, tokens, grid):
        """Return (n_sequences, 2 * dims[-1])."""
        return or_zeros(segment_max(super().forward(tokens, grid), grid), grid)


class GRUEncoder(nn.Module):
    """Stacked GRU layers over the tokens of a batch, and the last state.

    `dropout` is the rate of dropout on the input of each layer.
    """

    reads_types = False

    def __init__(self, dim_in, dims, dropout):
        super().__init__()
        sizes = [dim_in, *dims]
        self.layers = nn.ModuleList(
            nn.GRU(a, b) for a, b in zip(sizes[:-1], sizes[1:], strict=True)
        )
        self.dropout = Dropout(dropout)
        self.dim = dims[-1]

    def forward(self, tokens, grid):
        """Return the last state of each sequence, (n_sequences, dims[-1])."""
        ends = [self._ends(tokens[steps.tokens], steps) for steps in grid.steps]
        return or_zeros(torch.cat(ends), grid)

    def _ends(self, tokens, steps):
        """Return the last state of each sequence in a `Steps`."""
        if len(tokens) == 0:
            return tokens.new_zeros(len(steps.last), self.dim)
        states = _columns(tokens, steps.forward_index)
        for layer in self.layers:
            states = run_recurrent(layer, self.dropout(states))
        return states.reshape(-1, self.dim).index_select(0, steps.last)


class Convolution(nn.Module):
    """Filters of one width over the tokens of a batch, and a ReLU.

    A window of width 3 contains a token and its two neighbors. A window of width 4 also
    contains the next token to the right, as with ``padding="same"`` in
    `torch.nn.Conv1d`.
    """

    def __init__(self, dim_in, n_filters, width):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width, n_filters, dim_in))
        self.bias = nn.Parameter(torch.empty(n_filters))
        bound = (width * dim_in) ** -0.5  # as `Conv1d`
        nn.init.uniform_(self.weight, -bound, bound)
        nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, rows, segments, longest, index=None):
        """Return the filters' values at each token, (n_tokens, n_filters).

        `segments` has the sequence of each token, `longest` is the number of tokens of
        the longest one. `index` has the row of each token, so that products with the
        weights are computed once per row, (n_rows, dim_in); None if rows are tokens.
        """
        pad = nn.functional.pad

        def product(weight, part, bias=None):
            if index is None:
                return nn.functional.linear(rows[part], weight, bias)
            values = nn.functional.linear(rows, weight, bias)
            return nn.functional.embedding(index[part], values)

        center = (len(self.weight) - 1) // 2
        values = product(self.weight[center], slice(None), self.bias)
        for i, weight in enumerate(self.weight):
            distance = i - center
            if distance == 0 or abs(distance) >= longest:
                continue
            n = abs(distance)
            near = (segments[n:] == segments[:-n]).to(values.dtype)[:, None]
            if distance > 0:
                own = pad(product(weight, slice(n, None)) * near, (0, 0, 0, n))
            else:
                own = pad(product(weight, slice(None, -n)) * near, (0, 0, n, 0))
            values = values + own
        return torch.relu(values)


class Convolutions(nn.Module):
    """Stacked layers of convolutions of several widths over the tokens of a batch.

    A layer has filters of all `widths`; `dims` are the numbers of filters per width of
    the layers. `dropout` is the rate of dropout on the input of each layer.
    """

    def __init__(self, dim_in, dims, widths, dropout):
        super().__init__()
        sizes = [dim_in, *(len(widths) * dim for dim in dims)]
        self.layers = nn.ModuleList(
            nn.ModuleList(Convolution(size, dim, width) for width in widths)
            for size, dim in zip(sizes[:-1], dims, strict=True)
        )
        self.dropout = Dropout(dropout)
        self.dim = sizes[-1]

    def forward(self, rows, grid, index=None):
        """Return the last layer's states, (n_tokens, len(widths) * dims[-1]).

        `index` has the row of each token; None if rows are tokens.
        """
        place = grid.segments, grid.longest
        for layer in self.layers:
            rows = self.dropout(rows)
            rows = torch.cat([filters(rows, *place, index) for filters in layer], dim=1)
            index = None
        return rows


class ConvolutionalEncoder(Convolutions):
    """The maximum and the mean over the tokens of their vectors and convolutions."""

    reads_types = True

    def __init__(self, dim_in, dims, widths, dropout):
        super().__init__(dim_in, dims, widths, dropout)
        self.dim = 2 * (dim_in + self.dim)

    def forward(self, rows, grid, index=None):
        """Return (n_sequences, dim), maxima before means, vectors before filters."""
        filtered = super().forward(rows, grid, index)
        tokens = rows if index is None else nn.functional.embedding(index, rows)
        states = torch.cat([tokens, filtered], dim=1)
        mean = segment_sum(states, grid) / grid.lengths.clamp(min=1)[:, None]
        return or_zeros(torch.cat([segment_max(states, grid), mean], dim=1), grid)


_POOLS = {"mean": MeanEncoder, "max": MaxEncoder}
_RECURRENT = {"bilstm-max": BiLSTMMaxEncoder, "gru": GRUEncoder}


def make_encoder(name, dim_in, dims, widths, dropout):
    """Return the encoder with a given name, a Module with the attribute `dim`.

    `dims` are the sizes of its layers, `widths` those of convolutions; `dropout` is the
    rate of dropout on the input of each layer.
    """
    if name in _POOLS:
        return _POOLS[name](dim_in)
    if name == "conv":
        return ConvolutionalEncoder(dim_in, dims, widths, dropout)
    return _RECURRENT[name](dim_in, dims, dropout)


def make_tagging_encoder(name, dim_in, dims, widths, dropout):
    """Return the encoder of tokens that is named "conv" or "bilstm"."""
    if name == "conv":
        return Convolutions(dim_in, dims, widths, dropout)
    return BiLSTM(dim_in, dims, dropout)
