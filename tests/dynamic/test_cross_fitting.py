"""Out-of-fold vectors of DynamicMetaEmbedding."""

import itertools
import warnings

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GroupKFold, PredefinedSplit, ShuffleSplit
from sklearn.pipeline import make_pipeline

from sk_metaembed import (
    DynamicMetaEmbedding,
    Pooling,
    SequencePairs,
    TrainableTransformer,
    TransformerEmbedding,
)
from sk_metaembed.dynamic.training._cross_fit import alignment

from .. import tiny_bert
from .conftest import make_embedded

# Most tests have few rows, which is what the warning is about.
pytestmark = pytest.mark.filterwarnings("ignore:.* out-of-fold vectors make")
SMALL = {"projection_dim": 5, "max_epochs": 3, "lr": 0.02, "random_state": 0}
LEVELS = [("type", "type"), ("type", "token"), ("sequence", "sequence")]


def crossed(**options):
    return DynamicMetaEmbedding(**{**SMALL, "cv": 3, "output": "sequence", **options})


@pytest.fixture
def folds(embedded):
    """Three folds of the fixture's rows, in no order."""
    parts = np.array_split(np.random.default_rng(0).permutation(len(embedded)), 3)
    return [
        (np.concatenate([p for p in parts if p is not part]), part) for part in parts
    ]


@pytest.fixture
def nets(monkeypatch):
    """The estimators of the folds, in the order of their fits."""
    made = []
    make = DynamicMetaEmbedding._fold_net

    def remember(self):
        made.append(make(self))
        return made[-1]

    monkeypatch.setattr(DynamicMetaEmbedding, "_fold_net", remember)
    return made


@pytest.mark.parametrize("levels", LEVELS[::2])
def test_rows_are_those_of_their_net_after_the_map(levels, folds, nets, labels):
    X = make_embedded(levels=levels)
    model = crossed(cv=folds)
    Z = model.fit_transform(X, labels)
    known = np.array([row.any() for row in X.to_list()])
    if X.level == "sequence":
        known = np.logical_or.reduce([block.known for block in X.blocks])
    whole = model.transform(X)
    for (train, test), net in zip(folds, nets, strict=True):
        own = net.transform(X)
        train, some = train[known[train]], test[known[test]]
        to_whole = alignment(own[train], whole[train], np.ones(len(train)))
        np.testing.assert_allclose(Z[some], to_whole(own[some]), atol=1e-5)
        none = test[~known[test]]
        np.testing.assert_array_equal(Z[none], whole[none])


@pytest.mark.parametrize("levels", LEVELS[1:])
def test_mixed_words_are_those_of_their_net_after_the_map(levels, folds, nets, labels):
    X = make_embedded(levels=levels)
    model = crossed(cv=folds, output="tokens")
    Z = model.fit_transform(X, labels)
    block, whole = Z.blocks[0], model.transform(X).blocks[0]
    assert Z.tokens is X.tokens
    assert block.level == ("sequence" if levels[0] == "sequence" else "token")
    for (train, test), net in zip(folds, nets, strict=True):
        own = net.transform(X).blocks[0]
        counts = np.zeros(len(own.known))
        rows = rows_at(X, own.level)
        for row in train:
            np.add.at(counts, rows[row], 1)
        learn = np.flatnonzero(counts * own.known)
        to_whole = alignment(own.values[learn], whole.values[learn], counts[learn])
        for row in test:
            at = rows_at(X, block.level)[row]
            expected = to_whole(own.values[rows[row]])
            expected[~own.known[rows[row]]] = 0
            np.testing.assert_allclose(block.values[at], expected, atol=1e-5)
            np.testing.assert_array_equal(block.known[at], own.known[rows[row]])


def rows_at(X, level):
    """Return the rows of a level that belong to each sequence."""
    if level == "sequence":
        return np.arange(len(X))[:, None]
    rows = X.tokens.codes if level == "type" else np.arange(X.tokens.n_tokens)
    return np.split(rows, X.tokens.offsets[1:-1])


def with_other_labels(labels, rows):
    labels = labels.copy()
    labels[rows] = np.where(labels[rows] == "high", "low", "high")
    return labels


