"""Input that is rows of numbers, NaN where missing."""

import numpy as np
from sklearn.utils.validation import validate_data

from .._core._frames import plain_container

# Numbers so far from 0, relative to their spread, have four digits or fewer in float32.
_FAR = 1000

# Sums of columns remain in the range of float32.
_LARGEST = 1e30


class NumbersInputMixin:
    """An estimator of tables takes numbers, any of which may be missing."""

    def _numbers(self, X, dtype, *, reset=False):
        """Return X as an array; with ``reset=True`` its columns are those of the fit.

        Only a fit needs rows.
        """
        X = plain_container(X)
        if np.ma.isMaskedArray(X):
            X = X.astype(np.float64).filled(np.nan)
        return validate_data(
            self,
            X,
            dtype=dtype,
            ensure_all_finite="allow-nan",
            ensure_min_samples=int(reset),
            reset=reset,
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def offset(numbers):
    """Return the median of numbers that float32 would not tell apart, 0 otherwise."""
    known = np.unique(numbers[np.isfinite(numbers)])
    if not len(known):
        return 0.0
    low, median, high = known[[len(known) * q // 10 for q in (1, 5, 9)]]
    if not _FAR * (high - low) < abs(median) < _LARGEST:
        return 0.0
    is_merged = np.diff(known.astype(np.float32)) == 0
    return median if is_merged.any() else 0.0


def as_float32(numbers):
    """Return numbers as float32; huge ones are clipped."""
    return np.clip(numbers, -_LARGEST, _LARGEST).astype(np.float32)
