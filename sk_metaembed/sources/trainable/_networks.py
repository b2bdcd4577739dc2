"""The torch modules behind TrainableTokens, TrainablePositions, TrainableCharacters."""

import torch
from torch import nn

from ..._training._random import Dropout


class TokenNetwork(nn.Module):
    """A table of vectors."""

    takes_generator = True  # does not draw from torch's default generators

    def __init__(self, n_rows, dim):
        super().__init__()
        self.vectors = nn.Embedding(n_rows, dim)
        nn.init.normal_(self.vectors.weight, std=1.0)

    def zero_others(self, batch):
        """Set all vectors to 0 except those of a `TokenBatch`."""
        used = torch.zeros(len(self.vectors.weight), 1)
        used[batch.rows[batch.known]] = 1
        with torch.no_grad():
            self.vectors.weight.mul_(used.to(self.vectors.weight.device))

    def forward(self, batch):
        """Return ``[(values, known)]`` of a `TokenBatch`, values (n_types, dim)."""
        return [(self.vectors(batch.rows), batch.known)]


class CharacterNetwork(nn.Module):
    """Character vectors and the layer that turns them into one vector per word.

    Parameters
    ----------
    spec : CharacterSpec

    Attributes
    ----------
    n_truncated_words : int
        Number of distinct training words longer than `max_chars`.
    """

    takes_generator = True  # does not draw from torch's default generators

    def __init__(self, spec):
        super().__init__()
        self.n_truncated_words = spec.n_truncated_words
        dim = spec.char_dim
        padding = spec.padding
        self.characters = nn.Embedding(padding + 1, dim, padding_idx=padding)
        nn.init.uniform_(self.characters.weight, -((3 / dim) ** 0.5), (3 / dim) ** 0.5)
        with torch.no_grad():
            self.characters.weight[torch.from_numpy(spec.unseen)] = 0
            self.characters.weight[padding] = 0
        self.dropout = Dropout(spec.dropout)
        self.encoder = CharCNN(dim, spec.filters)

    # The number of groups and their shapes differ between batches.
    @torch.compiler.disable
    def forward(self, batch):
        """Return ``[(values, known)]`` of a `CharacterBatch`, values (n_words, dim)."""
        groups = zip(batch.ids, batch.lengths, strict=True)
        vectors = [self._encode_group(ids, lengths) for ids, lengths in groups]
        empty = self.characters.weight.new_zeros(0, self.encoder.dim)
        values = torch.cat([empty, *vectors])[batch.positions]
        return [(values * batch.known[:, None], batch.known)]

    def _encode_group(self, ids, lengths):
        characters = self.dropout(self.characters(ids))
        return self.encoder(characters, lengths).float()


class CharCNN(nn.Module):
    """Convolutional filters, (width, number) pairs, and their maxima over each word."""

    def __init__(self, char_dim, filters):
        super().__init__()
        self.dim = sum(number for _, number in filters)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(char_dim, number, width) for width, number in filters
        )

    def forward(self, characters, lengths):
        """Return word vectors, (n_words, n_chars, char_dim) -> (n_words, dim)."""
        positions = torch.arange(characters.shape[1], device=lengths.device)
        padding = (positions >= lengths[:, None])[:, None]
        # Each character is the center of one window, and padding is not a center, so a
        # vector does not depend on the longest word of the group.
        rows, maxima = characters.transpose(1, 2), []
        for convolution in self.convolutions:
            (width,) = convolution.kernel_size
            edges = ((width - 1) // 2, width // 2)
            values = convolution(nn.functional.pad(rows, edges)).float()
            maxima.append(values.masked_fill(padding, -torch.inf).amax(dim=2))
        return torch.cat(maxima, dim=1).relu()
