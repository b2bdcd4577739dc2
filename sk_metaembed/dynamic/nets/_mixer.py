r"""The mixer of the Dynamic* estimators: from the vectors of sources to one per token.

With the standardized vectors :math:`v_i` of a token's sources, projections
:math:`p_i = P_i v_i + b_i` and weights :math:`w_i`, one for each of `n_heads` groups of
dimensions, the mixed vector is :math:`f(\sum_i w_i \odot p_i)`, or
:math:`f(Q [w_1 \odot p_1; ...; w_n \odot p_n] + c)` with ``combine="concat"``.
"""

from typing import NamedTuple

import torch
from torch import nn

from ..._training._products import Linear
from ..._training._random import generator_on
from .._word_features import N_FEATURES
from ._encoders import MaskedLSTM


def gate_weights(scores, known, gate):
    """Return the weights of the sources that know a word.

    Parameters
    ----------
    scores : tensor of shape (n_rows, n_sources, n_heads)
    known : bool tensor of shape (n_rows, n_sources)
    gate : {"softmax", "sigmoid"}
        Softmax over the known sources, or a sigmoid of each.

    Returns
    -------
    tensor of shape (n_rows, n_sources, n_heads)
        0 if a source does not know the word, also in rows without any known source.
    """
    scores, known = scores.float(), known[:, :, None]
    if gate == "sigmoid":
        return torch.sigmoid(scores) * known
    scores = scores.masked_fill(~known, torch.finfo(scores.dtype).min)
    return torch.softmax(scores, dim=1) * known


class Mixed(NamedTuple):
    """Output of the mixer for the tokens of a batch.

    Attributes
    ----------
    vectors : tensor of shape (n_tokens, dim)
    weights : tensor of shape (n_tokens, n_sources)
        The mean over the heads.
    sources : list of tensor of shape (n_rows, dim)
        The projection of each source.
    rows : list of int64 tensor of shape (n_tokens,)
        The row of each token in each of them.
    known : bool tensor of shape (n_tokens, n_sources)
    """

    vectors: torch.Tensor
    weights: torch.Tensor
    sources: list
    rows: list
    known: torch.Tensor


