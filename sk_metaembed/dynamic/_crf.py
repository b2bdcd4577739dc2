r"""The network of a tagger and its linear-chain CRF: loss, best tags, marginals.

All sums use one recurrence, from the end of a sentence to its start. The *lookahead*
:math:`A_t[b]` of tag b at token t is the sum over all paths from there to the end, up
to a factor per token. With the rates :math:`R = \exp T` and the scores :math:`s_t`,

.. math::
    U_t[a] = \sum_b R[a, b] A_t[b], \qquad A_{t-1}[a] = \exp(s_{t-1}[a]) U_t[a],

    p(y_t = b \mid y_{t-1} = a, x) = R[a, b] A_t[b] / U_t[a],

where the last row of R holds the starts. So the log-likelihood of a sentence is a sum
of log-probabilities, one per token, which can be weighted. Marginals, and the gradient
of the losses, flow along these conditional probabilities from the first to the last
token: the gradient of a log-partition is a marginal.

A step is a matrix product and three small operations, in float64, on numbers divided
by their largest. Scores count as at most 350 below the largest one of their kind, so
that no sum is zero. Each sentence is read from its own end, so no padding has to be
masked.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from torch import nn
from torch.autograd.function import once_differentiable

from .._targets import weighted_span_f1
from .._training._random import Dropout
from ._batches import Grid
from ._encoders import make_tagging_encoder
from ._network import MixingNet, make_head

# Added to the score of a tag or transition that a scheme forbids.
FORBIDDEN = -1e4

# In sums it counts as exp(-300), which is zero in float32. Nothing counts as less than
# exp(-350): the product of two such numbers is not zero in float64.
_PENALTY, _LEAST = -300, -350


class Chain(NamedTuple):
    """Scores of adjacent tags, and of the first and the last tag of a sentence."""

    transitions: torch.Tensor  # (n_tags, n_tags), from the tag of the row
    starts: torch.Tensor
    ends: torch.Tensor


# Kinds of devices on which scores of tags are moved to the CPU.
_WITHOUT_FLOAT64 = {"mps"}


class _Lookahead(NamedTuple):
    """The sums of the recurrence in float64, at the positions of the backward grid.

    The last column of `before` is for the first token of a sentence, as are the last
    rows of `pairs` and `rates`.
    """

    sums: torch.Tensor  # A, (n_steps, n_sequences, n_tags), over each largest
    before: torch.Tensor  # U, (n_steps, n_sequences, n_tags + 1)
    pairs: torch.Tensor  # scores, (n_tags + 1, n_tags), minus the largest
    rates: torch.Tensor  # R, (n_tags + 1, n_tags), over the largest


def tag_losses(scores, chain, grid, tags):
    """Return the negative log-probability of each token's tag given the previous tag.

    Scores have shape (n_tokens, n_tags). The sum over a sentence is the negative
    log-likelihood of its tags, if no score is more than 350 below the largest one of
    its token.
    """
    if len(scores) == 0:
        return scores.sum(dim=1)

    def losses(scores, tags, steps):
        return _TagLosses.apply(scores, *chain, steps, tags)

    return grid.map_steps(losses, scores, tags)


class _TagLosses(torch.autograd.Function):
    """`tag_losses` with the gradient in closed form."""

    @staticmethod
    def forward(ctx, scores, transitions, starts, ends, steps, tags):
        ahead = _lookahead(scores, Chain(transitions, starts, ends), steps)
        n_tags = scores.shape[1]
        # First tokens use the last row, which has the start scores.
        previous = torch.where(_is_first(steps), n_tags, tags.roll(1))
        at = steps.backward_position
        before = ahead.before.view(-1)[at * (n_tags + 1) + previous]
        own = ahead.sums.view(-1)[at * n_tags + tags]
        ctx.save_for_backward(*ahead, previous, tags)
        ctx.at, ctx.dtype = at, scores.dtype
        losses = torch.log(before / own) - ahead.pairs[previous, tags]
        return losses.to(scores.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        *ahead, previous, tags = ctx.saved_tensors
        ahead, at, grad = _Lookahead(*ahead), ctx.at, grad.double()
        n_tags = ahead.sums.shape[2]
        given, taken = torch.zeros_like(ahead.before), torch.zeros_like(ahead.sums)
        given.view(-1)[at * (n_tags + 1) + previous] = grad
        taken.view(-1)[at * n_tags + tags] = -grad
        given, flow = _flow(ahead, given, taken)
        pairs = given.flatten(0, 1).T @ ahead.sums.flatten(0, 1) * ahead.rates
        pairs.index_put_((previous, tags), -grad, accumulate=True)
        grads = flow.flatten(0, 1)[at], pairs[:-1], pairs[-1], flow[0].sum(dim=0)
        return *(part.to(ctx.dtype) for part in grads), None, None


@torch.no_grad()
def tag_probabilities(scores, chain, grid):
    """Return the marginal probability of each tag, float32 (n_tokens, n_tags)."""
    if len(scores) == 0:
        return scores
    return grid.map_steps(partial(_marginals, chain), scores)


def _marginals(chain, scores, steps):
    """Return the `tag_probabilities` of the tokens in a `Steps`."""
    ahead = _lookahead(scores, chain, steps)
    given = torch.zeros_like(ahead.before)
    given.flatten(0, 1)[steps.backward_position, -1] = _is_first(steps).double()
    flow = _flow(ahead, given, torch.zeros_like(ahead.sums))[1]
    return flow.flatten(0, 1)[steps.backward_position].to(scores.dtype)


@torch.no_grad()
def best_tags(scores, chain, grid):
    """Return the tags of each sentence's best path (Viterbi), int64 (n_tokens,)."""
    if len(scores) == 0:
        return grid.segments
    return grid.map_steps(partial(_best_path, chain), scores)


