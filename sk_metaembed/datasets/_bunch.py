"""The result of a loader: a Bunch with or without frames, or data and target."""

import numpy as np
from sklearn.utils import Bunch

from ._files import import_pandas


def make_bunch(
    data,
    target,
    feature_names,
    *,
    target_name="target",
    as_frame=False,
    return_X_y=False,
    **others,
):
    """Return the Bunch of a data set, or its data and target if `return_X_y`.

    Parameters
    ----------
    data : dict of str to ndarray, ndarray of shape (n_rows, n_columns), or list of str
        A dict has the columns of a table: without frames it is made an array.
    target : ndarray of shape (n_rows,)
    feature_names : list of str
        Names of the columns.
    target_name : str, default="target"
        Name of the target in frames.
    as_frame, return_X_y : bool
        As the loaders document them.
    **others
        Further attributes.
    """
    frame = None
    if as_frame:
        pd = import_pandas()
        data = pd.DataFrame(data, columns=feature_names)
        target = pd.Series(target, name=target_name)
        frame = data.assign(**{target_name: target})
    elif isinstance(data, dict):
        data = np.array([data[name] for name in feature_names], dtype=object).T
    if return_X_y:
        return data, target
    return Bunch(
        data=data, target=target, frame=frame, feature_names=feature_names, **others
    )


def duplicate_groups(keys):
    """Return an int64 per key, equal for equal keys."""
    numbers = {}
    return np.array([numbers.setdefault(k, len(numbers)) for k in keys], dtype=np.int64)
