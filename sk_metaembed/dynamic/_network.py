"""The whole network: mixer, encoder, head; and its losses."""

import torch
from torch import nn

from ._attention import Mixer
from ._dropout import ByteDropout
from ._encoders import make_encoder
from ._type_vectors import Computed


class MixingNet(nn.Module):
    """The mixer of sources, of which some may be trained along, and a dropout.

    Parameters
    ----------
    dims : list of int
    projection_dim, attention, gate, activation
        As `Mixer` takes them.
    embedding_dropout : float
    layer_norm : bool, default=False
        As `Mixer` takes it.
    trained : TrainedSources, default=None
        Sources whose networks are trained too; `dims` has theirs at its end.
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
        """Return mixed vectors and weights a token, as `Mixer.mix` does."""
        if batch.pieces:
            pairs = zip(self.trained, batch.pieces, strict=True)
            found = [p if isinstance(p, Computed) else net(p) for net, p in pairs]
            batch = batch.completed([vectors for each in found for vectors in each])
        return self.mixer.mix(batch)

    def target(self, y):
        """Return what the loss compares outputs with, of a batch's targets."""
        return y


class DynamicMetaNet(MixingNet):
    """Mix the sources, encode the sequence, and map it to outputs.

    Parameters
    ----------
    dims : list of int
    n_outputs : int or tuple of int
        Of several columns of labels the sizes, and each has a head of its own.
    encoder : str
    encoder_dims, hidden_dims : tuple of int
    encoder_dropout, head_dropout : float
    pairs : bool, default=False
        Whether batches hold pairs, first sides and then second ones, whose vectors u
        and v go into the head as [u; v; |u - v|; u * v].
    **mixing
        As `MixingNet` takes them.
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
        """Return the outputs, (n_rows, n_outputs), in float32; a tuple of columns."""
        vectors = self.encode(batch)
        outputs = self.head(joined(vectors) if self.pairs else vectors)
        if isinstance(outputs, tuple):
            return tuple(part.float() for part in outputs)
        return outputs.float()

    def outputs(self, batch):
        """Return the outputs side by side, (n_rows, n_outputs), in float32."""
        outputs = self(batch)
        return torch.cat(outputs, dim=1) if isinstance(outputs, tuple) else outputs


def joined(vectors):
    """Return [u; v; |u - v|; u * v] of each pair, from all u and then all v."""
    u, v = vectors.chunk(2)
    return torch.cat([u, v, (u - v).abs(), u * v], dim=1)


def make_head(dim_in, hidden_dims, n_outputs, dropout):
    """Return the layers that map vectors to outputs, several where these are."""
    if isinstance(n_outputs, tuple):
        return Heads(dim_in, hidden_dims, n_outputs, dropout)
    layers, dim = [], dim_in
    for hidden in hidden_dims:
        layers += [nn.Linear(dim, hidden), nn.ReLU(), ByteDropout(dropout)]
        dim = hidden
    return nn.Sequential(*layers, nn.Linear(dim, n_outputs))


def share_of_hits(outputs, labels):
    """Return which rows are labelled right; of several columns the share of them.

    Parameters
    ----------
    outputs : tensor of shape (n_rows, n_classes), or tuple of them
    labels : int64 tensor of shape (n_rows,) or (n_rows, n_columns)

    Returns
    -------
    float32 tensor of shape (n_rows,)
    """
    if not isinstance(outputs, tuple):
        return (outputs.argmax(dim=1) == labels).float()
    best = torch.stack([part.argmax(dim=1) for part in outputs], dim=1)
    return (best == labels).float().mean(dim=1)


class Heads(nn.Module):
    """A head of its own for each column of labels.

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
    """The mean of a loss over the batch, each sequence by its weight.

    Parameters
    ----------
    kind : {"cross-entropy", "columns-cross-entropy", "binary-cross-entropy", \
"squared-error"}
        For one label, a label a column, a label set, or numbers a sequence.
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
