"""The whole network: mixer, encoder, head; and its losses."""

import torch
from torch import nn

from ._attention import Mixer
from ._dropout import ByteDropout
from ._encoders import make_encoder


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
            batch = batch.completed([v for net, part in pairs for v in net(part)])
        return self.mixer.mix(batch)


class DynamicMetaNet(MixingNet):
    """Mix the sources, encode the sequence, and map it to outputs.

    Parameters
    ----------
    dims : list of int
    n_outputs : int
    encoder : str
    encoder_dims, hidden_dims : tuple of int
    encoder_dropout, head_dropout : float
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
        **mixing,
    ):
        super().__init__(dims, **mixing)
        self.encoder = make_encoder(
            encoder, self.mixer.dim, encoder_dims, encoder_dropout
        )
        self.head = make_head(self.encoder.dim, hidden_dims, n_outputs, head_dropout)

    def encode(self, batch):
        """Return the sequences' vectors, (n_sequences, encoder.dim)."""
        return self.encoder(self.dropout(self.mix(batch)[0]), batch.grid)

    def forward(self, batch):
        """Return the outputs, (n_sequences, n_outputs), in float32."""
        return self.head(self.encode(batch)).float()


def make_head(dim_in, hidden_dims, n_outputs, dropout):
    """Return the layers that map vectors to outputs."""
    layers, dim = [], dim_in
    for hidden in hidden_dims:
        layers += [nn.Linear(dim, hidden), nn.ReLU(), ByteDropout(dropout)]
        dim = hidden
    return nn.Sequential(*layers, nn.Linear(dim, n_outputs))


class WeightedLoss(nn.Module):
    """The mean of a loss over the batch, each sequence by its weight.

    Parameters
    ----------
    kind : {"cross-entropy", "binary-cross-entropy", "squared-error"}
        For one label, several labels, or numbers a sequence.
    """

    def __init__(self, kind):
        super().__init__()
        self._loss = _LOSSES[kind]

    def forward(self, outputs, target, weights):
        """Return the scalar loss."""
        losses = self._loss(outputs, target)
        return (losses * weights).sum() / weights.sum().clamp(min=1e-12)


def _cross_entropy(outputs, labels):
    return nn.functional.cross_entropy(outputs, labels, reduction="none")


def _binary_cross_entropy(outputs, indicators):
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
