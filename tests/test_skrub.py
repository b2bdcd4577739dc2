"""TextMetaEncoder and pipelines encode the columns of texts of skrub's table steps."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from packaging.version import Version
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from sk_metaembed import FunctionEmbedding, Pooling, TextMetaEncoder, Tokenizer
from sk_metaembed.inspection import explain

from .tables.test_text_meta_encoder import FRAMES

skrub = pytest.importorskip("skrub")
BEFORE_0_8 = Version(skrub.__version__) < Version("0.8")
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


@FRAMES
def test_columns_with_nulls(kind):
    frame = kind({"text": TEXTS, "n": np.arange(N_ROWS, dtype=float)})
    for encode, missing in (
        (skrub.TableVectorizer(high_cardinality=encoder()), [not t for t in TEXTS]),
        # It does not look at the values.
        (skrub.ApplyToCols(encoder(), cols=["text"]), [t is None for t in TEXTS]),
    ):
        result = encode.fit_transform(frame)
        assert isinstance(result, kind)
        assert result["missing"].to_numpy().tolist() == missing
        assert np.array_equal(result["n"].to_numpy(), np.arange(N_ROWS))
        # Values that only transform sees may be missing as well.
        again = encode.fit(frame[1:]).transform(frame[:7])
        assert again["missing"].to_numpy().tolist() == missing[:7]


@FRAMES
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


WORDS = ["warm", "bright", "dull", "cold", "film", "plot", "music", "scene"]
NAMES = ["words__0", "words__1", "chars__0", "chars__1"]
Y = np.arange(N_ROWS) % 2


def meta(**options):
    return TextMetaEncoder(n_components=2, random_state=0, **options)


def reviews(kind=pd.DataFrame):
    """Return two columns of texts, one with nulls, a category and numbers."""
    rng = np.random.default_rng(0)
    weights = np.linspace(2, 0, 8) / 8
    weights = [weights, weights[::-1]] * (N_ROWS // 2)
    rows = [" ".join(rng.choice(WORDS, 4, p=w)) for w in weights]
    titles = [f"{' '.join(rng.choice(WORDS, 2))} {i}" for i in range(N_ROWS)]
    return kind(
        {
            "review": [None if i % 9 == 3 else row for i, row in enumerate(rows)],
            "stars": np.arange(N_ROWS, dtype=float),
            "title": titles,
            "phase": ["climb", "landing"] * (N_ROWS // 2),
            "same": ["same"] * N_ROWS,
        }
    )


def vectorizer(**options):
    return skrub.TableVectorizer(
        high_cardinality=meta(**options), cardinality_threshold=30
    )


def expected_names(cv=None):
    own = [*NAMES, *["stacked__1"] * (cv is not None)]
    review = [f"review__{name}" for name in [*own, "missing"]]
    title = [f"title__{name}" for name in own]
    return [*review, "stars", *title, "phase_landing", "same_same"]


@FRAMES
def test_meta_encoder_in_table_vectorizer(kind):
    frame, cv = reviews(kind), 5
    step = vectorizer(cv=cv)
    result = step.fit_transform(frame, Y)
    assert isinstance(result, kind)
    assert list(result.columns) == expected_names(cv)
    assert list(step.get_feature_names_out()) == expected_names(cv)
    assert list(step.transform(frame[:3]).columns) == expected_names(cv)
    # Each column gets an encoder of its own, which sees y.
    own = meta(cv=cv).fit_transform(frame[["review"]], Y)
    columns = expected_names(cv)[: own.shape[1]]
    np.testing.assert_array_equal(result[columns].to_numpy(), own)
    assert np.corrcoef(result["review__stacked__1"].to_numpy(), Y)[0, 1] > 0.3
    later = step.transform(frame)["review__stacked__1"].to_numpy()
    assert not np.array_equal(result["review__stacked__1"].to_numpy(), later)


@pytest.mark.skipif(BEFORE_0_8, reason="ApplyToCols requires the columns of fit")
@FRAMES
def test_columns_are_found_by_name(kind):
    """Wherever they are and whatever is next to them."""
    frame = reviews(kind)
    step = skrub.ApplyToCols(meta(cv=5), cols=["review", "title"]).fit(frame, Y)
    encoded = [n for n in expected_names(5) if n.startswith(("review", "title"))]
    moved = frame[[*frame.columns[::-1]]]
    expected = step.transform(frame)
    np.testing.assert_array_equal(
        step.transform(moved)[encoded].to_numpy(), expected[encoded].to_numpy()
    )
    with pytest.raises(ValueError, match="title"):
        step.transform(frame[["review", "stars", "phase", "same"]])


def test_index_and_series():
    frame = reviews().set_index(np.arange(N_ROWS)[::-1] * 3)
    assert vectorizer(cv=2).fit_transform(frame, Y).index.equals(frame.index)
    if sklearn.__version__ >= "1.7":  # before, only that of a frame
        series = frame["title"].rename(None)
        step = meta().set_output(transform="pandas")
        assert step.fit_transform(series).index.equals(frame.index)


def test_meta_encoder_in_tabular_pipeline():
    pipeline = skrub.tabular_pipeline(LogisticRegression())
    pipeline.set_params(
        tablevectorizer__high_cardinality=meta(cv=3),
        tablevectorizer__cardinality_threshold=30,
    )
    frame = reviews()[["review", "title", "stars"]]
    assert np.isfinite(cross_val_score(pipeline, frame, Y, cv=2)).all()


def test_meta_encoder_in_data_ops():
    X, y = skrub.X(reviews()), skrub.y(Y)
    encoder = meta(cv=skrub.choose_from([None, 2], name="folds"))
    features = X.skb.apply(encoder, cols=["review", "title"], y=y)
    features = features.skb.drop(["phase", "same"])
    model = features.skb.apply(Ridge(), y=y)
    search = model.skb.make_grid_search(fitted=True, cv=2)
    assert len(search.results_) == 2
    assert search.predict({"X": reviews()[:4]}).shape == (4,)
