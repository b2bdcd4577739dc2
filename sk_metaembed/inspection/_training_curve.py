"""TrainingCurveDisplay: what training did, epoch by epoch.

What estimators recorded epoch by epoch, as curves of one kind or another.
"""

from numbers import Real

import numpy as np

from ..sequences._find_step import parallel_branches, unwrap_fitted
from ._panels import panel_axes
from ._style import point_style

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


def recorded_by(estimator, caller):
    """Return the step that recorded its training, and what: epochs and curves.

    Parameters
    ----------
    estimator : fitted estimator, Pipeline, search or ColumnTransformer
    caller : str
        Begins the error messages.

    Returns
    -------
    epochs : ndarray of int, shape (n_epochs,)
    curves : dict of str to ndarray of shape (n_epochs,)
        None, None if there is nothing.
    """
    estimator = unwrap_fitted(estimator, caller)
    for _, step in reversed(getattr(estimator, "steps", ())):
        epochs, curves = recorded_by(step, caller)
        if curves:
            return epochs, curves
    parts = {name: part for name, part, _ in parallel_branches(estimator)}
    found = {name: recorded_by(part, caller) for name, part in parts.items()}
    found = {name: record for name, record in found.items() if record[1]}
    if len(found) > 1:
        raise ValueError(
            f"{caller}: several branches of {type(estimator).__name__} recorded their "
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


class TrainingCurveDisplay:
    """Losses, held-out score, perplexity and learning rate, epoch by epoch.

    Shows whether training has converged, whether it overfits and when it ended. Make
    one with `from_estimator`, from anything that has recorded its epochs: the
    `Dynamic*` estimators, `ElmoLanguageModel`, `AutoencodedMetaEmbedding` and
    `OneToNMetaEmbedding`, scikit-learn's neural networks; or with `from_history`.

    Parameters
    ----------
    curves : dict of str to ndarray of shape (n_epochs,)
        By name, such as "train_loss", "valid_acc" or "lr"; NaN where an epoch has
        none. A name that ends in "loss", "perplexity", "forward" or "backward", and
        "lr" and "event_lr", tell the kind; all else is a score.
    epochs : ndarray of int, shape (n_epochs,)
        Numbers of the epochs.
    best_epoch : int, default=None
        Is marked. None marks none.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The first panel that `plot` drew.
    axes_ : ndarray of matplotlib Axes, shape (n_kinds,)
        A panel each for losses, scores, perplexities and learning rate, as far as
        there are such curves.
    figure_ : matplotlib Figure
    lines_ : dict of str to matplotlib Line2D
        By the curves' names.

    See Also
    --------
    GridSearchDisplay : Scores of many candidates.

    Notes
    -----
    The best epoch is the first one with the highest held-out accuracy or F1, or else
    the lowest held-out loss or perplexity. Training with early stopping ends with
    about these weights: it counts only a gain of some size as better.

    Training losses are those with dropout while the weights change, means over an
    epoch; held-out ones are taken at its end, so that they may well be lower.

    Examples
    --------
    >>> from sk_metaembed.inspection import TrainingCurveDisplay
    >>> history = [
    ...     {"epoch": 1, "train_loss": 0.7, "valid_loss": 0.6, "valid_acc": 0.65},
    ...     {"epoch": 2, "train_loss": 0.5, "valid_loss": 0.4, "valid_acc": 0.80},
    ...     {"epoch": 3, "train_loss": 0.3, "valid_loss": 0.5, "valid_acc": 0.78},
    ... ]
    >>> display = TrainingCurveDisplay.from_history(history)
    >>> display.best_epoch
    2
    >>> display.frame()
       epoch  train_loss  valid_loss  valid_acc
    0      1         0.7         0.6       0.65
    1      2         0.5         0.4       0.80
    2      3         0.3         0.5       0.78
    """

    def __init__(self, curves, *, epochs, best_epoch=None):
        self.curves = curves
        self.epochs = epochs
        self.best_epoch = best_epoch

    @classmethod
    def from_estimator(cls, estimator, *, ax=None, **plot_kw):
        """Show what a fitted estimator recorded.

        Nothing is trained or scored again: what was recorded is shown. An estimator
        fitted by ``partial_fit`` has an epoch a call.

        Parameters
        ----------
        estimator : fitted estimator
            With ``history_`` or ``loss_curve_``. Of a Pipeline the last step that has
            one is taken, of a search its ``best_estimator_``, of a ColumnTransformer
            or FeatureUnion the branch that has one.
        ax : matplotlib Axes or array-like of them, default=None
            Where to draw, as for `plot`.
        **plot_kw
            Passed on to `plot`.

        Returns
        -------
        TrainingCurveDisplay
            Plotted.

        Raises
        ------
        TypeError
            If there is no record of epochs.
        ValueError
            If several branches have one.
        """
        epochs, curves = recorded_by(estimator, cls.__name__)
        if not curves:
            raise TypeError(
                f"{cls.__name__} needs an estimator that has recorded its epochs as "
                "history_ or loss_curve_, such as a fitted DynamicMetaEmbedding; got "
                f"{type(estimator).__name__}."
            )
        display = cls(curves, epochs=epochs, best_epoch=best_epoch(epochs, curves))
        return display.plot(ax, **plot_kw)

    @classmethod
    def from_history(cls, history, *, ax=None, **plot_kw):
        """Show a list of epochs.

        For a record that was kept without its estimator, for example as JSON, or one
        that is not finished yet.

        Parameters
        ----------
        history : list of dict
            An entry an epoch, as in skorch's history: ``"epoch"``, and numbers by
            name.
        ax : matplotlib Axes or array-like of them, default=None
            Where to draw, as for `plot`.
        **plot_kw
            Passed on to `plot`.

        Returns
        -------
        TrainingCurveDisplay
            Plotted.

        Raises
        ------
        TypeError
            If it is something else.
        ValueError
            If no numbers are recorded in it.
        """
        caller = f"{cls.__name__}.from_history"
        if not is_history(history):
            raise TypeError(
                f"{caller} takes a list of dicts, one an epoch, each with 'epoch'; got "
                f"{type(history).__name__}."
            )
        epochs, curves = read_history(history)
        if not curves:
            raise ValueError(f"{caller}: there is no number in the history's epochs.")
        display = cls(curves, epochs=epochs, best_epoch=best_epoch(epochs, curves))
        return display.plot(ax, **plot_kw)

    def plot(self, ax=None, *, curves=None, n_cols=3, line_kw=None):
        """Draw one panel a kind of curve.

        Losses, scores, perplexities and the learning rate have different units, and a
        panel each. Held-out curves are dashed.

        Parameters
        ----------
        ax : matplotlib Axes or array-like of them, default=None
            Where to draw: an axes a panel, or a single one, in whose place stands a
            grid of panels. None makes a figure.
        curves : sequence of str, default=None
            Names of the curves to draw. None draws all.
        n_cols : int, default=3
            Panels in a row, at most.
        line_kw : dict, default=None
            Passed on to ``Axes.plot``.

        Returns
        -------
        TrainingCurveDisplay
            With `ax_`, `axes_`, `figure_` and `lines_` set.

        Raises
        ------
        ValueError
            If there is no curve of a name.
        """
        kinds = self._kinds(curves)
        caller = type(self).__name__
        size = (5.0, 3.6) if len(kinds) == 1 else (3.7, 3.4)
        self.axes_ = panel_axes(ax, len(kinds), n_cols, size, caller)
        self.ax_, self.figure_ = self.axes_[0], self.axes_[0].figure
        self.lines_ = {}
        for panel, (kind, names) in zip(self.axes_, kinds.items(), strict=True):
            self._draw(panel, kind, names, line_kw or {})
        return self

    def _kinds(self, chosen):
        """Return the names of the curves of each kind that is to be drawn."""
        chosen = list(self.curves if chosen is None else chosen)
        strange = [name for name in chosen if name not in self.curves]
        if strange or not chosen:
            came = repr(strange[0]) if strange else "none"
            raise ValueError(
                f"{type(self).__name__}: curves must be some of {list(self.curves)}, "
                f"got {came}."
            )
        found = {kind: [n for n in chosen if kind_of(n) == kind] for kind in KINDS}
        return {kind: names for kind, names in found.items() if names}

    def _draw(self, ax, kind, names, line_kw):
        from matplotlib.ticker import MaxNLocator

        n_of_part = {True: 0, False: 0}
        for name in names:
            # Even numbers are training, odd ones held out, the same in each panel.
            held_out = is_held_out(name)
            style = _line_style(name, 2 * n_of_part[held_out] + held_out)
            n_of_part[held_out] += 1
            style |= {"label": _label(kind, name, names)} | line_kw
            self.lines_[name] = ax.plot(self.epochs, self.curves[name], **style)[0]
        if kind != RATE and self.best_epoch is not None:
            told = f"best: epoch {self.best_epoch}"
            ax.axvline(self.best_epoch, label=told, **_BEST)
        if kind in (PERPLEXITY, RATE) and _spreads(self.curves[n] for n in names):
            ax.set_yscale("log")
        ax.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True, min_n_ticks=1))
        ax.set(xlabel="epoch", ylabel=_axis_name(kind, names))
        ax.spines[["top", "right"]].set_visible(False)
        if kind != RATE:
            above = {"loc": "lower left", "bbox_to_anchor": (-0.02, 1.0)}
            style = {"ncols": 2, "frameon": False, "fontsize": "small"}
            ax.legend(**above, **style, columnspacing=1.0, handletextpad=0.5)

    def frame(self):
        """Return the curves as a table.

        For a picture of one's own, or to join the records of several trainings;
        matplotlib is not needed.

        Returns
        -------
        pandas.DataFrame
            One row an epoch: ``epoch``, and a column a curve.
        """
        import pandas as pd

        return pd.DataFrame({"epoch": self.epochs, **self.curves})


_BEST = {"color": "black", "linestyle": ":", "linewidth": 1, "zorder": 0.5}


def _line_style(name, number):
    """Return colour and marker by the number, dashes for held-out data."""
    style = point_style(number)
    return {
        "color": style["color"],
        "marker": style["marker"],
        "markersize": 4.5,
        "markeredgecolor": "black",
        "markeredgewidth": 0.4,
        "linewidth": 1.4,
        "linestyle": "--" if is_held_out(name) else "-",
    }


def _measure(name):
    """Return what a score measures."""
    return told_name(name).rpartition(", ")[2]


def _label(kind, name, names):
    """Return what stands in the legend; the axis tells what there is one of."""
    told = told_name(name)
    one = kind == SCORE and len({_measure(other) for other in names}) == 1
    return told.partition(", ")[0] if one else told


def _axis_name(kind, names):
    if kind != SCORE:
        return kind
    measures = {_measure(name) for name in names}
    return measures.pop() if len(measures) == 1 else "score"


def _spreads(curves):
    """Tell whether curves are positive, and reach over a factor of 3 or more."""
    values = np.concatenate(list(curves))
    values = values[np.isfinite(values)]
    return len(values) > 0 and values.min() > 0 and values.max() >= 3 * values.min()
