r"""Ridge regression with weighted rows: leave-one-out predictions and coefficients.

Weights w of the rows sum to 1, and features x and columns y have their weighted means
subtracted. The coefficients minimize
:math:`\sum_i w_i (y_i - B^\top x_i)^2 + \lambda |B|^2`.
"""

from typing import NamedTuple

import numpy as np

_TOLERANCE, _MAX_ITERATIONS = 1e-6, 200
_ROUNDING = 1e-6
_EQUAL = 1e-5
_TINY = np.finfo(np.float64).tiny


class LeaveOneOut(NamedTuple):
    """Predictions of each row by the ridge regression on the others.

    Attributes
    ----------
    r2 : float
        Computed over all columns, relative to the mean of the other rows; 0 if the
        columns do not vary.
    penalty : float
        The best of the given ones.
    decisions : ndarray of shape (n_rows, n_outputs)
        Predictions minus the mean of all rows.
    """

    r2: float
    penalty: float
    decisions: np.ndarray


def leave_one_out(products, columns, weights, penalties):
    """Return the exact `LeaveOneOut` predictions with the best penalty.

    Parameters
    ----------
    products : ndarray of shape (n_rows, n_rows)
        Dot products of the rows' features, without centering.
    columns : ndarray of shape (n_rows, n_outputs)
    weights : ndarray of shape (n_rows,)
        Positive, with the sum 1.
    penalties : sequence of float
        Relative to the sum of the squares of the centered features.
    """
    root = np.sqrt(weights)[:, None]
    means = products @ weights
    centered = products - means - means[:, None] + weights @ means
    values, axes = np.linalg.eigh(root * centered * root.T)
    values = values.clip(0)
    # Smaller sums of squares are rounding errors.
    least = max(_ROUNDING * (weights @ products.diagonal()), _TINY)
    penalties = np.multiply(penalties, max(values.sum(), least))
    Y = root * (columns - weights @ columns)
    squares, projected = np.square(axes), axes.T @ Y

    def errors(shrinkage):
        # A row's residual without itself is its residual divided by 1 - leverage.
        rest = (1 - weights - squares @ shrinkage).clip(1e-9)
        residuals = Y - axes @ (shrinkage[:, None] * projected)
        return residuals / rest[:, None]

    all_errors = [errors(values / (values + penalty)) for penalty in penalties]
    sums = [np.square(each).sum() for each in all_errors]
    best, total = int(np.argmin(sums)), np.square(errors(0 * values)).sum()
    r2 = 0.0 if np.square(Y).sum() < 1e-12 else 1 - sums[best] / total
    return LeaveOneOut(r2, penalties[best], (Y - all_errors[best]) / root)


def merged_copies(columns, weights, products):
    """Return one row for all copies of it, with their mean columns and sum of weights.

    Otherwise the columns of a row that is left out would be known from its copy.

    Parameters
    ----------
    columns : ndarray of shape (n_rows, n_outputs)
    weights : ndarray of shape (n_rows,)
    products : list of ndarray of shape (n_rows, n_rows)
        Dot products of the rows in each part of the features. Rows that are equal in
        all parts are copies.

    Returns
    -------
    columns, weights, products
    """
    gram = sum(products)
    squares = gram.diagonal()
    sums = squares + squares[:, None]
    is_equal = sums - 2 * gram <= _EQUAL * sums
    first, group = np.unique(is_equal.argmax(axis=1), return_inverse=True)
    members = (group == np.arange(len(first))[:, None]) * weights
    weights = members.sum(axis=1)
    columns = members @ columns / weights[:, None]
    return columns, weights, [each[np.ix_(first, first)] for each in products]


def ridge(parts, columns, weights, penalty):
    """Return the coefficients of each part, and intercepts, for centered columns.

    Solved by conjugate gradients, so that sparse parts stay sparse.

    Parameters
    ----------
    parts : list of ndarray or CSR array of shape (n_rows, n_features)
        Features side by side.
    columns : ndarray of shape (n_rows, n_outputs)
    weights : ndarray of shape (n_rows,)
        Positive, with the sum 1.
    penalty : float
    """
    ends = np.cumsum([part.shape[1] for part in parts])

    # A product of float32 with float64 would copy the features each time.
    dtype = parts[0].dtype

    def weighted_sums(rows):
        rows = (weights[:, None] * rows).astype(dtype)
        return np.concatenate([part.T @ rows for part in parts])

    def values(coefs):
        pairs = zip(parts, np.split(coefs.astype(dtype), ends[:-1]), strict=True)
        rows = sum(part @ own for part, own in pairs)
        return rows - weights @ rows

    def equations(coefs):
        return weighted_sums(values(coefs)) + penalty * coefs

    coefs = conjugate_gradients(equations, weighted_sums(columns - weights @ columns))
    means = weighted_sums(np.ones((len(weights), 1)))[:, 0]
    return np.split(coefs, ends[:-1]), -means @ coefs


def conjugate_gradients(product, right):
    """Solve the positive definite equations of each column of the right-hand side.

    Parameters
    ----------
    product : callable
        Returns the product of the matrix with an array like `right`.
    right : ndarray of shape (n_equations, n_columns)
    """
    solution, residual, direction = np.zeros_like(right), right, right
    square = np.square(right).sum(axis=0)
    enough = _TOLERANCE**2 * square
    for _ in range(_MAX_ITERATIONS):
        if (square <= enough).all():
            break
        image = product(direction)
        step = square / np.maximum((direction * image).sum(axis=0), _TINY)
        solution = solution + step * direction
        residual = residual - step * image
        last, square = square, np.square(residual).sum(axis=0)
        direction = residual + square / np.maximum(last, _TINY) * direction
    return solution