def test_no_net_sees_the_labels_of_its_rows(embedded, labels, folds, nets):
    model = crossed(cv=folds)
    model.fit_transform(embedded, labels)
    changed = with_other_labels(labels, folds[1][1])
    before = nets[1].transform(embedded)
    del nets[:]
    model.fit_transform(embedded, changed)
    np.testing.assert_array_equal(nets[1].transform(embedded), before)
    assert not np.array_equal(nets[0].transform(embedded), before)


@pytest.mark.parametrize("output", ["tokens", "sequence"])
def test_transform_is_that_of_fit(embedded, labels, output):
    model = crossed(output=output)
    Z = model.fit_transform(embedded, labels)
    plain = crossed(output=output, cv=None).fit(embedded, labels)
    for fitted in (model, crossed(output=output).fit(embedded, labels)):
        result, expected = fitted.transform(embedded), plain.transform(embedded)
        if output == "tokens":
            assert result == expected != Z
        else:
            np.testing.assert_array_equal(result, expected)
            assert not np.allclose(result, Z)
    assert vars(model).keys() == vars(plain).keys()


def test_nets_have_the_same_initial_weights(embedded, labels, nets):
    model = crossed(lr=1e-9, embedding_dropout=0.0)
    model.fit_transform(embedded, labels)
    for net in nets:
        np.testing.assert_allclose(
            net.transform(embedded), model.transform(embedded), atol=1e-5
        )


def test_pairs(nets):
    X = SequencePairs(make_embedded(80))
    y = np.arange(40) % 2
    mixed = crossed(output="tokens").fit_transform(X, y)
    assert isinstance(mixed, SequencePairs)
    assert mixed.sequences.blocks[0].level == "token"
    model = crossed()
    Z = model.fit_transform(X, y)
    assert Z.shape == (40, 20)
    u, v, difference, product = np.split(Z, 4, axis=1)
    np.testing.assert_array_equal(difference, np.abs(u - v))
    np.testing.assert_array_equal(product, u * v)
    # pooled words are the vectors of the mean encoder
    pooled = Pooling().fit_transform(mixed.first)
    known = np.array([row.any() for row in X.first.to_list()])
    np.testing.assert_allclose(pooled[known], u[known], atol=0.05)


def test_groups_stay_together(embedded, labels):
    groups = np.arange(60) // 4
    expected = GroupKFold(3).split(labels, labels, groups)
    expected = crossed(cv=list(expected)).fit_transform(embedded, labels)
    Z = crossed(cv=GroupKFold(3)).fit_transform(embedded, labels, groups=groups)
    np.testing.assert_array_equal(Z, expected)
    with sklearn.config_context(enable_metadata_routing=True):
        net = crossed(cv=GroupKFold(3)).set_fit_request(sample_weight=True)
        params = {"groups": groups, "sample_weight": np.ones(60)}
        Z = make_pipeline(net, "passthrough").fit_transform(embedded, labels, **params)
        np.testing.assert_array_equal(Z, expected)
        with pytest.raises(TypeError, match="groups"):
            crossed(cv=3).fit_transform(embedded, labels, groups=groups)
    with pytest.raises(TypeError, match="groups"):
        crossed(cv=None).fit_transform(embedded, labels, groups=groups)


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (ShuffleSplit(3, random_state=0), "hold out every row exactly once, but row"),
        ([(np.arange(30), np.arange(30, 60))], "row 0 is held out 0 times"),
        (61, "n_splits=61 greater than the number of samples"),
    ],
)
def test_invalid_cv(embedded, labels, cv, message):
    model = crossed(cv=cv)
    with pytest.raises(ValueError, match=message):
        model.fit_transform(embedded, labels)
    assert not hasattr(model, "net_")


def test_weights(embedded, labels, folds, nets):
    weights = np.ones(60)
    weights[folds[0][1][:5]] = 0
    weights[folds[1][1][:5]] = 0
    model = crossed(cv=folds)
    Z = model.fit_transform(embedded, labels, sample_weight=weights)
    assert np.isfinite(Z).all()
    vectors = [net.transform(embedded) for net in nets]
    changed = np.where(weights == 0, "low", labels)
    del nets[:]
    np.testing.assert_array_equal(
        model.fit_transform(embedded, changed, sample_weight=weights), Z
    )
    for net, before in zip(nets, vectors, strict=True):
        np.testing.assert_array_equal(net.transform(embedded), before)
    weights[folds[0][0]] = 0
    with pytest.raises(ValueError, match="must contain at least one non-zero number"):
        model.fit_transform(embedded, labels, sample_weight=weights)


