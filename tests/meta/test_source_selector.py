"""SourceSelector: sources chosen greedily, as by scikit-learn, or by a policy."""

import numpy as np
import pytest
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GroupKFold, KFold
from sklearn.pipeline import make_pipeline

from sk_metaembed import ConcatMetaEmbedding, Pooling, SourceSelector

from .sources import embed, sequences

N = 60
NAMES = ["noise", "dim", "clear", "other"]


def end(last=None):
    combine = ConcatMetaEmbedding(normalize=False)
    return make_pipeline(combine, Pooling(), last or LogisticRegression())


def planted(seed=0):
    """Return two sources that tell the class, one better, among two of noise."""
    rng = np.random.default_rng(seed)
    y = np.arange(N) % 2
    noise, dim, clear, other = rng.normal(size=(4, N, 1))
    dim, clear = dim + 1.5 * y[:, None], clear + 3 * y[:, None]
    return sequences("type", noise=noise, dim=dim, clear=clear, other=other), y


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_informative_sources_are_selected(direction):
    X, y = planted()
    selector = SourceSelector(end(), direction=direction).fit(X, y)
    assert selector.sources_ == ["dim", "clear"]
    assert selector.n_sources_ == 2
    assert selector.source_names_in_.tolist() == NAMES
    assert selector.support_.tolist() == [False, True, True, False]
    assert selector.transform(X) == X.select(["dim", "clear"])


def test_the_record_tells_what_each_step_did():
    X, y = planted()
    selector = SourceSelector(end(), n_sources_to_select=3).fit(X, y)
    first, second, third = selector.history_
    assert [first["source"], second["source"]] == ["clear", "dim"]
    assert set(first["scores"]) == set(NAMES)
    assert first["mean_score"] == first["scores"]["clear"]
    assert second["sources"] == ("dim", "clear")
    assert third["sources"] == tuple(selector.sources_)
    assert set(second["scores"]) == {"noise", "dim", "other"}
    assert all(step["accepted"] for step in selector.history_)
    table = selector.frame()
    assert table.index.tolist() == table["n_sources"].tolist() == [1, 2, 3]
    assert table.loc[2, ["source", "sources"]].tolist() == ["dim", ("dim", "clear")]


def test_a_tolerance_ends_the_search():
    X, y = planted()
    selector = SourceSelector(end(), tol=0.2).fit(X, y)
    assert selector.sources_ == ["clear"]
    refused = selector.history_[-1]
    assert (refused["source"], refused["accepted"]) == ("dim", False)
    assert refused["mean_score"] - selector.history_[0]["mean_score"] < 0.2


@pytest.mark.parametrize(
    ("number", "tol", "direction"),
    [
        ("auto", None, "forward"),
        ("auto", -0.03, "backward"),
        (2, None, "backward"),
    ],
)
def test_it_agrees_with_sequential_feature_selection(number, tol, direction):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(N, 5))
    target = values @ [1.0, 0.0, 0.5, 0.0, -0.7] + rng.normal(size=N)
    X = embed(*np.hsplit(values, 5))
    options = {"tol": tol, "direction": direction, "cv": 3}
    selector = SourceSelector(
        end(LinearRegression()), n_sources_to_select=number, **options
    ).fit(X, target)
    reference = SequentialFeatureSelector(
        LinearRegression(), n_features_to_select=number, **options
    ).fit(np.float32(values), target)
    assert selector.support_.tolist() == reference.support_.tolist()
    assert selector.n_sources_ == reference.n_features_to_select_


@pytest.mark.parametrize(
    ("direction", "expected"), [("forward", ["a"]), ("backward", ["c"])]
)
def test_of_equal_sources_the_earlier_is_added_or_removed(direction, expected):
    X, y = planted()
    same = {name: X.block("clear").values for name in "abc"}
    selector = SourceSelector(end(), n_sources_to_select=1, direction=direction)
    assert selector.fit(sequences("type", **same), y).sources_ == expected


