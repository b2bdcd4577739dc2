"""Recurrences over sequences that stand one behind the other, without padding.

A bidirectional layer over padded input would read padding backwards before the
first word. Here each direction is a layer of its own, and the backward one reads
every sequence from its own end: both see real tokens first, so what follows them
can be ignored, and the batch stays dense, which CPU kernels are fast on.
"""

import torch
from torch import nn


def _columns(tokens, places):
    """Return tokens in a grid, extra axes as further columns: (steps, columns, dim)."""
    return tokens[places].reshape(places.shape[0], -1, tokens.shape[-1])


def _at(states, places, shape):
    """Return the states of a flattened grid's places, (*shape, dim)."""
    n_columns = states.shape[0] * states.shape[1]
    extra = shape[1:].numel()
    flat = states.reshape(n_columns // extra, *shape[1:], states.shape[-1])
    return flat[places]


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

    def forward(self, tokens, grid):
        """Return the states of both directions.

        Parameters
        ----------
        tokens : tensor of shape (n_tokens, dim_in) or (n_tokens, n_streams, dim_in)
            Streams are read side by side: no state passes between them.
        grid : Grid

        Returns
        -------
        tensor of shape (n_tokens, 2 * dim) or (n_tokens, n_streams, 2 * dim)
        """
        shape = tokens.shape[:-1]
        if len(tokens) == 0:
            return tokens.new_zeros(*shape, 2 * self.onwards.hidden_size)
        onwards, _ = self.onwards(_columns(tokens, grid.onwards))
        backwards, _ = self.backwards(_columns(tokens, grid.backwards))
        return torch.cat(
            [
                _at(onwards, grid.at_onwards, shape),
                _at(backwards, grid.at_backwards, shape),
            ],
            dim=-1,
        )
