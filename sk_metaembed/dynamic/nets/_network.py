"""The network of sequences: encoder and head, with its losses and accuracies."""

import torch
from torch import nn

from ._encoders import ByteDropout, make_encoder
from ._mixer import MixingNet


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


def accuracies(outputs, labels):
    """Return the accuracy of each row, float32 (n_rows,), a mean over columns."""
    if not isinstance(outputs, tuple):
        return (outputs.argmax(dim=1) == labels).float()
    best = torch.stack([part.argmax(dim=1) for part in outputs], dim=1)
    return (best == labels).float().mean(dim=1)


def count_right(outputs, batch, labels):
    """Return the weights of correct rows and of all rows, on the device."""
    # Fetching the sums of each batch would wait for a GPU.
    right = accuracies(outputs, labels) * batch.weights
    return torch.stack([right.sum(), batch.weights.sum()])


def share_right(counts):
    """Return the weighted accuracy, from `count_right` of each batch."""
    right, total = torch.stack(counts).cpu().double().sum(dim=0).tolist()
    return right / max(total, 1e-12)
