"""What a model is told of two vectors: themselves, their difference, their product."""

import numpy as np
from scipy import sparse

PAIR_FEATURES = ("u", "v", "absdiff", "product")

_DENSE = {
    "u": lambda u, v: u,
    "v": lambda u, v: v,
    "absdiff": lambda u, v: np.abs(u - v),
    "product": np.multiply,
}
_SPARSE = _DENSE | {
    "absdiff": lambda u, v: abs(u - v),
    "product": lambda u, v: u.multiply(v),
}


def pair_features(u, v, features=PAIR_FEATURES):
    """Return features of pairs of vectors, side by side.

    Parameters
    ----------
    u, v : ndarray or sparse matrix of shape (n_pairs, dim)
        The vectors of the first and of the second sides.
    features : sequence of {"u", "v", "absdiff", "product"}
        The vectors, the absolute value of their difference, their product entry by
        entry.

    Returns
    -------
    ndarray or sparse CSR matrix of shape (n_pairs, len(features) * dim)
    """
    if sparse.issparse(u):
        return sparse.hstack([_SPARSE[name](u, v) for name in features], format="csr")
    return np.concatenate([_DENSE[name](u, v) for name in features], axis=1)
