"""Fit linear models whose penalty is chosen out of fold.

The training parts of all folds, and all rows, are problems with different weights of
the same rows. They are solved at once.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin

from .._linear._solver import DualRidge, Problems, Product, Solution
from ._folds import MANY_ROWS, compared_rows

# For rows of unit length, from strong to weak; the middle one is the default.
_INVERSE_PENALTIES = (1.0, 10.0, 100.0)
_ROWS_CUBED_PER_ENTRY = 6000  # above this, a decomposition of rows takes longer
_LEAST_SQUARE = 1e-12  # relative; of products in float64
_FEW_ROWS = 100  # with fewer rows, folds cannot distinguish penalties
_ENOUGH_ROWS = 300  # in the first fold, which then chooses the penalty alone


class LinearFit(NamedTuple):
    """A linear model of all rows, and out-of-fold decision values."""

    model: Any  # LogisticRegression, LabelRegression or Ridge
    decisions: np.ndarray  # (n_rows, n_columns), out of fold, minus the center
    row_losses: np.ndarray  # losses of the rows that chose the penalty


def fit_linear(X, target, folds, sample_weight, per_dimension=False):
    """Return the `LinearFit` for X, (n_rows, n_features).

    With `per_dimension`, each dimension rather than each row has unit length on
    average, and the penalty is multiplied by the number of dimensions.
    """
    by_rows, basis = _is_faster_by_rows(X, target), None
    if by_rows and target.kind != "numbers":
        X, basis = row_space(X)
    problems = _problems(X, target, folds, sample_weight, by_rows)
    losses = partial(_losses, target, *compared_rows(target, folds, sample_weight))
    penalties = _penalties(target, X.shape[1] if per_dimension else 1)
    if not folds.pairs:
        penalties = [penalties[len(penalties) // 2]]
    if len(penalties) > 1 and len(folds.pairs[0][1]) >= _ENOUGH_ROWS:
        chosen = _first_minimum(problems, penalties, losses, folds)
    else:
        chosen = _nearest_to_default(problems, penalties, losses, folds)
    penalty, solution, row_losses = chosen
    # Problem i has the rows outside fold i, and the last problem has all rows.
    decisions = solution.decisions[:, -1].copy()
    for i, (_, test) in enumerate(folds.pairs):
        decisions[test] = solution.decisions[test, i]
    coef = solution.coef[:, -1] * target.scale
    coef = coef if basis is None else basis(coef)
    # Products in float64 do not vary with the batch, and do not overflow.
    coef = coef.astype(np.float64)
    intercept = solution.intercept[-1] * target.scale + target.center
    model = _estimator(target, penalty, coef, intercept)
    return LinearFit(model, decisions.astype(np.float64) * target.scale, row_losses)


def _nearest_to_default(problems, penalties, losses, folds):
    """Return the penalty chosen in all folds, its `Solution`, and its losses.

    Of the penalties whose loss is within one standard error of the smallest loss, the
    one nearest to the default, the middle one, is chosen.
    """
    solutions, start = [], None
    for penalty in penalties:
        start = problems.solve(penalty, start)
        solutions.append(start)
    row_losses = np.zeros((len(penalties), len(start.decisions)))
    for i, (_, test) in enumerate(folds.pairs):
        for own, solution in zip(row_losses, solutions, strict=True):
            own[test] = losses(solution.decisions[test, i], test)
    gaps = row_losses - row_losses[row_losses.sum(axis=1).argmin()]
    errors = gaps.std(axis=1) * np.sqrt(row_losses.shape[1])
    near = np.flatnonzero(gaps.sum(axis=1) <= errors)
    place = near[np.abs(near - len(penalties) // 2).argmin()]
    return penalties[place], solutions[place], row_losses[place]


def _first_minimum(problems, penalties, losses, folds):
    """Return the penalty chosen in the first fold, its `Solution`, and its losses.

    The last penalty before the loss stops falling is chosen. The next penalty is not
    solved to the end if its loss is clearly larger during the iterations.
    """
    test, best, start = folds.pairs[0][1], None, None

    def is_worse(decisions):
        return is_clearly_less(best[2], losses(decisions[test, 0], test))

    for penalty in penalties:
        is_enough = None if best is None else is_worse
        start = problems.solve(penalty, start, [0], is_enough)
        row_losses = losses(start.decisions[test, 0], test)
        if best is not None and row_losses.sum() >= best[2].sum():
            break
        best = penalty, start, row_losses
    penalty, first, row_losses = best
    others = problems.solve(penalty, problems=[*range(1, len(folds.pairs) + 1)])
    parts = zip(first, others, strict=True)
    return penalty, Solution(*(np.concatenate(p, -2) for p in parts)), row_losses


def _losses(target, weights, used, decisions, test):
    """Return the weighted losses of the rows `test`."""
    decisions = decisions.astype(np.float64) * target.scale
    columns = target.columns[test]
    return target.losses(decisions[:, used], columns[:, used]) * weights[test]


def _problems(X, target, folds, sample_weight, by_rows):
    """Return the `Problems` of each fold's training part and, last, of all rows."""
    n_rows = len(target.columns)
    weights = np.ones((n_rows, len(folds.pairs) + 1), np.float32)
    for i, (train, _) in enumerate(folds.pairs):
        weights[:, i] = np.bincount(train, minlength=n_rows)
    intercepts = None
    if target.kind == "labels":
        intercepts = odds_of_constant_labels(target.columns, weights)
    if sample_weight is not None:
        weights *= sample_weight[:, None]
    loss = "softmax" if target.has_column_per_class else "logistic"
    loss = "squared" if target.kind == "numbers" else loss
    columns = target.columns / target.scale
    if by_rows and loss == "squared":
        return DualRidge(X, columns, weights)
    return Problems(X, columns, weights, loss, intercepts)


