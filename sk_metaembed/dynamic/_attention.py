"""The mixing mechanism: a weighted sum of blocks, at three grains."""

import torch
from torch import nn

from ._recurrent import MaskedLSTM


def gate_weights(scores, known, gate):
    """Turn scores into weights over the sources that know a word.

    Parameters
    ----------
    scores : tensor of shape (n_rows, n_sources)
    known : bool tensor of shape (n_rows, n_sources)
    gate : {"softmax", "sigmoid"}
        Softmax over the known sources, or each source by itself.

    Returns
    -------
    tensor of shape (n_rows, n_sources)
        0 where a source does not know the word; a row without any known source is 0.
    """
    scores = scores.float()
    if gate == "sigmoid":
        return torch.sigmoid(scores) * known
    scores = scores.masked_fill(~known, torch.finfo(scores.dtype).min)
    return torch.softmax(scores, dim=1) * known


class Mixer(nn.Module):
    """Project every source, weigh the projections, and sum them.

    Parameters
    ----------
    dims : list of int
        The sources' dimensions.
    projection_dim : int or None
        None leaves the vectors as they are; their dimensions must then agree.
    attention : {"task", "word", "context", "uniform"}
    gate : {"softmax", "sigmoid"}
    activation : {"relu", None}
        Applied to the sum.
    layer_norm : bool, default=False
        Bring each projected vector to mean 0 and variance 1 before it is weighed.
    """

    def __init__(
        self, dims, projection_dim, attention, gate, activation, layer_norm=False
    ):
        super().__init__()
        self.layer_norm = layer_norm
        self.attention = attention
        self.gate = gate
        self.activation = activation
        self.dim = projection_dim or dims[0]
        self.projections = nn.ModuleList(
            _projection(dim, self.dim) if projection_dim else nn.Identity()
            for dim in dims
        )
        if attention == "task":
            self.source_scores = nn.Parameter(torch.zeros(len(dims)))
            self.gamma = nn.Parameter(torch.ones(()))
        elif attention == "word":
            self.score = nn.Linear(self.dim, 1)
        elif attention == "context":
            self.recurrence = MaskedLSTM(self.dim, _CONTEXT_DIM)
            self.recurrence.apply(_orthogonal)
            self.score = nn.Linear(2 * _CONTEXT_DIM, 1)

    def forward(self, batch):
        """Return the mixed vectors of a batch's tokens, (n_tokens, dim)."""
        return self.mix(batch)[0]

    def mix(self, batch):
        """Return mixed vectors and weights a token.

        Returns
        -------
        mixed : tensor of shape (n_tokens, dim)
        weights : tensor of shape (n_tokens, n_sources)
        """
        if batch.shares_rows and self.attention != "context":
            index = batch.index[0]
            mixed, weights = self.mix_rows(*self.project(batch))
            return mixed[index], weights[index]
        projected, known = self.project(batch, per_token=True)
        return self.mix_rows(projected, known, batch.grid)

    def project(self, batch, per_token=False):
        """Return each source's projections, and where they are known.

        Returns
        -------
        projected : list of tensor of shape (n_rows, dim), one a source
        known : bool tensor of shape (n_rows, n_sources)
        """
        projected = [p(v) for p, v in zip(self.projections, batch.values, strict=True)]
        if self.layer_norm:
            projected = [_normalized(v) for v in projected]
        known = batch.known
        if per_token:
            projected = [v[i] for v, i in zip(projected, batch.index, strict=True)]
            known = [k[i] for k, i in zip(known, batch.index, strict=True)]
        return projected, torch.stack(known, dim=1)

    def mix_rows(self, projected, known, grid=None):
        """Return the weighted sum over sources, and the weights."""
        if self.attention == "uniform":
            weights = known.to(projected[0].dtype)
        else:
            scores = self.scores(projected, grid)
            weights = gate_weights(scores, known, self.gate).to(projected[0].dtype)
        mixed = sum(weights[:, i : i + 1] * v for i, v in enumerate(projected))
        if self.attention == "task":
            mixed = self.gamma * mixed
        return (torch.relu(mixed) if self.activation == "relu" else mixed), weights

    def penalty(self):
        """Return the squared norm of the scalar mix's scores, 0 where it has none.

        Equal weights have scores of 0: what makes this small makes weights equal.
        """
        return self.source_scores.square().sum() if self.attention == "task" else 0.0

    def task_weights(self):
        """Return the scalar mix: one weight a source, where all are known.

        Returns
        -------
        list of float
        """
        scores = self.source_scores.detach()[None]
        known = torch.ones_like(scores, dtype=torch.bool)
        return gate_weights(scores, known, self.gate)[0].tolist()

    def scores(self, projected, grid):
        """Return one score a row and source, (n_rows, n_sources)."""
        if self.attention == "task":
            return self.source_scores.expand(len(projected[0]), -1)
        if self.attention == "word":
            return torch.cat([self.score(v) for v in projected], dim=1)
        # Each source of each sequence is a stream of its own: the recurrence runs
        # over time and never from one source to another.
        states = self.recurrence(torch.stack(projected, dim=1), grid)
        return self.score(states).squeeze(2)


# The published size: large enough to pick a source, too small to carry content.
_CONTEXT_DIM = 2


def _projection(dim_in, dim_out):
    linear = nn.Linear(dim_in, dim_out)
    nn.init.xavier_uniform_(linear.weight)
    nn.init.zeros_(linear.bias)
    return linear


def _normalized(vectors):
    # Each row by itself and nothing learned: bilm-tf's and AllenNLP's formula, but that
    # they take mean and variance over the whole batch, so that a word's vector depends
    # on the sentences beside it. Theirs is the small number too.
    return nn.functional.layer_norm(vectors, vectors.shape[-1:], eps=1e-12)


def _orthogonal(module):
    if isinstance(module, nn.LSTM):
        for name, parameter in module.named_parameters():
            if name.startswith("weight"):
                nn.init.orthogonal_(parameter)
            else:
                nn.init.zeros_(parameter)
