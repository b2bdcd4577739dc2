r"""Fit linear models of several columns and several weightings of the rows at once.

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
from scipy.sparse import issparse

_STEPS = 100  # maximum steps of Newton's method
_CG_STEPS = 200
_TOLERANCE = 1e-4  # for the mean gradient per row, as in scikit-learn
_SQUARED_TOLERANCE = 4e-4  # for the squared loss, times the root mean squared error
_LARGE_WEIGHT = 100  # times the 90th percentile
_FORCING = 0.3  # share of the gradient that conjugate gradients may leave
_SQUARED_FORCING = 6e-3
_DECREASE = 1e-4  # share of the predicted decrease that a step must reach
_ROUNDING = 1e-7  # rounding error of a loss
_LEAST_CURVATURE = 1e-9  # relative to the curvature of the preconditioner
_HALVINGS = 20
_MAX_DIMS = 2048  # dense rows of more dimensions are preconditioned by squares only
_ROWS_PER_DIM = 8  # rows from which the products for the preconditioner are computed
_CELLS = 1 << 22  # maximum size of decision values and coefficients
_TINY = 1e-30
_RIDGE_ROUNDING = 1e-13  # rounding error of the sum of squares


class Solution(NamedTuple):
    """Coefficients and decision values of all problems."""

    coef: np.ndarray  # (n_features, n_problems, n_columns)
    intercept: np.ndarray  # (n_problems, n_columns)
    decisions: np.ndarray  # (n_rows, n_problems, n_columns), also for rows of weight 0


class Product:
    """The product of two sparse matrices, which is never multiplied out.

    The first matrix has the words of each text, the second the parts of each word. Both
    have far fewer entries than the product, the parts of each text.
    """

    def __init__(self, left, right):
        self.left, self.right = left, right
        self.shape = left.shape[0], right.shape[1]
        self.dtype = right.dtype

    @property
    def T(self):  # noqa: N802
        """The transpose."""
        return Product(self.right.T, self.left.T)

    def __matmul__(self, other):
        return self.left @ (self.right @ other)

    def multiply_out(self):
        """Return the product as a sparse array."""
        return self.left @ self.right


def squared(X):
    """Return a CSR array of the squared entries, which shares the indices."""
    return type(X)((np.square(X.data), X.indices, X.indptr), shape=X.shape)


class Problems:
    """Problems with the same X and Y, solved for one penalty after another.

    Parameters
    ----------
    X : ndarray, CSR array or Product of shape (n_rows, n_features)
        The precision of the calculations is that of X.
    Y : ndarray of shape (n_rows, n_columns)
    weights : ndarray of shape (n_rows, n_problems)
    loss : {"logistic", "softmax", "squared"}
    intercepts : ndarray of shape (n_problems, n_columns), default=None
        Intercepts of constant columns, whose coefficients are 0 and which are not
        fitted; NaN for other columns. None means that all columns are fitted.
    """

    def __init__(self, X, Y, weights, loss, intercepts=None):
        self._X, self._loss = X, loss
        self._Y, self._weights = Y.astype(X.dtype), weights.astype(X.dtype)
        self._moments = _second_moments(X, weights)
        shape = weights.shape[1], Y.shape[1]
        self._intercepts = np.full(shape, np.nan) if intercepts is None else intercepts

    def solve(self, penalty, start=None, problems=None, is_enough=None):
        """Return the `Solution` of some or all problems for a penalty.

        The iterations start from `start`, the solution for another penalty. They end
        early if ``is_enough(decisions)`` returns True. It is called after each step,
        unless memory requires solving blocks of columns in turn.
        """
        n_problems, n_columns = self._intercepts.shape
        problems = np.arange(n_problems) if problems is None else np.array(problems)
        # Problems, or columns that do not depend on each other, are solved in blocks.
        divides_problems = self._loss == "softmax" or n_columns == 1
        n, n_others = len(problems), n_columns
        if not divides_problems:
            n, n_others = n_columns, len(problems)
        size = max(_CELLS // (max(sum(self._X.shape), 1) * n_others), 1)
        parts = []
        for i in range(0, n, size):
            block, every = slice(i, i + size), slice(None)
            some, columns = (block, every) if divides_problems else (every, block)
            own = problems[some]
            newton = _Newton(
                self._X,
                self._Y[:, columns],
                self._weights[:, own],
                self._loss,
                self._intercepts[own, columns],
                self._moments,
            )
            own_start = start and [each[..., some, columns] for each in start]
            own_enough = is_enough if size >= n else None
            parts.append(newton.solve(penalty, own_start, own_enough))
        if len(parts) == 1:
            return parts[0]
        axis = -2 if divides_problems else -1
        return Solution(*(np.concatenate(p, axis) for p in zip(*parts, strict=True)))


class _Newton:
    """Some problems and columns, solved by a truncated Newton method.

    Conjugate gradients solve the equations of each Newton step. The steps do not change
    columns that have converged.
    """

    def __init__(self, X, Y, weights, loss, intercepts, moments):
        self.X, self.XT, self.loss = X, X.T, loss
        self.Y, self.weights = Y[:, None], weights[:, :, None]
        self._intercepts, self._moments = intercepts, moments
        # The columns of a row depend on each other only in a softmax.
        self._axes = (0, 2) if loss == "softmax" else 0
        # The weights are clipped in the tolerance, so that a few large weights do not
        # end the fit too early.
        usual = [np.quantile(w[w > 0], 0.9) if w.any() else 0 for w in weights.T]
        capped = np.minimum(weights, _LARGE_WEIGHT * np.array(usual))
        self._sizes = capped.sum(axis=0, dtype=np.float64)[:, None]

    def solve(self, penalty, start=None, is_enough=None):
        """Return the `Solution` for a penalty."""
        is_fitted = np.isnan(self._intercepts)
        if start is None:
            shape, dtype = self._intercepts.shape, self.Y.dtype
            intercept = np.nan_to_num(self._intercepts)
            decisions = np.zeros((len(self.Y), *shape), dtype) + intercept.astype(dtype)
            start = np.zeros((self.X.shape[1], *shape), dtype), intercept, decisions
        coef, intercept, decisions = start
        objective, errors, curvature = self._evaluate(decisions, coef, penalty)
        for i in range(_STEPS):
            slopes = self._products(errors)
            slopes = slopes[0] + penalty * coef, slopes[1]
            largest = np.abs(slopes[0]).max(axis=0, initial=0)
            largest = np.maximum(largest, np.abs(slopes[1]))
            if self.loss == "softmax":
                largest = largest.max(axis=1, keepdims=True)
            enough = _TOLERANCE * self._sizes
            if self.loss == "squared":
                # Where errors are small, slopes are small for other penalties, too.
                # Each penalty has at least one step.
                total = np.sqrt(2 * objective * self._sizes)
                enough = _SQUARED_TOLERANCE * total if i else 0
            is_open = (largest > enough) & is_fitted
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

    def _evaluate(self, decisions, coef, penalty):
        """Return objectives, and the weighted slopes and curvatures of the losses."""
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
        """Return steps of coefficients and intercepts, and the change in decisions."""
        if self.loss == "softmax":
            total = (self.weights * (curvature * (1 - curvature))).sum(axis=0)
        else:
            total = curvature.sum(axis=0, dtype=np.float64)
        condition = _preconditioner(self._moments, total, penalty)
        rest = -slopes[0] * is_open.astype(self.Y.dtype), -slopes[1] * is_open
        step = np.zeros_like(rest[0]), np.zeros_like(rest[1])
        change = np.zeros((len(curvature), *slopes[1].shape), self.Y.dtype)
        direction = scaled = condition(*rest)
        product = self._dot(rest, scaled)
        forcing = _SQUARED_FORCING if self.loss == "squared" else _FORCING
        enough = product * forcing**2
        for _ in range(_CG_STEPS):
            coef, intercept = direction
            decisions = self.X @ coef.reshape(len(coef), intercept.size)
            decisions = decisions.reshape(-1, *intercept.shape)
            decisions = decisions + intercept.astype(coef.dtype)
            curves = curvature * decisions
            if self.loss == "softmax":
                mean = curves.sum(axis=2, keepdims=True)
                curves = self.weights * (curvature * (decisions - mean))
            curved = self._products(curves)
            curved = curved[0] + penalty * coef, curved[1]
            length = self._dot(direction, curved)
            # Equal changes of all classes have a curvature of 0, or slightly less by
            # rounding.
            is_step = (product > enough) & (length > _LEAST_CURVATURE * product)
            size = np.where(is_step, product / np.maximum(length, _TINY), 0.0)
            narrow = size.astype(decisions.dtype)
            step = step[0] + narrow * coef, step[1] + size * intercept
            rest = rest[0] - narrow * curved[0], rest[1] - size * curved[1]
            change += narrow * decisions
            scaled = condition(*rest)
            new = self._dot(rest, scaled)
            if (new <= enough).all():
                break
            share = new / np.maximum(product, _TINY)
            direction = (
                scaled[0] + share.astype(decisions.dtype) * coef,
                scaled[1] + share * intercept,
            )
            product = new
        return step, change

    def _products(self, rows):
        """Return the sums over rows of features times `rows`, and of `rows`."""
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


def _second_moments(X, weights):
    """Return second moments of the features for the preconditioner.

    The moments are weighted means over rows. For dense rows of few dimensions, they are
    of all products of features and a constant, (n_features + 1, n_features + 1);
    otherwise, of the squares, (n_features,).
    """
    n_rows, n_features = X.shape
    if isinstance(X, np.ndarray) and n_features <= _MAX_DIMS:
        rows = slice(None, None, max(n_rows // (_ROWS_PER_DIM * n_features + 1), 1))
        part = np.column_stack([X[rows], np.ones(len(X[rows]), X.dtype)])
        part_weights = weights[rows].sum(axis=1)
        gram = part.T @ (part * part_weights[:, None].astype(X.dtype))
        return gram.astype(np.float64) / max(part_weights.sum(), _TINY)
    shares = weights.sum(axis=1) / max(weights.sum(dtype=np.float64), _TINY)
    shares = shares.astype(X.dtype)  # otherwise, all steps would be in float64
    if isinstance(X, np.ndarray):
        return np.einsum("ij,ij,i->j", X, X, shares)
    if isinstance(X, Product):  # without the mixed terms of different inner columns
        return squared(X.right).T @ (squared(X.left).T @ shares)
    return squared(X).T @ shares


def _preconditioner(moments, curvatures, penalty):
    """Return a function that approximately solves the equations of a Newton step.

    The function assumes the same curvature for all rows. `curvatures` has the sums over
    rows, (n_problems, n_columns), and `moments` the output of `_second_moments`.
    """
    if moments.ndim == 1:  # the diagonal of the equations
        scales = 1 / (moments[:, None, None] * curvatures + penalty)
        scales = scales.astype(moments.dtype)
        totals = np.maximum(curvatures, _TINY)
        return lambda coef, intercept: (coef * scales, intercept / totals)
    # The equations of each column are those of the mean curvature, times a factor.
    mean = max(curvatures.mean(), _TINY)
    matrix = mean * moments
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


class DualRidge:
    r"""Solve problems with the squared loss that have fewer rows than features.

    The class has the interface of `Problems`. Conjugate gradients would stop too early
    in the directions of rows of weight 0, where only the penalty acts.

    Notes
    -----
    With :math:`K = X X^\top` and the weights V of the rows, the coefficients are
    :math:`X^\top V^{1/2} c`, where :math:`(V^{1/2} K V^{1/2} + \lambda I) c = V^{1/2}
    (y - b)` and the intercept b is such that :math:`V^{1/2} c` has the sum 0.
    """

    def __init__(self, X, Y, weights):
        X = X.multiply_out() if isinstance(X, Product) else X
        self._X, self._Y = X.astype(np.float64), Y
        self._roots = np.sqrt(weights.astype(np.float64))
        products = self._X @ self._X.T
        self._products = products.toarray() if issparse(products) else products

    def solve(self, penalty, start=None, problems=None, is_enough=None):
        """Return the `Solution` for a penalty, without iterations."""
        columns = self._roots.T if problems is None else self._roots.T[problems]
        solved = [self._solve_one(root, penalty) for root in columns]
        duals, intercepts = (np.stack(each) for each in zip(*solved, strict=True))
        duals = duals.swapaxes(0, 1)  # (n_rows, n_problems, n_columns)
        flat = duals.reshape(len(duals), -1)
        coef = (self._X.T @ flat).reshape(-1, *intercepts.shape)
        decisions = (self._products @ flat).reshape(duals.shape) + intercepts
        return Solution(coef, intercepts, decisions)

    def _solve_one(self, root, penalty):
        """Return the dual coefficients and the intercepts of a problem."""
        used = np.flatnonzero(root)
        root = root[used, None]
        matrix = root * self._products[np.ix_(used, used)] * root.T
        matrix.flat[:: len(used) + 1] += penalty + _RIDGE_ROUNDING * np.trace(matrix)
        right = root * np.column_stack([self._Y[used], np.ones(len(used))])
        factor = cho_factor(matrix, overwrite_a=True, check_finite=False)
        solved = root * cho_solve(factor, right, check_finite=False)
        *sums, of_ones = solved.sum(axis=0)
        intercepts = np.array(sums) / of_ones
        duals = np.zeros(self._Y.shape)
        duals[used] = solved[:, :-1] - solved[:, -1:] * intercepts
        return duals, intercepts
