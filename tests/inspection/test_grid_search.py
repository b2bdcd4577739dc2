import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

from sk_metaembed import (
    AverageMetaEmbedding,
    Block,
    ConcatMetaEmbedding,
    EmbeddedSequences,
    Pooling,
    SVDMetaEmbedding,
    TokenSequences,
)
from sk_metaembed.inspection import GridSearchDisplay
from sk_metaembed.inspection._grid_search import named_values

matplotlib.use("Agg")
METHODS = [ConcatMetaEmbedding(), AverageMetaEmbedding(), SVDMetaEmbedding(2)]
SUBSETS = [("w2v",), ("glove",), ("w2v", "glove")]


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def results():
    rng = np.random.default_rng(0)
    params = [
        {"meta": method, "embed__active": subset, "pool__mode": mode}
        for method in METHODS
        for subset in SUBSETS
        for mode in ("mean", "max")
        if len(subset) > 1 or method is METHODS[0]
    ]
    folds = {f"split{i}_test_score": rng.uniform(size=len(params)) for i in range(11)}
    return {"params": params, **folds}


def scores_of(results, **chosen):
    """Return the scores of the best candidate with these parameters."""
    rows = [
        i
        for i, params in enumerate(results["params"])
        if all(params[name] is value for name, value in chosen.items())
    ]
    folds = np.array([results[f"split{i}_test_score"] for i in range(11)]).T[rows]
    return folds[folds.mean(axis=1).argmax()]


def test_each_pair_of_values_shows_its_best_candidate(results):
    display = GridSearchDisplay.from_results(results)
    assert display.row_label == "embed__active"
    assert display.column_label == "meta"
    assert display.rows == ["w2v", "glove", "w2v + glove"]
    assert display.columns == ["Concat", "Average", "SVD"]
    for i, subset in enumerate(SUBSETS):
        for j, method in enumerate(METHODS):
            if len(subset) > 1 or j == 0:
                expected = scores_of(results, meta=method, embed__active=subset)
                np.testing.assert_allclose(display.scores[i, j], expected)
            else:
                assert np.isnan(display.scores[i, j]).all()
                assert display.candidates[i, j] == -1


def test_markers_lines_and_numbers_show_the_scores(results):
    display = GridSearchDisplay.from_results(results, score_label="accuracy")
    means = display.scores.mean(axis=2)
    for j, (points, spread) in enumerate(
        zip(display.points_, display.spreads_, strict=True)
    ):
        np.testing.assert_allclose(points.get_xdata(), means[:, j])
        shown = [part for part in spread.get_segments() if len(part) == 2]
        tried = np.isfinite(means[:, j])
        ends = np.array(shown)[:, :, 0]
        np.testing.assert_allclose(ends[:, 0], display.scores[tried, j].min(axis=1))
        np.testing.assert_allclose(ends[:, 1], display.scores[tried, j].max(axis=1))
    shown = sorted(text.get_text() for text in display.text_)
    assert shown == sorted(f"{m:.3f}" for m in means.ravel() if np.isfinite(m))
    ax = display.ax_
    assert ax.get_xlabel().startswith("accuracy\n(mean of 11 folds")
    assert [tick.get_text() for tick in ax.get_yticklabels()] == display.rows
    assert ax.get_ylabel() == "embed__active"
    names = [text.get_text() for text in display.legend_.get_texts()]
    assert names == ["Concat", "Average", "SVD", "best mean"]
    assert len({line.get_marker() for line in display.points_}) == 3
    best = next(line for line in ax.lines if line.get_label() == "best mean")
    assert best.get_xdata()[0] == np.nanmax(means)


def test_one_or_two_parameters_are_shown(results):
    make = GridSearchDisplay.from_results
    display = make(results, rows="pool__mode", columns="embed__active")
    assert display.rows == ["mean", "max"]
    assert np.isfinite(display.scores).all()
    results["params"] = [{"C": c} for c in (10, 0.1, 1)]
    for name in [name for name in results if name.startswith("split")]:
        results[name] = np.array([0.9, 0.7, 0.8])
    display = make(results)
    assert display.rows == ["0.1", "1", "10"]
    assert display.scores[:, 0, 0].tolist() == [0.7, 0.8, 0.9]
    assert display.column_label is None
    assert list(display.frame())[:2] == ["C", "mean"]


def test_frame_has_one_row_per_pair_of_values(results):
    frame = GridSearchDisplay.from_results(results).frame()
    assert len(frame) == 5
    folds = np.array([results[f"split{i}_test_score"] for i in range(11)]).T
    chosen = folds[frame["candidate"]]
    np.testing.assert_allclose(frame["mean"], chosen.mean(axis=1))
    np.testing.assert_allclose(frame["std"], chosen.std(axis=1))
    np.testing.assert_allclose(frame["lowest"], chosen.min(axis=1))
    assert frame["meta"].tolist() == ["Concat", "Concat", "Concat", "Average", "SVD"]


