"""StackedMetaEmbedding: models per source, out of fold, and their weighted sum."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, r2_score
from sklearn.metrics.pairwise import paired_cosine_distances
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    PredefinedSplit,
    StratifiedKFold,
    cross_val_predict,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_metaembed import (
    Block,
    EmbeddedSequences,
    PairEncoder,
    Pooling,
    SequencePairs,
    StackedMetaEmbedding,
    TokenSequences,
)

LABELS = np.array(["no", "perhaps", "yes"])


def sequences(**sources):
    """Return one token per sequence, and a sequence-level block per array."""
    n_rows = len(next(iter(sources.values())))
    tokens = TokenSequences.from_lists([[f"word{i % 50}"] for i in range(n_rows)])
    blocks = [Block(name, values, "sequence") for name, values in sources.items()]
    return EmbeddedSequences(tokens, blocks)


def planted(n_rows=300, seed=0, n_classes=2):
    """Return two sources, each of which sees a part of what decides the class.

    The sources have 5 and 40 dimensions, and a third one of 100 is noise.
    """
    rng = np.random.default_rng(seed)
    parts = rng.normal(size=(2, n_rows))
    edges = np.quantile(parts.sum(axis=0), np.arange(1, n_classes) / n_classes)
    y = np.digitize(parts.sum(axis=0), edges)
    first, second = (
        part[:, None] * rng.normal(size=dim) + rng.normal(size=(n_rows, dim))
        for part, dim in zip(parts, (5, 40), strict=True)
    )
    return sequences(a=first, b=second, noise=rng.normal(size=(n_rows, 100))), y


def halves(X, y):
    """Return a training and a test part."""
    n = len(y) // 2
    return X[:n], X[n:], y[:n], y[n:]


def values(X, *names):
    return np.hstack([X.block(name).values for name in names or X.names])


def linear(penalty=1.0):
    return make_pipeline(StandardScaler(), LogisticRegression(C=penalty))


def folds(seed=0):
    return StratifiedKFold(5, shuffle=True, random_state=seed)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("method", ["decision_function", "predict_proba"])
def test_columns_are_those_of_cross_val_predict(n_classes, method):
    X, y = planted(n_classes=n_classes)
    model = (
        linear()
        if method == "decision_function"
        else RandomForestClassifier(10, random_state=0)
    )
    stacked = StackedMetaEmbedding(model, output="sources", cv=5, random_state=0)
    result = stacked.fit_transform(X, LABELS[y])
    expected, new = [], []
    for names in (["a"], ["b"], ["noise"], X.names):
        inputs = values(X, *names)
        out = cross_val_predict(model, inputs, y, cv=folds(), method=method)
        expected.append(out)
        new.append(getattr(clone(model).fit(inputs, y), method)(inputs))
    for part, arrays in ((result, expected), (stacked.transform(X), new)):
        if method == "predict_proba":
            logs = [np.log(np.maximum(each, 1e-6)) for each in arrays]
            arrays = [x[:, 1] - x[:, 0] if x.shape[1] == 2 else x for x in logs]
        arrays = [x.reshape(len(y), -1) for x in arrays]
        np.testing.assert_allclose(part, np.hstack(arrays), rtol=1e-4, atol=1e-4)
    assert result.dtype == np.float32
    assert [*stacked.estimators_] == ["a", "b", "noise", "concat"]


def test_numbers_are_those_of_cross_val_predict():
    X, _ = planted()
    y = values(X, "a")[:, 0] + values(X, "b")[:, 0]
    cv = KFold(4)
    stacked = StackedMetaEmbedding(Ridge(2.0), output="sources", concat=False, cv=cv)
    result = stacked.fit_transform(X, y)
    for column, name in zip(result.T, X.names, strict=True):
        expected = cross_val_predict(Ridge(2.0), values(X, name), y, cv=cv)
        np.testing.assert_allclose(column, expected, rtol=1e-4, atol=1e-4)
        assert stacked.scores_[name] == pytest.approx(r2_score(y, expected), abs=1e-5)
    assert stacked.get_feature_names_out().tolist() == ["a", "b", "noise"]
    assert stacked.classes_ is None


def test_sum_of_numbers_has_the_weights_of_nonnegative_least_squares():
    X, _ = planted()
    y = values(X, "a")[:, 0] + values(X, "b")[:, 0]
    stacked = StackedMetaEmbedding(random_state=0)
    columns = clone(stacked).set_params(output="sources").fit_transform(X, y)
    least_squares = LinearRegression(positive=True).fit(columns, y)
    total = stacked.fit_transform(X, y)
    weights = [*stacked.weights_.values()]
    np.testing.assert_allclose(weights, least_squares.coef_, atol=1e-4)
    np.testing.assert_allclose(total[:, 0], least_squares.predict(columns), atol=1e-4)
    assert stacked.get_feature_names_out().tolist() == ["stacked"]


def test_sum_is_a_logistic_regression_of_the_columns_where_it_is_nonnegative():
    X, y = planted()
    X = X.select(["a", "b"])
    stacked = StackedMetaEmbedding(concat=False, random_state=0)
    columns = clone(stacked).set_params(output="sources").fit_transform(X, y)
    logistic = LogisticRegression(tol=1e-8).fit(columns, y)
    assert (logistic.coef_ > 0).all()
    total = stacked.fit_transform(X, y)
    weights = [[*stacked.weights_.values()]]
    np.testing.assert_allclose(weights, logistic.coef_, atol=1e-3)
    np.testing.assert_allclose(stacked.intercept_, logistic.intercept_, atol=1e-3)
    np.testing.assert_allclose(
        total[:, 0], logistic.decision_function(columns), atol=2e-3
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_weights_of_several_classes_are_optimal(weighted):
    X, y = planted(n_classes=3)
    rng = np.random.default_rng(0)
    rows = rng.uniform(size=len(y)) if weighted else np.ones(len(y))
    stacked = StackedMetaEmbedding(random_state=0)
    stacked.fit(X, y, sample_weight=rows if weighted else None)
    columns = (
        clone(stacked)
        .set_params(output="sources")
        .fit_transform(X, y, sample_weight=rows)
        .reshape(len(y), 4, 3)
    )

    def loss(weights, intercepts):
        logits = np.einsum("m,nmk->nk", weights, columns) + intercepts
        logits -= np.log(np.exp(logits).sum(axis=1, keepdims=True))
        return -rows @ logits[np.arange(len(y)), y] + weights @ weights / 2

    weights = np.array([*stacked.weights_.values()])
    best = loss(weights, stacked.intercept_)
    assert (weights >= 0).all()
    for _ in range(100):
        other = np.maximum(weights + rng.normal(scale=0.02, size=4), 0)
        shift = rng.normal(scale=0.02, size=3)
        assert loss(other, stacked.intercept_ + shift) > best - 1e-3


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_are_out_of_fold_accuracies(n_classes):
    X, y = planted(n_classes=n_classes)
    stacked = StackedMetaEmbedding(linear(), random_state=0).fit(X, LABELS[y])
    for name, score in stacked.scores_.items():
        inputs = values(X) if name == "concat" else values(X, name)
        predicted = cross_val_predict(linear(), inputs, y, cv=folds())
        assert score == pytest.approx(accuracy_score(y, predicted))


def test_one_source_is_its_model():
    X, y = planted()
    stacked = StackedMetaEmbedding(linear(), random_state=0).fit(X.select(["b"]), y)
    assert [*stacked.estimators_] == ["b"]
    model = linear().fit(values(X, "b"), y)
    expected = model.decision_function(values(X, "b"))
    expected = stacked.weights_["b"] * expected + stacked.intercept_
    result = stacked.transform(X.select(["b"]))[:, 0]
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)


def test_default_penalty_has_the_least_loss_out_of_fold():
    X, y = planted(n_rows=100)
    stacked = StackedMetaEmbedding(random_state=0).fit(X, y)
    penalties = {n: 1 / m[-1].C for n, m in stacked.estimators_.items()}
    # 100 dimensions of noise are shrunk more, per dimension, than 5 of signal.
    assert penalties["noise"] / 100 > penalties["a"] / 5
    best = stacked.scores_["b"]
    for penalty in 40 * np.logspace(-3, 1, 5):
        other = StackedMetaEmbedding(linear(1 / penalty), random_state=0)
        assert other.fit(X, y).scores_["b"] <= best + 0.05


def accuracy(X, y, *names, output="sum"):
    """Return the test accuracy of stacked sources, or of the model of one source."""
    X = X.select(names) if names else X
    train, test, y_train, y_test = halves(X, y)
    stacked = StackedMetaEmbedding(output=output, random_state=0)
    model = make_pipeline(stacked, LogisticRegression()).fit(train, y_train)
    return model.score(test, y_test)


@pytest.mark.parametrize("n_classes", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_complementary_sources_are_better_than_each(n_classes):
    gains = []
    for seed in range(3):
        X, y = planted(n_rows=600, seed=seed, n_classes=n_classes)
        singles = max(accuracy(X, y, name) for name in X.names)
        gains.append(accuracy(X, y) - singles)
    assert min(gains) > 0.02
    assert np.mean(gains) > 0.1


@pytest.mark.parametrize("n_classes", [2, pytest.param(5, marks=pytest.mark.slow)])
def test_useless_sources_cost_no_more_than_noise(n_classes):
    losses = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        n_rows = 600
        y = rng.integers(n_classes, size=n_rows)
        signal = np.eye(n_classes)[y] @ rng.normal(size=(n_classes, 20))
        X = sequences(
            signal=signal + rng.normal(scale=2, size=signal.shape),
            noise=rng.normal(size=(n_rows, 100)),
            more=rng.normal(size=(n_rows, 10)),
        )
        losses.append(accuracy(X, y, "signal") - accuracy(X, y))
    # One standard error of the accuracy on 300 rows is about 0.02.
    assert np.mean(losses) < 0.01
    assert max(losses) < 0.04


def test_concatenation_keeps_what_sources_tell_together_only():
    rng = np.random.default_rng(0)
    y = np.arange(600) % 2
    disturbance = rng.normal(scale=5, size=600)
    # The second source tells nothing of y, but what disturbs the first.
    X = sequences(a=(2 * y + disturbance)[:, None], b=disturbance[:, None])
    order = rng.permutation(600)
    X, y = X[order], y[order]
    assert max(accuracy(X, y, "a"), accuracy(X, y, "b")) < 0.7
    assert accuracy(X, y) > 0.95
    stacked = StackedMetaEmbedding(random_state=0).fit(X, y)
    assert max(stacked.weights_, key=stacked.weights_.get) == "concat"


def test_training_rows_are_predicted_by_models_that_have_not_seen_them():
    rng = np.random.default_rng(0)
    X = sequences(noise=rng.normal(size=(200, 400)))
    y = np.arange(200) % 2
    stacked = StackedMetaEmbedding(linear(), output="sources", random_state=0)
    out_of_fold = stacked.fit_transform(X, y)[:, 0]
    assert accuracy_score(y, out_of_fold > 0) < 0.65
    assert accuracy_score(y, stacked.transform(X)[:, 0] > 0) == 1
    np.testing.assert_array_equal(
        stacked.fit(X, y).transform(X), clone(stacked).fit(X, y).transform(X)
    )


def test_groups_are_not_divided():
    rng = np.random.default_rng(0)
    distinct, y = rng.normal(size=(60, 5)), rng.integers(2, size=60)
    X = sequences(copies=np.repeat(distinct, 3, axis=0))
    y, groups = np.repeat(y, 3), np.repeat(np.arange(60), 3)
    nearest = KNeighborsClassifier(1)
    stacked = StackedMetaEmbedding(nearest, random_state=0)
    assert stacked.fit(X, y).scores_["copies"] > 0.9
    assert stacked.fit(X, y, groups=groups).scores_["copies"] < 0.7
    stacked.set_params(cv=GroupKFold(5))
    assert stacked.fit(X, y, groups=groups).scores_["copies"] < 0.7
    model = make_pipeline(stacked, LogisticRegression())
    model.fit(X, y, stackedmetaembedding__groups=groups)
    assert model[0].scores_["copies"] < 0.7
    with config_context(enable_metadata_routing=True):
        stacked.set_fit_request(groups=True, sample_weight=False)
        last = LogisticRegression().set_fit_request(sample_weight=True)
        model = make_pipeline(stacked, last)
        model.fit(X, y, groups=groups, sample_weight=np.ones(180))
    assert model[0].scores_["copies"] < 0.7


def test_numbers_in_groups():
    X, _ = planted(n_rows=60)
    y = values(X, "a")[:, 0]
    groups = np.repeat(np.arange(12), 5)
    stacked = StackedMetaEmbedding(output="sources", cv=12, random_state=0)
    result = stacked.fit_transform(X.select(["a"]), y, groups=groups)[:, 0]
    penalty = stacked.estimators_["a"][-1].alpha
    model = make_pipeline(StandardScaler(), Ridge(penalty))
    cv = PredefinedSplit(groups)
    expected = cross_val_predict(model, values(X, "a"), y, cv=cv)
    np.testing.assert_allclose(result, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_weights_of_rows_are_repeated_rows(kind):
    X, y = planted(n_rows=80)
    model = linear(0.1)
    if kind == "numbers":
        y, model = values(X, "a")[:, 0], Ridge(3.0)
    weights = np.arange(80) % 3
    copies = np.repeat(np.arange(80), weights)
    # Each row is predicted by the model of the other half.
    half = np.arange(80) % 2
    one = StackedMetaEmbedding(model, cv=PredefinedSplit(half))
    other = StackedMetaEmbedding(model, cv=PredefinedSplit(half[copies]))
    one.fit(X, y, sample_weight=weights)
    other.fit(X[copies], y[copies])
    np.testing.assert_allclose(
        [*one.weights_.values()], [*other.weights_.values()], rtol=0.01, atol=1e-3
    )
    assert one.scores_ == pytest.approx(other.scores_, abs=1e-4)
    np.testing.assert_allclose(one.transform(X), other.transform(X), atol=0.02)


def pairs_of(n_pairs=120, seed=0):
    """Return pairs with a source that tells whether both sides are alike."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_pairs) % 2
    u = rng.normal(size=(n_pairs, 6))
    v = np.where(y[:, None] == 1, u + rng.normal(scale=0.3, size=u.shape), u[::-1])
    u[0] = 0
    sides = sequences(
        alike=np.concatenate([u, v]), noise=rng.normal(size=(2 * n_pairs, 4))
    )
    return SequencePairs(sides), y


