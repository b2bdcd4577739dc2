r"""Networks that turn the vectors of sources into outputs, and their losses.

The mixer combines the vectors of each token, the encoder the tokens of each sequence,
and the head maps the result to outputs.

With the standardized vectors :math:`v_i` of a token's sources, projections
:math:`p_i = P_i v_i + b_i` and weights :math:`w_i`, vectors or scalars, the mixed
vector is :math:`f(\sum_i w_i \odot p_i)`.
"""

import torch
from torch import nn
from torch.nn.functional import embedding

from .._training._random import Dropout
from ._encoders import MaskedLSTM, make_encoder

_NO_LABEL = -100
# The published size: large enough to pick a source, too small to carry content.
_CONTEXT_DIM = 2
# Convolutions read the types of a batch if each occurs this often on average.
TOKENS_PER_TYPE = 4


class Mixer(nn.Module):
    """Project all sources, weight the projections, and combine them.

    `dims` are the dimensions of the sources. The other parameters are those of the
    estimators, which `BaseDynamicMeta` describes.
    """

    def __init__(
        self, dims, projection_dim, attention, gate, activation, layer_norm, mixer
    ):
        super().__init__()
        self.layer_norm, self.attention = layer_norm, attention
        self.gate, self.activation = gate, activation
        self.dim = projection_dim or dims[0]
        n_weights = self.dim if mixer == "standardized" else 1
        self.standards = None
        if mixer == "standardized":
            self.standards = nn.ModuleList(Standardization(dim) for dim in dims)
        self.projections = nn.ModuleList()
        for dim in dims:
            projection = nn.Identity()
            if projection_dim:
                projection = nn.Linear(dim, self.dim)
                nn.init.xavier_uniform_(projection.weight)
                nn.init.zeros_(projection.bias)
            self.projections.append(projection)
        if attention == "task":
            self.source_scores = nn.Parameter(torch.zeros(len(dims), 1))
            self.gamma = nn.Parameter(torch.ones(()))
        elif attention == "word":
            self.score = nn.Linear(self.dim, n_weights)
        elif attention == "context":
            self.recurrence = MaskedLSTM(self.dim, _CONTEXT_DIM)
            self.recurrence.apply(_orthogonal)
            self.score = nn.Linear(2 * _CONTEXT_DIM, n_weights)

    def forward(self, batch):
        """Return the mixed vectors of a batch's tokens, and their weights.

        Vectors have shape (n_tokens, dim). Weights have shape (n_tokens, n_sources);
        they are means over the dimensions. In training they are None.
        """
        mixed, weights, row_of_token = self.mix_rows(batch)
        if row_of_token is None:
            return mixed, weights
        weights = None if weights is None else weights[row_of_token]
        return embedding(row_of_token, mixed), weights

    def mix_rows(self, batch):
        """Return mixed rows, their weights, and the row of each token or None.

        Rows are types, or combinations of types, if all sources have vectors of types
        and weights do not depend on the context. Otherwise rows are tokens.
        """
        sources, known, indexes = batch.values, batch.known, batch.index
        if self.standards is not None:
            triples = zip(self.standards, sources, known, strict=True)
            sources = [standard(v, k) for standard, v, k in triples]
        sources = [p(v) for p, v in zip(self.projections, sources, strict=True)]
        if self.layer_norm:
            sources = [_normalized(vectors) for vectors in sources]
        reads_context, row_of_token = self.attention == "context", batch.joint
        if row_of_token is not None and reads_context:
            indexes, row_of_token = [own[row_of_token] for own in indexes], None
        if all(own is indexes[0] for own in indexes) and not reads_context:
            row_of_token = indexes[0]
        else:
            sources = [embedding(i, v) for v, i in zip(sources, indexes, strict=True)]
            known = [k[i] for k, i in zip(known, indexes, strict=True)]
        known = torch.stack(known, dim=1)
        mixed, weights = self.weighted_sums(sources, known, batch.grid)
        mixed = torch.relu(mixed) if self.activation == "relu" else mixed
        return mixed, weights, row_of_token

    def weighted_sums(self, sources, known, grid):
        """Return the weighted sums of rows, and the weights (n_rows, n_sources).

        In training, when nothing reads them, the weights are None.
        """
        dtype = sources[0].dtype
        if self.attention == "word" and self.gate == "softmax":
            return self._mix_differences(sources, known)
        if self.attention == "uniform":
            weights = known[:, :, None].to(dtype)
        else:
            weights = gate_weights(self.scores(sources, grid), known, self.gate)
            weights = weights.to(dtype)
        first, *others = weights.unbind(1)
        mixed = sources[0] * first
        for vectors, own in zip(sources[1:], others, strict=True):
            mixed = torch.addcmul(mixed, vectors, own)
        if self.attention == "task":
            mixed = self.gamma * mixed
        return mixed, None if self.training else weights.mean(dim=2)

    def _mix_differences(self, sources, known):
        """Return the same as `weighted_sums`, by differences to the first source.

        A softmax does not change if the score of the first source is subtracted from
        all scores. Scores are linear, so the remaining ones are scores of differences,
        and neither a score nor a weight of the first source has to be computed.
        """
        first, *others = sources
        differences = [vectors - first for vectors in others]
        scores = [nn.functional.linear(d, self.score.weight) for d in differences]
        weights = _softmax_without_first(scores, known)
        mixed = first
        for difference, weight in zip(differences, weights, strict=True):
            mixed = torch.addcmul(mixed, difference, weight.to(first.dtype))
        mixed = mixed * known.any(dim=1).to(mixed.dtype)[:, None]
        if self.training:
            return mixed, None
        means = [weight.mean(dim=1) for weight in weights]
        own = 1 - sum(means, torch.zeros(len(known), device=known.device))
        return mixed, torch.stack([own, *means], dim=1).clamp(min=0) * known

    def scores(self, sources, grid):
        """Return the scores of each source, (n_rows, n_sources, n_weights)."""
        if self.attention == "task":
            return self.source_scores.expand(len(sources[0]), -1, -1)
        if self.attention == "word":
            return torch.stack([self.score(v) for v in sources], dim=1)
        # Each source of each sequence is a stream of its own: the recurrence runs
        # over time and never from one source to another.
        return self.score(self.recurrence(torch.stack(sources, dim=1), grid))

    def set_standards(self, dataset):
        """Learn the standardization of the blocks from a training set."""
        if self.standards is None:
            return
        statistics = dataset.data.statistics(dataset.rows)
        # Trainable sources come last and are not standardized, because their vectors
        # change in training; `strict=False` skips them.
        for standard, (mean, factor) in zip(self.standards, statistics, strict=False):
            standard.mean.copy_(torch.from_numpy(mean))
            standard.factor.copy_(torch.from_numpy(factor))

    def penalty(self):
        """Return the squared norm of the scalar mix's scores, 0 for other attentions.

        Scores of 0 give equal weights.
        """
        return self.source_scores.square().sum() if self.attention == "task" else 0.0

    def scalar_mix(self):
        """Return the weights of the sources and the factor, list of float and float."""
        if self.attention != "task":
            raise AttributeError(
                "layer_weights_ and gamma_ exist only with attention='task'; this net "
                f"has attention={self.attention!r}. attention_weights(X) returns the "
                "weights for any attention."
            )
        scores = self.source_scores.detach()[None]
        known = torch.ones(scores.shape[:2], dtype=torch.bool, device=scores.device)
        weights = gate_weights(scores, known, self.gate)[0].mean(dim=1)
        return weights.tolist(), float(self.gamma.detach())


