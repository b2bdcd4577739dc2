"""Solutions of all problems at once are those of scikit-learn, one at a time."""

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import r2_score

from sk_metaembed import StackedMetaRegressor, TokenSequences
from sk_metaembed._linear import _solver
from sk_metaembed._linear._solver import DualRidge, Problems, Product

KINDS = ("binary", "labels", "softmax", "squared")


def factors():
    """Return two sparse matrices whose product are rows."""
    rng = np.random.default_rng(0)
    left = random_array((80, 30), density=0.2, random_state=rng, format="csr")
    right = random_array((30, 20), density=0.3, random_state=rng, format="csr")
    right.data -= 0.5
    return left, right


def data(kind):
    """Return columns of a kind, and weights of three problems."""
    left, right = factors()
    rng = np.random.default_rng(1)
    scores = 3 * (left @ right @ rng.normal(size=(20, 3))) + rng.normal(size=(80, 3))
    Y = {
        "binary": (scores[:, :1] > 0) * 1.0,
        "labels": (scores > [-0.5, 0, 2]) * 1.0,
        "softmax": np.eye(3)[scores.argmax(axis=1)],
        "squared": scores,
    }[kind]
    weights = rng.uniform(0.5, 2, size=(80, 3))
    weights[np.arange(80) % 4 == 0, 0] = 0
    weights[np.arange(80) % 4 == 1, 1] = 0
    return Y, weights


def loss_of(kind):
    return kind if kind in ("softmax", "squared") else "logistic"


