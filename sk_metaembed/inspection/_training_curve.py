"""TrainingCurveDisplay: losses, scores and learning rates, epoch by epoch."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..sequences._pipeline_steps import parallel_branches, unwrap_fitted
from ._display import BaseDisplay, draw_legend
from ._style import point_style

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

LOSS, SCORE, PERPLEXITY, RATE = "loss", "score", "perplexity", "learning rate"
KINDS = (LOSS, SCORE, PERPLEXITY, RATE)

_RATE_NAMES = ("lr", "event_lr")
_PERPLEXITY_ENDINGS = ("perplexity", "forward", "backward")
# Curves that determine the best epoch: the first one that is there.
_MAXIMIZED = ("valid_acc", "valid_f1", "validation_score")
_MINIMIZED = ("valid_loss", "valid_perplexity")
_PART_LABELS = {"train": "training", "valid": "held out", "validation": "held out"}
_MEASURE_LABELS = {
    "acc": "accuracy",
    "f1": "F1",
    "loss": "",
    "perplexity": "",
    "score": "score",
}


def find_record(estimator):
    """Return epochs (n_epochs,) and curves {name: (n_epochs,)} of a fitted estimator.

    Both are None if it has no record of its training.
    """
    estimator = unwrap_fitted(estimator)
    for _, step in reversed(getattr(estimator, "steps", ())):
        epochs, curves = find_record(step)
        if curves:
            return epochs, curves
    branches = {name: branch for name, branch, _ in parallel_branches(estimator)}
    records = {name: find_record(part) for name, part in branches.items()}
    records = {name: record for name, record in records.items() if record[1]}
    if len(records) > 1:
        raise ValueError(
            f"several branches of {type(estimator).__name__} recorded their "
            f"training: {list(records)}. Pass the fitted branch itself."
        )
    if records:
        return next(iter(records.values()))
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
    """Return whether an object is a list of epochs, as in skorch's history."""
    return (
        isinstance(history, list)
        and len(history) > 0
        and all(isinstance(epoch, dict) and "epoch" in epoch for epoch in history)
    )


def read_history(history):
    """Return epochs (n_epochs,) and curves {name: (n_epochs,)} from a list of dicts.

    >>> history = [{"epoch": 1, "train_loss": 0.5, "dur": 1.0}, {"epoch": 2}]
    >>> epochs, curves = read_history(history)
    >>> epochs.tolist(), {name: curve.tolist() for name, curve in curves.items()}
    ([1, 2], {'train_loss': [0.5, nan]})
    """
    names = dict.fromkeys(
        name
        for epoch in history
        for name, value in epoch.items()
        if _is_number(value) and not _is_bookkeeping(name)
    )
    curves = {
        name: np.array([float(epoch.get(name, np.nan)) for epoch in history])
        for name in names
    }
    return np.array([int(epoch["epoch"]) for epoch in history]), curves


def _is_number(value):
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def _is_bookkeeping(name):
    return name in ("epoch", "dur") or name.endswith(("_best", "_batch_count"))


def curve_kind(name):
    """Return the kind of a curve, one of KINDS.

    >>> names = "valid_loss", "valid_acc", "train_forward", "lr"
    >>> [curve_kind(name) for name in names]
    ['loss', 'score', 'perplexity', 'learning rate']
    """
    if name in _RATE_NAMES:
        return RATE
    if name.endswith("loss"):
        return LOSS
    return PERPLEXITY if name.endswith(_PERPLEXITY_ENDINGS) else SCORE


def curve_name(name):
    """Return the name of a curve in a picture.

    >>> [curve_name(name) for name in ("valid_loss", "valid_acc", "train_forward")]
    ['held out', 'held out, accuracy', 'training, forward']
    """
    if name in _RATE_NAMES:
        return RATE
    part, _, rest = name.partition("_")
    if part not in _PART_LABELS:
        return name
    rest = _MEASURE_LABELS.get(rest, rest.replace("_", " "))
    return f"{_PART_LABELS[part]}, {rest}" if rest else _PART_LABELS[part]


def is_held_out(name):
    """Return whether a curve is one of held-out data."""
    return name.partition("_")[0] in ("valid", "validation")


def best_epoch(epochs, curves):
    """Return the first epoch with the best held-out score, loss or perplexity."""
    for names, best in ((_MAXIMIZED, np.nanargmax), (_MINIMIZED, np.nanargmin)):
        for name in names:
            if name in curves and not np.isnan(curves[name]).all():
                return int(epochs[best(curves[name])])
    return None


