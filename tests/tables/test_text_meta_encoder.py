"""TextMetaEncoder: columns of texts as numbers, from several sources."""

import importlib.util

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

from sk_metaembed import (
    AverageMetaEmbedding,
    DynamicMetaEmbedding,
    FunctionEmbedding,
    PretrainedEmbedding,
    SequencePairs,
    TextMetaEncoder,
    TokenSequences,
    WordVectors,
    make_text_pipeline,
)

# Few rows keep the tests quick.
pytestmark = pytest.mark.filterwarnings(
    "ignore:TextMetaEncoder. out-of-fold predictions of"
)
WORDS = [
    *("warm", "bright", "dull", "cold", "film"),
    *("plot", "music", "scene", "actor", "story"),
]
FRAMES = pytest.mark.parametrize(
    "kind", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"]
)
N_ROWS = 60
Y = np.arange(N_ROWS) % 2
NAMES = ["words__0", "words__1", "chars__0", "chars__1"]


def texts(seed=0):
    """Return rows of four words; odd rows more often have the first ones."""
    rng = np.random.default_rng(seed)
    weights = np.linspace(2, 0, 10) / 10
    rows = [rng.choice(WORDS, 4, p=w) for w in [weights, weights[::-1]] * (N_ROWS // 2)]
    return [" ".join(row) for row in rows]


def table(kind=pd.DataFrame):
    """Return a column of texts with nulls, one without, and one of two values."""
    remarks = [None if i % 9 == 3 else text for i, text in enumerate(texts())]
    phases = ["climb", "landing"] * (N_ROWS // 2)
    return kind({"remarks": remarks, "notes": texts(1), "phase": phases})


def encoder(*args, **options):
    options = {"n_components": 2, "random_state": 0, **options}
    return TextMetaEncoder(*args, **options)


def lengths(words):
    return np.array([[len(word), word.count("o")] for word in words])


def names_of(X, **options):
    return encoder(**options).fit(X).get_feature_names_out().tolist()


@FRAMES
def test_columns_of_a_frame(kind):
    step = encoder().set_output(transform=kind.__module__.partition(".")[0])
    result = step.fit_transform(table(kind))
    assert isinstance(result, kind)
    expected = [f"remarks__{name}" for name in [*NAMES, "missing"]]
    expected += [f"notes__{name}" for name in NAMES]
    expected += ["phase__climb", "phase__landing"]
    assert list(result.columns) == expected
    assert step.get_feature_names_out().tolist() == expected
    absent = np.arange(N_ROWS) % 9 == 3
    assert np.array_equal(result["remarks__missing"].to_numpy(), absent)
    assert np.array_equal(result["phase__landing"].to_numpy(), Y)
    assert step.n_missing_ == {"remarks": absent.sum(), "notes": 0, "phase": 0}
    assert step.n_features_in_ == 3
    assert list(step.feature_names_in_) == ["remarks", "notes", "phase"]
    assert [type(e) for e in step.encoders_.values()] == [
        Pipeline,
        Pipeline,
        OneHotEncoder,
    ]


def test_frames_arrays_and_lists_agree():
    frame = table()
    expected = encoder().fit_transform(frame)
    assert expected.dtype == np.float32
    rows = frame.astype(object).where(frame.notna(), None)
    array = rows.to_numpy()
    for X in (table(pl.DataFrame), array, array.tolist(), (tuple(r) for r in array)):
        np.testing.assert_array_equal(encoder().fit_transform(X), expected)
    if importlib.util.find_spec("pyarrow"):
        arrow = table(pl.DataFrame).to_arrow()
        np.testing.assert_array_equal(encoder().fit_transform(arrow), expected)
    assert names_of(rows.to_numpy())[0] == "x0__words__0"


@pytest.mark.parametrize(
    ("X", "prefix"),
    [
        (texts(), ""),
        (pl.Series(texts()), ""),
        (pd.Series(texts(), name="remarks"), "remarks__"),
        (pd.Series([text.split() for text in texts()]), ""),
    ],
    ids=["list", "polars", "named", "token lists"],
)
def test_one_column(X, prefix):
    step = encoder().fit(X)
    assert step.get_feature_names_out().tolist() == [prefix + name for name in NAMES]
    expected = encoder().fit_transform(texts())
    np.testing.assert_allclose(step.transform(X), expected, atol=1e-5)


def test_masked_texts_are_missing():
    given = np.array([texts(), texts()[::-1]], dtype=object).T
    mask = np.arange(given.size).reshape(given.shape) % 7 == 0
    step = encoder().fit(np.ma.array(given, mask=mask))
    assert step.n_missing_ == {"x0": mask[:, 0].sum(), "x1": mask[:, 1].sum()}
    expected = encoder().fit_transform(np.where(mask, None, given))
    np.testing.assert_array_equal(
        step.transform(np.ma.array(given, mask=mask)), expected
    )


@pytest.mark.parametrize("value", [None, " \t"])
def test_columns_without_texts(value):
    frame = pd.DataFrame({"empty": pd.Series([value] * N_ROWS), "notes": texts()})
    step = encoder(cv=2).set_output(transform="pandas").fit(frame, Y)
    flag = ["empty__missing"] * (not isinstance(value, str))
    result = step.transform(frame)
    assert list(result.columns[: 1 + len(flag)]) == ["empty__empty", *flag]
    later = step.transform(frame.assign(empty="a text"))
    assert not later.iloc[:, : 1 + len(flag)].to_numpy().any()
    assert not encoder().fit(["a", "b"] * 9).transform([" ", ""]).any()


def test_values_named_like_the_indicator():
    frame = pl.DataFrame({"part": ["missing", None, "wing", "missing_"] * 15})
    step = encoder().set_output(transform="polars")
    expected = ["part__missing", "part__missing_", "part__wing", "part__missing__"]
    assert step.fit_transform(frame).columns == expected


def test_few_values_are_one_hot_encoded():
    values = [f"value {i % 39}" for i in range(100)]
    assert len(names_of(pd.DataFrame({"a": values}))) == 39
    frame = pd.DataFrame({"a": [f"value {i % 40}" for i in range(100)]})
    assert names_of(frame)[0] == "a__words__0"
    assert names_of(frame, cardinality_threshold=41)[0] == "a__value 0"
    assert names_of(values)[0] == "words__0"  # texts, no table
    step = encoder().fit(table()[["phase"]])
    other = pd.DataFrame({"phase": ["climb", "taxi", "", None]})
    assert step.transform(other).tolist() == [[1, 0], [0, 0], [0, 0], [0, 0]]


def test_no_rows():
    step = encoder().fit(table())
    assert step.transform(table()[:0]).shape == (0, 11)
    assert step.transform([]).shape == (0, 11)
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        encoder().fit(table()[:0])


def test_a_text_is_computed_once():
    seen = []

    def count(words):
        seen.append(len(words))
        return lengths(words)

    source = FunctionEmbedding(count, level="sequence", as_text=True)
    step = encoder([("lengths", source)]).fit(texts())
    seen.clear()
    step.transform(texts()[:3] * 50)
    assert sum(seen) == 3


def test_sources_and_their_parameters():
    sources = [("lengths", FunctionEmbedding(lengths))]
    step = encoder(sources, active=["lengths", "words"])
    assert step.source_names == ["words", "chars", "lengths"]
    expected = ["lengths__0", "lengths__1", "words__0", "words__1"]
    names = step.fit(texts()).get_feature_names_out().tolist()
    assert sorted(names) == sorted(expected)
    assert step.get_params()["lengths__level"] == "type"
    step = clone(step).set_params(lengths__preprocess="unit", active="lengths")
    assert step.sources[0][1].preprocess == "unit"
    assert len(names_of(texts(), sources=sources, active="lengths")) == 2
    unnamed = encoder([FunctionEmbedding(lengths)])
    assert unnamed.source_names == ["words", "chars", "function"]
    with pytest.raises(ValueError, match="words"):
        encoder([("words", FunctionEmbedding(lengths))]).fit(texts())
    with pytest.raises(ValueError, match="glove"):
        encoder(active=["glove"]).fit(texts())
    with pytest.raises(ValueError, match="'sources' parameter"):
        encoder(3).fit(texts())


@pytest.mark.filterwarnings("ignore:PretrainedEmbedding. only:UserWarning")
def test_a_source_that_knows_no_word_of_one_column():
    store = WordVectors.from_arrays(WORDS, np.eye(10, dtype=np.float32))
    frame = pd.DataFrame({"code": [f"A{i}" for i in range(N_ROWS)], "text": texts()})
    step = encoder([("store", PretrainedEmbedding(store))], cv=2)
    result = step.set_output(transform="pandas").fit_transform(frame, Y)
    assert not result["code__store__0"].any()
    assert result["text__store__0"].any()


def test_to_pipeline_is_what_runs():
    step = encoder([("lengths", FunctionEmbedding(lengths))], cv=3).fit(texts(), Y)
    pipeline = step.to_pipeline().fit(texts(), Y)
    np.testing.assert_array_equal(pipeline.transform(texts()), step.transform(texts()))
    combined = encoder(combine=AverageMetaEmbedding())
    assert list(combined.to_pipeline().named_steps)[2:] == ["pca", "combine", "pool"]
    result = combined.fit_transform(texts())
    expected = combined.to_pipeline().fit_transform(texts())
    np.testing.assert_array_equal(result, expected)
    assert result.shape == (N_ROWS, 2)


def test_predictions_are_out_of_fold():
    X, noise = texts(), np.random.default_rng(0).permutation(Y)
    step = encoder(cv=KFold(5), n_components=5)
    column = step.fit_transform(X, noise)[:, -1]
    assert step.get_feature_names_out()[-1] == "stacked__1"
    learned = step.transform(X)[:, -1]
    assert np.array_equal(step.fit(X, noise).transform(X)[:, -1], learned)
    # Rows that a model has seen would be predicted too well.
    assert np.cov(column, noise)[0, 1] < 0.1
    assert np.corrcoef(step.fit_transform(X, Y)[:, -1], Y)[0, 1] > 0.5
    # The other columns learn nothing from y.
    vectors = step.fit_transform(X, Y)[:, :-1]
    np.testing.assert_array_equal(step.fit_transform(X, Y[::-1])[:, :-1], vectors)


def test_kinds_of_targets():
    X = texts()
    three = np.array(["a", "b", "c"])[np.arange(N_ROWS) % 3]
    names = encoder(cv=2).fit(X, three).get_feature_names_out().tolist()
    assert names[-3:] == ["stacked__a", "stacked__b", "stacked__c"]
    amounts = encoder(cv=2, target_type="continuous").fit(X, np.arange(N_ROWS))
    assert amounts.get_feature_names_out()[-1] == "stacked"
    with pytest.raises(ValueError, match="requires y"):
        encoder(cv=2).fit(X)


@pytest.mark.parametrize("columns", [["notes", "remarks"], ["phase"] * 2])
def test_other_columns_are_refused(columns):
    step = encoder().fit(table()[["remarks", "notes"]])
    with pytest.raises(ValueError, match=r"feature names should match.*this order"):
        step.transform(table()[columns])
    with pytest.raises(ValueError, match=r"X has 1 column, but in fit it had 2"):
        step.transform(texts())


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (table()[["notes", "notes"]], ValueError, "same name"),
        (pd.DataFrame({"n": [1.5, 2.5]}), TypeError, "row 0, column 'n'"),
        (table(pl.DataFrame).lazy(), TypeError, "LazyFrame"),
        (np.full((2, 2, 1), "a", object), ValueError, r"array of shape \(2, 2, 1\)"),
        ([("a", "b"), ("a",)], ValueError, "row 1 has 1 cell, but row 0 has 2"),
        ([("a", "b"), "c"], TypeError, "row 1 is of type str .*not a row of cells"),
        ([("a", "b"), ("a", 3)], TypeError, "row 1, column 'x1'.*Every cell"),
        ([("a", ["b"])], TypeError, "row 0, column 'x1'.*cannot be mixed"),
        (sparse.eye_array(3).tocsr(), TypeError, "got csr_array"),
        (TokenSequences.from_lists([["a"]]), TypeError, "takes columns of texts"),
        (SequencePairs.from_lists([(["a"], ["b"])]), TypeError, "Pairs.*columns"),
    ],
)
def test_input_that_is_refused(X, error, message):
    with pytest.raises(error, match=f"(?s){message}"):
        encoder().fit(X)


def test_what_learns_from_the_target_is_refused():
    net = DynamicMetaEmbedding(max_epochs=1, projection_dim=2)
    with pytest.raises(ValueError, match="learns from y, so its vectors"):
        encoder(combine=net).fit(texts(), Y)


def test_words_that_all_rows_share():
    """Dimensions without variance do not decide on rows that differ in them."""
    parts = np.array(["engine", "wing", "nose"])[np.arange(90) % 3]
    rows = [f"bird hit the {part} number {i}" for i, part in enumerate(parts)]
    model = make_text_pipeline(random_state=0).fit(rows, parts == "engine")
    new = ["", "bird hit the wing number 5000", "engine", "wing"]
    assert model.predict(new).tolist() == [False, False, True, False]
    assert np.abs(model.decision_function(new)).max() < 50


def test_invalid_sources():
    with pytest.raises(TypeError, match="must have fit and transform"):
        TextMetaEncoder(["glove"]).fit(texts())
    step = TextMetaEncoder([("w2v", "drop")], n_components=2).fit(texts())
    assert step.get_feature_names_out().tolist() == NAMES
