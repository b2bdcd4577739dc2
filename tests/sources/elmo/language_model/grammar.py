"""A small grammar, and parameters with which it is learned fast."""

import numpy as np

ARCHITECTURE = {
    "projection_dim": 6,
    "cell_dim": 10,
    "filters": ((1, 4), (2, 6)),
    "char_dim": 4,
}
SMALL = {
    "architecture": ARCHITECTURE,
    "batch_size": 4,
    "n_steps": 5,
    "max_epochs": 2,
    "lr": 0.02,
    "device": "cpu",
    "random_state": 0,
}


def sentences(n, verb="sat", seed=0):
    """Return sentences of a small grammar: who, what, where."""
    rng = np.random.default_rng(seed)
    who, where = ["cat", "dog", "hen"], ["mat", "rug", "log", "bed"]
    return [
        ["the", rng.choice(who), verb, "on", "the", rng.choice(where)] for _ in range(n)
    ]