class Standardization(nn.Module):
    """Subtract the mean of each dimension and divide by its standard deviation."""

    def __init__(self, dim):
        super().__init__()
        self.register_buffer("mean", torch.zeros(dim))
        self.register_buffer("factor", torch.ones(dim))

    def forward(self, vectors, known):
        """Return standardized rows, zeros where the source does not know the word."""
        # In place: this is most of the memory that a step on static vectors writes. A
        # product takes half of the time of `masked_fill_`.
        centered = (vectors - self.mean).mul_(self.factor)
        return centered.mul_(known.to(centered.dtype)[:, None])


def gate_weights(scores, known, gate):
    """Return the weights of the sources, like scores (n_rows, n_sources, n_weights).

    They are 0 if a source does not know the word; `known` is (n_rows, n_sources).
    """
    scores, known = scores.float(), known[:, :, None]
    if gate == "sigmoid":
        return torch.sigmoid(scores) * known
    scores = scores.masked_fill(~known, torch.finfo(scores.dtype).min)
    return torch.softmax(scores, dim=1) * known


def _softmax_without_first(scores, known):
    """Return the weights of all sources but the first, whose scores are 0.

    Scores and weights are lists of (n_rows, n_weights), `known` is (n_rows, n_sources).
    Weights are 0 if a source does not know the word, and any numbers in rows without
    known source.
    """
    if not scores:
        return []
    absent = ~known[:, :, None] * (torch.finfo(torch.float32).min / 4)
    if len(scores) == 1:  # a softmax of two takes three times as long
        return [torch.sigmoid(scores[0].float() + (absent[:, 1] - absent[:, 0]))]
    scores = torch.stack([torch.zeros_like(scores[0]), *scores], dim=1)
    return torch.softmax(scores.float() + absent, dim=1).unbind(1)[1:]


