"""Features of strings, and ridge regression on distinct cells, as in scikit-learn."""

from itertools import combinations

import numpy as np
import pytest
from scipy.sparse import csr_array, eye_array
from sklearn.linear_model import Ridge

from sk_metaembed.tables._string_features import (
    StringFeatures,
    _tfidf,
    conjugate_gradients,
    fit_ridge,
)

N_CELLS, N_ROWS, PENALTY = 12, 80, 2.0


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = csr_array(rng.random((N_CELLS, 5)) * (rng.random((N_CELLS, 5)) < 0.6))
    codes = np.concatenate([np.arange(N_CELLS), rng.integers(0, N_CELLS, 68)])
    targets = rng.normal(size=(N_ROWS, 2)) + X.toarray()[codes, :2]
    return X, codes, targets, np.arange(N_ROWS) % 4, rng.random(N_ROWS)


def ridge(X, y, weights):
    """Return scikit-learn's coefficients around the mean of y, without centering X."""
    center = np.average(y, axis=0, weights=weights)
    model = Ridge(PENALTY, fit_intercept=False)
    return model.fit(X, y - center, sample_weight=weights).coef_.T, center


def test_equals_scikit_learn_on_the_rows_of_all_cells(rows):
    X, codes, targets, folds, weights = rows
    fit = fit_ridge(X, codes, targets, folds, weights, [PENALTY])
    coef, center = ridge(X.toarray()[codes], targets, weights)
    np.testing.assert_allclose(fit.coef, coef, atol=1e-3)
    np.testing.assert_allclose(fit.intercept, center)


def test_rows_are_predicted_by_models_of_the_other_folds(rows):
    X, codes, targets, folds, weights = rows
    fit = fit_ridge(X, codes, targets, folds, weights, [PENALTY])
    dense = X.toarray()[codes]
    for fold in range(4):
        train, test = folds != fold, folds == fold
        coef, center = ridge(dense[train], targets[train], weights[train])
        expected = dense[test] @ coef + center
        np.testing.assert_allclose(fit.out_of_fold[test], expected, atol=1e-3)


def test_indicators_of_cells_give_smoothed_means(rows):
    _, codes, targets, folds, _ = rows
    X = eye_array(N_CELLS, format="csr")
    fit = fit_ridge(X, codes, targets, folds, np.ones(N_ROWS), [PENALTY])
    for cell in range(N_CELLS):
        own = targets[codes == cell] - fit.intercept
        mean = own.sum(axis=0) / (len(own) + PENALTY)
        np.testing.assert_allclose(fit.coef[cell], mean, atol=1e-3)


def test_the_penalty_with_the_least_loss_is_chosen(rows):
    X, codes, targets, folds, weights = rows
    alone = {p: fit_ridge(X, codes, targets, folds, weights, [p]) for p in (0.1, 1e6)}
    assert alone[0.1].r2 > alone[1e6].r2
    both = fit_ridge(X, codes, targets, folds, weights, [1e6, 0.1])
    np.testing.assert_allclose(both.coef, alone[0.1].coef, atol=1e-3)
    assert both.r2 == pytest.approx(alone[0.1].r2, abs=1e-3)


def test_rows_of_weight_0_are_absent(rows):
    X, codes, targets, folds, weights = rows
    weights[::3] = 0
    kept = weights > 0
    fit = fit_ridge(X, codes, targets, folds, weights, [0.5, PENALTY])
    same = fit_ridge(
        X, codes[kept], targets[kept], folds[kept], weights[kept], [0.5, PENALTY]
    )
    np.testing.assert_allclose(fit.coef, same.coef)
    np.testing.assert_allclose(fit.out_of_fold[kept], same.out_of_fold)


def test_a_problem_of_zeros_has_the_solution_0():
    X = csr_array((3, 4))
    zeros = np.zeros((3, 1))
    assert not conjugate_gradients(X, np.ones((3, 1)), zeros, [1.0]).any()


def test_the_vectorizer_is_applied_as_scikit_learn_does():
    features = StringFeatures(False, 3, 0)
    titles = [f"{a} {b} film {b}" for a, b in combinations(["warm", "Dull", "PLOT"], 2)]
    features.fit_transform(np.array(titles * 9, dtype=object), None, None, None)
    texts = ["warm warm film", "", "Dull PLOT 1", "\N{SNOWMAN}"]
    for vectorizer in features.ngrams_:
        np.testing.assert_allclose(
            _tfidf(vectorizer, texts).toarray(),
            vectorizer.transform(texts).toarray(),
            atol=1e-12,
        )


def test_directions_in_which_no_strings_differ_are_no_features():
    # Both orders of the words have the same n-grams.
    words = [f"{a}{b}{a}" for a, b in combinations("abcdefghij", 2)]
    pairs = list(zip(words[::2], words[1::2], strict=False))
    texts = [f"{a} {b}" for a, b in pairs] + [f"{b} {a}" for a, b in pairs]
    features = StringFeatures(False, 30, 0)
    X = features.fit_transform(np.array(texts, dtype=object), None, None, None)
    assert X.shape[1] == len(pairs) + 1
    assert (X[:, : len(pairs)].std(axis=0) > 0.01).all()
    assert len(features.feature_names([])) == X.shape[1]
