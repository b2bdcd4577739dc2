"""The linear model beside a network, and the weight decay and share it leads to."""

from functools import partial
from itertools import combinations
from operator import itemgetter

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.preprocessing import normalize, scale

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
    load,
    save,
)
from sk_metaembed._targets import LabelTarget, MultilabelTarget, NumberTarget
from sk_metaembed.dynamic import _linear_model
from sk_metaembed.dynamic._linear_model import LinearModel, leave_one_out

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


def linear(X, y, kind=LabelTarget):
    target, rows = kind(y), np.arange(len(y))
    return LinearModel(X, target.encode(y), np.ones(len(y)), rows, target), target


def decay(X, y, kind=LabelTarget):
    model, target = linear(X, y, kind)
    return model.weight_decay(target)


def test_each_row_is_left_out():
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(15, 20)), rng.lognormal(sigma=2, size=15)
    weights /= weights.sum()
    columns = X[:, :2] + rng.normal(size=(15, 2))

    def predicted(predict):
        rests = [np.delete(np.arange(15), i) for i in range(15)]
        return np.array([predict(rest, i) for i, rest in enumerate(rests)])

    def predict(alpha, rest, i):
        model = Ridge(alpha).fit(X[rest], columns[rest], weights[rest])
        return model.predict(X[i : i + 1])[0]

    def error(values):
        return weights @ np.square(columns - values).sum(axis=1)

    centered = X - weights @ X
    alphas = weights @ np.square(centered).sum(axis=1) * np.logspace(-4, 1, 16)
    best = min([predicted(partial(predict, alpha)) for alpha in alphas], key=error)
    total = error(
        predicted(lambda rest, _: np.average(columns[rest], 0, weights=weights[rest]))
    )
    actual = leave_one_out(X @ X.T, columns, weights, np.logspace(-4, 1, 16))
    np.testing.assert_allclose(actual.decisions, best - weights @ columns, rtol=1e-6)
    np.testing.assert_allclose(actual.r2, 1 - error(best) / total, rtol=1e-6)


@pytest.mark.parametrize("n_read", [56, 40])
def test_numbers_are_a_ridge_regression_on_vectors_and_words(n_read, monkeypatch):
    monkeypatch.setattr(_linear_model, "MAX_ROWS", n_read)
    rng, n_rows = np.random.default_rng(0), 56
    triples = list(combinations("abcdefgh", 3))
    lists = [list(triples[i]) for i in rng.permutation(len(triples))]
    table = rng.normal(size=(8, 2)).astype("f4")
    tokens = TokenSequences.from_lists(lists)
    X = EmbeddedSequences(tokens, [Block("a", table, "type")])
    means = np.stack(
        [table[codes].mean(axis=0) for codes in tokens.codes.reshape(-1, 3)]
    )
    words = TfidfVectorizer(analyzer=list, sublinear_tf=True).fit_transform(lists)
    y = words[:, [0]].toarray()[:, 0] + means[:, 1] / 9 + rng.normal(size=n_rows) / 9
    model, target = linear(X, y, NumberTarget)
    features = [normalize(scale(means.astype(float))), words.toarray()]

    read = _linear_model._subsample(np.arange(n_rows), n_read)

    def fitted(share):
        factors = (1 - share) ** 0.5, share**0.5
        own = np.hstack([f * part for f, part in zip(factors, features, strict=True)])
        size = np.square(own[read] - own[read].mean(axis=0)).sum()
        cv = RidgeCV(size * np.logspace(-4, 1, 16)).fit(own[read], y[read])
        return cv.best_score_, Ridge(cv.alpha_).fit(own, y).predict(own)

    _, expected = max(map(fitted, (0, 0.25, 0.5, 0.75, 1)), key=itemgetter(0))
    actual = target.decode(model.outputs(X) * target.scale)
    np.testing.assert_allclose(actual, expected, atol=1e-3)


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
    assert decay(X, sets, MultilabelTarget) == pytest.approx(0.1 / 4, rel=0.2)
    many, _, labels = drawn(4000)
    assert decay(many, labels) == pytest.approx(0.1 / 10, rel=0.1)


