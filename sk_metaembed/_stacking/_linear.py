"""Linear models whose penalty is chosen out of fold.

The folds and all rows are problems with different weights of the same rows, which are
solved at once.
"""

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin

from .._linear._dual_ridge import DualRidge
from .._linear._solver import Problems, Product
from ._folds import MANY_ROWS, row_weights

# For rows of unit length, from strong to weak; the middle one is the default.
_INVERSE_PENALTIES = (1.0, 10.0, 100.0)
_ROWS_CUBED_PER_ENTRY = 6000  # above, a decomposition of rows takes longer
_LEAST_SQUARE = 1e-12  # relative; of products in float64
_FEW_ROWS = 100  # with fewer, folds cannot distinguish penalties


class LinearFit:
    """A linear model of all rows, and the decision values of models without each fold.

    Parameters
    ----------
    X : array or container
        What the features read, or the rows themselves.
    target : Target
    folds : Folds
    sample_weight : ndarray of shape (n_rows,) or None
    features : transformer, default=None
        Fitted before the model, without labels.
    per_dimension : bool, default=False
        Whether each dimension, rather than each row, has unit length on average. The
        penalty is then multiplied by the number of dimensions.

    Attributes
    ----------
    row_losses : ndarray of shape (n_rows,) or None
        The losses of the rows by which the penalty was chosen; None if there were none.
    """

    def __init__(
        self, X, target, folds, sample_weight, features=None, per_dimension=False
    ):
        self._target, self._folds = target, folds
        self._row_weights = row_weights(target, sample_weight)
        self._compared_weights = self._row_weights * folds.held_out
        self._features = features
        if features is not None:
            name = "fit_rows" if hasattr(features, "fit_rows") else "fit_transform"
            X = getattr(features, name)(X)
        self._space = None
        by_rows = _is_faster_by_rows(X, target)
        if by_rows and target.kind != "numbers":
            self._space = RowSpace(X)
            X = self._space.coordinates
        self._problems = _problems(X, target, folds, sample_weight, by_rows)
        strengths = _inverse_penalties(target)
        scale = X.shape[1] if per_dimension else 1
        self._penalties = [scale / strength for strength in strengths]
        self._solve()

    def _solve(self):
        """Choose the penalty, and set the solutions for it."""
        pairs, penalties = self._folds.pairs, self._penalties
        self.row_losses, n_folds = None, len(pairs)
        if not pairs or len(penalties) == 1:
            place = len(penalties) // 2
            solutions = [self._problems.solve(penalties[place])]
            self._keep(place, solutions[0], [*range(n_folds)])
            if pairs:
                self.row_losses = self._losses_of_folds(solutions[0])
        elif self._folds.first_is_large:
            place, first, self.row_losses = self._first_minimum()
            rest = [*range(1, n_folds + 1)]
            others = self._problems.solve(penalties[place], problems=rest)
            self._keep(place, others, rest[:-1])
            test = pairs[0][1]
            self._decisions[test] = first.decisions[test, 0]
        else:
            solutions, start = [], None
            for penalty in penalties:
                start = self._problems.solve(penalty, start)
                solutions.append(start)
            row_losses = np.stack([self._losses_of_folds(each) for each in solutions])
            place = _nearest_to_default(row_losses)
            self._keep(place, solutions[place], [*range(n_folds)])
            self.row_losses = row_losses[place]

    def _first_minimum(self):
        """Return the place of a penalty, its solution, and losses in the first fold.

        It is the last penalty before the loss stops falling. The next penalty is not
        solved to the end if its loss is clearly larger before.
        """
        test, best, start = self._folds.pairs[0][1], None, None

        def losses(decisions):
            return self._losses(decisions[test, 0], test)

        def is_worse(decisions):
            return is_clearly_less(best[2], losses(decisions))

        for place, penalty in enumerate(self._penalties):
            is_enough = None if best is None else is_worse
            start = self._problems.solve(penalty, start, [0], is_enough)
            row_losses = losses(start.decisions)
            if best is not None and row_losses.sum() >= best[2].sum():
                break
            best = place, start, row_losses
        return best

    def _losses_of_folds(self, solution):
        """Return the losses of the rows of all folds, (n_rows,)."""
        row_losses = np.zeros(len(self._target.columns))
        for i, (_, test) in enumerate(self._folds.pairs):
            row_losses[test] = self._losses(solution.decisions[test, i], test)
        return row_losses

    def _losses(self, decisions, test):
        """Return the weighted losses of some rows, (n_rows,)."""
        decisions = decisions.astype(np.float64) * self._target.scale
        target, decisions = self._target.without_empty_classes(
            decisions, self._compared_weights
        )
        row_losses = target.losses(decisions, target.columns[test])
        return row_losses * self._row_weights[test]

    def _keep(self, place, solution, folds):
        """Store the penalty, the model of all rows, and decision values out of fold.

        The last problem of the solution has all rows, the i-th one those outside of
        fold ``folds[i]``.
        """
        self._penalty = self._penalties[place]
        self._coef, self._intercept = solution.coef[:, -1], solution.intercept[-1]
        self._decisions = solution.decisions[:, -1].copy()
        for i, fold in enumerate(folds):
            test = self._folds.pairs[fold][1]
            self._decisions[test] = solution.decisions[test, i]

    def decisions(self):
        """Return decision values out of fold minus the center, (n_rows, n_columns)."""
        return self._decisions.astype(np.float64) * self._target.scale

    def model(self):
        """Return the fitted estimator of all rows, a Pipeline if there are features."""
        coef = self._coef * self._target.scale
        if self._space is not None:
            coef = self._space.to_dimensions(coef)
        # Products in float64 do not vary with the batch, and do not overflow.
        coef = coef.astype(np.float64)
        intercept = self._intercept * self._target.scale + self._target.center
        model = _estimator(self._target, self._penalty, coef, intercept)
        if self._features is None:
            return model
        from sklearn.pipeline import Pipeline  # slow to import

        return Pipeline([("features", self._features), ("model", model)])


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


