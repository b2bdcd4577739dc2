"""ELMo's layers in dynamic meta-embeddings: mixed alone, and next to static vectors."""

import numpy as np
import pytest

from sk_metaembed import DynamicMetaEmbedding, ElmoEmbedding, Pooling

from ..tiny_elmo import files

GOOD, BAD = ["good", "fine", "great", "happy"], ["bad", "poor", "awful", "sad"]
NET = {"max_epochs": 20, "lr": 0.05, "early_stopping": False, "random_state": 0}


@pytest.fixture(scope="module")
def texts():
    """Sentences whose words decide their class."""
    rng = np.random.default_rng(0)
    frames = ["the {} film was {}", "a {} plot", "{} and {} , it was very {}", "{}"]
    rows = [
        frames[i // 2 % 4].format(*rng.choice([GOOD, BAD][i % 2], 3)) for i in range(48)
    ]
    return rows, np.arange(48) % 2


def test_a_mix_that_was_learned_can_be_given(texts):
    texts, y = texts
    layers = ElmoEmbedding(*files()).fit_transform(texts)
    learned = DynamicMetaEmbedding(
        "task",
        projection_dim=None,
        network_options={
            "activation": None,
            "mixer": "published",
            "layer_norm": True,
            "mix_penalty": 0.01,
        },
        **NET,
    ).fit(layers, y)
    weights = learned.layer_weights_
    assert np.ptp(list(weights.values())) > 0.02
    given = ElmoEmbedding(
        *files(),
        output="elmo",
        mix_weights=np.log(list(weights.values())),
        gamma=learned.gamma_,
        layer_norm=True,
    ).fit(texts)
    assert given.layer_weights_ == pytest.approx(weights)
    expected = learned.transform(layers)
    close = {"rtol": 1e-5, "atol": 1e-5}
    np.testing.assert_allclose(
        given.transform(texts).blocks[0].values, expected.blocks[0].values, **close
    )
    means = given.set_params(output="default").fit_transform(texts).blocks[0].values
    np.testing.assert_allclose(means, Pooling("mean").fit_transform(expected), **close)
