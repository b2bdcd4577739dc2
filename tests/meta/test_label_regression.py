"""Logistic regressions of many labels at once are those of scikit-learn."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

from sk_metaembed import StackedMetaClassifier, Tokenizer
from sk_metaembed.meta import _label_regression
from sk_metaembed.meta._label_regression import LabelRegression


def rows(n_labels=7):
    """Return rows, labels of which some are rare, and weights."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 20)) * (rng.random((60, 20)) < 0.3)
    odds = X @ rng.normal(size=(20, n_labels)) - np.arange(n_labels)
    return X, (odds + rng.logistic(size=odds.shape) > 0).astype(int), rng.random(60) + 1


@pytest.mark.parametrize("convert", [np.asarray, csr_array])
@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_each_label_has_the_solution_of_scikit_learn(C, convert, monkeypatch):
    monkeypatch.setattr(_label_regression, "_TOLERANCE", 1e-8)
    monkeypatch.setattr(_label_regression, "_CELLS", 3 * 80)  # blocks of three labels
    X, Y, weights = rows()
    model = LabelRegression(C, warm_start=True).fit(convert(X), Y, weights)
    expected = [
        LogisticRegression(C=C, tol=1e-8, max_iter=5000)
        .fit(X, column, weights)
        .decision_function(X)
        for column in Y.T
    ]
    found = model.decision_function(convert(X))
    np.testing.assert_allclose(found, np.transpose(expected), atol=1e-3, rtol=1e-3)
    again = model.set_params(C=1.0).fit(X, Y, weights).decision_function(X)
    alone = LabelRegression(1.0).fit(X, Y, weights).decision_function(X)
    np.testing.assert_allclose(again, alone, atol=1e-4, rtol=1e-4)


def test_a_label_of_all_or_no_rows_has_constant_odds():
    X, Y, _ = rows()
    Y[:, 0], Y[:, 1] = 0, 1
    odds = LabelRegression().fit(X, Y).decision_function(X)
    np.testing.assert_allclose(odds[:, :2], np.log([1 / 61, 61]) * np.ones((60, 1)))


def test_a_row_of_weight_2_counts_twice():
    X, Y, _ = rows()
    weights = np.arange(60) % 2 + 1
    repeated = np.repeat(np.arange(60), weights)
    one = LabelRegression().fit(X, Y, weights).decision_function(X)
    two = LabelRegression().fit(X[repeated], Y[repeated]).decision_function(X)
    np.testing.assert_allclose(one, two, atol=1e-3)


def test_a_stack_of_many_labels_ranks_them():
    rng = np.random.default_rng(0)
    code = rng.integers(40, size=(120, 2))
    texts = [f"w{a} w{b} and more" for a, b in code]
    Y = np.zeros((120, 40), dtype=int)
    Y[np.arange(120)[:, None], code] = 1
    tokens = Tokenizer().fit_transform(texts)
    model = StackedMetaClassifier(random_state=0).fit(tokens[:100], Y[:100])
    p = model.predict_proba(tokens[100:])
    assert (p[Y[100:] == 1].mean() > 0.5) and (p[Y[100:] == 0].mean() < 0.05)
    assert isinstance(model.estimators_["words"][-1], LabelRegression)
