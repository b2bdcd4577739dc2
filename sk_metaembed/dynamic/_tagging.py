"""The network of a tagger: mixer, BiLSTM, scores of tags; and its loss."""

from typing import NamedTuple

import torch
from torch import nn

from ._chain import FORBIDDEN, Chain, best_tags, tag_losses, tag_probabilities
from ._dropout import ByteDropout
from ._encoders import BiLSTM
from ._grid import Grid
from ._network import MixingNet, make_head


class TagScores(NamedTuple):
    """What the network says of a batch's tokens.

    Attributes
    ----------
    scores : float32 tensor of shape (n_tokens, n_tags)
    chain : Chain or None
        None where every token is decided by itself.
    grid : Grid
    """

    scores: torch.Tensor
    chain: Chain | None
    grid: Grid


class TaggingNet(MixingNet):
    """Mix the sources, read the sentence both ways, and score each token's tags.

    Parameters
    ----------
    dims : list of int
    n_outputs : int
        Number of tags.
    encoder_dims, hidden_dims : tuple of int
    encoder_dropout, head_dropout : float
    learns_chain : bool
        Whether scores of tags beside each other are learned: a CRF.
    allowed : tuple of three lists, or None
        Which tags may follow each other, begin and end a sentence; None for all.
    **mixing
        As `MixingNet` takes them.
    """

    def __init__(
        self,
        dims,
        n_outputs,
        *,
        encoder_dims,
        hidden_dims,
        encoder_dropout,
        head_dropout,
        learns_chain,
        allowed,
        **mixing,
    ):
        super().__init__(dims, **mixing)
        self.encoder = BiLSTM(self.mixer.dim, encoder_dims, encoder_dropout)
        self.head = nn.Sequential(
            ByteDropout(head_dropout),
            make_head(self.encoder.dim, hidden_dims, n_outputs, head_dropout),
        )
        self.chain = None
        if learns_chain or allowed is not None:
            self.chain = TagChain(n_outputs, learns_chain, allowed)

    def forward(self, batch):
        """Return the `TagScores` of a batch."""
        tokens = self.dropout(self.mix(batch)[0])
        scores = self.head(self.encoder(tokens, batch.grid)).float()
        return TagScores(scores, self.chain and self.chain(), batch.grid)

    def decode(self, batch):
        """Return the best tags, int64 of shape (n_tokens, 1)."""
        return decoded(self(batch))[:, None]

    def probabilities(self, batch):
        """Return each tag's probability, (n_tokens, n_tags)."""
        scores, chain, grid = self(batch)
        if chain is None:
            return torch.softmax(scores, dim=1)
        return tag_probabilities(scores, chain, grid)


def decoded(outputs):
    """Return the best tags of a batch's `TagScores`, int64 of shape (n_tokens,)."""
    scores, chain, grid = outputs
    return scores.argmax(dim=1) if chain is None else best_tags(scores, chain, grid)


class TagChain(nn.Module):
    """The scores of tags beside each other, learned or given by a scheme alone.

    Parameters
    ----------
    n_tags : int
    learned : bool
        Whether there are scores to learn; else they are 0 where allowed.
    allowed : tuple of three lists, or None
    """

    def __init__(self, n_tags, learned, allowed):
        super().__init__()
        shapes = (n_tags, n_tags), (n_tags,), (n_tags,)
        zeros = [torch.zeros(shape) for shape in shapes]
        for name, shape, zero in zip(Chain._fields, shapes, zeros, strict=True):
            if learned:
                scores = nn.Parameter(nn.init.uniform_(torch.empty(shape), -0.1, 0.1))
                self.register_parameter(name, scores)
            else:
                self.register_buffer(name, zero)
        forbidden = [None] * 3 if allowed is None else _penalties(allowed)
        for name, penalty in zip(Chain._fields, forbidden, strict=True):
            self.register_buffer(f"forbidden_{name}", penalty)

    def forward(self):
        """Return the `Chain` of now."""
        return Chain(*(self._scores(name) for name in Chain._fields))

    def _scores(self, name):
        scores, forbidden = getattr(self, name), getattr(self, f"forbidden_{name}")
        return scores if forbidden is None else scores + forbidden


def _penalties(allowed):
    masks = (torch.tensor(mask, dtype=torch.bool) for mask in allowed)
    return [torch.where(mask, 0.0, FORBIDDEN) for mask in masks]


class TagLoss(nn.Module):
    """The mean over tokens of minus the log-probability of their tags.

    Parameters
    ----------
    kind : {"crf", "softmax"}
        Of a tag given the one before it, so that a sentence's sum is minus the
        log-likelihood of the CRF; or of each tag by itself.
    """

    compares_rows = False

    def __init__(self, kind):
        super().__init__()
        self.kind = kind

    def forward(self, outputs, tags, weights):
        """Return the scalar loss; `weights` has one number a token."""
        scores, chain, grid = outputs
        if self.kind == "crf":
            losses = tag_losses(scores, chain, grid, tags)
        else:
            losses = nn.functional.cross_entropy(scores, tags, reduction="none")
        return (losses * weights).sum() / weights.sum().clamp(min=1e-12)
