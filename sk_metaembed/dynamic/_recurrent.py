"""Recurrences over sequences that stand one behind the other, without padding.

A bidirectional layer over padded input would read padding backwards before the
first word. Here each direction is a layer of its own, and the backward one reads
every sequence reversed in its place: both see real tokens first, so what follows
them can be ignored, and the batch stays dense, which CPU kernels are fast on.
"""

import torch
from torch import nn


class Grid:
    """Places of a batch's tokens in a (max_length, n_sequences) grid.

    Parameters
    ----------
    lengths : int64 tensor of shape (n_sequences,)

    Attributes
    ----------
    mask : bool tensor of shape (max_length, n_sequences)
    forward, backward : int64 tensor of shape (max_length, n_sequences)
        The token at each place, reading onwards or each sequence from its end. At
        places without a token, some valid position.
    """

    def __init__(self, lengths):
        self.lengths = lengths
        longest = int(lengths.max()) if len(lengths) else 0
        starts = torch.cumsum(lengths, 0) - lengths
        steps = torch.arange(longest, device=lengths.device)[:, None]
        self.mask = steps < lengths
        last = (int(lengths.sum()) - 1) if longest else 0
        self.forward = (starts + steps).clamp(max=last)
        self.backward = (starts + (lengths - 1 - steps).clamp(min=0)).clamp(max=last)

    def flatten(self, states, places):
        """Return grid states (max_length, n_sequences, dim) as (n_tokens, dim)."""
        flat = states.new_empty(int(self.lengths.sum()), states.shape[2])
        return flat.index_put((places[self.mask],), states[self.mask])


class MaskedLSTM(nn.Module):
    """A bidirectional LSTM over the tokens of a batch.

    Parameters
    ----------
    dim_in : int
    dim : int
        Size of one direction's state.
    """

    def __init__(self, dim_in, dim):
        super().__init__()
        self.onwards = nn.LSTM(dim_in, dim)
        self.backwards = nn.LSTM(dim_in, dim)

    def forward(self, tokens, lengths):
        """Return the states of both directions, (n_tokens, 2 * dim)."""
        if len(tokens) == 0:
            return tokens.new_zeros(0, 2 * self.onwards.hidden_size)
        grid = Grid(lengths)
        onwards, _ = self.onwards(tokens[grid.forward])
        backwards, _ = self.backwards(tokens[grid.backward])
        return torch.cat(
            [
                grid.flatten(onwards, grid.forward),
                grid.flatten(backwards, grid.backward),
            ],
            dim=1,
        )


class StackedGRU(nn.Module):
    """GRU layers, one over the other, each over the tokens of a batch.

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
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens, lengths):
        """Return each sequence's last state, (n_sequences, dims[-1])."""
        dim = self.layers[-1].hidden_size
        if len(tokens) == 0:
            return tokens.new_zeros(len(lengths), dim)
        grid = Grid(lengths)
        states = tokens[grid.forward]
        for layer in self.layers:
            states, _ = layer(self.dropout(states))
        last = (lengths - 1).clamp(min=0)
        ends = states[last, torch.arange(len(lengths), device=lengths.device)]
        return ends * (lengths > 0)[:, None]
