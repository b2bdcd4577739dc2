"""TokenNetwork: the torch module behind TrainableTokens."""

import torch
from torch import nn


class TokenNetwork(nn.Module):
    """A table of vectors.

    Parameters
    ----------
    n_rows, dim : int
    """

    takes_generator = True  # does not draw from torch's default generators

    def __init__(self, n_rows, dim):
        super().__init__()
        self.vectors = nn.Embedding(n_rows, dim)
        nn.init.normal_(self.vectors.weight, std=1.0)

    def keep(self, batch):
        """Set all vectors to 0 but those of a `TokenBatch`."""
        used = torch.zeros(len(self.vectors.weight), 1)
        used[batch.rows[batch.known]] = 1
        with torch.no_grad():
            self.vectors.weight.mul_(used.to(self.vectors.weight.device))

    def forward(self, batch):
        """Return ``[(values, known)]`` of a `TokenBatch`, values (n_types, dim)."""
        return [(self.vectors(batch.rows), batch.known)]
