"""Logistic regressions of many labels at once."""

import numpy as np

from sk_metaembed import StackedMetaClassifier, Tokenizer
from sk_metaembed._stacking._linear import LabelRegression


def rows(n_labels=7):
    """Return rows, labels of which some are rare, and weights."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 20)) * (rng.random((60, 20)) < 0.3)
    odds = X @ rng.normal(size=(20, n_labels)) - np.arange(n_labels)
    return X, (odds + rng.logistic(size=odds.shape) > 0).astype(int), rng.random(60) + 1


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