def _best_path(chain, scores, steps):
    """Return the `best_tags` of the tokens in a `Steps`."""
    # In float64, because the sums of a long sentence are large. Sentences are the last
    # axis, along which processors compute in parallel.
    columns = scores.T.double()[:, steps.backward_index].unbind(dim=1)
    transitions = chain.transitions.double()
    pairs = transitions.T[:, :, None]
    ahead = [columns[0] + chain.ends[:, None]]
    for step in columns[1:]:
        ahead.append((pairs + ahead[-1][:, None]).amax(dim=0).add_(step))
    ahead = torch.stack(ahead).transpose(1, 2).flatten(0, 1)
    rows = ahead[steps.backward_position[steps.forward_index]].unbind()
    path = [(chain.starts + rows[0]).argmax(dim=1)]
    for step in rows[1:]:
        reached = transitions.index_select(0, path[-1]).add_(step)
        path.append(reached.argmax(dim=1))
    return torch.stack(path).flatten()[steps.forward_position]


def _lookahead(scores, chain, steps):
    """Return the `_Lookahead` of the tokens in a `Steps`, which has at least one."""
    pairs = torch.cat([chain.transitions, chain.starts[None]]).double()
    pairs = pairs - pairs.amax()
    rates = _softened(pairs).exp_()
    sums = scores.double()[steps.backward_index]
    sums.sub_(sums.amax(dim=2, keepdim=True)).clamp_(min=_LEAST)
    sums[0] += _softened(chain.ends - chain.ends.amax())
    sums.exp_()
    before = sums.new_empty(*sums.shape[:2], len(rates))
    into, above = rates.T, None
    views = zip(sums.unbind(), before.unbind(), before[..., :-1].unbind(), strict=True)
    for own, product, inner in views:
        if above is not None:
            own.mul_(above)
        own.div_(own.amax(dim=1, keepdim=True))
        torch.mm(own, into, out=product)
        above = inner
    return _Lookahead(sums, before, pairs, rates)


def _softened(scores):
    """Return scores of adjacent tags, limited as in sums, at most 0."""
    allowed = scores > FORBIDDEN / 2
    scores = torch.where(allowed, scores, scores - (FORBIDDEN - _PENALTY))
    return scores.clamp_(_LEAST, 0)


def _flow(ahead, given, taken):
    """Pass values along the conditional probabilities, from first tokens to last ones.

    `given` has the values that enter before each token, by the previous tag, like
    ``ahead.before``. `taken` has the values that are added at each token, by its tag,
    like ``ahead.sums``. `given` is overwritten with the totals before each token,
    divided by ``ahead.before``, and `taken` with the totals at each token.
    """
    shares = ahead.before.reciprocal()
    given *= shares
    views = zip(
        ahead.sums.unbind(),
        shares[..., :-1].unbind(),
        given.unbind(),
        given[..., :-1].unbind(),
        taken.unbind(),
        strict=True,
    )
    arrived = None
    for sums, share, entering, inner, flow in reversed(list(views)):
        if arrived is not None:
            inner.addcmul_(arrived, share)
        arrived = flow.addcmul_(sums, torch.mm(entering, ahead.rates))
    return given, taken