def _normalized(vectors):
    # Normalizes each row, without learned parameters. bilm-tf and AllenNLP normalize
    # over the batch, so there a vector depends on the other sentences. eps has
    # their value.
    return nn.functional.layer_norm(vectors, vectors.shape[-1:], eps=1e-12)


def _orthogonal(module):
    if isinstance(module, nn.LSTM):
        for name, parameter in module.named_parameters():
            if name.startswith("weight"):
                nn.init.orthogonal_(parameter)
            else:
                nn.init.zeros_(parameter)


class MixingNet(nn.Module):
    """Networks of trainable sources, the mixer of all sources, and dropout.

    The dimensions of the trainable sources, `PreparedSources`, are the last of `dims`.
    Further parameters are those of `Mixer`.
    """

    def __init__(self, dims, *, embedding_dropout, sources, **mixer):
        super().__init__()
        self.mixer = Mixer(dims, **mixer)
        self.dropout = Dropout(embedding_dropout)
        self.trained = nn.ModuleList(source.network() for source in sources.prepared)

    def mix(self, batch):
        """Return the mixed vectors of a batch's tokens, and their weights."""
        return self.mixer(self.completed(batch))

    def completed(self, batch):
        """Return the batch with the vectors of trainable sources."""
        if not batch.inputs:
            return batch
        pairs = zip(self.trained, batch.inputs, strict=True)
        outputs = [network(inputs) for network, inputs in pairs]
        return batch.completed([vectors for each in outputs for vectors in each])