class Mixer(nn.Module):
    """Project all sources, weight the projections, and combine them.

    Parameters
    ----------
    dims : list of int
        Dimensions of the sources.
    projection_dim : int or None
        None for no projection; the dimensions must then be equal.
    attention : {"task", "word", "context", "uniform"}
    gate : {"softmax", "sigmoid"}
    activation : {"relu", None}
        Applied to the combined vectors.
    layer_norm : bool
        Normalize each projected vector to mean 0 and variance 1 before weighting.
    options : dict
        The fields of `MixerOptions`.
    """

    def __init__(
        self, dims, projection_dim, attention, gate, activation, layer_norm, options
    ):
        super().__init__()
        self.layer_norm, self.attention = layer_norm, attention
        self.gate, self.activation = gate, activation
        self.dim = projection_dim or dims[0]
        heads = options["n_heads"]
        self.n_heads = self.dim if heads == "dimensions" else heads
        self.source_dropout = options["source_dropout"]
        self.standards = None
        if options["standardize"]:
            self.standards = nn.ModuleList(Standardization(dim) for dim in dims)
        fan_in = sum(dims) if options["joint_init"] else None
        self.projections = nn.ModuleList(
            _projection(dim, self.dim, fan_in) if projection_dim else nn.Identity()
            for dim in dims
        )
        if attention == "task":
            self.source_scores = nn.Parameter(torch.zeros(len(dims), self.n_heads))
            self.gamma = nn.Parameter(torch.ones(()))
        elif attention == "word":
            self.score = nn.Linear(self.dim, self.n_heads)
        elif attention == "context":
            self.recurrence = MaskedLSTM(self.dim, _CONTEXT_DIM)
            self.recurrence.apply(_orthogonal)
            self.score = nn.Linear(2 * _CONTEXT_DIM, self.n_heads)
        self.feature_scores = None
        if options["word_features"] and attention in ("word", "context"):
            self.feature_scores = WordFeatureScores(len(dims), self.n_heads)
        self.joined = None
        if options["combine"] == "concat":
            self.joined = _projection(len(dims) * self.dim, self.dim)

    def forward(self, batch):
        """Return the mixed vectors of a batch's tokens, (n_tokens, dim)."""
        return self.mix(batch).vectors

    def mix(self, batch):
        """Return the `Mixed` tokens of a batch."""
        sources, known, index = self.project(batch), batch.known, batch.index
        drops = self.training and self.source_dropout > 0
        features, own = batch.features, index[0]
        by_row = batch.shares_rows and self.attention != "context" and not drops
        if by_row and (features is None or own is batch.features_index):
            rows = torch.stack(known, dim=1)
            mixed, weights = self.mix_rows(sources, rows, features)
            return Mixed(mixed[own], weights[own], sources, index, rows[own])
        tokens = [v[i] for v, i in zip(sources, index, strict=True)]
        known = torch.stack([k[i] for k, i in zip(known, index, strict=True)], dim=1)
        if features is not None:
            features = features[batch.features_index]
        heard, scale = known, None
        if drops:
            heard, scale = self._left_out(known, batch.grid)
        mixed, weights = self.mix_rows(tokens, heard, features, batch.grid, scale)
        return Mixed(mixed, weights, sources, index, known)

    def project(self, batch):
        """Return the projections of each source, a list of (n_rows, dim)."""
        values = batch.values
        if self.standards is not None:
            triples = zip(self.standards, values, batch.known, strict=True)
            values = [standard(v, known) for standard, v, known in triples]
        projected = [p(v) for p, v in zip(self.projections, values, strict=True)]
        return [_normalized(v) for v in projected] if self.layer_norm else projected

    def mix_rows(self, sources, known, features=None, grid=None, scale=None):
        """Return the combined vectors of rows, and the weights (n_rows, n_sources)."""
        dtype, n = sources[0].dtype, len(sources[0])
        if self.attention == "uniform":
            weights = known[:, :, None].to(dtype)
        else:
            scores = self.scores(sources, grid)
            if self.feature_scores is not None and features is not None:
                scores = scores + self.feature_scores(features, known)
            weights = gate_weights(scores, known, self.gate).to(dtype)
        independent = self.gate == "sigmoid" or self.attention == "uniform"
        if scale is not None and independent:
            weights = weights * scale[:, None, None]
        groups = n, weights.shape[2], self.dim // weights.shape[2]
        parts = [
            (v.view(groups) * weights[:, i, :, None]).view(n, self.dim)
            for i, v in enumerate(sources)
        ]
        if self.joined is not None:  # its bias must not give unknown words a vector
            mixed = self.joined(torch.cat(parts, 1)) * known.any(dim=1, keepdim=True)
        else:
            mixed = sum(parts)
        if self.attention == "task":
            mixed = self.gamma * mixed
        mixed = torch.relu(mixed) if self.activation == "relu" else mixed
        # Taking the only head is free, the mean of it is not.
        mean = weights[:, :, 0] if weights.shape[2] == 1 else weights.mean(dim=2)
        return mixed, mean

    def scores(self, sources, grid):
        """Return the scores of each source, (n_rows, n_sources, n_heads)."""
        if self.attention == "task":
            return self.source_scores.expand(len(sources[0]), -1, -1)
        if self.attention == "word":
            return torch.stack([self.score(v) for v in sources], dim=1)
        # Each source of each sequence is a stream of its own: the recurrence runs
        # over time and never from one source to another.
        return self.score(self.recurrence(torch.stack(sources, dim=1), grid))

    def set_standards(self, dataset):
        """Learn mean and standard deviation of the blocks from a training set."""
        if self.standards is None:
            return
        statistics = dataset.data.statistics(dataset.rows)
        # Trainable sources come last; their vectors change and stay as they are.
        for standard, (mean, std) in zip(self.standards, statistics, strict=False):
            standard.set(mean, std)

    def _left_out(self, known, grid):
        """Return `known` without the sources left out, and the scale of the others."""
        shape = len(grid.lengths), known.shape[1]
        if torch.compiler.is_compiling():
            draws = torch.rand(shape, device=known.device)
        else:
            generator = generator_on(known.device)
            draws = torch.rand(shape, device=known.device, generator=generator)
        # The largest draw of a sequence is kept in any case.
        kept = (draws >= self.source_dropout) | (draws == draws.amax(1, keepdim=True))
        scale = shape[1] / kept.sum(dim=1)
        heard = known & kept[grid.segments]
        # A word that only sources left out know keeps them.
        heard = torch.where(heard.any(dim=1, keepdim=True), heard, known)
        return heard, scale[grid.segments]

    def penalty(self):
        """Return the squared norm of the scalar mix's scores, 0 for other attentions.

        Scores of 0 are equal weights.
        """
        return self.source_scores.square().sum() if self.attention == "task" else 0.0

    def scalar_mix(self, *, caller):
        """Return the weights of the sources and the factor, list of float and float."""
        if self.attention != "task":
            raise AttributeError(
                f"{caller} has layer_weights_ and gamma_ only with attention='task'; "
                f"it was fitted with attention={self.attention!r}. "
                "attention_weights(X) returns the weights for any attention."
            )
        scores = self.source_scores.detach()[None]
        known = torch.ones(scores.shape[:2], dtype=torch.bool, device=scores.device)
        weights = gate_weights(scores, known, self.gate)[0].mean(dim=1)
        return weights.tolist(), float(self.gamma.detach())