def test_few_rows_are_drawn_where_classes_alternate(monkeypatch):
    lists = [["ab"[i % 2], f"w{i}"] for i in range(120)]
    tokens, labels = TokenSequences.from_lists(lists), np.arange(120) % 2
    ones = np.ones((tokens.n_types, 1))
    X = EmbeddedSequences(tokens, [Block("a", ones, "type")])
    monkeypatch.setattr(_linear_model, "MAX_ROWS", 60)
    monkeypatch.setattr(_linear_model, "MAX_ROWS_OF_FIT", 80)
    model, target = linear(X, labels)
    assert (target.decode(model.outputs(X)) == labels).all()


def test_copies_do_not_tell_what_is_left_out():
    X, _, noise = drawn(60)
    once, target = linear(X, noise)
    order = np.random.default_rng(0).permutation(np.repeat(np.arange(60), 3))
    copied, _ = linear(X[order], noise[order])
    np.testing.assert_allclose(copied.r2, once.r2, atol=1e-6)
    for model in (once, copied):
        chances = target.probabilities(model.outputs(X))
        assert -np.log(chances[np.arange(60), noise]).mean() > 0.3
    # A network learns copies, and then must not decay.
    assert copied.weight_decay(target) < 0.06 < once.weight_decay(target)


@pytest.mark.parametrize("kind", [LabelTarget, NumberTarget])
def test_weights_of_rows_are_repeated_rows(kind):
    X, y, _ = drawn()
    words = TokenSequences.from_lists([["w"]] * 120)  # document frequencies count rows
    X = EmbeddedSequences(words, X.blocks)
    weights = 1 + np.arange(120) % 3
    copies, target = np.repeat(np.arange(120), weights), kind(y)
    one = LinearModel(X, target.encode(y), weights, np.arange(120), target)
    other = LinearModel(
        X[copies], target.encode(y[copies]), np.ones(240), np.arange(240), target
    )
    assert one.r2 == pytest.approx(other.r2, abs=1e-6)
    np.testing.assert_allclose(one.outputs(X), other.outputs(X), atol=1e-4)


@pytest.mark.parametrize("n_rows", [7, 10, 60])
@pytest.mark.parametrize("kind", [LabelTarget, NumberTarget])
def test_vectors_that_do_not_vary_predict_the_mean(kind, n_rows):
    tokens = TokenSequences.from_lists([["a", "b"]] * n_rows)
    X = EmbeddedSequences(tokens, [Block("a", np.ones((2, 2), "f4"), "type")])
    y = np.arange(n_rows) % 2
    model, target = linear(X, y, kind)
    outputs = model.outputs(X)
    if kind is NumberTarget:
        actual = target.decode(outputs * target.scale)
        np.testing.assert_allclose(actual, y.mean(), rtol=1e-5)
    else:
        np.testing.assert_allclose(
            target.probabilities(outputs)[:, 1], y.mean(), rtol=1e-5
        )


def test_units_of_a_source_do_not_count():
    X, clear, _ = drawn()
    scaled = sequences(1e4 * X.blocks[0].values)
    np.testing.assert_allclose(decay(X, clear), decay(scaled, clear), rtol=1e-3)


@pytest.mark.parametrize(("length", "row"), [(1e3, 0), (1e9, 70), (1e30, 0)])
def test_a_far_longer_vector_changes_others_little_and_is_named(length, row):
    X, clear, _ = drawn()
    values = X.blocks[0].values.copy()
    values[row] *= length
    far = sequences(values)
    model, target = linear(far, clear)
    assert np.mean(target.decode(model.outputs(X)) == clear) > 0.95
    options = QUICK | {"max_epochs": 40, "lr": 0.05}
    net = DynamicMetaClassifier(**options, train_options={"linear_share": 0})
    with pytest.warns(UserWarning, match=f"'a': 1 vector longer .* in row {row} of"):
        assert net.fit(far, clear).score(X, clear) > 0.9