class TrainingCurveDisplay(BaseDisplay):
    """Losses, held-out scores, perplexity and learning rate, epoch by epoch.

    Shows whether training has converged, whether it overfits and when it ended. Create
    a display with `from_estimator`, from any estimator that records its epochs: the
    ``Dynamic*`` estimators, `ElmoLanguageModel`, `AutoencodedMetaEmbedding` and
    `OneToNMetaEmbedding`, scikit-learn's neural networks; or with `from_history`.

    Parameters
    ----------
    curves : dict of str to ndarray of shape (n_epochs,)
        Curves by name, such as "train_loss", "valid_acc" or "lr"; NaN for missing
        values. Names that end in "loss" are losses, in "perplexity", "forward" or
        "backward" perplexities; "lr" and "event_lr" are learning rates, all others
        scores.
    epochs : ndarray of int, shape (n_epochs,)
        Numbers of the epochs.
    best_epoch : int, default=None
        Epoch to mark. None marks no epoch.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The first panel.
    axes_ : ndarray of matplotlib Axes, shape (n_kinds,)
        One panel each for losses, scores, perplexities and learning rates, if there are
        any.
    figure_ : matplotlib Figure
    lines_ : dict of str to matplotlib Line2D
        Lines by name of the curve.

    See Also
    --------
    GridSearchDisplay : Scores of many candidates.

    Notes
    -----
    The best epoch is the first with the highest held-out accuracy or F1, or else with
    the lowest held-out loss or perplexity. Early stopping keeps weights of about this
    epoch: it requires a minimum improvement.

    Training losses are means over an epoch, with dropout and changing weights; held-out
    losses are computed at its end and can therefore be lower.

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

    The record of a fitted estimator:

    >>> from sklearn.neural_network import MLPClassifier
    >>> mlp = MLPClassifier(2, solver="sgd")
    >>> for _ in range(2):
    ...     _ = mlp.partial_fit([[0.0], [1.0]], [0, 1], classes=[0, 1])
    >>> TrainingCurveDisplay.from_estimator(mlp).epochs
    array([1, 2])
    """

    def __init__(
        self,
        curves: Mapping[str, NDArray[np.float64]],
        *,
        epochs: NDArray[np.int64],
        best_epoch: int | None = None,
    ) -> None:
        self.curves = curves
        self.epochs = epochs
        self.best_epoch = best_epoch

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **plot_kw: Any) -> Self:
        """Show the record of a fitted estimator, without training or scoring again.

        An estimator fitted by ``partial_fit`` has one epoch per call.

        Parameters
        ----------
        estimator : fitted estimator
            With ``history_`` or ``loss_curve_``; or a Pipeline (its last such step is
            used), a search (its ``best_estimator_``), or a ColumnTransformer or
            FeatureUnion with one such branch.
        ax : matplotlib Axes or array-like of them, default=None
            As for `plot`.
        **plot_kw
            Passed to `plot`.

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
        epochs, curves = find_record(estimator)
        if not curves:
            raise TypeError(
                "requires an estimator that has recorded its epochs in "
                "history_ or loss_curve_, such as a fitted DynamicMetaEmbedding; got "
                f"{type(estimator).__name__}."
            )
        display = cls(curves, epochs=epochs, best_epoch=best_epoch(epochs, curves))
        return display.plot(ax, **plot_kw)

    @classmethod
    def from_history(
        cls, history: list[dict[str, Any]], *, ax: Any = None, **plot_kw: Any
    ) -> Self:
        """Show a list of epochs, such as a record saved as JSON.

        Parameters
        ----------
        history : list of dict
            One entry per epoch, as in skorch's history: ``"epoch"``, and numbers by
            name.
        ax : matplotlib Axes or array-like of them, default=None
            As for `plot`.
        **plot_kw
            Passed to `plot`.

        Returns
        -------
        TrainingCurveDisplay
            Plotted.

        Raises
        ------
        TypeError
            If `history` is not a list of epochs.
        ValueError
            If it contains no numbers.
        """
        if not is_history(history):
            raise TypeError(
                "from_history requires a list of dicts, one per epoch, each with "
                f"'epoch'; got {type(history).__name__}."
            )
        epochs, curves = read_history(history)
        if not curves:
            raise ValueError("the epochs of the history have no numbers.")
        display = cls(curves, epochs=epochs, best_epoch=best_epoch(epochs, curves))
        return display.plot(ax, **plot_kw)

    def plot(
        self,
        ax: Any = None,
        *,
        curves: Sequence[str] | None = None,
        n_cols: int = 3,
        line_kw: Mapping[str, Any] | None = None,
    ) -> Self:
        """Draw one panel per kind of curve.

        Held-out curves are dashed.

        Parameters
        ----------
        ax : matplotlib Axes or array-like of them, default=None
            One axes per panel, or a single one, which is replaced by a grid of panels.
            None creates a figure.
        curves : sequence of str, default=None
            Names of the curves to draw. None draws all.
        n_cols : int, default=3
            Maximum number of panels in a row.
        line_kw : dict, default=None
            Passed to ``Axes.plot``.

        Returns
        -------
        TrainingCurveDisplay
            With `ax_`, `axes_`, `figure_` and `lines_` set.

        Raises
        ------
        ValueError
            If a name is not one of the curves.
        """
        kinds = self._kinds(curves)
        size = (5.0, 3.6) if len(kinds) == 1 else (3.7, 3.4)
        self._make_panels(ax, len(kinds), n_cols, size)
        self.lines_: dict[str, Any] = {}
        for panel, (kind, names) in zip(self.axes_, kinds.items(), strict=True):
            self._draw(panel, kind, names, dict(line_kw or {}))
        return self

    def _kinds(self, names):
        """Return the names of the selected curves by kind."""
        names = list(self.curves if names is None else names)
        invalid = [name for name in names if name not in self.curves]
        if invalid or not names:
            received = repr(invalid[0]) if invalid else "none"
            raise ValueError(
                f"curves must be some of {list(self.curves)}; got {received}."
            )
        kinds = {kind: [n for n in names if curve_kind(n) == kind] for kind in KINDS}
        return {kind: members for kind, members in kinds.items() if members}

    def _draw(self, ax, kind, names, line_kw):
        from matplotlib.ticker import MaxNLocator

        n_of_part = {True: 0, False: 0}
        for name in names:
            # Even styles are for training, odd ones for held-out data, in each panel.
            held_out = is_held_out(name)
            style = _line_style(name, 2 * n_of_part[held_out] + held_out)
            n_of_part[held_out] += 1
            style |= {"label": _label(kind, name, names)} | line_kw
            self.lines_[name] = ax.plot(self.epochs, self.curves[name], **style)[0]
        if kind != RATE and self.best_epoch is not None:
            label = f"best: epoch {self.best_epoch}"
            ax.axvline(self.best_epoch, label=label, **_BEST)
        if kind in (PERPLEXITY, RATE) and _needs_log_scale(
            self.curves[n] for n in names
        ):
            ax.set_yscale("log")
        ax.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True, min_n_ticks=1))
        ax.set(xlabel="epoch", ylabel=_axis_name(kind, names))
        ax.spines[["top", "right"]].set_visible(False)
        if kind != RATE:
            style = {"fontsize": "small", "columnspacing": 1.0, "handletextpad": 0.5}
            handles = ax.get_legend_handles_labels()
            draw_legend(ax, *handles, place="above", ncols=2, **style)

    def frame(self) -> pd.DataFrame:
        """Return the curves as a table, without drawing.

        Returns
        -------
        pandas.DataFrame
            One row per epoch: ``epoch``, and one column per curve.
        """
        import pandas as pd

        return pd.DataFrame({"epoch": self.epochs, **self.curves})


_BEST = {"color": "black", "linestyle": ":", "linewidth": 1, "zorder": 0.5}


def _line_style(name, number):
    """Return color and marker by number, and dashes for held-out data."""
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
    """Return what a score measures, such as "accuracy"."""
    return curve_name(name).rpartition(", ")[2]


def _label(kind, name, names):
    """Return the legend's label, without the measure if the axis label has it."""
    label = curve_name(name)
    one = kind == SCORE and len({_measure(other) for other in names}) == 1
    return label.partition(", ")[0] if one else label


def _axis_name(kind, names):
    if kind != SCORE:
        return kind
    measures = {_measure(name) for name in names}
    return measures.pop() if len(measures) == 1 else "score"


def _needs_log_scale(curves):
    """Return whether curves are positive and span a factor of 3 or more."""
    values = np.concatenate(list(curves))
    values = values[np.isfinite(values)]
    return len(values) > 0 and values.min() > 0 and values.max() >= 3 * values.min()
