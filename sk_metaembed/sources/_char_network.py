"""CharacterNetwork: the torch module behind CharEmbedding."""

import torch
from torch import nn

from .._training._random import dropout
from ..elmo._characters import PADDING


class CharacterNetwork(nn.Module):
    """Characters' vectors, and what makes one vector a word of them.

    Parameters
    ----------
    opened : OpenedCharacters

    Attributes
    ----------
    n_cut_words : int
        Distinct words of the training fold that are longer than what is read.
    """

    takes_generator = True  # does not draw from torch's default generators

    def __init__(self, opened):
        super().__init__()
        self.n_cut_words = opened.n_cut_words
        dim = opened.char_dim
        self.characters = nn.Embedding(PADDING + 1, dim, padding_idx=PADDING)
        nn.init.uniform_(self.characters.weight, -((3 / dim) ** 0.5), (3 / dim) ** 0.5)
        with torch.no_grad():
            self.characters.weight[torch.from_numpy(opened.unseen)] = 0
            self.characters.weight[PADDING] = 0
        self.dropout = opened.dropout
        kind = {"cnn": Filters, "bilstm": LastStates}[opened.kind]
        self.reader = kind(dim, opened.size)

    # The number of groups differs from batch to batch, and their shapes do.
    @torch.compiler.disable
    def forward(self, batch):
        """Return the vectors of words.

        Parameters
        ----------
        batch : CharacterBatch

        Returns
        -------
        list of (values, known)
            One pair: values of shape (n_words, dim), zero where a word is not known.
        """
        groups = zip(batch.ids, batch.lengths, strict=True)
        vectors = [self._of_group(ids, lengths) for ids, lengths in groups]
        nothing = self.characters.weight.new_zeros(0, self.reader.dim)
        values = torch.cat([nothing, *vectors])[batch.places]
        return [(values * batch.known[:, None], batch.known)]

    def _of_group(self, ids, lengths):
        characters = dropout(self.characters(ids), self.dropout, self.training)
        return self.reader(characters, lengths).float()


class Filters(nn.Module):
    """Filters over neighbouring characters, and the maximum of each over the word.

    Parameters
    ----------
    char_dim : int
    filters : tuple of (int, int)
        Width and number.
    """

    def __init__(self, char_dim, filters):
        super().__init__()
        self.dim = sum(number for _, number in filters)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(char_dim, number, width) for width, number in filters
        )

    def forward(self, characters, lengths):
        """Return (n_words, dim)."""
        n_places = characters.shape[1]
        places = torch.arange(n_places, device=lengths.device)
        outside = (places >= lengths[:, None])[:, None]
        # A word's own end, and not the longest one's, is where its filters stop: each
        # place is the centre of one window, and padding is the centre of none.
        rows, found = characters.transpose(1, 2), []
        for convolution in self.convolutions:
            (width,) = convolution.kernel_size
            edges = ((width - 1) // 2, width // 2)
            values = convolution(nn.functional.pad(rows, edges)).float()
            found.append(values.masked_fill(outside, -torch.inf).amax(dim=2))
        return torch.cat(found, dim=1).relu()


class LastStates(nn.Module):
    """The last states of an LSTM that reads each word forwards, and of one backwards.

    Parameters
    ----------
    char_dim : int
    hidden_dim : int
        Size of one direction's state.
    """

    def __init__(self, char_dim, hidden_dim):
        super().__init__()
        self.dim = 2 * hidden_dim
        self.onwards = nn.LSTM(char_dim, hidden_dim, batch_first=True)
        self.backwards = nn.LSTM(char_dim, hidden_dim, batch_first=True)

    def forward(self, characters, lengths):
        """Return (n_words, dim)."""
        last = lengths[:, None] - 1
        places = torch.arange(characters.shape[1], device=lengths.device)
        # Both read the word first and padding behind it, which changes no state that
        # is taken.
        turned = (last - places).clamp(min=0)[:, :, None].expand_as(characters)
        rows = torch.arange(len(lengths), device=lengths.device)
        states = [
            layer(vectors)[0][rows, last[:, 0]]
            for layer, vectors in (
                (self.onwards, characters),
                (self.backwards, characters.gather(1, turned)),
            )
        ]
        return torch.cat(states, dim=1)