def decisions_of_scikit_learn(X, Y, weights, penalty, kind):
    """Return the decision values of the models of scikit-learn, (n_rows, n_columns)."""
    if kind == "squared":
        return Ridge(penalty).fit(X, Y, weights).predict(X)
    model = LogisticRegression(C=1 / penalty, tol=1e-9, max_iter=5000)
    if kind == "softmax":
        return model.fit(X, Y.argmax(axis=1), weights).decision_function(X)
    columns = [model.fit(X, y, weights).decision_function(X) for y in Y.T]
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", ["dense", "wide", "sparse", "product"])
@pytest.mark.parametrize("kind", KINDS)
def test_each_problem_has_the_solution_of_scikit_learn(kind, form, dtype, monkeypatch):
    monkeypatch.setattr(_solver, "_TOLERANCE", 1e-6)
    monkeypatch.setattr(_solver, "_SQUARED_TOLERANCE", 1e-6)
    if form == "wide":  # more dimensions than products are computed for
        monkeypatch.setattr(_solver, "_MAX_DIMS", 10)
    left, right = (factor.astype(dtype) for factor in factors())
    dense = (left @ right).toarray()
    X = {"sparse": csr_array(dense), "product": Product(left, right)}.get(form, dense)
    Y, weights = data(kind)
    problems, solution = Problems(X, Y, weights, loss_of(kind)), None
    for penalty in (1.0, 0.1):
        solution = problems.solve(penalty, solution)
        for i, own in enumerate(weights.T):
            expected = decisions_of_scikit_learn(dense, Y, own, penalty, kind)
            found = solution.decisions[:, i]
            if kind == "softmax":  # the same probabilities
                found = found - found.mean(axis=1, keepdims=True)
            np.testing.assert_allclose(found, expected, atol=5e-3)
            computed = dense @ solution.coef[:, i] + solution.intercept[i]
            np.testing.assert_allclose(computed, solution.decisions[:, i], atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_without_weight_and_other_problems_do_not_matter(kind):
    X = Product(*factors())
    Y, weights = data(kind)
    every = Problems(X, Y, weights, loss_of(kind)).solve(0.1)
    held_out = weights[:, 0] == 0
    Y[held_out] = np.roll(Y[held_out], 1, axis=0)
    changed = Problems(X, Y, weights, loss_of(kind)).solve(0.1)
    np.testing.assert_allclose(every.decisions[:, 0], changed.decisions[:, 0])
    assert not np.allclose(every.decisions[:, 1], changed.decisions[:, 1])


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_have_the_same_solutions(kind, monkeypatch):
    X, (Y, weights) = Product(*factors()), data(kind)
    problems = Problems(X, Y, weights, loss_of(kind))
    start = problems.solve(1.0, problems=[2, 0])
    together = problems.solve(0.1, start, problems=[2, 0])
    monkeypatch.setattr(_solver, "_CELLS", 1)
    apart = problems.solve(0.1, start, problems=[2, 0])
    for one, other in zip(together, apart, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, atol=1e-3)


def test_steps_end_when_they_are_enough():
    Y, weights = data("softmax")
    left, right = factors()
    problems = Problems(left @ right, Y, weights, "softmax")
    seen = []
    stopped = problems.solve(0.1, is_enough=lambda each: seen.append(each) or True)
    assert len(seen) == 1
    np.testing.assert_array_equal(stopped.decisions, seen[0])
    assert np.abs(stopped.coef - problems.solve(0.1).coef).max() > 0.1


def test_columns_with_given_intercepts_are_not_fitted():
    X, (Y, weights) = Product(*factors()), data("labels")
    given = np.full((3, 3), np.nan)
    given[1, 2] = -2.0
    solution = Problems(X, Y, weights, "logistic", given).solve(0.1)
    assert solution.intercept[1, 2] == -2
    assert not solution.coef[:, 1, 2].any()
    assert (solution.decisions[:, 1, 2] == -2).all()
    expected = Problems(X, Y, weights, "logistic").solve(0.1)
    np.testing.assert_allclose(solution.coef[:, 0], expected.coef[:, 0], atol=1e-3)


def test_a_product_of_matrices_is_not_multiplied_out():
    left, right = factors()
    X, out = Product(left, right), (left @ right).toarray()
    rng = np.random.default_rng(0)
    W, R = rng.normal(size=(20, 2)), rng.normal(size=(80, 2))
    np.testing.assert_allclose(X @ W, out @ W)
    np.testing.assert_allclose(X.T @ R, out.T @ R)
    np.testing.assert_allclose(X.multiply_out().toarray(), out)
    assert X.shape == out.shape


@pytest.mark.parametrize("form", ["dense", "sparse", "product"])
@pytest.mark.parametrize("size", [1e-6, 1, 1e6])
def test_ridge_of_few_rows_is_exact_for_rows_without_weight(form, size):
    left, right = (factor.astype(np.float32) for factor in factors())
    left = left[:16]
    dense = (left @ right).toarray()
    X = {"sparse": csr_array(dense), "product": Product(left, right)}.get(form, dense)
    Y, weights = (rows[:16] for rows in data("squared"))
    weights = size * weights
    for penalty, problems in (0.1, None), (0.01, [2, 0]):
        solution = DualRidge(X, Y, weights).solve(penalty, problems=problems)
        for i, own in enumerate(weights.T if problems is None else weights.T[problems]):
            used = own > 0
            model = Ridge(penalty, solver="svd")
            model.fit(dense.astype(float)[used], Y[used], own[used])
            expected = model.predict(dense.astype(float))
            np.testing.assert_allclose(solution.decisions[:, i], expected, atol=1e-4)
            computed = dense @ solution.coef[:, i] + solution.intercept[i]
            np.testing.assert_allclose(computed, expected, atol=1e-4)


@pytest.mark.parametrize("kind", ["binary", "softmax"])
def test_one_large_weight_does_not_end_the_fit_of_the_other_rows(kind):
    dense = (factors()[0] @ factors()[1]).toarray()
    Y, _ = data(kind)
    weights = np.ones((80, 1))
    weights[7] = 1e6
    solution = Problems(dense, Y, weights, loss_of(kind)).solve(0.1)
    found = solution.decisions[:, 0]
    expected = decisions_of_scikit_learn(dense, Y, weights[:, 0], 0.1, kind)
    if kind == "softmax":
        found = found - found.mean(axis=1, keepdims=True)
    assert np.corrcoef(found.ravel(), expected.ravel())[0, 1] > 0.99


def test_a_large_weight_in_other_problems_leaves_a_softmax_finite():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 20)) * 10.0 ** rng.uniform(-1.5, 0, 20)
    X = (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)
    scores = X @ rng.normal(size=(20, 3)) + 0.1 * rng.normal(size=(300, 3))
    weights = np.ones((300, 3))
    weights[7] = 1e6
    for problem in range(2):
        weights[np.arange(300) % 5 == 2 * problem, problem] = 0
    Y, solution = np.eye(3)[scores.argmax(axis=1)], None
    problems = Problems(X, Y, weights, "softmax")
    for penalty in (1.0, 0.1, 0.01):
        solution = problems.solve(penalty, solution)
    assert np.isfinite(solution.decisions).all()


def texts(n_rows):
    """Return tokens of frequent and rare words, and sums over the words of each row."""
    rng = np.random.default_rng(0)
    share = 1 / np.arange(1, 2001)
    words = rng.choice(2000, size=(n_rows, 12), p=share / share.sum())
    X = TokenSequences.from_lists([[f"w{word}" for word in row] for row in words])
    sums = rng.normal(size=(2000, 3))[words].sum(axis=1)
    return X, sums / sums.std(axis=0)


def test_numbers_almost_without_noise_are_predicted_as_by_scikit_learn():
    X, sums = texts(2800)
    y = sums[:, 0] + 0.01 * sums[:, 1]
    stack = StackedMetaRegressor(random_state=0).fit(X[:2000], y[:2000])
    for fitted in stack.estimators_.values():
        rows, own = fitted[:-1].transform(X).astype(float), fitted[-1]
        model = Ridge(own.alpha, solver="sparse_cg", tol=1e-8)
        model.fit(rows[:2000], y[:2000])
        expected = r2_score(y[2000:], model.predict(rows[2000:]))
        found = r2_score(y[2000:], own.predict(rows[2000:]))
        assert found == pytest.approx(expected, abs=1e-3)
