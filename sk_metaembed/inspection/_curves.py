"""What estimators recorded epoch by epoch, as curves of one kind or another."""

from numbers import Real

import numpy as np

from ..sequences._steps import branches_of, fitted_part

LOSS, SCORE, PERPLEXITY, RATE = "loss", "score", "perplexity", "learning rate"
KINDS = (LOSS, SCORE, PERPLEXITY, RATE)

_RATES = ("lr", "event_lr")
_PERPLEXITIES = ("perplexity", "forward", "backward")
_HIGHER = (
    "valid_acc",
    "valid_f1",
    "validation_score",
)  # what the best epoch is told by
_LOWER = ("valid_loss", "valid_perplexity")
_PARTS = {"train": "training", "valid": "held out", "validation": "held out"}
_NAMES = {"acc": "accuracy", "f1": "F1", "loss": "", "perplexity": "", "score": "score"}


def recorded_by(estimator, whose):
    """Return the step that recorded its training, and what: epochs and curves.

    Parameters
    ----------
    estimator : fitted estimator, Pipeline, search or ColumnTransformer
    whose : str
        Begins the error messages.

    Returns
    -------
    epochs : ndarray of int, shape (n_epochs,)
    curves : dict of str to ndarray of shape (n_epochs,)
        None, None if there is nothing.
    """
    estimator = fitted_part(estimator, whose)
    for _, step in reversed(getattr(estimator, "steps", ())):
        epochs, curves = recorded_by(step, whose)
        if curves:
            return epochs, curves
    parts = {name: part for name, part, _ in branches_of(estimator)}
    found = {name: recorded_by(part, whose) for name, part in parts.items()}
    found = {name: record for name, record in found.items() if record[1]}
    if len(found) > 1:
        raise ValueError(
            f"{whose}: several branches of {type(estimator).__name__} recorded their "
            f"training: {list(found)}. Pass the fitted branch itself."
        )
    if found:
        return next(iter(found.values()))
    history = getattr(estimator, "history_", None)
    if is_history(history):
        return read_history(history)
    losses = getattr(estimator, "loss_curve_", None)
    if losses is None or not len(losses):
        return None, None
    curves = {"train_loss": np.asarray(losses, dtype=np.float64)}
    scores = getattr(estimator, "validation_scores_", None)
    if scores is not None and len(scores) == len(losses):
        curves["validation_score"] = np.asarray(scores, dtype=np.float64)
    return np.arange(1, len(losses) + 1), curves


def is_history(history):
    """Tell whether something is a list of epochs, as skorch writes them."""
    return (
        isinstance(history, list)
        and len(history) > 0
        and all(isinstance(epoch, dict) and "epoch" in epoch for epoch in history)
    )


def read_history(history):
    """Return the epochs' numbers, and what was recorded in them.

    Parameters
    ----------
    history : list of dict
        An entry an epoch, with ``"epoch"`` and numbers by name.

    Returns
    -------
    epochs : ndarray of int, shape (n_epochs,)
    curves : dict of str to ndarray of shape (n_epochs,)
        NaN where an epoch lacks a number.

    Examples
    --------
    >>> history = [{"epoch": 1, "train_loss": 0.5, "dur": 1.0}, {"epoch": 2}]
    >>> epochs, curves = read_history(history)
    >>> epochs.tolist(), {name: curve.tolist() for name, curve in curves.items()}
    ([1, 2], {'train_loss': [0.5, nan]})
    """
    names = dict.fromkeys(
        name
        for epoch in history
        for name, value in epoch.items()
        if _is_number(value) and not _is_aside(name)
    )
    curves = {
        name: np.array([float(epoch.get(name, np.nan)) for epoch in history])
        for name in names
    }
    return np.array([int(epoch["epoch"]) for epoch in history]), curves


def _is_number(value):
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def _is_aside(name):
    return name in ("epoch", "dur") or name.endswith(("_best", "_batch_count"))


def kind_of(name):
    """Return which kind of curve a name stands for, one of KINDS.

    Examples
    --------
    >>> [kind_of(name) for name in ("valid_loss", "valid_acc", "train_forward", "lr")]
    ['loss', 'score', 'perplexity', 'learning rate']
    """
    if name in _RATES:
        return RATE
    if name.endswith("loss"):
        return LOSS
    return PERPLEXITY if name.endswith(_PERPLEXITIES) else SCORE


def told_name(name):
    """Return what a curve is called in a picture.

    Examples
    --------
    >>> [told_name(name) for name in ("valid_loss", "valid_acc", "train_forward")]
    ['held out', 'held out, accuracy', 'training, forward']
    """
    if name in _RATES:
        return RATE
    part, _, rest = name.partition("_")
    if part not in _PARTS:
        return name
    rest = _NAMES.get(rest, rest.replace("_", " "))
    return f"{_PARTS[part]}, {rest}" if rest else _PARTS[part]


def is_held_out(name):
    """Tell whether a curve is about held-out data."""
    return name.partition("_")[0] in ("valid", "validation")


def best_epoch(epochs, curves):
    """Return the first epoch with the best held-out score, loss or perplexity.

    Parameters
    ----------
    epochs : ndarray of int, shape (n_epochs,)
    curves : dict of str to ndarray of shape (n_epochs,)

    Returns
    -------
    int or None
        None without such a curve.
    """
    for names, best in ((_HIGHER, np.nanargmax), (_LOWER, np.nanargmin)):
        for name in names:
            if name in curves and not np.isnan(curves[name]).all():
                return int(epochs[best(curves[name])])
    return None