def test_pairs_have_features_of_both_sides_and_cosines():
    X, y = pairs_of()
    stacked = StackedMetaEmbedding(linear(), output="sources", random_state=0)
    result = stacked.fit_transform(X, y)
    assert stacked.get_feature_names_out().tolist() == [
        "alike__1",
        "noise__1",
        "concat__1",
        "alike__cosine",
        "noise__cosine",
    ]
    alike = SequencePairs(X.sequences.select(["alike"]))
    features = PairEncoder(Pooling()).fit_transform(alike)
    expected = cross_val_predict(
        linear(), features, y, cv=folds(), method="decision_function"
    )
    np.testing.assert_allclose(result[:, 0], expected, rtol=1e-4, atol=1e-4)
    u, v = (values(side, "alike") for side in (X.first, X.second))
    cosines = 1 - paired_cosine_distances(u, v)
    np.testing.assert_allclose(result[1:, 3], cosines[1:], atol=1e-5)
    assert result[0, 3] == 0
    np.testing.assert_array_equal(stacked.transform(X)[:, 3:], result[:, 3:])


def test_pairs_are_predicted():
    X, y = pairs_of(400)
    train, test, y_train, y_test = halves(X, y)
    model = make_pipeline(StackedMetaEmbedding(random_state=0), LogisticRegression())
    assert model.fit(train, y_train).score(test, y_test) > 0.95
    names = ["stacked__1", "alike__cosine", "noise__cosine"]
    assert model[0].get_feature_names_out().tolist() == names


