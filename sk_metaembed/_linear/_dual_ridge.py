"""Ridge regression on few rows, solved exactly by the products of the rows."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import issparse

from ._solver import Product, Solution

_ROUNDING = 1e-13  # of the sum of squares


class DualRidge:
    r"""Problems with the squared loss, for fewer rows than features.

    It has the methods of `Problems`. Conjugate gradients would stop before the
    directions of rows of weight 0 have converged, in which only the penalty acts.

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

    def solve(self, penalty, start=None, problems=None):
        """Return the `Solution` for a penalty; `start` is not needed."""
        columns = self._roots.T if problems is None else self._roots.T[problems]
        solved = [self._solve_one(root, penalty) for root in columns]
        duals, intercepts = (np.stack(each) for each in zip(*solved, strict=True))
        duals = duals.swapaxes(0, 1)  # (n_rows, n_problems, n_columns)
        flat = duals.reshape(len(duals), -1)
        coef = (self._X.T @ flat).reshape(-1, *intercepts.shape)
        decisions = (self._products @ flat).reshape(duals.shape) + intercepts
        return Solution(coef, intercepts, decisions)

    def _solve_one(self, root, penalty):
        """Return the coefficients of the rows, and the intercepts, of a problem."""
        used = np.flatnonzero(root)
        root = root[used, None]
        matrix = root * self._products[np.ix_(used, used)] * root.T
        matrix.flat[:: len(used) + 1] += penalty + _ROUNDING * np.trace(matrix)
        right = root * np.column_stack([self._Y[used], np.ones(len(used))])
        factor = cho_factor(matrix, overwrite_a=True, check_finite=False)
        solved = root * cho_solve(factor, right, check_finite=False)
        *sums, of_ones = solved.sum(axis=0)
        intercepts = np.array(sums) / of_ones
        duals = np.zeros(self._Y.shape)
        duals[used] = solved[:, :-1] - solved[:, -1:] * intercepts
        return duals, intercepts