def test_names_of_values_are_unique():
    methods = [SVDMetaEmbedding(2), SVDMetaEmbedding(3), SVDMetaEmbedding(2), "$$"]
    names, members = named_values([{"m": method} for method in methods], "m")
    assert names == ["SVD(n_components=2)", "SVD(n_components=3)", "$$"]
    assert members.tolist() == [0, 1, 0, 2]


@pytest.mark.parametrize(("n_rows", "n_columns"), [(1, 1), (3, 4), (15, 3)])
def test_nothing_overlaps(n_rows, n_columns):
    rng = np.random.default_rng(0)
    display = GridSearchDisplay(
        0.9 + 0.02 * rng.uniform(size=(n_rows, n_columns, 3)),
        rows=[f"word2vec + glove + {i}" for i in range(n_rows)],
        columns=[f"a method with a long name {i}" for i in range(n_columns)],
        row_label="embed__active",
        column_label="meta",
    ).plot(include_values=True)
    display.figure_.canvas.draw()
    boxes = [text.get_window_extent().padded(-1) for text in display.text_]
    frame = display.ax_.get_window_extent()
    legend = display.legend_.get_window_extent()
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[i + 1 :])
        assert not box.overlaps(legend)
        assert box.x1 <= frame.x1
    figure = display.figure_.bbox.padded(1)
    label = display.ax_.xaxis.label.get_window_extent()
    assert figure.x0 <= label.x0 <= label.x1 <= figure.x1
    assert legend.x1 <= figure.x1


def test_failed_fits_and_halving(results):
    results["split0_test_score"][:] = np.nan
    display = GridSearchDisplay.from_results(results)
    assert np.isnan(display.scores).all()
    assert len(display.frame()) == 0
    rows = {"params": [{"C": 1}, {"C": 2}, {"C": 2}], "iter": [0, 0, 1]}
    rows["split0_test_score"] = np.array([0.1, 0.2, 0.7])
    make = GridSearchDisplay.from_results
    assert make(rows).scores.tolist() == [[[0.7]]]
    assert make(rows, iteration=0).scores.tolist() == [[[0.1]], [[0.2]]]
    with pytest.raises(ValueError, match="iteration must be within 0 and 1; got 2"):
        make(rows, iteration=2)
    with pytest.raises(ValueError, match="only for searches by successive halving"):
        make(results, iteration=0)


def test_a_fitted_search_is_shown():
    rng = np.random.default_rng(0)
    tokens = TokenSequences.from_lists([["a", "b"], ["b", "c"], ["c"], ["d", "a"]] * 5)
    blocks = [Block(name, rng.normal(size=(4, 3)), "type") for name in ("x", "y")]
    pipe = Pipeline(
        [
            ("meta", ConcatMetaEmbedding()),
            ("pool", Pooling()),
            ("clf", LogisticRegression()),
        ]
    )
    grid = {"meta": METHODS[:2], "pool__mode": ["mean", "max"]}
    search = GridSearchCV(pipe, grid, cv=2)
    X = EmbeddedSequences(tokens, blocks)
    display = GridSearchDisplay.from_estimator(search.fit(X, [0, 1] * 10))
    assert display.score_label == "accuracy"
    assert display.row_label == "meta"
    assert np.nanmax(display.scores.mean(axis=2)) == pytest.approx(search.best_score_)
    search.set_params(scoring=["f1", "roc_auc"], refit="roc_auc").fit(X, [0, 1] * 10)
    display = GridSearchDisplay.from_estimator(search)
    assert display.score_label == "roc auc"
    assert np.nanmax(display.scores.mean(axis=2)) == pytest.approx(search.best_score_)
    assert GridSearchDisplay.from_estimator(search, metric="f1").score_label == "f1"
    with pytest.raises(ValueError, match=r"one of \['f1', 'roc_auc'\]; got"):
        GridSearchDisplay.from_estimator(search, metric="accuracy")
    ridge = GridSearchCV(Ridge(), {"alpha": [1.0, 2.0]}, cv=2)
    ridge.fit(rng.normal(size=(8, 2)), rng.normal(size=8))
    assert GridSearchDisplay.from_estimator(ridge).score_label == "R²"


def test_errors_say_what_is_wrong(results):
    make = GridSearchDisplay
    with pytest.raises(TypeError, match="requires a fitted search.*got Ridge without"):
        make.from_estimator(Ridge())
    with pytest.raises(ValueError, match="'C' is not one of the parameters"):
        make.from_results(results, rows="C")
    results["params"] = [{"C": i} for i in range(50)]
    for name in [name for name in results if name.startswith("split")]:
        results[name] = np.zeros(50)
    with pytest.raises(ValueError, match="C has 50 values; at most 40"):
        make.from_results(results)
