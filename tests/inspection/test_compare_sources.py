"""Sources alone and together: scores on folds, intervals, and what is compared."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import t
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline

from sk_metaembed import (
    DynamicMetaClassifier,
    EmbeddingUnion,
    FunctionEmbedding,
    LSAEmbedding,
    StackedMetaClassifier,
    Tokenizer,
    make_table_pipeline,
    make_text_pipeline,
)
from sk_metaembed.inspection import SourceComparisonDisplay, compare_sources

N_ROWS = 40
CV = StratifiedKFold(2, shuffle=True, random_state=0)
RNG = np.random.default_rng(0)
Y = RNG.integers(0, 3, N_ROWS)
# Words are unique, so that TF-IDF knows nothing, and each has the class with noise.
TEXTS = [f"w{i} v{i}" for i in range(N_ROWS)]
VECTORS = {
    text: np.eye(3)[y] + RNG.normal(0, 0.3, 3) for text, y in zip(TEXTS, Y, strict=True)
}
NOISE = {text: RNG.normal(0, 1, 3) for text in TEXTS}


def good(texts):
    return [VECTORS[text] for text in texts]


def useless(texts):
    return [NOISE[text] for text in texts]


def source(function):
    return FunctionEmbedding(function, as_text=True, level="sequence")


SOURCES = [("good", source(good)), ("useless", source(useless))]


@pytest.fixture(scope="module")
def display():
    return compare_sources(SOURCES, TEXTS, Y, cv=CV, random_state=0)


def test_scores_are_those_of_cross_validation(display):
    assert display.names == ["TF-IDF", "good", "useless", "concat", "stack"]
    assert display.metric == "accuracy"
    tokens = Tokenizer(punctuation=True).fit_transform(TEXTS)
    embedded = EmbeddingUnion(SOURCES).fit_transform(tokens)
    alone = StackedMetaClassifier(tfidf=False, random_state=0)
    models = {
        "good": (alone, embedded.select(["good"])),
        "useless": (alone, embedded.select(["useless"])),
        "stack": (StackedMetaClassifier(random_state=0), embedded),
    }
    for k, (train, test) in enumerate(CV.split(TEXTS, Y)):
        for name, (model, rows) in models.items():
            expected = model.fit(rows[train], Y[train]).score(rows[test], Y[test])
            assert display.scores[display.names.index(name), k] == expected
        assert (display.predictions[test] == model.predict(rows[test])).all()
        places = np.arange(len(test)), Y[test]
        expected = 1 - model.predict_proba(rows[test])[places]
        np.testing.assert_allclose(display.errors[test], expected, atol=1e-6)


def of_scores(scores, metric="r2", **options):
    shape = np.shape(scores)
    names = [f"s{i}" for i in range(shape[0])]
    options = {"seconds": np.ones(shape), "names": names, "metric": metric, **options}
    return SourceComparisonDisplay(np.array(scores), **options)


def test_interval_has_the_variance_of_nadeau_and_bengio():
    values = np.array([0.8, 0.7, 0.9, 0.85])
    table = of_scores([values]).frame()
    assert table.score[0] == pytest.approx(values.mean())
    scale = np.sqrt((1 / 4 + 1 / 3) * values.var(ddof=1))
    assert table.half_width[0] == pytest.approx(t.interval(0.95, 3, 0, scale)[1])


def test_differences_are_paired_by_fold():
    scores = np.array([[0.5, 0.7, 0.9], [0.6, 0.8, 1.0]])
    table = of_scores(scores, seconds=np.array([[1.0, 2, 3], [2, 2, 2]])).frame()
    np.testing.assert_allclose(table.gain, [0.1, 0])
    np.testing.assert_allclose(table.gain_half_width, [0, 0], atol=1e-12)
    assert (table.half_width > 0.4).all()
    assert table.seconds.tolist() == [2, 2]


def test_columns_are_in_the_order_of_their_importance():
    importances = {"a": np.array([0.0, 0.2]), "b": np.array([0.5, 0.7])}
    display = of_scores(np.ones((1, 2)), importances=importances)
    table = display.frame("columns")
    assert table["column"].tolist() == ["b", "a"]
    np.testing.assert_allclose(table["importance"], [0.6, 0.1])
    labels = display.plot(part="columns").ax_.get_yticklabels()
    assert [label.get_text() for label in labels] == ["b", "a"]
    assert display.ax_.get_xlabel() == "R²: decrease when shuffled"
    for part, match in [("rows", "part must be"), ("columns", "only pipelines of")]:
        with pytest.raises(ValueError, match=match):
            of_scores(np.ones((1, 2))).frame(part)


def test_equal_texts_are_in_one_fold():
    # Labels are drawn per text: only one who has seen the copy can know them.
    texts = [f"w{i}" for i in range(40)] * 3
    y = np.tile(np.random.default_rng(1).permutation([0, 1] * 20), 3)
    sources = [LSAEmbedding(20, random_state=0)]
    leaky = compare_sources(sources, texts, y, cv=CV, random_state=0)
    clean = compare_sources(sources, texts, y, cv=3, random_state=0)
    assert leaky.metric == "roc_auc"
    assert leaky.frame().score.iloc[0] > 0.95
    assert clean.frame().score.max() < 0.7


def test_a_source_is_fitted_on_the_training_part_only():
    seen = []

    class Recorder(LSAEmbedding):
        def fit_transform(self, X, y=None):
            seen.append(len(X))
            return super().fit_transform(X, y)

    compare_sources([Recorder(4, random_state=0)], TEXTS, Y, cv=CV)
    assert seen == [N_ROWS // 2] * 2


def test_numbers():
    y = Y + RNG.normal(0, 0.1, N_ROWS)
    found = compare_sources(SOURCES, pd.Series(TEXTS), y, cv=2, random_state=0)
    assert found.metric == "r2"
    table = found.frame().set_index("sources")
    assert table.score["good"] > 0.3 > 0.1 > table.score["useless"]
    np.testing.assert_allclose(found.errors, np.abs(found.predictions - y))
    integers = compare_sources(
        SOURCES[:1], TEXTS, Y, cv=2, target_type="continuous", random_state=0
    )
    assert integers.metric == "r2"
    assert integers.probabilities is None


def test_a_pipeline_gives_its_sources_and_stack():
    pipeline = make_text_pipeline("classifier", SOURCES, random_state=0)
    pipeline["model"].set_params(tfidf=False)
    nested = Pipeline([("all", pipeline), ("end", "passthrough")])
    found = compare_sources(nested, TEXTS, Y, cv=CV)
    assert not hasattr(pipeline["model"], "classes_")
    texts = np.array(TEXTS, dtype=object)
    for k, (train, test) in enumerate(CV.split(TEXTS, Y)):
        pipeline.fit(texts[train], Y[train])
        assert found.scores[-1, k] == pipeline.score(texts[test], Y[test])


def test_a_stack_with_models_of_words_is_scored_as_it_is():
    pytest.importorskip("skorch")
    letters = FunctionEmbedding(lambda words: [[w.count("1"), len(w)] for w in words])
    options = {"encoder": "max", "projection_dim": 8, "hidden_dims": ()}
    member = DynamicMetaClassifier(**options, max_epochs=2, lr=0.1, random_state=0)
    options = {"tfidf": False, "models": [("net", member)], "random_state": 0}
    stack = StackedMetaClassifier(cv=2, **options)
    union = EmbeddingUnion([("letters", letters), ("noise", source(useless))])
    pipeline = make_pipeline(Tokenizer(), union, stack)
    seen = []

    def probabilities(model, X, y):
        seen.append(model.predict_proba(X))
        return 0.0

    compare_sources(pipeline, TEXTS, Y, cv=CV, scoring=probabilities)
    texts = np.array(TEXTS, dtype=object)
    for k, (train, test) in enumerate(CV.split(TEXTS, Y)):
        expected = pipeline.fit(texts[train], Y[train]).predict_proba(texts[test])
        np.testing.assert_allclose(seen[5 * k + 4], expected, atol=1e-6)


GROUPS = pd.Series(np.arange(N_ROWS) // 4)


class Stack(StackedMetaClassifier):
    """Lists the groups of its training rows."""

    seen = []

    def fit(self, X, y, *, sample_weight=None, groups=None):
        self.seen.append(groups)
        return super().fit(X, y, sample_weight=sample_weight, groups=groups)


class Model(LogisticRegression):
    """The same for tables."""

    seen = Stack.seen

    def fit(self, X, y, groups=None):
        self.seen.append(groups)
        return super().fit(X, y)


@pytest.mark.parametrize("is_table", [False, True])
def test_groups_reach_the_models(is_table):
    Stack.seen.clear()
    sources, X = make_table_pipeline(Model(), random_state=0), table_of_rows()
    if not is_table:
        union = EmbeddingUnion(SOURCES)
        sources, X = make_pipeline(Tokenizer(), union, Stack(random_state=0)), TEXTS
    compare_sources(sources, X, Y % 2, cv=2, groups=GROUPS, random_state=0)
    assert len(Stack.seen) == 2 * (2 if is_table else 4)
    half = len(Stack.seen) // 2  # each fold trains on the groups of the other
    for one, other in zip(Stack.seen[:half], Stack.seen[half:], strict=True):
        assert sorted([*one, *other]) == GROUPS.tolist()


def test_a_union_is_its_sources(display):
    union = EmbeddingUnion(SOURCES, active=["good"])
    found = compare_sources(union, TEXTS, Y, cv=CV, random_state=0)
    assert found.names == ["TF-IDF", "good", "stack"]
    np.testing.assert_array_equal(found.scores[:2], display.scores[:2])


def test_a_source_of_several_blocks_is_one_candidate(display):
    union = EmbeddingUnion(SOURCES)
    pair = [("both", union), ("noise", source(useless))]
    found = compare_sources(pair, TEXTS, Y, cv=CV, random_state=0)
    assert found.names == ["TF-IDF", "both", "noise", "concat", "stack"]
    np.testing.assert_array_equal(found.scores[1], display.scores[3])


def table_of_rows():
    words = np.array(["fine", "dull"])[Y % 2]
    return pd.DataFrame(
        {
            "remarks": [f"{word} film number {i}" for i, word in enumerate(words)],
            "height": np.random.default_rng(1).normal(size=N_ROWS),
        }
    )


def test_tables():
    X = table_of_rows()
    pipeline = make_table_pipeline(LogisticRegression(), random_state=0)
    nested = Pipeline([("all", pipeline)])
    found = compare_sources(nested, X, Y % 2, cv=CV, random_state=0)
    assert found.names == ["without strings", "everything"]
    assert found.metric == "roc_auc"
    table = found.frame().set_index("sources")
    assert table.score["everything"] > 0.95 > 0.7 > table.score["without strings"]
    for k, (train, test) in enumerate(CV.split(X, Y % 2)):
        model = pipeline.fit(X.iloc[train], Y[train] % 2)
        expected = (model.predict(X.iloc[test]) == Y[test] % 2).mean()
        right = found.predictions[test] == Y[test] % 2
        assert right.mean() == expected, k
        probabilities = model.predict_proba(X.iloc[test])
        np.testing.assert_allclose(found.probabilities[test], probabilities)
    for other in (TEXTS, pl.from_pandas(X).lazy(), pa.table({"a": [1]})):
        with pytest.raises(TypeError, match="must be a pandas or polars DataFrame"):
            compare_sources(pipeline, other, Y)
    polars = compare_sources(pipeline, pl.from_pandas(X), Y % 2, cv=CV, random_state=0)
    np.testing.assert_allclose(polars.scores, found.scores, atol=0.02)
    assert polars.names == found.names
    for name, values in found.importances.items():
        np.testing.assert_allclose(polars.importances[name], values, atol=0.02)
    assert list(found.importances) == ["remarks", "height"]
    assert found.importances["remarks"].min() > 0.2
    assert np.abs(found.importances["height"]).max() < 0.2


def test_a_class_of_one_row_is_predicted_by_a_model_of_the_others():
    y = np.where(Y == 2, 1, Y)
    before = compare_sources(SOURCES[:1], TEXTS, y, cv=2, random_state=0)
    labels = np.array(["out", "in"])[y]
    rows = np.flatnonzero(y == 1)[[5]]
    labels[rows] = "In"
    with pytest.warns(UserWarning, match=r"rare classes: 'In' \(1 row\)") as found:
        after = compare_sources(SOURCES[:1], TEXTS, labels, cv=2, random_state=0)
    assert len(found) == 1
    assert after.predictions[rows].tolist() == ["in"]
    assert after.errors[rows].tolist() == [1.0]
    others = np.setdiff1d(np.arange(N_ROWS), rows)
    change = np.abs(after.errors[others] - before.errors[others])
    assert change.mean() < 0.05


def test_scoring_is_a_name_or_a_function():
    named, own = (
        compare_sources(SOURCES[:1], TEXTS, Y, cv=2, scoring=scoring, random_state=0)
        for scoring in ("neg_log_loss", make_scorer(accuracy_score))
    )
    assert named.metric == "neg_log_loss"
    assert (named.scores < 0).all()
    assert own.metric == "accuracy_score"
    np.testing.assert_allclose(
        own.scores[-1].mean(), np.mean(own.predictions == Y), atol=1e-12
    )


def test_plot(display):
    assert display.plot() is display
    assert display.figure_ is display.ax_.figure
    assert [
        label.get_text() for label in display.ax_.get_yticklabels()
    ] == display.names
    points = [line.lines[0].get_xdata()[0] for line in display.lines_]
    np.testing.assert_allclose(points, display.frame()["score"])
    ax = plt.figure().add_subplot()
    assert display.plot(ax).ax_ is ax


@pytest.mark.parametrize(
    ("arguments", "options", "error", "match"),
    [
        ((3, TEXTS, Y), {}, TypeError, "list of sources"),
        (([], TEXTS, Y), {}, TypeError, "list of sources"),
        (([*SOURCES, ("stack", source(good))], TEXTS, Y), {}, ValueError, "'stack'"),
        ((SOURCES, TEXTS, Y[:-1]), {}, ValueError, "inconsistent numbers"),
        ((SOURCES, TEXTS, np.eye(3, dtype=int)[Y]), {}, ValueError, "one column"),
        ((SOURCES, TEXTS, Y), {"cv": 1}, ValueError, "at least two folds"),
        ((SOURCES, TEXTS, Y), {"target_type": "x"}, ValueError, "target_type"),
        ((SOURCES, TEXTS, Y), {"groups": [1, 2]}, ValueError, "but groups has shape"),
        (
            (SOURCES, TEXTS, np.arange(N_ROWS) == 3),
            {},
            ValueError,
            "fold 0 are False. Class True has 1 row: pass more of them, fewer",
        ),
        (
            (make_text_pipeline("classifier"), TEXTS, Y),
            {"target_type": "continuous"},
            ValueError,
            "contradicts the Pipeline, whose last step is StackedMetaClassifier",
        ),
        (
            (make_pipeline(Tokenizer(), PCA(), LogisticRegression()), TEXTS, Y),
            {},
            ValueError,
            "make_text_pipeline",
        ),
    ],
)
def test_errors(arguments, options, error, match):
    with pytest.raises(error, match=match):
        compare_sources(*arguments, **options)
