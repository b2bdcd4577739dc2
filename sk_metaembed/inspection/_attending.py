"""Which step of a pipeline has attention weights, and what it says."""

import numpy as np

# Columns of the attention weights' table that are not sources.
PLACES = ("sequence", "side", "position", "token")


def attending(estimator, X, whose):
    """Return the step that has attention weights, and what it is given.

    Parameters
    ----------
    estimator : fitted estimator or Pipeline
    X : what the estimator takes
    whose : str
        Begins the error message.

    Returns
    -------
    step : fitted estimator
    X : what the step takes
    """
    if hasattr(estimator, "attention_weights"):
        return estimator, X
    for _, step in getattr(estimator, "steps", ()):
        if hasattr(step, "attention_weights"):
            return step, X
        if hasattr(step, "transform"):
            X = step.transform(X)
    raise TypeError(
        f"{whose} needs an estimator with attention_weights, such as "
        "DynamicMetaEmbedding, or a Pipeline with such a step; got "
        f"{type(estimator).__name__}."
    )


def weights_of(frame):
    """Return the sources and their weights from a table of attention weights.

    Parameters
    ----------
    frame : pandas.DataFrame

    Returns
    -------
    sources : list of str
    values : ndarray of shape (n_rows, n_sources)
        A row of zeros is a token that no source knows.
    """
    sources = [name for name in frame.columns if name not in PLACES]
    return sources, np.asarray(frame[sources], dtype=np.float64)