class Standardization(nn.Module):
    """Subtract the mean of each dimension and divide by its standard deviation.

    Parameters
    ----------
    dim : int
    """

    def __init__(self, dim):
        super().__init__()
        self.register_buffer("mean", torch.zeros(dim))
        self.register_buffer("factor", torch.ones(dim))

    def set(self, mean, std):
        """Set both from arrays; dimensions that do not vary are only centered."""
        constant = std <= 1e-6 * max(float(std.max(initial=0.0)), 1e-30)
        std = std.copy()
        std[constant] = 1.0
        self.mean.copy_(torch.from_numpy(mean))
        self.factor.copy_(torch.from_numpy(1 / std))

    def forward(self, vectors, known):
        """Return standardized rows, zeros where the source does not know the word."""
        return ((vectors - self.mean) * self.factor).masked_fill(~known[:, None], 0)


class WordFeatureScores(nn.Module):
    """Scores of the sources from features of the word, linear and 0 at first.

    Parameters
    ----------
    n_sources, n_heads : int
    """

    def __init__(self, n_sources, n_heads):
        super().__init__()
        self.shape = n_sources, n_heads
        n_inputs = N_FEATURES + n_sources
        self.weight = nn.Parameter(torch.zeros(n_inputs, n_sources * n_heads))

    def forward(self, features, known):
        """Return (n_rows, n_sources, n_heads)."""
        inputs = torch.cat([features, known.to(features.dtype)], dim=1)
        return (inputs @ self.weight).view(-1, *self.shape)


# The published size: large enough to pick a source, too small to carry content.
_CONTEXT_DIM = 2


def _projection(dim_in, dim_out, fan_in=None):
    linear = Linear(dim_in, dim_out)
    if fan_in is None:
        nn.init.xavier_uniform_(linear.weight)
    else:
        bound = (6 / (fan_in + dim_out)) ** 0.5
        nn.init.uniform_(linear.weight, -bound, bound)
    nn.init.zeros_(linear.bias)
    return linear


def _normalized(vectors):
    # Each row by itself and nothing learned: bilm-tf's and AllenNLP's formula, but that
    # they take mean and variance over the whole batch, so that a word's vector depends
    # on the other sentences of its batch. The value of eps is theirs too.
    return nn.functional.layer_norm(vectors, vectors.shape[-1:], eps=1e-12)


def _orthogonal(module):
    if isinstance(module, nn.LSTM):
        for name, parameter in module.named_parameters():
            if name.startswith("weight"):
                nn.init.orthogonal_(parameter)
            else:
                nn.init.zeros_(parameter)
