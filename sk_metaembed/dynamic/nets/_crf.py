"""A linear-chain CRF over the tokens of a batch: loss, best tags, marginals.

Everything stands on one recurrence. The *lookahead* of a token is, for each of its
tags, the log of the summed exponentials of all paths from there to the end of the
sentence. Given the tag before, the token's tag is then distributed as a softmax,

    p(y_t | y_(t-1), x) = softmax over y_t of T[y_(t-1), y_t] + lookahead_t[y_t]

so that the log-likelihood of a sentence is a sum of cross-entropies, one a token, which
can be weighted one by one; the marginals are these distributions applied one after the
other; and with a maximum instead of the sum, going forwards by the best next tag gives
the best path. A lookahead may be shifted by any number, which keeps it small on long
sentences. Sentences are read from their own ends: there is no padding to mask.

The network of a tagger: mixer, BiLSTM, scores of tags; and its loss.

What early stopping of a tagger follows: accuracy, or span F1 under a scheme.
"""

from typing import NamedTuple

import numpy as np
import torch
from skorch.callbacks import Callback
from torch import nn

from .._tag_targets import weighted_span_f1
from ..training._data import Grid
from ._encoders import BiLSTM, ByteDropout
from ._mixing import MixingNet, make_head

# exp(-10,000) is zero in float32, and yet a sum with it is a number.
FORBIDDEN = -1e4


class Chain(NamedTuple):
    """Scores of tags beside each other.

    Attributes
    ----------
    transitions : float32 tensor of shape (n_tags, n_tags)
        From the tag of the row to that of the column.
    starts, ends : float32 tensors of shape (n_tags,)
        Of the first and the last tag of a sentence.
    """

    transitions: torch.Tensor
    starts: torch.Tensor
    ends: torch.Tensor


def lookahead(scores, chain, grid, *, best=False):
    """Return what follows each token, by its tag, its own score included.

    Parameters
    ----------
    scores : float32 tensor of shape (n_tokens, n_tags)
    chain : Chain
    grid : Grid
    best : bool, default=False
        The score of the best path instead of the log-sum over all paths.

    Returns
    -------
    float32 tensor of shape (n_tokens, n_tags)
        Each row shifted by some number.
    """
    if len(scores) == 0:
        return scores
    steps = scores[grid.backwards]
    ahead = steps[0] + chain.ends
    found = [ahead]
    for step in steps[1:]:
        paths = chain.transitions + ahead[:, None, :]
        ahead = step + (paths.amax(dim=2) if best else paths.logsumexp(dim=2))
        ahead = ahead - ahead.detach().amax(dim=1, keepdim=True)
        found.append(ahead)
    return torch.stack(found).flatten(0, 1)[grid.at_backwards]


def tag_losses(scores, chain, grid, tags):
    """Return minus the log-probability of each token's tag, given the one before.

    Parameters
    ----------
    scores : float32 tensor of shape (n_tokens, n_tags)
    chain : Chain
    grid : Grid
    tags : int64 tensor of shape (n_tokens,)

    Returns
    -------
    float32 tensor of shape (n_tokens,)
        A sentence's sum is minus the log-likelihood of its tags.
    """
    ahead = lookahead(scores, chain, grid)
    before = torch.cat([chain.transitions, chain.starts[None]])
    # The row of the starts for first tokens.
    previous = torch.where(_is_first(grid), len(chain.starts), tags.roll(1))
    return torch.nn.functional.cross_entropy(
        before[previous] + ahead, tags, reduction="none"
    )


def best_tags(scores, chain, grid):
    """Return the tags of each sentence's best path (Viterbi), int64 (n_tokens,)."""
    if len(scores) == 0:
        return grid.segments
    steps = lookahead(scores, chain, grid, best=True)[grid.onwards]
    tags = (chain.starts + steps[0]).argmax(dim=1)
    found = [tags]
    for step in steps[1:]:
        tags = (chain.transitions[tags] + step).argmax(dim=1)
        found.append(tags)
    return torch.stack(found).flatten()[grid.at_onwards]


def tag_probabilities(scores, chain, grid):
    """Return the probability of each tag at each token, over all paths.

    Returns
    -------
    float32 tensor of shape (n_tokens, n_tags)
        Rows sum to 1.
    """
    if len(scores) == 0:
        return scores
    steps = lookahead(scores, chain, grid)[grid.onwards]
    shares = torch.softmax(chain.starts + steps[0], dim=1)
    found = [shares]
    for step in steps[1:]:
        onwards = torch.softmax(chain.transitions + step[:, None, :], dim=2)
        # A product and a sum: a matrix product would be rounded under autocast.
        shares = (shares[:, :, None] * onwards).sum(dim=1)
        shares = shares / shares.sum(dim=1, keepdim=True)
        found.append(shares)
    return torch.stack(found).flatten(0, 1)[grid.at_onwards]


def _is_first(grid):
    """Tell which tokens begin a sentence."""
    first = torch.ones_like(grid.segments, dtype=torch.bool)
    first[1:] = grid.segments[1:] != grid.segments[:-1]
    return first


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


class ValidTags(Callback):
    """Records ``valid_acc`` or ``valid_f1`` of the held-out sentences.

    Tokens count by their weights, and a span as its first token does.

    Parameters
    ----------
    classes : ndarray of str, shape (n_classes,)
    scheme : {"IOB2", "IOBES", "BIOES"} or None
        None for the accuracy of single tags.
    """

    def __init__(self, classes, scheme):
        self.classes = classes
        self.scheme = scheme

    def on_epoch_begin(self, net, **kwargs):
        """Forget the last epoch."""
        self.parts_ = []

    def on_batch_end(self, net, batch=None, training=False, y_pred=None, **kwargs):
        """Decode a batch of the held-out part."""
        if training or y_pred is None:
            return
        sentences, tags = batch
        parts = tags, decoded(y_pred), sentences.weights, y_pred.grid.lengths
        self.parts_.append([part.cpu().numpy() for part in parts])

    def on_epoch_end(self, net, **kwargs):
        """Write the score into the history."""
        parts = sum(net.processes_.gathered(self.parts_), [])
        right, found, weights, lengths = map(np.concatenate, zip(*parts, strict=True))
        self.parts_ = []
        weights = weights.astype(np.float64)
        if self.scheme is not None:
            f1 = weighted_span_f1(
                right, found, weights, lengths, self.classes, self.scheme
            )
            net.history.record("valid_f1", f1)
            return
        total = max(weights.sum(), 1e-12)
        net.history.record("valid_acc", float((right == found) @ weights / total))