def _is_first(steps):
    """Return which tokens are the first of a sentence."""
    return steps.forward_position < len(steps.last)


class TagScores(NamedTuple):
    """Output of the network for the tokens of a batch."""

    scores: torch.Tensor  # float32 (n_tokens, n_tags)
    chain: Chain | None  # None if every token is classified on its own
    grid: Grid


class TaggingNet(MixingNet):
    """Mix the sources, encode each token in its sentence, and score its tags.

    With `learns_chain`, scores of adjacent tags are learned, as in a CRF. `allowed` are
    the allowed transitions, first and last tags, three lists; None for all. Further
    parameters are those of `MixingNet`.
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
        learns_chain,
        allowed,
        **mixing,
    ):
        super().__init__(dims, **mixing)
        self.encoder = make_tagging_encoder(
            encoder, self.mixer.dim, encoder_dims, conv_widths, encoder_dropout
        )
        self.head = nn.Sequential(
            Dropout(head_dropout),
            make_head(self.encoder.dim, hidden_dims, n_outputs, head_dropout),
        )
        self.chain = None
        if learns_chain or allowed is not None:
            self.chain = TagChain(n_outputs, learns_chain, allowed)

    def forward(self, batch):
        """Return the `TagScores` of a batch."""
        (mixed, _), grid = self.mix(batch), batch.grid
        states = self.encoder(self.dropout(mixed), grid)
        scores, chain = self.head(states).float(), self.chain and self.chain()
        if scores.device.type in _WITHOUT_FLOAT64:
            scores, chain = (
                scores.cpu(),
                chain and Chain(*(part.cpu() for part in chain)),
            )
            grid = Grid.of(grid.lengths.cpu().numpy(), torch.from_numpy)
        return TagScores(scores, chain, grid)

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
    """Scores of adjacent tags: learned, or 0 if a scheme allows them."""

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
    """The weighted sum over tokens of the negative log-probability of their tags.

    The sum is divided by the number of sentences. The weight of a sentence is the sum
    of the weights of its tokens, and its mean over the data set is 1. The mean over all
    batches is therefore the weighted mean over tokens, although the sentences of a
    batch have similar lengths. Probabilities are given the previous tag with the kind
    "crf", so that their sum is the log-likelihood, and of each tag on its own with
    "softmax".
    """

    def __init__(self, kind):
        super().__init__()
        self.kind = kind

    def forward(self, outputs, tags, weights):
        """Return the scalar loss; `weights` has one number per token."""
        scores, chain, grid = outputs
        tags, weights = tags.to(scores.device), weights.to(scores.device)
        # A held-out tag without a score has no finite loss, so its loss counts as 0.
        unseen = tags >= scores.shape[1]
        tags = tags.masked_fill(unseen, 0)
        if self.kind == "crf":
            losses = tag_losses(scores, chain, grid, tags)
        else:
            losses = nn.functional.cross_entropy(scores, tags, reduction="none")
        losses = losses.masked_fill(unseen, 0)
        return (losses * weights).sum() / len(grid.lengths)


def decode_batch(outputs, batch, tags):
    """Return true and predicted tags, weights and sentence lengths as arrays."""
    parts = tags, decoded(outputs), batch.weights, outputs.grid.lengths
    return [part.cpu().numpy() for part in parts]


def score_tags(parts, classes, scheme):
    """Return span F1, or the accuracy of tags without scheme, from `decode_batch`.

    Tokens have their weights, and a span has the weight of its first token. Returns the
    accuracy, too, if there are no spans.
    """
    right, predicted, weights, lengths = map(np.concatenate, zip(*parts, strict=True))
    weights = weights.astype(np.float64)
    if scheme is not None:
        f1 = weighted_span_f1(right, predicted, weights, lengths, classes, scheme)
        if f1 is not None:
            return f1
    return float((right == predicted) @ weights / max(weights.sum(), 1e-12))
