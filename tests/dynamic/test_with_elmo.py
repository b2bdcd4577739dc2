"""ELMo's layers in dynamic meta-embeddings: mixed alone, and beside static vectors."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import Pipeline

from sk_metaembed import (
    DynamicMetaEmbedding,
    ElmoEmbedding,
    EmbeddingUnion,
    Pooling,
    PretrainedEmbedding,
    Tokenizer,
    Word2VecEmbedding,
)

from ..tiny_elmo import files

GOOD, BAD = ["good", "fine", "great", "happy"], ["bad", "poor", "awful", "sad"]
NET = {"max_epochs": 20, "lr": 0.05, "early_stopping": False, "random_state": 0}
W2V = {"vector_size": 6, "min_count": 1, "epochs": 5, "n_jobs": 1, "random_state": 0}


@pytest.fixture(scope="module")
def texts():
    """Sentences whose words decide their class."""
    rng = np.random.default_rng(0)
    frames = ["the {} film was {}", "a {} plot", "{} and {} , it was very {}", "{}"]
    rows = [
        frames[i // 2 % 4].format(*rng.choice([GOOD, BAD][i % 2], 3)) for i in range(48)
    ]
    return rows, np.arange(48) % 2


@pytest.fixture(scope="module")
def glove(tmp_path_factory):
    """A file as GloVe's, which lacks some of the words."""
    rng = np.random.default_rng(1)
    path = tmp_path_factory.mktemp("glove") / "glove.5d.txt"
    words = [*GOOD[:3], *BAD[:3], "the", "was", "film", "and"]
    lines = [" ".join([w, *map("{:.4f}".format, rng.normal(size=5))]) for w in words]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(("layer_norm", "mix_penalty"), [(False, 0.01), (True, 0.0)])
def test_a_mix_that_was_learned_can_be_given(texts, layer_norm, mix_penalty):
    texts, y = texts
    layers = ElmoEmbedding(*files()).fit_transform(texts)
    learned = DynamicMetaEmbedding(
        "task",
        projection_dim=None,
        activation=None,
        mixer="published",
        layer_norm=layer_norm,
        mix_penalty=mix_penalty,
        **NET,
    ).fit(layers, y)
    weights = learned.layer_weights_
    assert np.ptp(list(weights.values())) > 0.02
    given = ElmoEmbedding(
        *files(),
        output="elmo",
        mix_weights=np.log(list(weights.values())),
        gamma=learned.gamma_,
        layer_norm=layer_norm,
    ).fit(texts)
    assert given.layer_weights_ == pytest.approx(weights)
    expected = learned.transform(layers)
    close = {"rtol": 1e-5, "atol": 1e-5}
    np.testing.assert_allclose(
        given.transform(texts).blocks[0].values, expected.blocks[0].values, **close
    )
    means = given.set_params(output="default").fit_transform(texts).blocks[0].values
    np.testing.assert_allclose(means, Pooling("mean").fit_transform(expected), **close)


@pytest.fixture
def pipe(glove):
    sources = [
        ("elmo", ElmoEmbedding(*files())),
        ("w2v", Word2VecEmbedding(**W2V)),
        ("glove", PretrainedEmbedding(glove)),
    ]
    return Pipeline(
        [
            ("tokens", Tokenizer()),
            ("embed", EmbeddingUnion(sources)),
            ("meta", DynamicMetaEmbedding(projection_dim=8, **NET)),
            ("pool", Pooling()),
            ("clf", LogisticRegression()),
        ]
    )


@pytest.mark.parametrize("attention", ["word", "context", "task"])
def test_layers_go_with_static_vectors_through_one_pipeline(texts, pipe, attention):
    texts, y = texts
    pipe.set_params(meta__attention=attention)
    scores = cross_val_score(pipe, texts, y, cv=3, error_score="raise")
    assert scores.mean() > 0.7
    weights = (
        pipe.fit(texts, y)[:-2]
        .named_steps["meta"]
        .attention_weights(pipe[:2].transform(texts))
    )
    names = ["elmo__layer0", "elmo__layer1", "elmo__layer2", "w2v", "glove"]
    assert list(weights.columns) == ["sequence", "position", "token", *names]
    np.testing.assert_allclose(weights[names].sum(axis=1), 1, atol=1e-5)
    lacking = weights["token"] == "happy"
    assert lacking.any()
    assert not weights.loc[lacking, "glove"].any()
