"""Cosines of pairs of rows, and how they agree with scores."""

import warnings

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from ..sequences._rows import unit_rows


def check_finite(values, whose):
    """Raise ValueError if vectors hold NaN or infinity."""
    bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if len(bad):
        raise ValueError(f"{whose}: {len(bad)} vectors hold NaN or infinity.")


def cosines(values, left, right):
    """Return the cosines of pairs of rows, 0 where one is zero.

    Parameters
    ----------
    values : ndarray of shape (n_rows, dim)
    left, right : ndarray of int, shape (n_pairs,)
        Rows of the pairs.

    Returns
    -------
    ndarray of float64, shape (n_pairs,)
    """
    unit = unit_rows(values)
    return np.einsum("ij,ij->i", unit[left], unit[right], dtype=np.float64)


def correlation(found, scores, kind, whose):
    """Return the correlation of two arrays, 0 with a warning where it is undefined.

    Parameters
    ----------
    found, scores : ndarray of float64, shape (n_pairs,)
    kind : {"spearman", "pearson"}
    whose : str
        Begins the warning.

    Returns
    -------
    float
    """
    from scipy.stats import pearsonr, spearmanr

    reason = ""
    if len(found) < 2:
        reason = f"at least 2 pairs are needed, and {len(found)} can be scored"
    elif np.ptp(found) <= _noise(found):
        reason = "all cosines are equal"
    elif np.ptp(scores) == 0:
        reason = "all scores of the pairs that can be scored are equal"
    if reason:
        message = f"{whose} is undefined and set to 0: {reason}."
        # Of the caller of the metric, which calls its report, which calls this.
        warnings.warn(message, UndefinedMetricWarning, stacklevel=4)
        return 0.0
    measure = spearmanr if kind == "spearman" else pearsonr
    return float(measure(found, scores).statistic)


def _noise(found):
    """Return what rounding alone can set cosines apart."""
    return 4 * np.finfo(np.float32).eps * np.abs(found).max(initial=0.0)
