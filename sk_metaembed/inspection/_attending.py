"""Which step of a pipeline has attention weights, and what it says."""

import numpy as np

# Columns of the attention weights' table that are not sources.
_PLACES = ("sequence", "position", "token")


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
    sources = [name for name in frame.columns if not _is_place(frame, name)]
    return sources, np.asarray(frame[sources], dtype=np.float64)


def has_sides(frame):
    """Tell whether a table of attention weights is one of pairs, with two sides."""
    # Elsewhere a source may have that name.
    return "side" in frame and set(frame["side"]) <= {"first", "second"}


def _is_place(frame, name):
    return name in _PLACES or (name == "side" and has_sides(frame))