def test_a_class_may_be_missing_in_a_fold(embedded, nets):
    y = np.r_[["rare"] * 3, ["often"] * 57]
    with pytest.warns(UserWarning, match="least populated class"):
        crossed(cv=5).fit_transform(embedded, y)
    without_rare = PredefinedSplit(np.arange(60) // 3 % 3)
    model = crossed(cv=without_rare, class_weight={"rare": 5.0, "often": 1.0})
    del nets[:]
    assert model.fit_transform(embedded, y).shape == (60, 5)
    assert all(net.classes_.tolist() == ["often", "rare"] for net in nets)


def test_held_out_sequences_are_those_of_all_nets(embedded, labels, nets):
    X_val, y_val = make_embedded(12, seed=1), ["high", "low"] * 6
    model = crossed(max_epochs=4)
    model.fit_transform(embedded, labels, X_val=X_val, y_val=y_val)
    assert all("valid_acc" in net.history_[0] for net in (model, *nets))
    model.set_params(early_stopping=False).fit_transform(embedded, labels)
    assert not any("valid_acc" in net.history_[0] for net in (model, *nets[3:]))


def test_warm_start(embedded, labels, folds, nets):
    """Nets of folds do not continue with weights that were trained on their rows."""
    changed = with_other_labels(labels, folds[1][1])
    results = []
    for first_labels in (labels, changed):
        model = crossed(cv=folds, warm_start=True, early_stopping=False)
        first = model.fit(embedded, first_labels).transform(embedded)
        del nets[:]
        model.fit_transform(embedded, labels)
        assert not np.allclose(model.transform(embedded), first)
        results.append((model.transform(embedded), nets[1].transform(embedded)))
    (whole, fold), (other_whole, other_fold) = results
    np.testing.assert_array_equal(fold, other_fold)
    assert not np.allclose(whole, other_whole)


def test_transformers_are_tuned_per_fold(nets):
    rows = [[word, "film"] for word in ("good", "bad", "fine", "poor")] * 6
    tuned = TrainableTransformer(TransformerEmbedding(tiny_bert.TinyBert()), lr=1e-3)
    model = crossed(trainable=tuned, cv=2, max_epochs=2)
    Z = model.fit_transform(rows, ["yes", "no"] * 12)
    assert len(Z) == 24
    states = [net.trained_["transformer"].state_dict() for net in (model, *nets)]
    for first, second in itertools.pairwise(states):
        assert any((first[name] != second[name]).any() for name in first)


def test_the_map_is_the_minimum_of_its_loss():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 80, 4))
    weights = rng.integers(1, 4, size=80)
    copies = np.repeat(np.arange(80), weights)
    repeated = alignment(a[copies], b[copies], np.ones(len(copies)))
    to_b = alignment(a, b, weights)
    np.testing.assert_allclose(to_b(a), repeated(a), atol=1e-5)
    centered = [part - np.average(part, axis=0, weights=weights) for part in (a, b)]
    A, B = (np.sqrt(weights)[:, None] * part for part in centered)
    u, _, vt = np.linalg.svd(A.T @ B)
    penalty = 0.1 * np.trace(A.T @ A) / 4
    stacked = np.r_[A, np.sqrt(penalty) * np.eye(4)]
    W = np.linalg.lstsq(stacked, np.r_[B, np.sqrt(penalty) * u @ vt], rcond=None)[0]
    mean = np.average(b, axis=0, weights=weights)
    np.testing.assert_allclose(to_b(a), centered[0] @ W + mean, atol=1e-5)


@pytest.mark.parametrize("n_rows", [0, 1, 3])
def test_the_map_of_few_rows(n_rows):
    source = np.ones((n_rows, 5), dtype=np.float32)
    to_target = alignment(source, source, np.ones(n_rows))
    np.testing.assert_allclose(to_target(np.ones((2, 5), np.float32)), np.ones((2, 5)))


def test_few_rows_are_warned_about_once(embedded, labels):
    message = "cv is set for 60 sequences. Below 500"
    with pytest.warns(UserWarning, match=message) as seen:
        crossed().fit_transform(embedded, labels)
    assert len(seen) == 1
    many = make_embedded(500)
    y = np.arange(len(many)) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        crossed(max_epochs=1).fit_transform(many, y)
        crossed(cv=None).fit_transform(embedded, labels)
        crossed().fit(embedded, labels)
