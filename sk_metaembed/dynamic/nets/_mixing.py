"""The network of the Dynamic* estimators: mixer, encoder and head, with its losses."""

import torch
from skorch.callbacks import Callback
from torch import nn

from ..training._predict import PrecomputedTypes
from ._encoders import ByteDropout, MaskedLSTM, make_encoder


def gate_weights(scores, known, gate):
    """Return the weights of the sources that know a word, (n_rows, n_sources).

    Parameters
    ----------
    scores : tensor of shape (n_rows, n_sources)
    known : bool tensor of shape (n_rows, n_sources)
    gate : {"softmax", "sigmoid"}
        Softmax over the known sources, or a sigmoid of each.

    Returns
    -------
    tensor of shape (n_rows, n_sources)
        0 if a source does not know the word, also in rows without any known source.
    """
    scores = scores.float()
    if gate == "sigmoid":
        return torch.sigmoid(scores) * known
    scores = scores.masked_fill(~known, torch.finfo(scores.dtype).min)
    return torch.softmax(scores, dim=1) * known


class Mixer(nn.Module):
    """Project all sources, weight the projections, and sum them.

    Parameters
    ----------
    dims : list of int
        Dimensions of the sources.
    projection_dim : int or None
        None for no projection; the dimensions must then be equal.
    attention : {"task", "word", "context", "uniform"}
    gate : {"softmax", "sigmoid"}
    activation : {"relu", None}
        Applied to the sum.
    layer_norm : bool, default=False
        Normalize each projected vector to mean 0 and variance 1 before weighting.
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
        """Return mixed vectors (n_tokens, dim) and weights (n_tokens, n_sources)."""
        if batch.shares_rows and self.attention != "context":
            index = batch.index[0]
            mixed, weights = self.mix_rows(*self.project(batch))
            return mixed[index], weights[index]
        projected, known = self.project(batch, per_token=True)
        return self.mix_rows(projected, known, batch.grid)

    def project(self, batch, per_token=False):
        """Return the projections of each source, and where they are known.

        Returns
        -------
        projected : list of tensor of shape (n_rows, dim), one per source
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
        known = torch.ones_like(scores, dtype=torch.bool)
        weights = gate_weights(scores, known, self.gate)[0]
        return weights.tolist(), float(self.gamma.detach())

    def scores(self, projected, grid):
        """Return the score of each source, (n_rows, n_sources)."""
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
    # on the other sentences of its batch. The value of eps is theirs too.
    return nn.functional.layer_norm(vectors, vectors.shape[-1:], eps=1e-12)


def _orthogonal(module):
    if isinstance(module, nn.LSTM):
        for name, parameter in module.named_parameters():
            if name.startswith("weight"):
                nn.init.orthogonal_(parameter)
            else:
                nn.init.zeros_(parameter)


class MixingNet(nn.Module):
    """Networks of trainable sources, the mixer of all sources, and a dropout.

    Parameters
    ----------
    dims : list of int
    projection_dim, attention, gate, activation
        As for `Mixer`.
    embedding_dropout : float
    layer_norm : bool, default=False
        As for `Mixer`.
    trained : TrainedSources, default=None
        Trainable sources; their dimensions are the last ones of `dims`.
    """

    def __init__(
        self,
        dims,
        *,
        projection_dim,
        attention,
        gate,
        activation,
        embedding_dropout,
        layer_norm=False,
        trained=None,
    ):
        super().__init__()
        self.mixer = Mixer(
            dims, projection_dim, attention, gate, activation, layer_norm
        )
        self.dropout = ByteDropout(embedding_dropout)
        self.trained = nn.ModuleList(
            opened.network() for opened in (trained.opened if trained else ())
        )

    def mix(self, batch):
        """Return mixed vectors and weights per token, as `Mixer.mix` does."""
        if batch.pieces:
            pairs = zip(self.trained, batch.pieces, strict=True)
            outputs = [
                p if isinstance(p, PrecomputedTypes) else net(p) for net, p in pairs
            ]
            batch = batch.completed([vectors for each in outputs for vectors in each])
        return self.mixer.mix(batch)

    def target(self, y):
        """Return what the loss compares outputs with, from the targets of a batch."""
        return y