def _penalties(target, factor):
    """Return the penalties to choose from, from strong to weak."""
    has_few_rows = np.count_nonzero(target.is_common) < _FEW_ROWS
    inverses = _INVERSE_PENALTIES[1:2] if has_few_rows else _INVERSE_PENALTIES
    has_rows = target.columns[target.is_common].any(axis=0)
    if target.has_column_per_class and np.count_nonzero(has_rows) == 2:
        # Two columns w/2 and -w/2 replace one column w and have half its penalty, so
        # the inverse is halved.
        inverses = [inverse / 2 for inverse in inverses]
    return [factor / inverse for inverse in inverses]


def _estimator(target, penalty, coef, intercept):
    """Return the scikit-learn estimator with coefficients, (n_features, n_columns)."""
    from sklearn.linear_model import LogisticRegression, Ridge

    coef = np.ascontiguousarray(coef.T)
    if target.kind == "numbers":
        model = Ridge(alpha=penalty)
        if target.y.ndim == 1:
            coef, intercept = coef[0], intercept[0]
    else:
        is_exclusive = target.kind == "classes"
        model = (LogisticRegression if is_exclusive else LabelRegression)(C=1 / penalty)
        model.classes_ = target.classes
    model.coef_, model.intercept_ = coef, intercept
    model.n_features_in_ = coef.shape[-1]
    return model


class LabelRegression(ClassifierMixin, BaseEstimator):
    """A logistic regression per column of an indicator matrix, as `fit_linear` fits it.

    Not public. Each label has the solution of `LogisticRegression`. If all rows or no
    rows have a label, the log odds of the label are computed as if there were one more
    row with the label and one more row without it.
    """

    def __init__(self, C=1.0):
        self.C = C

    def fit(self, X, y, sample_weight=None):  # a Pipeline requires it
        """Fit the coefficients of all labels."""
        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        constant = odds_of_constant_labels(y, np.ones((len(y), 1)))
        problems = Problems(X, y, weights[:, None], "logistic", constant)
        solution = problems.solve(1 / self.C)
        self.coef_, self.intercept_ = solution.coef[:, 0].T, solution.intercept[0]
        self.n_features_in_, self.classes_ = X.shape[1], np.arange(y.shape[1])
        return self

    def decision_function(self, X):
        """Return log odds, (n_rows, n_labels)."""
        return X @ self.coef_.T + self.intercept_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def odds_of_constant_labels(y, weights):
    """Return the log odds of labels that are constant in all rows of positive weight.

    The log odds have shape (n_weights, n_labels) for weights (n_rows, n_weights), and
    are NaN for labels that vary.
    """
    counts = (weights > 0).T.astype(np.float64) @ y
    sizes = np.count_nonzero(weights, axis=0)[:, None]
    is_constant = (counts == 0) | (counts == sizes)
    return np.where(is_constant, np.log((counts + 1) / (sizes - counts + 1)), np.nan)


def _is_faster_by_rows(X, target):
    """Return whether a fit on few rows is faster with the inner products of rows.

    Sparse rows take more steps of conjugate gradients, but each step is fast unless
    rows have many entries, as in features of pairs. The squared loss takes the most
    steps.
    """
    n_rows = X.shape[0]
    if n_rows >= min(X.shape[1], MANY_ROWS):
        return False
    if isinstance(X, np.ndarray) or target.kind == "numbers":
        return True
    return not isinstance(X, Product) and X.nnz > n_rows**3 / _ROWS_CUBED_PER_ENTRY


def row_space(X):
    r"""Return coordinates of rows, (n_rows, rank), and the map of coefficients to X's.

    The solution of a linear model whose penalty is the sum of squared coefficients lies
    in the space of the rows. Predictions are the same in any orthonormal basis of this
    space. If there are fewer rows than dimensions, the cost of a fit depends on the
    rows only. With :math:`X X^\top = V \Lambda V^\top` the coordinates are :math:`V
    \Lambda^{1/2}`, and coefficients w of them are :math:`X^\top V \Lambda^{-1/2} w`.
    """
    X = X.astype(np.float64)
    products = X @ X.T
    if issparse(products):
        products = products.toarray()
    squares, vectors = np.linalg.eigh(products)
    kept = squares > _LEAST_SQUARE * squares[-1]
    if not kept.any():  # all rows are zeros
        kept[-1] = True
        squares[-1] = 1.0
        vectors[:, -1] = 0.0
    vectors, lengths = vectors[:, kept], np.sqrt(squares[kept])
    return vectors * lengths, lambda coef: X.T @ (vectors @ (coef / lengths[:, None]))


def is_clearly_less(new, old):
    """Return whether new losses are smaller by more than two standard errors."""
    if len(new) < 2:
        return False
    difference = old - new
    return difference.mean() > 2 * difference.std(ddof=1) / np.sqrt(len(new))
