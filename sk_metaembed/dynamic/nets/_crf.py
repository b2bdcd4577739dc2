"""The network of a tagger and its linear-chain CRF: loss, best tags, marginals.

All results use one recurrence. The *lookahead* of a token is, for each of its tags, the
log of the summed exponentials of all paths from there to the end of the sentence. Given
the previous tag, the tag of the token is distributed as a softmax,

    p(y_t | y_(t-1), x) = softmax over y_t of T[y_(t-1), y_t] + lookahead_t[y_t]

so the log-likelihood of a sentence is a sum of cross-entropies, one per token, which
can be weighted. The marginals are these distributions applied in sequence. With a
maximum instead of the sum, choosing the best next tag from left to right gives the
best path. A lookahead may be shifted by a constant, which keeps it small for long
sentences. Each sentence is read from its own end, so no padding has to be masked.
"""

from typing import NamedTuple

import numpy as np
import torch
from skorch.callbacks import Callback
from torch import nn

from .._tag_targets import weighted_span_f1
from ..training._grid import Grid
from ..training._skorch_net import WithAuxiliary
from ._encoders import BiLSTM, ByteDropout
from ._mixing import MixingNet, make_head, source_vectors

# exp(-10,000) is zero in float32, and yet a sum with it is a number.
FORBIDDEN = -1e4


class Chain(NamedTuple):
    """Scores of adjacent tags.

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
    """Return the scores of the rest of the sentence, from each tag of each token on.

    Parameters
    ----------
    scores : float32 tensor of shape (n_tokens, n_tags)
    chain : Chain
    grid : Grid
    best : bool, default=False
        Whether to return the score of the best path instead of the log-sum over all
        paths.

    Returns
    -------
    float32 tensor of shape (n_tokens, n_tags)
        Each row shifted by a constant.
    """
    if len(scores) == 0:
        return scores
    steps = scores[grid.backward_index]
    ahead = steps[0] + chain.ends
    steps_ahead = [ahead]
    for step in steps[1:]:
        paths = chain.transitions + ahead[:, None, :]
        ahead = step + (paths.amax(dim=2) if best else paths.logsumexp(dim=2))
        ahead = ahead - ahead.detach().amax(dim=1, keepdim=True)
        steps_ahead.append(ahead)
    return torch.stack(steps_ahead).flatten(0, 1)[grid.backward_position]


def tag_losses(scores, chain, grid, tags):
    """Return the negative log-probability of each token's tag given the previous tag.

    Returns
    -------
    float32 tensor of shape (n_tokens,)
        The sum over a sentence is the negative log-likelihood of its tags.
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
    steps = lookahead(scores, chain, grid, best=True)[grid.forward_index]
    tags = (chain.starts + steps[0]).argmax(dim=1)
    path = [tags]
    for step in steps[1:]:
        tags = (chain.transitions[tags] + step).argmax(dim=1)
        path.append(tags)
    return torch.stack(path).flatten()[grid.forward_position]


def tag_probabilities(scores, chain, grid):
    """Return the marginal probability of each tag, float32 (n_tokens, n_tags)."""
    if len(scores) == 0:
        return scores
    steps = lookahead(scores, chain, grid)[grid.forward_index]
    shares = torch.softmax(chain.starts + steps[0], dim=1)
    marginals = [shares]
    for step in steps[1:]:
        transitions = torch.softmax(chain.transitions + step[:, None, :], dim=2)
        # A product and a sum: a matrix product would be rounded under autocast.
        shares = (shares[:, :, None] * transitions).sum(dim=1)
        shares = shares / shares.sum(dim=1, keepdim=True)
        marginals.append(shares)
    return torch.stack(marginals).flatten(0, 1)[grid.forward_position]


def _is_first(grid):
    """Return which tokens are the first of a sentence."""
    first = torch.ones_like(grid.segments, dtype=torch.bool)
    first[1:] = grid.segments[1:] != grid.segments[:-1]
    return first


class TagScores(NamedTuple):
    """Output of the network for the tokens of a batch.

    Attributes
    ----------
    scores : float32 tensor of shape (n_tokens, n_tags)
    chain : Chain or None
        None if every token is classified on its own.
    grid : Grid
    """

    scores: torch.Tensor
    chain: Chain | None
    grid: Grid


