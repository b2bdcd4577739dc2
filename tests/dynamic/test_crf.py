"""The CRF, against all paths one by one and against autograd."""

from itertools import product

import numpy as np
import pytest
import torch

from sk_metaembed import DynamicMetaTagger
from sk_metaembed.dynamic import _crf
from sk_metaembed.dynamic._batches import Grid
from sk_metaembed.dynamic._crf import (
    FORBIDDEN,
    Chain,
    best_tags,
    tag_losses,
    tag_probabilities,
)

from .test_estimators import SMALL

LENGTHS = (3, 0, 1, 4, 2, 0)


def grid_of(lengths):
    return Grid.of(np.asarray(lengths, dtype=np.int64), torch.from_numpy)


def chain_of(n_tags, seed=0, scale=2.0):
    generator = torch.Generator().manual_seed(seed)
    shapes = (n_tags, n_tags), (n_tags,), (n_tags,)
    return Chain(*(scale * torch.randn(s, generator=generator) for s in shapes))


def scores_of(lengths, n_tags, seed=1, scale=2.0):
    generator = torch.Generator().manual_seed(seed)
    return scale * torch.randn((sum(lengths), n_tags), generator=generator)


def parts(lengths):
    ends = np.cumsum(lengths)
    return [slice(end - n, end) for end, n in zip(ends, lengths, strict=True)]


def score(path, scores, chain):
    """Return the score of one path, in float64."""
    total = chain.starts[path[0]].double() + chain.ends[path[-1]].double()
    total = total + sum(scores[i, tag].double() for i, tag in enumerate(path))
    steps = zip(path[:-1], path[1:], strict=True)
    return total + sum(chain.transitions[a, b].double() for a, b in steps)


def every_path(scores, chain):
    """Return all paths of one sentence, and their scores."""
    paths = list(product(range(scores.shape[1]), repeat=len(scores)))
    return paths, torch.stack([score(p, scores, chain) for p in paths])


def forbidding(chain, pairs):
    transitions = chain.transitions.clone()
    for a, b in pairs:
        transitions[a, b] += FORBIDDEN
    return chain._replace(transitions=transitions)


CHAINS = {
    "three tags": chain_of(3),
    "one tag": chain_of(1),
    "two tags": chain_of(2, scale=10.0),
    "some forbidden": forbidding(chain_of(3), [(0, 1), (2, 2)]),
}


@pytest.fixture(params=CHAINS, ids=str)
def chain(request):
    return CHAINS[request.param]


