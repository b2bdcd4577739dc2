"""Encoders: the tokens of each sequence to one vector.

Tokens that no source knows are mixed to zeros. Pools leave them out, as `Pooling` does;
recurrent layers read the zeros, so that the distances between the other tokens stay the
same. A sequence without known tokens gives zeros.
"""

import torch
from torch import nn

from ._dropout import ByteDropout
from ._recurrent import MaskedLSTM


def known_tokens(tokens, grid):
    """Return the tokens that some source knows, and their `Segments`."""
    return (tokens if grid.kept is None else tokens[grid.kept]), grid.known


def segment_sum(tokens, of):
    """Return the sum of each sequence's tokens, float32 (n_sequences, dim)."""
    # A long sum in half precision would stop growing.
    tokens = tokens.float()
    total = tokens.new_zeros(len(of.lengths), tokens.shape[1])
    return total.index_add(0, of.segments, tokens)


def segment_max(tokens, of):
    """Return each sequence's largest values, (n_sequences, dim); 0 for an empty one."""
    largest = tokens.new_zeros(len(of.lengths), tokens.shape[1])
    index = of.segments[:, None].expand_as(tokens)
    return largest.scatter_reduce(0, index, tokens, "amax", include_self=False)


def or_zeros(vectors, grid):
    """Return the vectors, zeros for sequences without a known token."""
    return vectors * (grid.known.lengths > 0)[:, None]


class MeanEncoder(nn.Module):
    """The mean over the known tokens."""

    def __init__(self, dim_in):
        super().__init__()
        self.dim = dim_in

    def forward(self, tokens, grid):
        """Return (n_sequences, dim)."""
        # Tokens that are not known add zeros.
        return segment_sum(tokens, grid) / grid.known.lengths.clamp(min=1)[:, None]


class MaxEncoder(nn.Module):
    """The maximum over the known tokens."""

    def __init__(self, dim_in):
        super().__init__()
        self.dim = dim_in

    def forward(self, tokens, grid):
        """Return (n_sequences, dim)."""
        return segment_max(*known_tokens(tokens, grid))


class AttentionEncoder(nn.Module):
    """A weighted mean over the known tokens; their weights are learned from them."""

    def __init__(self, dim_in):
        super().__init__()
        self.dim = dim_in
        self.score = nn.Linear(dim_in, 1)

    def forward(self, tokens, grid):
        """Return (n_sequences, dim)."""
        tokens, known = known_tokens(tokens, grid)
        scores = self.score(tokens).float()
        rows = known.segments
        # Shifting by each sequence's largest score keeps the exponentials in range.
        weights = torch.exp(scores - segment_max(scores, known).detach()[rows])
        total = segment_sum(weights, known).clamp(min=torch.finfo(weights.dtype).tiny)
        return segment_sum(tokens * (weights / total[rows]), known)


class BiLSTM(nn.Module):
    """Bidirectional LSTM layers, one over the other, over the tokens of a batch.

    Parameters
    ----------
    dim_in : int
    dims : tuple of int
        Sizes of one direction's states.
    dropout : float
        On each layer's input.
    """

    def __init__(self, dim_in, dims, dropout):
        super().__init__()
        sizes = [dim_in, *(2 * dim for dim in dims)]
        self.layers = nn.ModuleList(
            MaskedLSTM(a, b) for a, b in zip(sizes[:-1], dims, strict=True)
        )
        self.dropout = ByteDropout(dropout)
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
    """GRU layers, one over the other, over the tokens of a batch; the last state.

    Parameters
    ----------
    dim_in : int
    dims : tuple of int
    dropout : float
        On each layer's input.
    """

    def __init__(self, dim_in, dims, dropout):
        super().__init__()
        sizes = [dim_in, *dims]
        self.layers = nn.ModuleList(
            nn.GRU(a, b) for a, b in zip(sizes[:-1], sizes[1:], strict=True)
        )
        self.dropout = ByteDropout(dropout)
        self.dim = dims[-1]

    def forward(self, tokens, grid):
        """Return each sequence's last state, (n_sequences, dims[-1])."""
        if len(tokens) == 0:
            return tokens.new_zeros(len(grid.lengths), self.dim)
        states = tokens[grid.onwards]
        for layer in self.layers:
            states, _ = layer(self.dropout(states))
        ends = states.reshape(-1, self.dim)[grid.last]
        return or_zeros(ends, grid)


_POOLS = {"mean": MeanEncoder, "max": MaxEncoder, "attention": AttentionEncoder}
_RECURRENT = {"bilstm-max": BiLSTMMaxEncoder, "gru": GRUEncoder}


def make_encoder(name, dim_in, dims, dropout):
    """Return the encoder of that name.

    Parameters
    ----------
    name : {"bilstm-max", "gru", "mean", "max", "attention"}
    dim_in : int
    dims : tuple of int
        Sizes of the recurrent layers; pools have none.
    dropout : float
        On the recurrent layers' input.

    Returns
    -------
    nn.Module with an attribute `dim`
    """
    if name in _POOLS:
        return _POOLS[name](dim_in)
    return _RECURRENT[name](dim_in, dims, dropout)
