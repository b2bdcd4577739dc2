"""Matrices of features that are never multiplied out."""

import numpy as np


class Product:
    """The product of two sparse matrices, which takes products with other matrices.

    A row of texts is a sum over its words of what each word consists of, so the texts'
    words and the words' parts have far fewer entries than the texts' parts.

    Parameters
    ----------
    left : sparse array of shape (n_rows, n_inner)
    right : sparse array of shape (n_inner, n_features)
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

    def __getitem__(self, rows):
        return Product(self.left[rows], self.right)

    def squared_columns(self, weights):
        """Return the weighted sums of squares of each column, without mixed terms."""
        weights = weights.astype(self.dtype)
        return squared(self.right).T @ (squared(self.left).T @ weights)

    def multiply_out(self):
        """Return the product as a sparse array."""
        return self.left @ self.right


def squared(X):
    """Return a CSR array of the squares, which shares the indices."""
    return type(X)((np.square(X.data), X.indices, X.indptr), shape=X.shape)
