"""Which rows are trained on, and which are held out."""

import numpy as np


def split_rows(labels, weights, fraction, random_state):
    """Return the rows to train on and those to hold out, or None for a single row.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,) or None
        Kept in proportion if each part has room for every label.
    weights : ndarray of shape (n_rows,)
        Rows of weight 0 go to neither part.
    fraction : float
        What share of the rows is held out; at least one row stays on each side.
    random_state : numpy RandomState

    Returns
    -------
    tuple of two ndarrays of int64, or None
    """
    from sklearn.model_selection import train_test_split

    rows = np.flatnonzero(weights)
    if len(rows) < 2:
        return None
    size = min(max(1, round(fraction * len(rows))), len(rows) - 1)
    if labels is not None:
        labels = labels[rows]
        _, counts = np.unique(labels, return_counts=True)
        room = min(size, len(rows) - size)
        labels = labels if counts.min() > 1 and room >= len(counts) else None
    return train_test_split(
        rows, test_size=size, stratify=labels, random_state=random_state
    )
