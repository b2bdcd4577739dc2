"""The weight decay that is chosen by how much a linear model explains."""

from functools import partial

import numpy as np
import pytest
from sklearn.linear_model import Ridge, RidgeCV

from sk_metaembed import (
    Block,
    DynamicMetaClassifier,
    DynamicMetaEmbedding,
    DynamicMetaRegressor,
    DynamicMetaTagger,
    EmbeddedSequences,
    SequencePairs,
    TokenSequences,
    TrainableCharacters,
)
from sk_metaembed.dynamic._targets import IndicatorTarget, LabelTarget, NumberTarget
from sk_metaembed.dynamic._weight_decay import (
    MAX_ROWS,
    auto_weight_decay,
    leave_one_out_r2,
)

QUICK = {"projection_dim": 4, "hidden_dims": (), "max_epochs": 1, "random_state": 0}


def sequences(values, name="a"):
    tokens = TokenSequences.from_lists([[f"w{i}"] for i in range(len(values))])
    return EmbeddedSequences(tokens, [Block(name, values.astype("f4"), "sequence")])


def drawn(n_rows=120, dim=6):
    """Return sequences, a label that their vectors determine, and a random one."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(n_rows, dim))
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    return sequences(values), np.sign(values[:, 0]), rng.integers(2, size=n_rows)


def decay(X, y, kind=LabelTarget):
    target, rows = kind(y), np.arange(len(y))
    return auto_weight_decay(X, target.encode(y), np.ones(len(y)), rows, target)


@pytest.mark.parametrize("dim", [3, 40])
def test_the_r2_is_that_of_leaving_each_row_out(dim):
    rng = np.random.default_rng(0)
    vectors, weights = rng.normal(size=(15, dim)), rng.lognormal(sigma=2, size=15)
    columns = vectors[:, :2] + rng.normal(size=(15, 2))

    def error(predict):
        rests = [np.delete(np.arange(15), i) for i in range(15)]
        predicted = [predict(rest, i) for i, rest in enumerate(rests)]
        squares = np.square(columns - predicted).sum(axis=1)
        return np.average(squares, weights=weights)

    def predict(alpha, rest, i):
        ridge = Ridge(alpha * weights.sum())
        ridge.fit(vectors[rest], columns[rest], sample_weight=weights[rest])
        return ridge.predict(vectors[i : i + 1])[0]

    best = min(error(partial(predict, alpha)) for alpha in np.logspace(-4, 1, 16))
    total = error(lambda rest, _: np.average(columns[rest], 0, weights=weights[rest]))
    actual = leave_one_out_r2(vectors, columns, weights)
    np.testing.assert_allclose(actual, 1 - best / total, rtol=1e-6)


def test_the_r2_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(30, 5))
    columns = vectors[:, :2] + rng.normal(size=(30, 2))
    ridge = RidgeCV(alphas=30 * np.logspace(-4, 1, 16)).fit(vectors, columns)
    total = columns.var(axis=0).mean() * (30 / 29) ** 2
    actual = leave_one_out_r2(vectors, columns, np.ones(30))
    np.testing.assert_allclose(actual, 1 + ridge.best_score_ / total, rtol=1e-6)


def test_noise_has_the_largest_decay_and_a_clear_label_little():
    X, clear, noise = drawn()
    assert 0.09 < decay(X, noise) <= 0.1
    assert 0.27 < decay(X, noise, NumberTarget) <= 0.3
    assert decay(X, clear) < 0.01
    assert decay(X, X.blocks[0].values[:, :2], NumberTarget) == 0


def test_many_labels_columns_and_rows_have_less():
    rng = np.random.default_rng(0)
    X, _, noise = drawn()
    decays = [decay(X, np.arange(120) % n) for n in (4, 5, 7, 20)]
    assert decays == pytest.approx([0.1, 0.067, 0, 0], abs=0.01)
    sets = rng.integers(2, size=(120, 4))
    assert decay(X, sets, IndicatorTarget) == pytest.approx(0.1 / 4, rel=0.2)
    many, _, labels = drawn(4000)
    assert decay(many, labels) == pytest.approx(0.1 / 10, rel=0.1)


def test_few_rows_are_read_and_none_for_many_labels(monkeypatch):
    X, _, noise = drawn(2 * MAX_ROWS)
    read, take = [], EmbeddedSequences.__getitem__

    def watched(X, rows):
        read.append(len(rows))
        return take(X, rows)

    monkeypatch.setattr(EmbeddedSequences, "__getitem__", watched)
    assert decay(X, np.arange(len(X)) % 7) == 0
    assert not read
    decay(X, noise)
    assert read == [MAX_ROWS]


def test_units_of_a_source_do_not_count():
    X, clear, _ = drawn()
    scaled = sequences(1e4 * X.blocks[0].values)
    np.testing.assert_allclose(decay(X, clear), decay(scaled, clear), rtol=1e-3)


@pytest.mark.parametrize("n_rows", [1, 5])
def test_nothing_is_explained_of_targets_that_do_not_vary(n_rows):
    ones = np.ones((n_rows, 1))
    assert leave_one_out_r2(ones, 0.1 * ones, ones[:, 0]) == 0


@pytest.mark.parametrize("estimator", [DynamicMetaClassifier, DynamicMetaRegressor])
def test_predictors_choose_it_for_the_rows_they_train_on(estimator):
    X, _, noise = drawn()
    model = estimator(**QUICK).fit(X, noise)
    kind = NumberTarget if estimator is DynamicMetaRegressor else LabelTarget
    assert model.net_.optimizer__weight_decay == decay(X, noise, kind)
    # Weights are relative, and rows of weight 0 do not count.
    weights = np.repeat([3.0, 0.0], 60)
    model.fit(X, noise, weights)
    expected = decay(X[:60], noise[:60], kind)
    assert model.net_.optimizer__weight_decay == pytest.approx(expected)
    model.set_params(train_options={"weight_decay": 0.5}).fit(X, noise)
    assert model.net_.optimizer__weight_decay == 0.5


def test_held_out_labels_do_not_count():
    X, clear, _ = drawn()
    model = DynamicMetaClassifier(**QUICK)
    model.fit(X[:60], clear[:60], X_val=X[60:], y_val=-clear[60:])
    expected = decay(X[:60], clear[:60])
    assert model.net_.optimizer__weight_decay == pytest.approx(expected)
    # 2 rows are trained on, of which nothing can be learned.
    model.set_params(early_stopping=True, validation_fraction=0.98).fit(X, clear)
    assert model.net_.optimizer__weight_decay > 0.09


def test_trained_sources_pairs_and_the_published_net_have_none():
    texts, y = ["good", "bad"] * 10, [1, 0] * 10
    trained = TrainableCharacters()
    model = DynamicMetaClassifier(trainable=trained, **QUICK).fit(texts, y)
    assert model.net_.optimizer__weight_decay == 0
    X, _, noise = drawn()
    model = DynamicMetaClassifier(**QUICK).fit(SequencePairs(X), noise[:60])
    assert model.net_.optimizer__weight_decay == 0
    model = DynamicMetaClassifier.published(**QUICK, encoder="max").fit(X, noise)
    assert model.net_.optimizer__weight_decay == 0


@pytest.mark.parametrize("estimator", [DynamicMetaEmbedding, DynamicMetaTagger])
def test_others_do_not_choose_it(estimator):
    X, _, noise = drawn()
    y = noise if estimator is DynamicMetaEmbedding else [[n] for n in noise]
    model = estimator(train_options={"weight_decay": "auto"}, **QUICK)
    with pytest.raises(ValueError, match="'weight_decay' .* Got 'auto'"):
        model.fit(X, y)
