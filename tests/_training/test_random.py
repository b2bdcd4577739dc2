import pytest
import torch
from torch import nn

from sk_metaembed._training._random import (
    dropout,
    generator_on,
    local_generators,
    swap_default_generators,
)

X = torch.arange(1.0, 201.0).view(10, 20)


@pytest.fixture(autouse=True)
def default_stream():
    """Check that torch's default stream is where it was."""
    with torch.random.fork_rng():
        torch.manual_seed(9)
        before = torch.get_rng_state()
        yield
        assert torch.equal(torch.get_rng_state(), before)


def seeded(seed, function):
    """Return what a function gives after seeding torch's default generator."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return function()


def test_dropout_is_torchs_own_with_another_generator():
    def ours():
        return dropout(X, 0.3, True)

    expected = seeded(3, lambda: nn.functional.dropout(X, 0.3))
    assert torch.equal(seeded(3, ours), expected)  # outside a fit
    with local_generators(3):
        assert torch.equal(ours(), expected)
        assert not torch.equal(ours(), expected)
        state = generator_on("cpu").get_state()
        for rate, training in ((0.3, False), (0, True)):
            assert dropout(X, rate, training) is X
        assert torch.equal(generator_on("cpu").get_state(), state)


def test_default_generators_continue_the_stream_of_the_fit():
    expected = seeded(3, lambda: [torch.rand(3) for _ in range(4)])
    with local_generators(3):
        results = [torch.rand(3, generator=generator_on("cpu"))]
        with swap_default_generators("cpu"):
            assert generator_on("cpu") is None
            results.append(torch.rand(3))
            with swap_default_generators("cpu"):
                results.append(torch.rand(3))
        results.append(torch.rand(3, generator=generator_on("cpu")))
    assert torch.equal(torch.stack(results), torch.stack(expected))
    assert generator_on("cpu") is None