def _inverse_penalties(target):
    has_few_rows = np.count_nonzero(target.is_common) < _FEW_ROWS
    strengths = _INVERSE_PENALTIES[1:2] if has_few_rows else _INVERSE_PENALTIES
    if target.has_column_per_class and target.n_common_classes == 2:
        # Two columns w/2 and -w/2 replace one column w and have half its penalty, so C
        # is halved.
        strengths = tuple(strength / 2 for strength in strengths)
    return strengths


def _estimator(target, penalty, coef, intercept):
    """Return the scikit-learn estimator with coefficients, (n_features, n_columns)."""
    from sklearn.linear_model import LogisticRegression, Ridge

    coef = np.ascontiguousarray(coef.T)
    if target.kind == "numbers":
        model = Ridge(alpha=penalty)
        if target.y.ndim == 1:
            coef, intercept = coef[0], intercept[0]
    elif target.kind == "labels":
        model = LabelRegression(1 / penalty)
        model.classes_ = target.classes
    else:
        model = LogisticRegression(C=1 / penalty)
        model.classes_ = target.classes
    model.coef_, model.intercept_ = coef, intercept
    model.n_features_in_ = coef.shape[-1]
    return model


class LabelRegression(ClassifierMixin, BaseEstimator):
    """A logistic regression per column of an indicator matrix.

    Not public. Each label has the solution of `LogisticRegression`. If all rows or no
    rows have a label, its log odds are computed as if there were one more row with it
    and one more without it.

    Parameters
    ----------
    C : float
        Inverse of the penalty.
    """

    def __init__(self, C=1.0):
        self.C = C

    def fit(self, X, y, sample_weight=None):
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
    """Return the log odds of labels that are constant among the rows with a weight.

    They have shape (n_weights, n_labels) for weights (n_rows, n_weights), and are NaN
    for labels that vary.
    """
    counts = (weights > 0).T.astype(np.float64) @ y
    sizes = np.count_nonzero(weights, axis=0)[:, None]
    is_constant = (counts == 0) | (counts == sizes)
    return np.where(is_constant, np.log((counts + 1) / (sizes - counts + 1)), np.nan)


def _is_faster_by_rows(X, target):
    """Return whether a fit on few rows takes less time by the products of the rows.

    Sparse rows take more steps of conjugate gradients, but each is short unless rows
    have many entries, as in features of pairs. The squared loss takes the most steps.
    """
    n_rows = X.shape[0]
    if n_rows >= min(X.shape[1], MANY_ROWS):
        return False
    if isinstance(X, np.ndarray) or target.kind == "numbers":
        return True
    return not isinstance(X, Product) and X.nnz > n_rows**3 / _ROWS_CUBED_PER_ENTRY


class RowSpace:
    r"""Rows in coordinates of the space that they span, for linear models.

    A linear model whose penalty is the sum of squared coefficients has its solution in
    that space, and the same predictions in any orthonormal basis of it. If there are
    fewer rows than dimensions, the cost of a fit depends on the number of rows only.

    Parameters
    ----------
    X : ndarray, sparse array or Product of shape (n_rows, n_dims)

    Attributes
    ----------
    coordinates : ndarray of shape (n_rows, rank)

    Notes
    -----
    With :math:`X X^\top = V \Lambda V^\top` the coordinates are
    :math:`V \Lambda^{1/2}`, and coefficients w of them are
    :math:`X^\top V \Lambda^{-1/2} w` of the dimensions.
    """

    def __init__(self, X):
        X = X.multiply_out() if isinstance(X, Product) else X
        self._X = X.astype(np.float64)
        products = self._X @ self._X.T
        if issparse(products):
            products = products.toarray()
        squares, vectors = np.linalg.eigh(products)
        kept = squares > _LEAST_SQUARE * squares[-1]
        if not kept.any():  # rows of zeros
            kept[-1] = True
            squares[-1] = 1.0
            vectors[:, -1] = 0.0
        self._vectors, self._lengths = vectors[:, kept], np.sqrt(squares[kept])
        self.coordinates = self._vectors * self._lengths

    def to_dimensions(self, coef):
        """Return coefficients of the dimensions from those of the coordinates."""
        return self._X.T @ (self._vectors @ (coef / self._lengths[:, None]))


def is_clearly_less(new, old):
    """Return whether losses by row are less than others by two standard errors."""
    if new is None or old is None or len(new) < 2:
        return False
    difference = old - new
    return difference.mean() > 2 * difference.std(ddof=1) / np.sqrt(len(new))


def _nearest_to_default(row_losses):
    """Return the index nearest to the middle, the default, that is not clearly worse.

    `row_losses` has shape (n_values, n_rows); a value is not clearly worse if its loss
    is within one standard error of the smallest one.
    """
    gaps = row_losses - row_losses[row_losses.sum(axis=1).argmin()]
    errors = gaps.std(axis=1) * np.sqrt(row_losses.shape[1])
    near = np.flatnonzero(gaps.sum(axis=1) <= errors)
    return int(near[np.abs(near - len(row_losses) // 2).argmin()])
