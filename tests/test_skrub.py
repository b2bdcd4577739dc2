"""A pipeline of ours encodes the columns of texts of skrub's table steps."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sk_metaembed import EmbeddingUnion, FunctionEmbedding, Pooling, Tokenizer
from sk_metaembed.inspection import explain

skrub = pytest.importorskip("skrub")
N_ROWS = 60
# skrub takes empty strings for missing values, too.
TEXTS = [
    None if i % 7 == 0 else "" if i % 5 == 0 else f"row {i}" for i in range(N_ROWS)
]


def encoder():
    source = FunctionEmbedding(lambda words: [[len(w), ord(w[0])] for w in words])
    return make_pipeline(
        Tokenizer(missing="empty"), source, Pooling(add_indicator=True)
    )


def table(kind):
    frame = kind({"text": TEXTS, "n": np.arange(N_ROWS, dtype=float)})
    if kind is pd.DataFrame:
        frame.index = np.random.default_rng(0).permutation(N_ROWS)
    return frame


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
@pytest.mark.parametrize("step", ["TableVectorizer", "ApplyToCols"])
def test_columns_with_nulls(step, kind):
    if step == "TableVectorizer":
        encode = skrub.TableVectorizer(high_cardinality=encoder())
    else:
        encode = skrub.ApplyToCols(encoder(), cols=["text"])
    frame = table(kind)
    result = encode.fit_transform(frame)
    assert isinstance(result, kind)
    missing = np.array([not text for text in TEXTS])
    if step == "ApplyToCols":  # does not look at the values
        missing = np.array([text is None for text in TEXTS])
    assert np.array_equal(result["missing"].to_numpy(), missing)
    assert np.array_equal(result["n"].to_numpy(), np.arange(N_ROWS))
    if kind is pd.DataFrame:
        assert result.index.equals(frame.index)
    # Values that only transform sees may be missing as well.
    again = encode.fit(frame[1:]).transform(frame[:7])
    assert np.array_equal(again["missing"].to_numpy(), missing[:7])


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_tabular_pipeline(kind):
    model = skrub.tabular_pipeline(LogisticRegression())
    model.set_params(tablevectorizer__high_cardinality=encoder())
    frame, y = table(kind), np.arange(N_ROWS) % 2
    assert model.fit(frame, y).predict(frame[:5]).shape == (5,)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_words_of_a_column_are_explained(kind):
    texts = [f"row {i} {'good' if i % 2 else 'dull'} {'x' * i}" for i in range(N_ROWS)]
    frame = kind({"text": texts, "n": np.arange(N_ROWS, dtype=float)})
    table = skrub.TableVectorizer(high_cardinality=encoder())
    model = make_pipeline(table, LogisticRegression(max_iter=2000))
    model.fit(frame, np.arange(N_ROWS) % 2)
    some = frame[:2]
    explanation = explain(model, some, column="text", background=frame[2:9], target=1)
    assert explanation.tokens[0] == ["row", "0", "dull"]
    assert list(explanation.columns) == ["text", "n"]
    assert explanation.sources == {}
    shorter = kind({"text": ["0 dull "], "n": [0.0]})
    expected = model.decision_function(some) - model.decision_function(shorter)
    np.testing.assert_allclose(explanation.words[0], expected[0], rtol=1e-5)
    source = FunctionEmbedding(lambda words: [[len(w)] for w in words])
    union = EmbeddingUnion([("length", source)])
    inside = make_pipeline(Tokenizer(missing="empty"), union, Pooling())
    model.set_params(tablevectorizer__high_cardinality=inside)
    model.fit(frame, np.arange(N_ROWS) % 2)
    explanation = explain(model, some, column="text", target=1)
    assert explanation.sources["length"][0] != 0
    # Hidden from the model, the words are as if they were not there.
    hidden = explanation.values - explanation.sources["length"]
    np.testing.assert_allclose(hidden, explanation.base, rtol=1e-5)