def test_pairs_and_single_sequences_are_not_confused():
    X, y = pairs_of()
    stacked = StackedMetaEmbedding().fit(X, y)
    with pytest.raises(TypeError, match="was fitted on SequencePairs"):
        stacked.transform(X.first)
    with pytest.raises(TypeError, match="takes EmbeddedSequences"):
        stacked.transform(SequencePairs(X.sequences.tokens))
    stacked.fit(X.first, y)
    with pytest.raises(TypeError, match="takes single sequences"):
        stacked.transform(X)


def test_words_are_averaged():
    tokens = TokenSequences.from_lists([["a", "b"], ["b"], []] * 20)
    types = Block("types", [[1.0, 0.0], [0.0, 3.0]], "type")
    every = Block("tokens", np.arange(60.0)[:, None], "token")
    X, y = EmbeddedSequences(tokens, [types, every]), np.arange(60) % 3 == 1
    pooled = Pooling().fit_transform(X)
    means = sequences(types=pooled[:, :2], tokens=pooled[:, 2:])
    stacked = StackedMetaEmbedding(random_state=0)
    np.testing.assert_array_equal(
        stacked.fit_transform(X, y), clone(stacked).fit_transform(means, y)
    )


def test_output_in_pandas_has_names_and_index():
    pd = pytest.importorskip("pandas")
    X, y = planted(n_classes=3)
    index = pd.Index([f"row {i}" for i in range(len(y))])
    X = EmbeddedSequences(X.tokens._with_row_info(index=index), X.blocks)
    stacked = StackedMetaEmbedding(random_state=0).set_output(transform="pandas")
    frame = stacked.fit_transform(X, LABELS[y])
    names = ["stacked__no", "stacked__perhaps", "stacked__yes"]
    for each in (frame, stacked.transform(X)):
        assert each.columns.tolist() == names
        assert each.index.equals(index)
    plain = StackedMetaEmbedding(random_state=0).fit_transform(X, LABELS[y])
    np.testing.assert_array_equal(frame.to_numpy(), plain)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_parallel_fits_are_equal(n_classes):
    X, y = planted(n_rows=100, n_classes=n_classes)
    one = StackedMetaEmbedding(random_state=0)
    two = StackedMetaEmbedding(random_state=0, n_jobs=2)
    np.testing.assert_array_equal(one.fit_transform(X, y), two.fit_transform(X, y))
    assert one.weights_ == two.weights_


