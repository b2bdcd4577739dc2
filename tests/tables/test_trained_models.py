"""The parameter `effort` of make_text_pipeline: encoders trained as members."""

import numpy as np
import pytest
from sklearn.base import is_classifier, is_regressor
from sklearn.linear_model import LogisticRegression

from sk_metaembed import (
    FunctionEmbedding,
    LSAEmbedding,
    TokenSequences,
    TransformerEmbedding,
    load,
    make_text_pipeline,
    save,
)

from .. import tiny_encoder

pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("encoder")
    return tiny_encoder.save(folder, "Bert", [tiny_encoder.pooling("mean")])


def pipeline(encoder, kind="classifier", effort="high", **options):
    """Return a pipeline whose encoders are trained for a few steps."""
    sources = [
        ("tiny", TransformerEmbedding(encoder, output="mean")),
        ("lsa", LSAEmbedding(3, random_state=0)),
    ]
    model = make_text_pipeline(kind, sources, effort=effort, random_state=0, **options)
    for name, member in model["model"].models or ():
        if name == "tiny-pairs":
            member[0].set_params(n_steps=2)
        else:
            member.set_params(max_epochs=1, projection_dim=4, hidden_dims=())
    model["model"].set_params(cv=2)
    return model


def data(n_rows=24):
    rng = np.random.default_rng(0)
    y = np.arange(n_rows) % 2
    words = np.array(["good", "bad", "film", "king", "queen"])
    texts = [" ".join([words[c], *rng.choice(words[2:], 3)]) for c in y]
    return texts, y


@pytest.mark.parametrize(
    ("kind", "effort", "names"),
    [
        ("classifier", "low", None),
        ("classifier", "medium", ["tiny-pairs"]),
        ("classifier", "high", ["tiny-pairs", "tiny-tuned"]),
        ("regressor", "low", None),
        ("regressor", "medium", ["tiny-tuned"]),
        ("regressor", "high", ["tiny-tuned"]),
    ],
)
def test_members_by_effort(encoder, kind, effort, names):
    models = pipeline(encoder, kind, effort)["model"].models
    assert names == (models and [name for name, _ in models])
    is_kind = is_classifier if kind == "classifier" else is_regressor
    assert all(is_kind(model) for _, model in models or ())


def test_trained_encoders_share_the_parameters_of_their_sources(encoder):
    options = {"prompt": "query: ", "revision": "v", "trusted": True, "device": "cpu"}
    source = TransformerEmbedding(encoder, trust_remote_code=True, **options)
    stack = make_text_pipeline("classifier", [source], effort="high")["model"]
    pairs, tuned = (model for _, model in stack.models)
    own, fixed = source.get_params(), {"output", "truncate", "preprocess", "max_length"}
    for copy in (pairs[0], tuned.trainable.source):
        shared = {*own} & {*copy.get_params()} - fixed
        assert {"model", "trust_remote_code", *options} < shared
        assert {n: own[n] for n in shared} == {n: getattr(copy, n) for n in shared}


@pytest.mark.parametrize("output", ["auto", "sentence", "cls"])
def test_encoders_are_trained_as_their_sources_pool(output, tmp_path):
    settings = {"prompts": {"d": "good "}, "default_prompt_name": "d"}
    steps = [tiny_encoder.pooling("cls")]
    folder = tiny_encoder.save(tmp_path, steps=steps, settings=settings)
    prompt = "good " if output == "cls" else None
    source = TransformerEmbedding(folder, output=output, prompt=prompt)
    stack = make_text_pipeline("classifier", [source], effort="high")["model"]
    tokens = TokenSequences.from_lists([["good", "film"]])
    prepared = dict(stack.models)["transformer-tuned"].trainable.prepare(tokens)
    assert (prepared.source.output_, prepared.source.prompt_) == ("cls", "good ")


@pytest.mark.parametrize(
    "target", [pytest.param("three", marks=pytest.mark.slow), "labels", "numbers"]
)
def test_trained_encoders_predict(encoder, target, tmp_path):
    texts, y = data()
    kind = "classifier"
    if target == "three":
        y = np.array(["a", "b", "c"])[np.arange(len(y)) % 3]
    elif target == "labels":
        y = np.stack([y, 1 - y], axis=1)
    elif target == "numbers":
        kind, y = "regressor", y + np.linspace(0, 0.1, len(y))
    model = pipeline(encoder, kind).fit(texts, y)
    assert {"tiny", "tiny-tuned"} < set(model["model"].weights_)
    predicted = model.predict(texts)
    assert predicted.shape == y.shape
    assert predicted.dtype.kind == y.dtype.kind
    path = tmp_path / "model.skm"
    save(model, path)
    np.testing.assert_array_equal(load(path).predict(texts), predicted)


def test_an_encoder_that_learns_gets_weight(encoder):
    """Members are trained on the labels: their out-of-fold scores show it."""
    texts, y = data(40)
    model = pipeline(encoder, effort="medium")
    dict(model["model"].models)["tiny-pairs"][0].set_params(n_steps=60, lr=3e-3)
    model.fit(texts, y)
    assert model["model"].scores_["tiny-pairs"] > 0.9


def one_hot(words):
    return np.array([[word == letter for letter in "abxyz"] for word in words], float)


@pytest.mark.parametrize(
    ("sources", "effort"), [(None, "medium"), ([FunctionEmbedding(one_hot)], "high")]
)
def test_without_encoders_a_network_reads_the_order_of_tokens(sources, effort):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    between = [" ".join(rng.choice(["x", "y", "z"], 4)) for _ in y]
    texts = [f"a {b} b" if c else f"b {b} a" for b, c in zip(between, y, strict=True)]
    stack = make_text_pipeline("classifier", sources, effort=effort, random_state=0)
    ((name, net),) = stack["model"].models
    assert (name, net.encoder) == ("net", "conv")
    small = {"projection_dim": 8, "encoder_dim": 8, "hidden_dims": (), "lr": 0.05}
    small |= {"head_dropout": 0.0, "max_epochs": 16}
    net.set_params(random_state=0, **small)
    model = stack.set_params(model__cv=2).fit(texts, y)["model"]
    assert model.scores_["net"] > 0.95
    trained = dict(model.models)["net"]
    assert trained is net and not hasattr(net, "net_")
    number = make_text_pipeline("regressor", sources, effort=effort)["model"].models
    assert is_regressor(number[0][1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"effort": "most"}, "effort must be one of .*'high'.*; got 'most'"),
        (
            {"effort": "high", "estimator": LogisticRegression()},
            "the model of .classifier. and .regressor.; got estimator=Logistic",
        ),
    ],
)
def test_efforts_that_cannot_be_spent(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_text_pipeline(**arguments)
