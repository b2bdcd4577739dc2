"""TokenNetwork: the torch module behind TrainableTokens."""

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

    def forward(self, batch):
        """Return ``[(values, known)]`` of a `TokenBatch`, values (n_types, dim)."""
        return [(self.vectors(batch.rows), batch.known)]