def test_grid_search_over_its_parameters():
    X, y = planted(n_rows=120)
    stacked = StackedMetaEmbedding(linear(), random_state=0)
    model = make_pipeline(stacked, LogisticRegression())
    grid = {
        "stackedmetaembedding__concat": [False, True],
        "stackedmetaembedding__output": ["sum", "sources"],
    }
    search = GridSearchCV(model, grid, cv=2).fit(X, y)
    assert search.best_score_ > 0.7


class OnlyPredicts(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


@pytest.mark.parametrize(
    ("change", "parameters", "message"),
    [
        ({"y": None}, {}, "requires y to be passed"),
        ({"y": np.ones(60)}, {}, "at least 2 classes in y, got 1 class"),
        ({"y": np.eye(60)}, {}, "1d array"),
        ({"y": np.arange(59)}, {}, "inconsistent numbers of samples"),
        ({"y": np.full(60, np.nan)}, {}, "Input y contains NaN"),
        ({"y": ["a", None] * 30}, {}, "missing .* at row 1, 30 rows in all. Drop"),
        ({"y": ["rare", *["a", "b"] * 29, "a"]}, {"cv": 2}, "class 'rare'"),
        ({}, {"estimator": StandardScaler()}, "a classifier or a regressor"),
        ({}, {"estimator": OnlyPredicts()}, "decision_function or predict_proba"),
        ({}, {"output": "product"}, "'output' parameter"),
        ({}, {"cv": 1}, "'cv' parameter"),
        ({"names": ["a", "concat"]}, {}, "a source is named 'concat'"),
        (
            {"sample_weight": np.ones(60)},
            {"estimator": KNeighborsClassifier()},
            "KNeighborsClassifier does not support it",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:The least populated class")
def test_errors_of_fit(change, parameters, message):
    X, y = planted(n_rows=60)
    X = X.select(["a", "b"])
    if names := change.pop("names", None):
        pairs = zip(X.blocks, names, strict=True)
        X = X.with_blocks([block.rename(name) for block, name in pairs])
    with pytest.raises(ValueError, match=message):
        StackedMetaEmbedding(**parameters).fit(X, **{"y": y, **change})


def test_a_source_may_be_named_concat_without_that_model():
    X, y = planted(n_rows=60)
    names = ["concat", "concat1", "concat2"]
    pairs = zip(X.blocks, names, strict=True)
    X = X.with_blocks([block.rename(name) for block, name in pairs])
    stacked = StackedMetaEmbedding(concat=False).fit(X, y)
    assert [*stacked.weights_] == names


def test_errors_of_transform():
    X, y = planted()
    with pytest.raises(NotFittedError):
        StackedMetaEmbedding().transform(X)
    stacked = StackedMetaEmbedding().fit(X, y)
    with pytest.raises(ValueError, match="was fitted on blocks"):
        stacked.transform(X.select(["a", "b"]))
    with pytest.raises(TypeError, match="takes EmbeddedSequences"):
        stacked.transform(values(X))


def test_a_failed_fit_leaves_the_estimator_as_it_was():
    X, y = planted()
    stacked = StackedMetaEmbedding(random_state=0).fit(X, y)
    before = stacked.transform(X)
    with pytest.raises(ValueError, match="at least 2 classes"):
        stacked.fit(X.select(["a"]), np.ones(len(y)))
    np.testing.assert_array_equal(stacked.transform(X), before)


def test_integers_are_amounts_if_told_so():
    X, _ = planted(100)
    y = np.rint(10 * X.block("a").values[:, 0]).astype(np.int64)
    step = StackedMetaEmbedding(target_type="continuous", random_state=0)
    result = step.fit_transform(X, y)
    expected = StackedMetaEmbedding(random_state=0).fit_transform(X, y + 1e-9)
    np.testing.assert_allclose(result, expected, atol=1e-4)
    assert step.classes_ is None
    assert step.get_feature_names_out().tolist() == ["stacked"]
    binary = StackedMetaEmbedding(target_type="auto", random_state=0)
    assert binary.fit(X, y > 0).classes_.tolist() == [False, True]


def test_numbers_must_be_numbers():
    X, y = planted(60)
    step = StackedMetaEmbedding(target_type="continuous")
    with pytest.raises(ValueError, match="could not convert|numbers"):
        step.fit(X, LABELS[y])


def test_a_classifier_may_weight_classes_by_their_names():
    X, y = planted(n_rows=120)
    weights = {"no": 1.0, "perhaps": 2.0}
    model = make_pipeline(StandardScaler(), LogisticRegression(class_weight=weights))
    stacked = StackedMetaEmbedding(model, output="sources", random_state=0)
    coded = clone(model).set_params(logisticregression__class_weight={0: 1.0, 1: 2.0})
    np.testing.assert_array_equal(
        stacked.fit_transform(X, LABELS[y]),
        clone(stacked).set_params(estimator=coded).fit_transform(X, y),
    )
