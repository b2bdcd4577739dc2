"""The bidirectional language model as a trainable module, and its softmax."""

import math

import torch
from torch import nn
from torch.nn import functional

from ...._training._random import dropout
from .._model_files import DIRECTIONS, cell_key, weight_shapes
from .._network import encode_words


class TrainableBiLM(nn.Module):
    """Token encoder and LSTMs of both directions, over batches of rows and steps.

    Parameters
    ----------
    options : ElmoOptions
    dropout : float
        Dropout rate of the input of each LSTM layer and of the output of the last.

    Attributes
    ----------
    weights : ParameterDict
        By their names, and in their layout, in weight files; random at first.
    """

    def __init__(self, options, dropout):
        super().__init__()
        self.options, self.dropout = options, dropout
        self.weights = nn.ParameterDict(initial_weights(options))

    def forward(self, batch, states):
        """Return the output of the last layer, and the states after the batch.

        Parameters
        ----------
        batch : Batch
        states : list of (hidden, cell), or None
            Per direction and layer, from the batch before; None for zeros.

        Returns
        -------
        outs : tensor of shape (2, n_steps, n_rows, projection_dim)
        states : list of (hidden, cell)
        """
        words = batch.characters, batch.lengths
        table = encode_words(self.weights, self.options, *words)
        keep = (~batch.is_first).to(table.dtype)[..., None]
        outs, after = [], []
        n_layers = self.options.n_layers
        for d in DIRECTIONS:
            x = functional.embedding(batch.inputs[d], table)
            for k in range(n_layers):
                x = dropout(x, self.dropout, self.training)
                before = None if states is None else states[d * n_layers + k]
                out, state = self._layer(d, k, x, before, keep)
                skip = self.options.skip_connections and k > 0
                x = out + x if skip else out
                after.append(state)
            outs.append(dropout(x, self.dropout, self.training))
        return torch.stack(outs), after

    def _layer(self, direction, layer, x, state, keep):
        """Return the hidden states, (n_steps, n_rows, dim), and the last state.

        The state before a step is multiplied by `keep`, which is 0 where a row starts.
        """
        o, n_rows = self.options, x.shape[1]
        if state is None:
            state = [x.new_zeros(n_rows, dim) for dim in (o.projection_dim, o.cell_dim)]
        (hidden, cell), outs = state, []
        weight, bias, projection = (
            self.weights[cell_key(direction, layer, part)]
            for part in ("W_0", "B", "W_P_0")
        )
        input_weight, recurrent = weight.split(o.projection_dim)
        for gates, kept in zip(x @ input_weight + bias, keep, strict=True):
            gates = gates + (hidden * kept) @ recurrent
            i, j, f, out = gates.chunk(4, dim=-1)
            # The forget gate has a bias of 1.
            cell = torch.sigmoid(f + 1) * cell * kept + torch.sigmoid(i) * torch.tanh(j)
            cell = _clip(cell, o.cell_clip)
            hidden = (torch.sigmoid(out) * torch.tanh(cell)) @ projection
            hidden = _clip(hidden, o.proj_clip)
            outs.append(hidden)
        return torch.stack(outs), (hidden.detach(), cell.detach())


def _clip(values, most):
    return values if most is None else values.clamp(-most, most)


def initial_weights(options):
    """Return random weights by name, drawn from torch's default generator.

    Matrices preserve the variance of their input; highway layers pass most of it on at
    first.
    """
    weights = {}
    for name, shape in weight_shapes(options).items():
        if name == "char_embed":
            weights[name] = torch.empty(shape).uniform_(-1, 1)
        elif len(shape) == 1:
            weights[name] = torch.full(shape, -2.0 if "b_carry" in name else 0.0)
        else:
            fan_in = math.prod(shape[:-1])
            gain = math.sqrt(2.0) if name.startswith("CNN/W") else 1.0
            weights[name] = torch.randn(shape) * (gain / math.sqrt(fan_in))
    return weights


_MAX_FULL = 4000  # vocabulary size up to which clusters are no faster
_CUTOFFS = (2000, 10_000, 50_000, 200_000)
_ROWS_PER_BATCH = 1024  # rows with scores of all words in memory, outside training


class FullSoftmax(nn.Module):
    """Cross-entropy over all words, with weights of shape (n_words, dim)."""

    def __init__(self, dim, n_words):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_words, dim) / math.sqrt(dim))
        self.bias = nn.Parameter(torch.zeros(n_words))

    def forward(self, vectors, targets):
        """Return ``-log p(target)`` per row, (n_rows, dim) x (n_rows,) -> (n_rows,)."""
        if torch.is_grad_enabled():
            return self._losses(vectors, targets)
        batches = vectors.split(_ROWS_PER_BATCH), targets.split(_ROWS_PER_BATCH)
        return torch.cat([self._losses(*pair) for pair in zip(*batches, strict=True)])

    def _losses(self, vectors, targets):
        scores = functional.linear(vectors, self.weight, self.bias).float()
        return functional.cross_entropy(scores, targets, reduction="none")


class AdaptiveSoftmax(nn.Module):
    """Full scores of frequent words; rare words in clusters of fewer dimensions.

    Words must be numbered by frequency.
    """

    def __init__(self, dim, n_words):
        super().__init__()
        cutoffs = [c for c in _CUTOFFS if c < n_words] or [max(1, n_words // 2)]
        # Each cluster halves the dimension, so the last keeps at least one.
        cutoffs = cutoffs[: max(1, dim.bit_length() - 1)]
        self.clusters = nn.AdaptiveLogSoftmaxWithLoss(
            dim, n_words, cutoffs, div_value=min(2.0, dim), head_bias=True
        )

    def forward(self, vectors, targets):
        """Return ``-log p(target)`` per row."""
        # AdaptiveLogSoftmaxWithLoss cannot assign losses of lower precision.
        with torch.autocast(vectors.device.type, enabled=False):
            return -self.clusters(vectors.float(), targets).output


def make_softmax(kind, dim, n_words):
    """Return the softmax module of a kind: "auto", "full" or "adaptive"."""
    if kind == "auto":
        kind = "full" if n_words <= _MAX_FULL else "adaptive"
    return (FullSoftmax if kind == "full" else AdaptiveSoftmax)(dim, n_words)