def test_likelihoods_marginals_and_the_best_path_are_those_of_all_paths(chain):
    n_tags = len(chain.starts)
    scores, grid = scores_of(LENGTHS, n_tags), grid_of(LENGTHS)
    best, marginals = (f(scores, chain, grid) for f in (best_tags, tag_probabilities))
    for part in parts(LENGTHS):
        if part.start == part.stop:
            continue
        paths, totals = every_path(scores[part], chain)
        assert best[part].tolist() == list(paths[totals.argmax()])
        expected = torch.zeros(part.stop - part.start, n_tags, dtype=torch.float64)
        for path, log_share in zip(paths, totals.log_softmax(dim=0), strict=True):
            expected[torch.arange(len(path)), torch.tensor(path)] += log_share.exp()
            tags = torch.zeros(len(scores), dtype=torch.int64)
            tags[part] = torch.tensor(path)
            loss = tag_losses(scores, chain, grid, tags)[part].sum().double()
            torch.testing.assert_close(loss, -log_share, atol=1e-4, rtol=1e-4)
        result = marginals[part].double()
        torch.testing.assert_close(result, expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("name", CHAINS)
def test_weighted_losses_have_the_gradient_of_finite_differences(name):
    lengths, chain = (3, 0, 1, 2), CHAINS[name]
    n_tags = len(chain.starts)
    scores = scores_of(lengths, n_tags).double().requires_grad_()
    tags = torch.tensor([0, 2, 1, 1, 0, 2]) % n_tags
    weights = torch.tensor([1.0, 5, 0, 2, 0.1, 1])
    grid = grid_of(lengths)

    def loss(scores, *parts):
        return (tag_losses(scores, Chain(*parts), grid, tags) * weights).sum()

    inputs = scores, *(part.double().requires_grad_() for part in chain)
    assert torch.autograd.gradcheck(loss, inputs)


def test_scores_far_apart_give_finite_losses_and_gradients():
    chain = Chain(*(part.requires_grad_() for part in chain_of(4, scale=3e3)))
    scores = scores_of(LENGTHS, 4, scale=3e3).requires_grad_()
    grid, worst = grid_of(LENGTHS), scores.argmin(dim=1)
    losses = tag_losses(scores, chain, grid, worst)
    losses.sum().backward()
    assert losses.max() > 100
    for part in (scores, *chain):
        assert part.grad.isfinite().all()
        assert part.grad.abs().max() <= len(scores)
    assert (scores.grad.gather(1, worst[:, None]) < -0.5).any()


def test_a_path_with_one_violation_is_better_than_with_two():
    # Tags B and E of a scheme in which E follows B, and B opens and E closes.
    chain = Chain(torch.zeros(2, 2), torch.zeros(2), torch.zeros(2))
    chain = forbidding(chain, [(0, 0), (1, 1)])
    only = torch.tensor([FORBIDDEN, 0.0])
    chain = chain._replace(starts=only.flip(0), ends=only)
    scores, grid = torch.zeros(3, 2), grid_of([3])
    scores[:, 1] = 5
    shares = tag_probabilities(scores, chain, grid)
    torch.testing.assert_close(shares.sum(dim=1), torch.ones(3))
    paths, totals = every_path(scores, chain)
    expected = torch.zeros(3, 2)
    for path, share in zip(paths, torch.softmax(totals, dim=0), strict=True):
        expected[torch.arange(3), torch.tensor(path)] += share.float()
    torch.testing.assert_close(shares, expected, atol=1e-5, rtol=1e-4)


def test_long_sentences_stay_exact():
    lengths = (500, 3, 500)
    chain = chain_of(4, scale=30.0)
    scores = scores_of(lengths, 4, scale=30.0)
    tags, grid = scores.argmax(dim=1), grid_of(lengths)
    exact = Chain(*(part.double() for part in chain)), grid
    losses = tag_losses(scores, chain, grid, tags)
    expected = tag_losses(scores.double(), *exact, tags)
    torch.testing.assert_close(losses.double(), expected, rtol=1e-4, atol=2e-4)
    shares = tag_probabilities(scores, chain, grid)
    expected = tag_probabilities(scores.double(), *exact)
    torch.testing.assert_close(shares.double(), expected, rtol=0, atol=1e-4)
    torch.testing.assert_close(shares.sum(dim=1), torch.ones(len(scores)))
    assert torch.equal(
        best_tags(scores, chain, grid), best_tags(scores.double(), *exact)
    )


def test_it_stays_in_float32_under_autocast():
    chain, scores, grid = chain_of(5), scores_of(LENGTHS, 5), grid_of(LENGTHS)
    expected = tag_probabilities(scores, chain, grid)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        result = tag_probabilities(scores, chain, grid)
        losses = tag_losses(scores, chain, grid, scores.argmax(dim=1))
    assert result.dtype == losses.dtype == torch.float32
    torch.testing.assert_close(result, expected, rtol=1e-5, atol=1e-6)


def test_devices_without_float64_compute_tags_on_the_cpu(embedded, monkeypatch):
    tags = [[f"t{len(w)}" for w in row] for row in embedded.tokens.to_list()]
    expected = DynamicMetaTagger(**SMALL).fit(embedded, tags).predict_proba(embedded)
    monkeypatch.setattr(_crf, "_WITHOUT_FLOAT64", {"cpu"})
    result = DynamicMetaTagger(**SMALL).fit(embedded, tags).predict_proba(embedded)
    np.testing.assert_array_equal(np.concatenate(result), np.concatenate(expected))