@pytest.mark.parametrize("n_rows", [1, 5])
def test_nothing_is_explained_of_targets_that_do_not_vary(n_rows):
    ones = np.ones((n_rows, 1))
    weights = np.full(n_rows, 1 / n_rows)
    assert leave_one_out(ones @ ones.T, 0.1 * ones, weights, [0.1, 1]).r2 == 0


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


def test_without_a_share_only_what_the_weight_decay_needs_is_fitted(monkeypatch):
    X, _, noise = drawn(60)
    twice = np.repeat(np.arange(60), 2)
    expected = [decay(X[rows], noise[rows]) for rows in (twice[::2], twice)]
    monkeypatch.setattr(_linear_model, "ridge", None)
    for rows, value in zip((twice[::2], twice), expected, strict=True):
        model = DynamicMetaClassifier(train_options={"linear_share": 0}, **QUICK)
        model.fit(X[rows], noise[rows])
        assert model.net_.optimizer__weight_decay == pytest.approx(value)


def test_held_out_labels_do_not_count():
    X, clear, _ = drawn()
    model = DynamicMetaClassifier(**QUICK)
    model.fit(X[:60], clear[:60], X_val=X[60:], y_val=-clear[60:])
    expected = decay(X[:60], clear[:60])
    assert model.net_.optimizer__weight_decay == pytest.approx(expected)
    # 2 rows are trained on, of which nothing can be learned.
    options = {"validation_fraction": 0.98}
    model.set_params(early_stopping=True, train_options=options).fit(X, clear)
    assert model.net_.optimizer__weight_decay > 0.09


def test_trained_sources_pairs_and_the_published_net_have_neither():
    texts, y = ["good", "bad"] * 10, [1, 0] * 10
    trained = TrainableCharacters()
    X, _, noise = drawn()
    published = DynamicMetaClassifier.published(**QUICK, encoder="max")
    for model in (
        DynamicMetaClassifier(trainable=trained, **QUICK).fit(texts, y),
        DynamicMetaClassifier(**QUICK).fit(SequencePairs(X), noise[:60]),
        published.fit(X, noise),
    ):
        assert model.net_.optimizer__weight_decay == model.linear_share_ == 0


def test_a_given_share_needs_sequences_of_vectors():
    X, _, noise = drawn()
    model = DynamicMetaClassifier(train_options={"linear_share": 0.5}, **QUICK)
    with pytest.raises(ValueError, match="linear_share=0.5 .* Leave it at 'auto' or 0"):
        model.fit(SequencePairs(X), noise[:60])


def test_outputs_are_averaged_with_those_of_the_linear_model():
    X, clear, _ = drawn()
    alone, both = (
        DynamicMetaRegressor(train_options={"linear_share": share}, **QUICK)
        for share in (0, 0.25)
    )
    rest = alone.fit(X[:80], clear[:80]).predict(X[80:])
    own, target = linear(X[:80], clear[:80], NumberTarget)
    linear_part = target.decode(own.outputs(X[80:]) * target.scale)
    expected = 0.75 * rest + 0.25 * linear_part
    actual = both.fit(X[:80], clear[:80]).predict(X[80:])
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)


