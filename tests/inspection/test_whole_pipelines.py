"""Displays, attention weights and coverage take whole pipelines and raw texts."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_metaembed import (
    DynamicMetaEmbedding,
    EmbeddingUnion,
    FunctionEmbedding,
    Pooling,
    Tokenizer,
)
from sk_metaembed.inspection import SourceWeightsDisplay, TokenWeightsDisplay
from sk_metaembed.metrics import coverage_report

TEXTS = ["A good film", "a Bad plot", "good plot!", "bad film", "film", "bad"] * 4
Y = [1, 0, 1, 0, 1, 0] * 4
KNOWN = {"good": [1.0, 0.0], "bad": [0.0, 1.0], "film": [0.5, 0.5]}
FRAME = pd.DataFrame({"n": np.arange(24.0), "text": TEXTS})
FIT = {
    "projection_dim": 3,
    "network_options": {"activation": None},  # no vector is zero
    "encoder": "mean",
    "max_epochs": 1,
    "random_state": 0,
}


def looked_up(words):
    return [KNOWN.get(word) for word in words]


def shaped(words):
    return [[len(word), word.istitle(), 1] for word in words]


def text_steps():
    sources = [
        ("table", FunctionEmbedding(looked_up)),
        ("shape", FunctionEmbedding(shaped)),
    ]
    return [
        ("tokens", Tokenizer(lowercase=False)),
        ("embed", EmbeddingUnion(sources)),
        ("meta", DynamicMetaEmbedding(**FIT)),
        ("pool", Pooling()),
    ]


def with_classifier():
    return Pipeline([*text_steps(), ("clf", LogisticRegression())])


def with_columns():
    branches = [
        ("text", Pipeline(text_steps()), "text"),
        ("n", StandardScaler(), ["n"]),
    ]
    features = ColumnTransformer(branches)
    return Pipeline([("features", features), ("clf", LogisticRegression())])


@pytest.fixture(scope="module")
def whole():
    return with_classifier().fit(TEXTS, Y)


@pytest.fixture(scope="module")
def columns():
    return with_columns().fit(FRAME, Y)


@pytest.fixture(scope="module")
def searches(whole):
    grid = {"clf__C": [1.0]}
    return {
        "grid": GridSearchCV(with_classifier(), grid, cv=2).fit(TEXTS, Y),
        "threshold": TunedThresholdClassifierCV(with_classifier(), cv=2).fit(TEXTS, Y),
    }


def attention_weights(estimator, X):
    return TokenWeightsDisplay.from_estimator(estimator, X).frame()


def assert_same_weights(result, expected):
    names = ["sequence", "position", "token"]
    pd.testing.assert_frame_equal(result[names], expected[names])
    sources = ["table", "shape"]
    np.testing.assert_allclose(result[sources], expected[sources], atol=1e-5)


def by_hand(pipe, texts):
    return pipe["meta"].attention_weights(pipe[:2].transform(texts))


def test_weights_of_a_pipeline_equal_those_of_its_step(whole):
    result = attention_weights(whole, TEXTS[:3])
    assert_same_weights(result, by_hand(whole, TEXTS[:3]))
    assert result.token.tolist()[:3] == ["A", "good", "film"]
    np.testing.assert_allclose(result[["table", "shape"]].sum(axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("kind", ["grid", "threshold"])
def test_weights_of_a_search_equal_those_of_its_best_estimator(searches, kind):
    search = searches[kind]
    best = search.estimator_ if kind == "threshold" else search.best_estimator_
    assert_same_weights(attention_weights(search, TEXTS[:3]), by_hand(best, TEXTS[:3]))


def test_branches_are_passed_one_by_one(columns):
    message = r"inside a ColumnTransformer .* columns.named_transformers_\['text'\]"
    for show in (attention_weights, coverage_report):
        with pytest.raises(ValueError, match=message):
            show(columns, FRAME[:3])
    branch = columns["features"].named_transformers_["text"]
    assert_same_weights(
        attention_weights(branch, TEXTS[:3]), by_hand(branch, TEXTS[:3])
    )


def test_other_errors_say_what_is_wrong(whole):
    with pytest.raises(TypeError, match="TokenWeightsDisplay: requires.*got Pipeline"):
        attention_weights(make_pipeline(Tokenizer(), Pooling()), TEXTS)
    unfitted = GridSearchCV(with_classifier(), {"clf__C": [1.0]})
    with pytest.raises(NotFittedError, match="GridSearchCV has no fitted est"):
        attention_weights(unfitted, TEXTS)
    with pytest.raises(NotFittedError):
        attention_weights(clone(whole), TEXTS)


def test_every_display_takes_whole_pipelines(whole):
    bars = SourceWeightsDisplay.from_estimator(whole, TEXTS, groups=Y)
    weights = by_hand(whole, TEXTS)
    total = bars.weights.T @ bars.counts / bars.counts.sum()
    known = weights[["table", "shape"]]
    np.testing.assert_allclose(total, known.mean(), atol=1e-5)

    words = TokenWeightsDisplay.from_estimator(whole, TEXTS[:2])
    np.testing.assert_allclose(words.weights, known[:6], atol=1e-5)


def test_coverage_counts_words_of_the_pipeline_per_source(searches):
    rows = coverage_report(searches["grid"], TEXTS[:6])
    rows = {row["source"]: row for row in rows}
    assert list(rows) == ["table", "shape"]
    assert rows["shape"]["tokens"] == 12
    # The pipeline's Tokenizer keeps capitals.
    assert (rows["table"]["types"], rows["table"]["tokens"]) == (3, 7)
    assert rows["table"]["unknown"] == [("plot", 2), ("A", 1), ("a", 1), ("Bad", 1)]
