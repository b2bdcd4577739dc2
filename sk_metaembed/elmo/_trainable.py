"""TrainableBiLM: the bidirectional language model as a module that learns."""

import math

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from ..sequences._own_random import dropout
from ._recurrence import Recurrence
from ._weights import DIRECTIONS, cell_key, weight_shapes

_AT_ONCE = 256  # words, of like length, whose characters are convolved together


class TrainableBiLM(nn.Module):
    """Token encoder and LSTMs of both directions, over a grid of rows and steps.

    Parameters
    ----------
    options : ElmoOptions
    dropout : float
        Of what goes into each LSTM layer, and of what comes out of the last.
    weights : dict of str to ndarray, default=None
        As `read_weights` gives them; None for random ones.

    Attributes
    ----------
    weights : ParameterDict
        By the names that the arrays have in a file, in the files' layout.
    """

    def __init__(self, options, dropout, weights=None):
        super().__init__()
        self.options, self.dropout = options, dropout
        weights = initial_weights(options) if weights is None else weights
        self.weights = nn.ParameterDict(
            {name: torch.as_tensor(np.asarray(w)) for name, w in weights.items()}
        )

    def forward(self, batch, states, dtype):
        """Return what the last layer gives at each place of the grid.

        Parameters
        ----------
        batch : Batch
        states : list of (hidden, cell), or None
            Of each direction and layer, what the rows go on from; None for zeros.
        dtype : torch dtype
            Of the products.

        Returns
        -------
        outs : tensor of shape (2, n_steps, n_rows, projection_dim)
        states : list of (hidden, cell)
        """
        table = self.words(batch.characters, batch.lengths)
        keep = [
            (~fresh).to(table.dtype)[:, None] if some else None
            for fresh, some in zip(batch.fresh, batch.some_fresh, strict=True)
        ]
        outs, after = [], []
        n_layers = self.options.n_layers
        for d in DIRECTIONS:
            x = functional.embedding(batch.inputs[d], table)
            for k in range(n_layers):
                x = dropout(x, self.dropout, self.training)
                before = None if states is None else states[d * n_layers + k]
                out, *state = self._layer(d, k, x, before, keep, dtype)
                skip = self.options.skip_connections and k > 0
                x = out + x if skip else out
                after.append(tuple(state))
            outs.append(dropout(x, self.dropout, self.training))
        return torch.stack(outs), after

    def _layer(self, direction, layer, x, state, keep, dtype):
        """Return a layer's hidden states, and what its rows end with."""
        o, n_rows = self.options, x.shape[1]
        if state is None:
            state = (
                x.new_zeros(n_rows, o.projection_dim),
                x.new_zeros(n_rows, o.cell_dim),
            )
        w, b, p = (
            self.weights[cell_key(direction, layer, part)]
            for part in ("W_0", "B", "W_P_0")
        )
        w, b = _reordered(w).to(dtype), _reordered(b)
        forget = torch.zeros_like(b)
        forget[2 * o.cell_dim : 3 * o.cell_dim] = 1.0
        of_input, recurrent = w.split(o.projection_dim)
        gates = (x.to(dtype) @ of_input).to(x.dtype) + (b + forget)
        with torch.autocast(x.device.type, enabled=False):
            return Recurrence.apply(
                gates, recurrent, p.to(dtype), *state, keep, (o.cell_clip, o.proj_clip)
            )

    def words(self, characters, lengths):
        """Return the vectors of words.

        Parameters
        ----------
        characters : int64 tensor of shape (n_words, max_characters)
        lengths : ndarray of int64, shape (n_words,)
            Characters before padding.

        Returns
        -------
        tensor of shape (n_words, projection_dim)
        """
        order = np.argsort(lengths, kind="stable")
        back = torch.from_numpy(np.argsort(order)).to(characters.device)
        found = []
        for start in range(0, len(order), _AT_ONCE):
            some = order[start : start + _AT_ONCE]
            ids = characters[torch.from_numpy(some).to(characters.device)]
            found.append(self._convolved(ids, int(lengths[some].max())))
        vectors = torch.cat(found)
        for k in range(self.options.n_highway):
            of = f"CNN_high_{k}/"
            carry = vectors @ self.weights[of + "W_carry"]
            carry = torch.sigmoid(carry + self.weights[of + "b_carry"])
            new = vectors @ self.weights[of + "W_transform"]
            new = torch.relu(new + self.weights[of + "b_transform"])
            vectors = torch.lerp(vectors.to(carry.dtype), new, carry)
        if "CNN_proj/W_proj" in self.weights:
            vectors = vectors @ self.weights["CNN_proj/W_proj"]
            vectors = vectors + self.weights["CNN_proj/b_proj"]
        return vectors.float()[back]

    def _convolved(self, ids, longest):
        """Return the maxima over positions, activated, (n_words, n_filters)."""
        widest = max(width for width, _ in self.options.filters)
        # Further windows see nothing but padding, as the last of these does.
        ids = ids[:, : longest + widest]
        seen = functional.embedding(ids, self.weights["char_embed"]).mT
        found = []
        for i in range(len(self.options.filters)):
            kernel = self.weights[f"CNN/W_cnn_{i}"][0].permute(2, 1, 0)
            maxima = functional.conv1d(seen, kernel).amax(dim=2)
            found.append(maxima + self.weights[f"CNN/b_cnn_{i}"])
        activation = torch.relu if self.options.activation == "relu" else torch.tanh
        return activation(torch.cat(found, dim=1))


def _reordered(tensor):
    """Return gates i, j, f, o as j, i, f, o: three that act through the cell first.

    >>> import torch
    >>> _reordered(torch.arange(8)).tolist()
    [2, 3, 0, 1, 4, 5, 6, 7]
    """
    i, j, f, o = tensor.chunk(4, dim=-1)
    return torch.cat([j, i, f, o], dim=-1)


def initial_weights(options):
    """Return random weights, drawn from torch's default generator.

    Matrices keep the variance of what goes through them; highways carry most of it at
    first.

    Parameters
    ----------
    options : ElmoOptions

    Returns
    -------
    dict of str to ndarray
    """
    found = {}
    for name, shape in weight_shapes(options).items():
        if name == "char_embed":
            found[name] = torch.empty(shape).uniform_(-1, 1)
        elif len(shape) == 1:
            found[name] = torch.full(shape, -2.0 if "b_carry" in name else 0.0)
        else:
            fan_in = math.prod(shape[:-1])
            gain = math.sqrt(2.0) if name.startswith("CNN/W") else 1.0
            found[name] = torch.randn(shape) * (gain / math.sqrt(fan_in))
    return {name: tensor.numpy() for name, tensor in found.items()}