class TaggingNet(MixingNet):
    """Mix the sources, read the sentence in both directions, and score tags of tokens.

    Parameters
    ----------
    dims : list of int
    n_outputs : int
        Number of tags.
    encoder_dims, hidden_dims : tuple of int
    encoder_dropout, head_dropout : float
    learns_chain : bool
        Whether scores of adjacent tags are learned, as in a CRF.
    allowed : tuple of three lists, or None
        Allowed transitions, first and last tags; None for all.
    **mixing
        As for `MixingNet`.
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
        self.add_auxiliary(self.mixer.dim, n_outputs)

    def forward(self, batch):
        """Return the `TagScores` of a batch.

        In training they are `WithAuxiliary` if there are auxiliary heads.
        """
        mixed, grid = self.mix(batch), batch.grid
        states = self.encoder(self.dropout(mixed.vectors), grid)
        chain = self.chain and self.chain()
        outputs = TagScores(self.head(states).float(), chain, grid)
        if self.auxiliary is None or not self.training:
            return outputs
        parts = [
            TagScores(head(source_vectors(mixed, i)).float(), chain, grid)
            for i, head in enumerate(self.auxiliary)
        ]
        return WithAuxiliary(outputs, parts)

    def decode(self, batch):
        """Return the best tags, int64 of shape (n_tokens, 1)."""
        return decoded(self(batch))[:, None]

    def probabilities(self, batch):
        """Return the probability of each tag, (n_tokens, n_tags)."""
        scores, chain, grid = self(batch)
        if chain is None:
            return torch.softmax(scores, dim=1)
        return tag_probabilities(scores, chain, grid)


def decoded(outputs):
    """Return the best tags of a batch's `TagScores`, int64 of shape (n_tokens,)."""
    scores, chain, grid = outputs
    return scores.argmax(dim=1) if chain is None else best_tags(scores, chain, grid)


class TagChain(nn.Module):
    """Scores of adjacent tags, learned or given by a scheme only.

    Parameters
    ----------
    n_tags : int
    learned : bool
        Whether scores are learned; otherwise they are 0 if allowed.
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
        """Return the current `Chain`."""
        return Chain(*(self._scores(name) for name in Chain._fields))

    def _scores(self, name):
        scores, forbidden = getattr(self, name), getattr(self, f"forbidden_{name}")
        return scores if forbidden is None else scores + forbidden


def _penalties(allowed):
    masks = (torch.tensor(mask, dtype=torch.bool) for mask in allowed)
    return [torch.where(mask, 0.0, FORBIDDEN) for mask in masks]


class TagLoss(nn.Module):
    """The weighted mean over tokens of the negative log-probability of their tags.

    Parameters
    ----------
    kind : {"crf", "softmax"}
        Whether probabilities are given the previous tag, so that their sum is the
        log-likelihood of the CRF, or of each tag on its own.
    """

    compares_rows = False

    def __init__(self, kind):
        super().__init__()
        self.kind = kind

    def forward(self, outputs, tags, weights):
        """Return the scalar loss; `weights` has one number per token."""
        scores, chain, grid = outputs
        if self.kind == "crf":
            losses = tag_losses(scores, chain, grid, tags)
        else:
            losses = nn.functional.cross_entropy(scores, tags, reduction="none")
        return (losses * weights).sum() / weights.sum().clamp(min=1e-12)


class ValidTags(Callback):
    """Record ``valid_acc`` or ``valid_f1`` of the held-out sentences.

    Tokens have their weights, and a span that of its first token.

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
        """Discard the results of the last epoch."""
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
        parts = sum(net.processes_.all_gather(self.parts_), [])
        right, predicted, weights, lengths = map(
            np.concatenate, zip(*parts, strict=True)
        )
        self.parts_ = []
        weights = weights.astype(np.float64)
        if self.scheme is not None:
            f1 = weighted_span_f1(
                right, predicted, weights, lengths, self.classes, self.scheme
            )
            net.history.record("valid_f1", f1)
            return
        total = max(weights.sum(), 1e-12)
        net.history.record("valid_acc", float((right == predicted) @ weights / total))
