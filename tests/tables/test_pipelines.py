"""make_text_pipeline and make_table_pipeline: one line from a table to predictions."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier, is_regressor
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.tree import DecisionTreeClassifier

from sk_metaembed import (
    EmbeddingUnion,
    FunctionEmbedding,
    StackedMetaClassifier,
    StackedMetaRegressor,
    TextMetaEncoder,
    make_table_pipeline,
    make_text_pipeline,
)

GOOD = ("warm", "bright", "lively", "clever", "moving")
BAD = ("dull", "cold", "slow", "empty", "loud")
NEUTRAL = tuple(f"word{i}" for i in range(40))


def reviews(n_rows, seed=0):
    """Return texts and classes, of which a word or two tell."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n_rows) % 2)
    texts = [
        " ".join(rng.permutation([*rng.choice(NEUTRAL, 5), rng.choice((BAD, GOOD)[c])]))
        for c in y
    ]
    return texts, y


def word_lengths(words):
    return [[len(word), word.count("o")] for word in words]


SOURCE = ("lengths", FunctionEmbedding(word_lengths))


def test_steps_of_the_text_pipeline():
    alone, both = make_text_pipeline(), make_text_pipeline("regressor", [SOURCE])
    assert list(alone.named_steps) == ["tokens", "model"]
    assert list(both.named_steps) == ["tokens", "sources", "model"]
    assert isinstance(alone[-1], StackedMetaClassifier)
    assert isinstance(both[-1], StackedMetaRegressor)
    assert isinstance(both["sources"], EmbeddingUnion)
    assert is_classifier(alone)
    assert is_regressor(both)
    own = make_text_pipeline(DecisionTreeClassifier(), [SOURCE])
    assert list(own.named_steps) == ["encoder", "model"]
    assert isinstance(own["encoder"], TextMetaEncoder)


@pytest.mark.parametrize(("sources", "n_rows"), [(None, 8), ([SOURCE], 60)])
def test_text_pipeline_is_no_worse_than_a_linear_model_of_the_words(sources, n_rows):
    texts, y = reviews(n_rows)
    new, expected = reviews(300, seed=1)
    tfidf = make_pipeline(TfidfVectorizer(), LogisticRegression(C=10)).fit(texts, y)
    model = make_text_pipeline(sources=sources, random_state=0).fit(texts, y)
    assert model.score(new, expected) > tfidf.score(new, expected) - 0.05
    assert model.score(new, expected) > {8: 0.45, 60: 0.75}[n_rows]


def test_missing_texts_and_two_rows_per_class():
    texts, y = ["warm film", "dull film", None, "cold plot"], ["a", "b", "a", "b"]
    with warnings.catch_warnings(action="error"):
        model = make_text_pipeline(random_state=0).fit(texts, y)
    probabilities = model.predict_proba(["warm", "", None])
    assert np.isfinite(probabilities).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)


@pytest.mark.parametrize("names", [[0, 1], ["bad", "good"]])
def test_rows_without_a_label_are_no_class(names):
    """Self-training as the last step takes -1 as a row without a label."""
    texts, y = reviews(300)
    labels = np.array(names, dtype=object)[y]
    partial = np.where(np.arange(300) % 4 == 0, -1, labels)
    partial = partial if names[1] == "good" else partial.astype(int)
    frame = pd.DataFrame({"text": texts, "noise": np.random.default_rng(0).random(300)})
    model = SelfTrainingClassifier(LogisticRegression())
    for pipeline, X in (
        (make_table_pipeline(model, random_state=0), frame),
        (make_text_pipeline(model, random_state=0), texts),
    ):
        pipeline.fit(X, partial)
        assert pipeline.classes_.tolist() == names
        assert (pipeline.predict(X) == labels).mean() > 0.9
        columns = pipeline[0].get_feature_names_out()
        found = [c for c in columns if "predicted" in c or "stacked" in c]
        assert [c.split("__")[-1] for c in found] == [str(names[1])]
    with pytest.raises(ValueError, match='all rows of y are -1, .*"semi-supervised"'):
        make_table_pipeline(model).fit(frame, np.full(300, -1))
    assert make_table_pipeline(LogisticRegression())[0].target_type == "auto"


def test_other_estimators_receive_what_they_accept():
    frame, y = dated()
    frame.loc[5, "size"] = None
    linear = make_table_pipeline(LogisticRegression()).fit(frame, y)
    assert [*linear.named_steps] == ["table", "scaler", "model"]
    tree = make_table_pipeline(DecisionTreeClassifier(random_state=0)).fit(frame, y)
    assert [*tree.named_steps] == ["table", "model"]
    assert tree.score(frame, y) == 1
    names = linear[:-1].get_feature_names_out()
    assert names[-1] == "size__missing" and len(names) == linear[-1].n_features_in_
    with pytest.raises(ValueError, match='parts of the models "classifier" and "reg'):
        make_table_pipeline(LogisticRegression(), learners=["linear"])


def test_predictions_are_added_from_200_rows_on():
    texts, y = reviews(220)
    encoder = TextMetaEncoder(cv="auto", n_components=2, random_state=0)
    few = encoder.fit(texts[:199], y[:199]).get_feature_names_out().tolist()
    many = encoder.fit(texts, y).get_feature_names_out().tolist()
    assert many == [*few, "stacked__1"]
    assert encoder.fit(texts[:199], y[:199]).transform(texts).shape == (220, 4)
    with pytest.warns(UserWarning, match="of 199 rows, cv=5, are noisy"):
        encoder.set_params(cv=5).fit(texts[:199], y[:199])


def dated(n_rows=40):
    """Return a table with dates and classes of which the year tells."""
    days = pd.date_range("2020-01-01", periods=n_rows, freq="27D")
    frame = pd.DataFrame({"review": reviews(n_rows)[0], "size": range(n_rows)})
    return frame.assign(day=days), (days.year % 2).to_numpy()
