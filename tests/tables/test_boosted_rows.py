"""Boosting predicts few rows as scikit-learn does, by another way."""

import numpy as np
import pytest
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)

from sk_metaembed.tables._boosted_rows import boosted_decisions, is_fast

OPTIONS = {"max_iter": 9, "min_samples_leaf": 2, "random_state": 0}


def table(n_rows=80):
    X = np.random.default_rng(0).normal(size=(n_rows, 4)).astype(np.float32)
    X[::3, 0] = np.nan
    X[0, 1] = np.inf
    return X


def classifier(n_classes):
    y = (np.arange(80) * 7) % n_classes
    return HistGradientBoostingClassifier(**OPTIONS).fit(table(), y)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_equal_scikit_learn_bit_by_bit(n_classes):
    model, X = classifier(n_classes), table()
    for n_rows in (1, 2, 7):
        expected = model.decision_function(X[:n_rows]).reshape(n_rows, -1)
        assert (boosted_decisions(model, X[:n_rows]) == expected).all()


def test_numbers_equal_scikit_learn_bit_by_bit():
    X = table()
    model = HistGradientBoostingRegressor(**OPTIONS).fit(X, np.nan_to_num(X[:, 0]))
    assert (boosted_decisions(model, X[:5])[:, 0] == model.predict(X[:5])).all()


def test_a_refit_model_does_not_keep_the_old_trees():
    model, X = classifier(2), table(3)
    before = boosted_decisions(model, X)
    model.fit(table(), np.arange(80) < 20)
    assert (boosted_decisions(model, X)[:, 0] == model.decision_function(X)).all()
    assert (boosted_decisions(model, X) != before).any()


def test_other_sums_are_left_to_scikit_learn():
    X, y = np.abs(np.nan_to_num(table())), np.arange(80.0)
    X[0, 1] = 0
    poisson = HistGradientBoostingRegressor(loss="poisson", **OPTIONS).fit(X, y)
    X[:, 1] = np.arange(80) % 5
    listed = HistGradientBoostingRegressor(categorical_features=[1], **OPTIONS)
    assert not is_fast(poisson, 1)
    assert not is_fast(listed.fit(X, y), 1)
    assert is_fast(classifier(2), 1) and not is_fast(classifier(2), 1000)
