"""NumPy kernels for small inputs match the compiled kernels."""

import numpy as np
import pytest

from sk_metaembed import (
    Block,
    EmbeddedSequences,
    Pooling,
    TokenSequences,
)
from sk_metaembed.pooling import _bags

MODES = ("mean", "sum", "max", "min", "power-means", "dct", "hierarchical")
WORDS = [f"w{i}" for i in range(50)]


def embedded(dim, dtype, level):
    rng = np.random.default_rng(0)
    rows = [rng.choice(WORDS, n).tolist() for n in (0, 1, 2, 3, 4, 5, 7, 8, 30, 0)]
    tokens = TokenSequences.from_lists(rows)
    n_rows = tokens.n_types if level == "type" else tokens.n_tokens
    values = rng.normal(scale=3, size=(n_rows, dim)).astype(dtype)
    values[0], values[1] = -0.0, 6e-8  # of float16 a subnormal number
    known = rng.random(n_rows) < 0.8
    values[~known] = 0
    return EmbeddedSequences(tokens, [Block("x", values, level, known)])


@pytest.mark.parametrize("weights", [None, "idf"])
@pytest.mark.parametrize("level", ["type", "token"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("dim", [1, 5])
def test_small_inputs_are_pooled_alike(dim, dtype, level, weights, monkeypatch):
    X = embedded(dim, dtype, level)
    pooling = Pooling(MODES, weights=weights, powers=(2, 3, 7), n_coefficients=3)
    pooling.fit(X)
    given = []
    for compiled in (False, True):
        monkeypatch.setattr(
            _bags, "use_compiled", lambda _, compiled=compiled: compiled
        )
        given.append(pooling.transform(X))
    np.testing.assert_allclose(*given, rtol=1e-6, atol=1e-6)