def test_words_that_vectors_do_not_tell_apart_are_learned(tmp_path):
    rng = np.random.default_rng(0)
    lists = [rng.permutation(list("ABCDEFGH"))[:3].tolist() for _ in range(150)]
    y = ["a" in map(str.lower, row) for row in lists]
    tokens = TokenSequences.from_lists(lists)
    X = EmbeddedSequences(tokens, [Block("a", np.ones((8, 2)), "type")])
    model = DynamicMetaClassifier(**QUICK).fit(X, y)
    assert model.linear_share_ == 0.7
    assert model.score(X, y) == 1
    alone = model.predict_proba(X[:1])
    np.testing.assert_allclose(alone, model.predict_proba(X)[:1], atol=1e-6)
    save(model, tmp_path / "model.skm")
    loaded = load(tmp_path / "model.skm")
    np.testing.assert_allclose(loaded.predict_proba(X), model.predict_proba(X), 1e-6)
    model.set_params(train_options={"linear_share": 0}).fit(X, y)
    assert model.linear_share_ == 0
    assert model.score(X, y) < 0.8


@pytest.mark.parametrize("kind", [LabelTarget, MultilabelTarget])
def test_outputs_of_noise_have_the_probabilities_of_the_classes(kind):
    rng = np.random.default_rng(0)
    X, _, _ = drawn(400)
    y = (rng.random(400) < 0.1).astype(int)
    y = y if kind is LabelTarget else np.column_stack([y, 1 - y])
    model, target = linear(X, y, kind)
    actual = target.probabilities(model.outputs(X)).mean(axis=0)
    expected = target.as_outputs(target.encode(y)).mean(axis=0)
    np.testing.assert_allclose(actual, expected, atol=0.02)


def test_the_share_follows_noise_labels_and_words():
    X, clear, noise = drawn()
    few, many = linear(X, noise), linear(X, np.arange(120) % 7)
    assert linear(X, clear)[0].share(few[1]) == pytest.approx(0.2, abs=0.02)
    assert few[0].share(few[1]) == pytest.approx(0.2 + 0.7 * 2 / 7, abs=0.03)
    assert many[0].share(many[1]) == 0.7


@pytest.mark.parametrize("estimator", [DynamicMetaEmbedding, DynamicMetaTagger])
def test_others_do_not_choose_it(estimator):
    X, _, noise = drawn()
    y = noise if estimator is DynamicMetaEmbedding else [[n] for n in noise]
    model = estimator(train_options={"weight_decay": "auto"}, **QUICK)
    with pytest.raises(ValueError, match="'weight_decay' .* Got 'auto'"):
        model.fit(X, y)


def ordered(n_rows=60):
    """Return rows of three tokens in which "a" precedes "b", or follows it."""
    rng = np.random.default_rng(0)
    y = np.arange(n_rows) % 2
    ends = rng.choice(["x", "y", "z"], n_rows)
    rows = [["a", "b", e] if c else ["b", "a", e] for c, e in zip(y, ends, strict=True)]
    return TokenSequences.from_lists(rows), y


def test_next_to_vectors_it_reads_the_order_of_words_where_it_decides():
    rng, labels = np.random.default_rng(0), np.arange(80) % 2
    rows = [[str(w) for w in rng.integers(9, size=4)] for _ in labels]
    rows = [
        [*r[:2], *("ab", "ba")[label], *r[2:]]
        for r, label in zip(rows, labels, strict=True)
    ]
    tokens = TokenSequences.from_lists(rows)
    X = EmbeddedSequences(tokens, [Block("a", np.eye(tokens.n_types), "type")])
    model, target = linear(X, labels)
    assert model.r2_of_vectors < 0.1 < 0.7 < model.r2
    assert (target.decode(model.outputs(X)) == labels).all()


def test_learned_tokens_have_a_linear_model_of_ngrams_beside_the_network():
    X, y = ordered()
    model = DynamicMetaClassifier(encoder="max", **QUICK).fit(X, y)
    assert model.linear_share_ == 0.4
    assert model.score(X, y) == 1  # one epoch teaches a network little
    alone = DynamicMetaClassifier(train_options={"linear_share": 0}, **QUICK)
    alone.fit(X, y)
    assert alone.linear_share_ == 0
    expected = linear(X, y)[0].weight_decay(LabelTarget(y))
    assert alone.net_.optimizer__weight_decay == pytest.approx(expected)