def layered():
    X, y = planted()
    names = {"noise": "a__0", "clear": "b__0", "other": "b__1", "dim": "c"}
    blocks = [X.block(block).rename(name) for block, name in names.items()]
    return X.with_blocks(blocks), y


def test_layers_are_selected_as_a_group_or_one_by_one():
    X, y = layered()
    selector = SourceSelector(end(), n_sources_to_select=1).fit(X, y)
    assert selector.source_names_in_.tolist() == ["a", "b", "c"]
    assert selector.sources_ == ["b"]
    assert selector.blocks_ == ["b__0", "b__1"]
    assert selector.transform(X).names == ("b__0", "b__1")
    selector = SourceSelector(end(), by="block").fit(X, y)
    assert selector.sources_ == selector.blocks_ == ["b__0", "c"]


def test_nan_scores_are_the_lowest():
    X, y = planted()

    def fails_on_clear(estimator, X, y):
        return np.nan if "clear" in X.names else estimator.score(X, y)

    options = {"n_sources_to_select": 1, "scoring": fails_on_clear}
    assert SourceSelector(end(), **options).fit(X, y).sources_ == ["dim"]
    with pytest.raises(ValueError, match="scores of all candidate sources are NaN"):
        SourceSelector(end(), scoring=lambda *args: np.nan).fit(X, y)


def test_candidates_are_scored_on_the_same_folds():
    X, y = planted()
    seen = []

    def score(model, X, y):
        seen.append(X.tokens.to_list())
        return 0.0

    cv = KFold(2, shuffle=True)
    SourceSelector(end(), cv=cv, scoring=score, n_sources_to_select=1).fit(X, y)
    assert len(seen) == 2 * len(NAMES)
    assert all(rows == seen[i % 2] for i, rows in enumerate(seen))


@pytest.mark.parametrize(
    ("last", "cv"), [(None, 3), (None, GroupKFold(3)), (LinearRegression(), 3)]
)
def test_groups_are_in_one_fold(last, cv):
    X, y = planted()
    groups, seen = [f"text{i // 4}" for i in range(N)], []
    of_word = {f"w{i}": group for i, group in enumerate(groups)}

    def score(model, X, y):
        seen.append([of_word[word] for (word,) in X.tokens])
        return 0.0

    step = SourceSelector(end(last), cv=cv, scoring=score, n_sources_to_select=1)
    step.fit(X, y, groups=groups)
    assert sum(len(set(rows)) for rows in seen[:3]) == len(set(groups))
    with pytest.raises(ValueError, match="groups has shape"):
        step.fit(X, y, groups=[1, 2])


def test_a_mistyped_label_is_not_scored():
    X, y = planted()
    labels = np.array(["out", "in"], dtype="U3")[y]
    before = SourceSelector(end()).fit(X, labels)
    labels[7] = "In"
    with pytest.warns(UserWarning, match=r"'In' \(1 row\)") as found:
        after = SourceSelector(end()).fit(X, labels)
    assert len(found) == 1
    assert after.sources_ == before.sources_
    for one, other in zip(after.history_, before.history_, strict=True):
        assert one["mean_score"] == pytest.approx(other["mean_score"], abs=0.02)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_sources_to_select": 4}, "=4 must be smaller than .* sources in X, 4"),
        ({"n_sources_to_select": 9, "by": "block"}, "number of blocks in X, 4"),
        ({"tol": -0.1}, "tol must be nonnegative in forward selection; got -0.1"),
    ],
)
def test_wrong_parameters_are_named(options, words):
    X, y = planted()
    with pytest.raises(ValueError, match=words):
        SourceSelector(end(), **options).fit(X, y)


def test_wrong_input_raises():
    X, y = planted()
    with pytest.raises(TypeError, match="'score' method"):
        SourceSelector(ConcatMetaEmbedding()).fit(X, y)
