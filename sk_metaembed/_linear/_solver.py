r"""Linear models of several columns and several weightings of the rows, fitted at once.

A weighting is one problem: all rows, or the rows of a training part, with weight 0 for
the others. Rows are never copied, and one product with the features serves all
problems. Each column of a problem has the coefficients w and the intercept b that
minimize

.. math:: \sum_i v_i \ell(y_i, x_i^\top w + b) + \frac{\lambda}{2} \lVert w \rVert^2

with the weights v of the rows. The loss is the log loss of a column of 0 and 1
("logistic"), the log loss of all columns of a row ("softmax"), or half the squared
error ("squared"), so that :math:`\lambda` is 1 / C of `LogisticRegression` and alpha of
`Ridge`.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ._operators import squared

_STEPS = 100  # of Newton's method
_CG_STEPS = 200
_TOLERANCE = 1e-4  # of the mean gradient of a row, as scikit-learn's
_SQUARED_TOLERANCE = 1e-4  # the same, in units of the standard deviation
_LARGE_WEIGHT = 100  # times the 90th percentile
_FORCING = 0.3  # share of the gradient that conjugate gradients may leave
_SQUARED_FORCING = 1e-2
_DECREASE = 1e-4  # share of the predicted one that a step must reach
_ROUNDING = 1e-7  # of a loss
_LEAST_CURVATURE = 1e-9  # relative to the preconditioner's
_HALVINGS = 20
_MAX_DIMS = 2048  # of dense rows whose products precondition the equations
_ROWS_PER_DIM = 8  # that these products are computed from
_CELLS = 1 << 22  # of an array of decision values and coefficients
_TINY = 1e-30


class Solution(NamedTuple):
    """Coefficients and decision values of all problems.

    Attributes
    ----------
    coef : ndarray of shape (n_features, n_problems, n_columns)
    intercept : ndarray of shape (n_problems, n_columns)
    decisions : ndarray of shape (n_rows, n_problems, n_columns)
        Decision values of all rows, including rows of weight 0.
    """

    coef: np.ndarray
    intercept: np.ndarray
    decisions: np.ndarray


class Problems:
    """Problems with the same rows and columns, solved for one penalty after another.

    Parameters
    ----------
    X : ndarray, CSR array or operator of shape (n_rows, n_features)
        The precision of the calculations is that of X.
    Y : ndarray of shape (n_rows, n_columns)
    weights : ndarray of shape (n_rows, n_problems)
    loss : {"logistic", "softmax", "squared"}
    intercepts : ndarray of shape (n_problems, n_columns), default=None
        Intercepts of columns that are not fitted and have no coefficients; NaN for the
        others. None means that all are fitted.
    """

    def __init__(self, X, Y, weights, loss, intercepts=None):
        self._X, self._loss = X, loss
        self._Y, self._weights = Y.astype(X.dtype), weights.astype(X.dtype)
        self._precondition = _preconditioner(X, weights)
        shape = weights.shape[1], Y.shape[1]
        self._intercepts = np.full(shape, np.nan) if intercepts is None else intercepts

    def solve(self, penalty, start=None, problems=None, is_enough=None):
        """Return the `Solution` for a penalty.

        Parameters
        ----------
        penalty : float
        start : Solution, default=None
            Where the iterations start: the solution for another penalty.
        problems : sequence of int, default=None
            The numbers of the problems to solve. None means all.
        is_enough : callable, default=None
            Called after each step with the decision values so far, of the shape of
            those of the `Solution`. If it returns True, no further steps are taken. It
            is not called if memory requires that columns are solved one after another.
        """
        n_problems, n_columns = self._intercepts.shape
        problems = np.arange(n_problems) if problems is None else np.array(problems)
        parts, blocks = [], [*self._blocks(len(problems), n_columns)]
        is_enough = is_enough if len(blocks) == 1 else None
        for some, columns in blocks:
            own = problems[some]
            newton = _Newton(
                self._X,
                self._Y[:, columns],
                self._weights[:, own],
                self._loss,
                self._intercepts[own, columns],
                self._precondition,
            )
            if start is not None:
                part = (each[..., some, columns] for each in start)
                parts.append(newton.solve(penalty, Solution(*part), is_enough))
            else:
                parts.append(newton.solve(penalty, None, is_enough))
        if len(parts) == 1:
            return parts[0]
        axis = -2 if self._loss == "softmax" or n_columns == 1 else -1
        columns = zip(*parts, strict=True)
        return Solution(*(np.concatenate(each, axis=axis) for each in columns))

    def _blocks(self, n_problems, n_columns):
        """Yield slices of problems and columns that are solved at once."""
        n_rows = max(sum(self._X.shape), 1)
        every = slice(None)
        if self._loss == "softmax" or n_columns == 1:
            size = max(_CELLS // (n_rows * n_columns), 1)
            for i in range(0, n_problems, size):
                yield slice(i, i + size), every
        else:
            size = max(_CELLS // (n_rows * n_problems), 1)
            for i in range(0, n_columns, size):
                yield every, slice(i, i + size)


class _Newton:
    """Some problems and columns, solved by a truncated Newton method.

    The systems of equations of its steps are solved by conjugate gradients. Columns
    that have converged are not changed by the steps of others.
    """

    def __init__(self, X, Y, weights, loss, intercepts, precondition):
        self.X, self.XT, self.loss = X, X.T, loss
        self.Y, self.weights = Y[:, None], weights[:, :, None]
        self._intercepts, self._precondition = intercepts, precondition
        # Columns of a row depend on each other in a softmax only.
        self._axes = (0, 2) if loss == "softmax" else 0
        self._totals = weights.sum(axis=0, dtype=np.float64)[:, None]
        # A few large weights do not end the fit before the other rows count.
        usual = [np.quantile(w[w > 0], 0.9) if w.any() else 0 for w in weights.T]
        capped = np.minimum(weights, _LARGE_WEIGHT * np.array(usual))
        self._sizes = capped.sum(axis=0, dtype=np.float64)[:, None]

    def solve(self, penalty, start=None, is_enough=None):
        """Return the `Solution` for a penalty."""
        coef, intercept, decisions = start or self._zeros()
        is_fitted = np.isnan(self._intercepts)
        tolerance = _SQUARED_TOLERANCE if self.loss == "squared" else _TOLERANCE
        objective, errors, curvature = self._evaluate(decisions, coef, penalty)
        for _ in range(_STEPS):
            slopes = self._products(errors)
            slopes = slopes[0] + penalty * coef, slopes[1]
            largest = np.abs(slopes[0]).max(axis=0, initial=0)
            largest = np.maximum(largest, np.abs(slopes[1]))
            if self.loss == "softmax":
                largest = largest.max(axis=1, keepdims=True)
            is_open = (largest > tolerance * self._sizes) & is_fitted
            if not is_open.any():
                break
            step, change = self._newton_step(curvature, penalty, slopes, is_open)
            least, size = self._dot(slopes, step), np.ones(is_open.shape)
            for _ in range(_HALVINGS):
                narrow = size.astype(coef.dtype)
                new = (
                    coef + narrow * step[0],
                    intercept + size * step[1],
                    decisions + narrow * change,
                )
                result = self._evaluate(new[2], new[0], penalty)
                allowed = objective + _DECREASE * size * least
                is_less = result[0] <= allowed + _ROUNDING * np.abs(objective)
                if is_less.all():
                    break
                size = np.where(is_less, size, size / 2)
            if not (result[0] < objective).any():  # at the limit of the precision
                break
            (coef, intercept, decisions), (objective, errors, curvature) = new, result
            if is_enough is not None and is_enough(decisions):
                break
        return Solution(coef, intercept, decisions)

    def _zeros(self):
        """Return coefficients of zero, and the intercepts that are not fitted."""
        (n_rows, n_features), shape = self.X.shape, self._intercepts.shape
        coef = np.zeros((n_features, *shape), self.Y.dtype)
        intercept = np.nan_to_num(self._intercepts)
        decisions = np.zeros((n_rows, *shape), self.Y.dtype)
        return coef, intercept, decisions + intercept.astype(decisions.dtype)

    def _evaluate(self, decisions, coef, penalty):
        """Return objectives, the weighted slopes of the losses, and their curvature."""
        Y, weights = self.Y, self.weights
        if self.loss == "squared":
            errors = decisions - Y
            losses, curvature = np.square(errors) / 2, weights
        elif self.loss == "logistic":
            small = np.exp(-np.abs(decisions))
            losses = np.log1p(small) + np.maximum(decisions, 0) - Y * decisions
            p = np.where(decisions > 0, 1, small) / (1 + small)
            errors, curvature = p - Y, weights * (p * (1 - p))
        else:
            largest = decisions.max(axis=2, keepdims=True)
            p = np.exp(decisions - largest)
            total = p.sum(axis=2, keepdims=True)
            p /= total
            losses = np.log(total) + largest
            losses = losses - (Y * decisions).sum(axis=2, keepdims=True)
            errors, curvature = p - Y, p
        losses = (weights * losses).sum(axis=self._axes, dtype=np.float64)
        squares = np.square(coef).sum(axis=self._axes, dtype=np.float64)
        if self.loss == "softmax":
            losses, squares = losses[:, None], squares[:, None]
        return losses + penalty / 2 * squares, weights * errors, curvature

    def _newton_step(self, curvature, penalty, slopes, is_open):
        """Return steps of coefficients and intercepts, and the change of decisions."""
        condition = self._precondition(self._mean_curvature(curvature), penalty)
        rest = -slopes[0], -slopes[1] * is_open
        rest[0][:] *= _narrow(is_open, rest[0])
        step = np.zeros_like(rest[0]), np.zeros_like(rest[1])
        change = np.zeros((len(curvature), *slopes[1].shape), self.Y.dtype)
        direction = scaled = condition(*rest)
        product = self._dot(rest, scaled)
        forcing = _SQUARED_FORCING if self.loss == "squared" else _FORCING
        enough = product * forcing**2
        for _ in range(_CG_STEPS):
            decisions = self._apply(direction)
            curved = self._products(self._curve(curvature, decisions))
            curved = curved[0] + penalty * direction[0], curved[1]
            length = self._dot(direction, curved)
            # Equal changes of all classes have a curvature of 0, or less by rounding.
            is_step = (product > enough) & (length > _LEAST_CURVATURE * product)
            size = np.where(is_step, product / np.maximum(length, _TINY), 0.0)
            narrow = _narrow(size, decisions)
            step = step[0] + narrow * direction[0], step[1] + size * direction[1]
            rest = rest[0] - narrow * curved[0], rest[1] - size * curved[1]
            change += narrow * decisions
            scaled = condition(*rest)
            new = self._dot(rest, scaled)
            if (new <= enough).all():
                break
            share = new / np.maximum(product, _TINY)
            direction = (
                scaled[0] + _narrow(share, decisions) * direction[0],
                scaled[1] + share * direction[1],
            )
            product = new
        return step, change

    def _mean_curvature(self, curvature):
        """Return the sum of the curvature over rows, (n_problems, n_columns)."""
        if self.loss == "squared":
            return np.broadcast_to(self._totals, (len(self._totals), self.Y.shape[2]))
        if self.loss == "logistic":
            return curvature.sum(axis=0, dtype=np.float64)
        return (self.weights * (curvature * (1 - curvature))).sum(axis=0)

    def _curve(self, curvature, decisions):
        """Return the change of the weighted slopes with a change of decisions."""
        if self.loss != "softmax":
            return curvature * decisions
        mean = (curvature * decisions).sum(axis=2, keepdims=True)
        return self.weights * (curvature * (decisions - mean))

    def _apply(self, pair):
        """Return the decision values of coefficients and intercepts."""
        coef, intercept = pair
        values = self.X @ coef.reshape(len(coef), intercept.size)
        return values.reshape(-1, *intercept.shape) + _narrow(intercept, coef)

    def _products(self, rows):
        """Return sums over rows of features times values, and of the values alone."""
        sums = self.XT @ rows.reshape(len(rows), -1)
        return sums.reshape(len(sums), *rows.shape[1:]), rows.sum(
            axis=0, dtype=np.float64
        )

    def _dot(self, first, second):
        """Return dot products of coefficients and intercepts, by problem and column."""
        products = np.einsum("ijk,ijk->jk", first[0], second[0], dtype=np.float64)
        products = products + first[1] * second[1]
        if self.loss == "softmax":
            products = products.sum(axis=1, keepdims=True)
        return products


def _narrow(values, like):
    """Return values in the precision of the features, not in float64."""
    return np.asarray(values, like.dtype)


def _preconditioner(X, weights):
    """Return a function of total curvatures and a penalty, which returns another.

    That one approximately solves the equations of a Newton step, as if the curvature of
    all rows were equal.
    """
    total = weights.sum(dtype=np.float64)
    n_rows, n_features = X.shape
    if isinstance(X, np.ndarray) and n_features <= _MAX_DIMS:
        rows = slice(None, None, max(n_rows // (_ROWS_PER_DIM * n_features + 1), 1))
        part = np.column_stack([X[rows], np.ones(len(X[rows]), X.dtype)])
        part_weights = weights[rows].sum(axis=1)
        gram = part.T @ (part * part_weights[:, None].astype(X.dtype))
        gram = gram.astype(np.float64) / max(part_weights.sum(), _TINY)
        return lambda curvatures, penalty: _by_products(gram, curvatures, penalty)
    mean_squares = squared_columns(X, weights.sum(axis=1)) / max(total, _TINY)
    return lambda curvatures, penalty: _by_squares(mean_squares, curvatures, penalty)


def _by_squares(mean_squares, curvatures, penalty):
    """Return a function that divides by the diagonal of the equations."""
    dtype = mean_squares.dtype
    scales = 1 / (mean_squares[:, None, None] * curvatures + penalty)
    scales, totals = scales.astype(dtype), np.maximum(curvatures, _TINY)
    return lambda coef, intercept: (coef * scales, intercept / totals)


def _by_products(gram, curvatures, penalty):
    """Return a function that solves with the products of all rows.

    The equations of each column are those of the mean curvature, times a factor.
    """
    mean = max(curvatures.mean(), _TINY)
    matrix = mean * gram
    diagonal = matrix.ravel()[:: len(matrix) + 1]
    diagonal[:-1] += penalty
    diagonal += 1e-7 * diagonal.max()
    factor = cho_factor(matrix, check_finite=False)
    ratios = mean / np.maximum(curvatures, _TINY)

    def condition(coef, intercept):
        right = np.concatenate([coef, intercept[None]]) * ratios
        solved = cho_solve(factor, right.reshape(len(right), -1), check_finite=False)
        solved = solved.reshape(right.shape)
        return solved[:-1].astype(coef.dtype), solved[-1]

    return condition


def squared_columns(X, weights):
    """Return the weighted sums of the squares of each feature, (n_features,)."""
    if hasattr(X, "squared_columns"):
        return X.squared_columns(weights)
    if isinstance(X, np.ndarray):
        return np.einsum("ij,ij,i->j", X, X, weights.astype(X.dtype))
    return squared(X).T @ weights.astype(X.dtype)