class DynamicMetaNet(MixingNet):
    """Mix the sources, encode the sequence, and map it to outputs.

    With `pairs`, batches hold first sides and then second sides, whose vectors u and v
    are the input [u; v; |u - v|; u * v] of the head. Further parameters are those of
    `MixingNet`.
    """

    def __init__(
        self,
        dims,
        n_outputs,
        *,
        encoder,
        encoder_dims,
        conv_widths,
        hidden_dims,
        encoder_dropout,
        head_dropout,
        pairs=False,
        **mixing,
    ):
        super().__init__(dims, **mixing)
        self.pairs = pairs
        self.encoder = make_encoder(
            encoder, self.mixer.dim, encoder_dims, conv_widths, encoder_dropout
        )
        dim = self.encoder.dim * (4 if pairs else 1)
        # Convolutions learn features of single rows; pools and the published network
        # have no dropout there.
        self.features_dropout = Dropout(head_dropout if encoder == "conv" else 0.0)
        self.head = make_head(dim, hidden_dims, n_outputs, head_dropout)

    def encode(self, batch):
        """Return the sequences' vectors, (n_sequences, encoder.dim)."""
        rows, _, row_of_token = self.mixer.mix_rows(self.completed(batch))
        if row_of_token is None:
            return self.encoder(self.dropout(rows), batch.grid)
        n_tokens = len(row_of_token)
        if self.encoder.reads_types and TOKENS_PER_TYPE * len(rows) <= n_tokens:
            return self.encoder(self.dropout(rows), batch.grid, row_of_token)
        tokens = embedding(row_of_token, rows)
        return self.encoder(self.dropout(tokens), batch.grid)

    def forward(self, batch):
        """Return the outputs, float32 (n_rows, n_outputs)."""
        vectors = self.encode(batch)
        vectors = joined(vectors) if self.pairs else vectors
        return self.head(self.features_dropout(vectors)).float()


def joined(vectors):
    """Return [u; v; |u - v|; u * v] of each pair, from all u followed by all v."""
    u, v = vectors.chunk(2)
    return torch.cat([u, v, (u - v).abs(), u * v], dim=1)


def make_head(dim_in, hidden_dims, n_outputs, dropout):
    """Return the layers from vectors to outputs."""
    layers, dim = [], dim_in
    for hidden in hidden_dims:
        layers += [nn.Linear(dim, hidden), nn.ReLU(), Dropout(dropout)]
        dim = hidden
    return nn.Sequential(*layers, nn.Linear(dim, n_outputs))


class WeightedLoss(nn.Module):
    """The mean of the weighted losses of a batch's sequences.

    Weights have the mean 1 over the data set, and not over each batch: batches have
    sequences of similar length, and weights that depend on the length would cancel.
    Only the loss of training has `options`: `label_smoothing`, the share of the target
    that is spread evenly.
    """

    def __init__(self, kind, **options):
        super().__init__()
        self._loss, self._options = _LOSSES[kind], options

    def forward(self, outputs, target, weights):
        """Return the scalar loss."""
        options = self._options if self.training else {}
        losses = self._loss(outputs, target, **options)
        return (losses * weights).mean()


def _cross_entropy(outputs, labels, label_smoothing=0.0):
    # A held-out label without an output has no finite loss, so its loss counts as 0.
    labels = labels.masked_fill(labels >= outputs.shape[1], _NO_LABEL)
    return nn.functional.cross_entropy(
        outputs,
        labels,
        ignore_index=_NO_LABEL,
        reduction="none",
        label_smoothing=label_smoothing,
    )


def _binary_cross_entropy(outputs, indicators, label_smoothing=0.0):
    indicators = (1 - label_smoothing) * indicators + label_smoothing / 2
    losses = nn.functional.binary_cross_entropy_with_logits(
        outputs, indicators, reduction="none"
    )
    return losses.mean(dim=1)


def _squared_error(outputs, numbers):
    return torch.square(outputs - numbers).mean(dim=1)


_LOSSES = {
    "cross-entropy": _cross_entropy,
    "binary-cross-entropy": _binary_cross_entropy,
    "squared-error": _squared_error,
}


def count_right(outputs, batch, labels):
    """Return the total weights of correct rows and of all rows, on the device."""
    # Fetching the sums of each batch would wait for a GPU.
    right = (outputs.argmax(dim=1) == labels) * batch.weights
    return torch.stack([right.sum(), batch.weights.sum()])


def accuracy(counts):
    """Return the weighted accuracy, from `count_right` of each batch."""
    right, total = torch.stack(counts).cpu().double().sum(dim=0).tolist()
    return right / max(total, 1e-12)
