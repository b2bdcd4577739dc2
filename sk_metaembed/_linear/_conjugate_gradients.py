"""Solve equations with several right-hand sides by conjugate gradients."""

import numpy as np

_TINY = np.finfo(np.float64).tiny


def conjugate_gradients(product, right, *, tolerance, n_steps):
    """Solve the positive definite equations of each column of the right-hand side.

    Parameters
    ----------
    product : callable
        Returns the product of the matrix with an array like `right`. Each column may
        have a matrix of its own.
    right : ndarray of shape (n_equations, n_columns)
    tolerance : float
        Length of the residuals, relative to the right-hand side.
    n_steps : int
        Maximum number of steps.
    """
    solution, residual, direction = np.zeros_like(right), right, right
    square = np.square(right).sum(axis=0)
    enough = tolerance**2 * square
    for _ in range(n_steps):
        if (square <= enough).all():
            break
        image = product(direction)
        step = square / np.maximum((direction * image).sum(axis=0), _TINY)
        solution = solution + step * direction
        residual = residual - step * image
        last, square = square, np.square(residual).sum(axis=0)
        direction = residual + square / np.maximum(last, _TINY) * direction
    return solution