class DynamicMetaNet(MixingNet):
    """Mix the sources, encode the sequence, and map it to outputs.

    Parameters
    ----------
    dims : list of int
    n_outputs : int or tuple of int
        A tuple for several columns of labels, with a head per column.
    encoder : str
    encoder_dims, hidden_dims : tuple of int
    encoder_dropout, head_dropout : float
    pairs : bool, default=False
        Whether batches hold pairs, first sides and then second sides, whose vectors u
        and v are the input [u; v; |u - v|; u * v] of the head.
    **mixing
        As for `MixingNet`.
    """

    def __init__(
        self,
        dims,
        n_outputs,
        *,
        encoder,
        encoder_dims,
        hidden_dims,
        encoder_dropout,
        head_dropout,
        pairs=False,
        **mixing,
    ):
        super().__init__(dims, **mixing)
        self.pairs = pairs
        self.encoder = make_encoder(
            encoder, self.mixer.dim, encoder_dims, encoder_dropout
        )
        dim = self.encoder.dim * (4 if pairs else 1)
        self.head = make_head(dim, hidden_dims, n_outputs, head_dropout)

    def encode(self, batch):
        """Return the sequences' vectors, (n_sequences, encoder.dim)."""
        return self.encoder(self.dropout(self.mix(batch)[0]), batch.grid)

    def forward(self, batch):
        """Return the outputs, float32 (n_rows, n_outputs), a tuple for columns."""
        vectors = self.encode(batch)
        outputs = self.head(joined(vectors) if self.pairs else vectors)
        if isinstance(outputs, tuple):
            return tuple(part.float() for part in outputs)
        return outputs.float()

    def outputs(self, batch):
        """Return the outputs of all columns, float32 (n_rows, n_outputs)."""
        outputs = self(batch)
        return torch.cat(outputs, dim=1) if isinstance(outputs, tuple) else outputs


def joined(vectors):
    """Return [u; v; |u - v|; u * v] of each pair, from all u followed by all v."""
    u, v = vectors.chunk(2)
    return torch.cat([u, v, (u - v).abs(), u * v], dim=1)


def make_head(dim_in, hidden_dims, n_outputs, dropout):
    """Return the layers from vectors to outputs, `Heads` for a tuple of sizes."""
    if isinstance(n_outputs, tuple):
        return Heads(dim_in, hidden_dims, n_outputs, dropout)
    layers, dim = [], dim_in
    for hidden in hidden_dims:
        layers += [nn.Linear(dim, hidden), nn.ReLU(), ByteDropout(dropout)]
        dim = hidden
    return nn.Sequential(*layers, nn.Linear(dim, n_outputs))


def accuracies(outputs, labels):
    """Return the accuracy of each row, float32 (n_rows,), a mean over columns."""
    if not isinstance(outputs, tuple):
        return (outputs.argmax(dim=1) == labels).float()
    best = torch.stack([part.argmax(dim=1) for part in outputs], dim=1)
    return (best == labels).float().mean(dim=1)


class ValidAccuracy(Callback):
    """Record ``valid_acc``, the weighted accuracy on the held-out part.

    With several columns of labels it is their mean.
    """

    # Not skorch's EpochScoring, which would predict the held-out part a second time.

    def on_epoch_begin(self, net, **kwargs):
        """Start counting."""
        self.right_ = self.total_ = 0.0

    def on_batch_end(self, net, batch=None, training=False, y_pred=None, **kwargs):
        """Count a batch of the held-out part."""
        if training or y_pred is None:
            return
        sequences, labels = batch
        hits = accuracies(y_pred, labels)
        self.right_ += float((hits * sequences.weights).sum())
        self.total_ += float(sequences.weights.sum())

    def on_epoch_end(self, net, **kwargs):
        """Write the share into the history."""
        counts = net.processes_.all_gather((self.right_, self.total_))
        right, total = (sum(part) for part in zip(*counts, strict=True))
        net.history.record("valid_acc", right / max(total, 1e-12))


class Heads(nn.Module):
    """A head per column of labels.

    Parameters
    ----------
    dim_in : int
    hidden_dims, n_outputs : tuple of int
    dropout : float
    """

    def __init__(self, dim_in, hidden_dims, n_outputs, dropout):
        super().__init__()
        self.columns = nn.ModuleList(
            make_head(dim_in, hidden_dims, size, dropout) for size in n_outputs
        )

    def forward(self, vectors):
        """Return a tuple of tensors (n_rows, n_classes of the column)."""
        return tuple(head(vectors) for head in self.columns)


class WeightedLoss(nn.Module):
    r"""The weighted mean of a loss over the sequences of a batch.

    Parameters
    ----------
    kind : {"cross-entropy", "columns-cross-entropy", "binary-cross-entropy", \
    "squared-error"}
        For one label, several columns of labels, a label set, or numbers.
    """

    compares_rows = False

    def __init__(self, kind):
        super().__init__()
        self._loss = _LOSSES[kind]

    def forward(self, outputs, target, weights):
        """Return the scalar loss."""
        losses = self._loss(outputs, target)
        return (losses * weights).sum() / weights.sum().clamp(min=1e-12)


def _cross_entropy(outputs, labels):
    return nn.functional.cross_entropy(outputs, labels, reduction="none")


def _columns_cross_entropy(outputs, labels):
    parts = zip(outputs, labels.unbind(1), strict=True)
    losses = [_cross_entropy(part, column) for part, column in parts]
    return torch.stack(losses).mean(dim=0)


def _binary_cross_entropy(outputs, indicators):
    losses = nn.functional.binary_cross_entropy_with_logits(
        outputs, indicators, reduction="none"
    )
    return losses.mean(dim=1)


def _squared_error(outputs, numbers):
    return torch.square(outputs - numbers).mean(dim=1)


_LOSSES = {
    "cross-entropy": _cross_entropy,
    "columns-cross-entropy": _columns_cross_entropy,
    "binary-cross-entropy": _binary_cross_entropy,
    "squared-error": _squared_error,
}
