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
"""

from typing import NamedTuple

import torch

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
