"""Vectors so long that means and variances would be those of them alone."""

import warnings

import numpy as np

from ._messages import plural

# Times the length of the others. With shorter ones, the others are still learned from.
_RATIO, _FEW_ROWS = 300, 10


def length_limit(norms):
    """Return the length above which vectors count as errors, by that of 99% of them."""
    norms = norms[norms > 0]
    if len(norms) < _FEW_ROWS:
        return np.inf
    return _RATIO * np.quantile(norms, 0.99, method="lower")


def warn_of_long(name, rows):
    """Warn of the rows of a block that are left out."""
    warnings.warn(
        f"Block {name!r}: {plural(len(rows), 'vector')} longer than {_RATIO} times the "
        f"length of the others, the first in row {rows[0]} of its values. Means and "
        "variances are computed without them. Correct them, or pass preprocess='unit' "
        "to the source.",
        UserWarning,
        stacklevel=3,
    )
