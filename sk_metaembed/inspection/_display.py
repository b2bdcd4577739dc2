"""Axes, legends and bars shared by all displays."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core._named_errors import NamedErrorsMixin
from ._style import bar_style, point_style

_BAR_LABEL = {
    "fontsize": "small",
    "bbox": {"facecolor": "white", "edgecolor": "none", "pad": 1},
}
_PLACES: dict[str, dict[str, Any]] = {
    "right": {"loc": "upper left", "bbox_to_anchor": (1.01, 1)},
    "above": {"loc": "lower left", "bbox_to_anchor": (0, 1.0)},
}


class BaseDisplay(NamedErrorsMixin):
    """Base class of the displays: a subclass stores arrays and has `plot`."""

    ax_: Any
    figure_: Any
    axes_: Any

    def _make_axes(self, ax, size):
        """Return `ax`, or the axes of a new figure of `size` (width, height), inches.

        They are stored as `ax_`, and their figure as `figure_`.
        """
        if ax is None:
            try:
                import matplotlib.pyplot as plt
            except ImportError as error:
                raise ImportError(
                    f"{type(self).__name__}.plot requires matplotlib: pip install "
                    "'sk_metaembed[plot]'."
                ) from error
            ax = plt.subplots(figsize=size, layout="constrained")[1]
        self.ax_, self.figure_ = ax, ax.figure
        return ax

    def _make_panels(self, ax, n, n_cols, size):
        """Return n Axes (n,): those given, or a grid that replaces a single one.

        `size` is the width and height of one panel of a new figure in inches. They are
        stored as `axes_`, the first as `ax_`, and their figure as `figure_`.
        """
        if n_cols < 1:
            raise ValueError(f"n_cols must be 1 or more; got {n_cols}.")
        if ax is not None and not hasattr(ax, "get_subplotspec"):
            axes = np.asarray(ax, dtype=object).ravel()
            if len(axes) != n:
                raise ValueError(
                    f"got {len(axes)} axes for {n} panels. Pass one axes per "
                    "panel, or a single one, which is divided."
                )
        else:
            axes = self._divide(ax, n, min(n, n_cols), size)
        self.axes_, self.ax_, self.figure_ = axes, axes[0], axes[0].figure
        return axes

    def _divide(self, ax, n, n_cols, size):
        n_rows = -(-n // n_cols)
        # A new figure gets one axes too, which is divided as a given one.
        whole = self._make_axes(ax, (size[0] * n_cols, size[1] * n_rows))
        if n == 1:
            return np.array([whole], dtype=object)
        spec = whole.get_subplotspec()
        if spec is None:
            raise ValueError(
                f"axes placed by hand cannot be divided into "
                f"{n} panels. Create the axes with plt.subplots, or pass {n} axes."
            )
        figure, grid = whole.figure, spec.subgridspec(n_rows, n_cols)
        if ax is None:
            whole.remove()
        else:
            whole.set_axis_off()
        cells = (grid[number // n_cols, number % n_cols] for number in range(n))
        return np.array([figure.add_subplot(cell) for cell in cells], dtype=object)


def draw_legend(ax, handles, names, *, place="right", **style):
    """Draw a legend outside of axes, in which dollar signs do not mark formulas."""
    legend = ax.legend(handles, names, frameon=False, **_PLACES[place] | style)
    for text in [legend.get_title(), *legend.get_texts()]:
        text.set_parse_math(False)
    return legend


def draw_wide_legend(ax, handles, names):
    """Draw a legend above axes, with as many rows as needed to fit their width."""
    style = {"borderaxespad": 0.3, "columnspacing": 1.2, "handletextpad": 0.3}
    for n_cols in range(len(names), 0, -1):
        legend = draw_legend(ax, handles, names, place="above", ncols=n_cols, **style)
        # Inside the layout the legend would make the axes narrower.
        legend.set_in_layout(False)
        ax.figure.canvas.figure.draw_without_rendering()
        if legend.get_window_extent().width <= ax.bbox.width:
            break
    legend.set_in_layout(True)
    return legend


def marker_handles(n):
    """Return handles of a legend with the first n colors and markers."""
    from matplotlib.lines import Line2D

    handles = []
    for number in range(n):
        style = point_style(number)
        marker = {"marker": style["marker"], "markerfacecolor": style["color"]}
        marker |= {"linestyle": "", "markeredgecolor": "black", "markersize": 7}
        handles.append(Line2D([], [], **marker))
    return handles


def draw_bars(ax, values, numbers, names, rows, bar_kw):
    """Draw groups of horizontal bars, and return a BarContainer per column.

    `values` and `numbers`, the text at each bar, have a row per group, (n, n_columns).
    `names` are those of the columns, `rows` those of the groups; the first is on top.
    """
    n, n_columns = values.shape
    height = 0.84 / n_columns
    containers = []
    for number, name in enumerate(names):
        y = np.arange(n) + (number - (n_columns - 1) / 2) * height
        style = {"height": height, "label": str(name), **bar_style(number)}
        bars = ax.barh(y, values[:, number], **style | bar_kw)
        texts = [row[number] for row in numbers]
        ax.bar_label(bars, texts, padding=3, **_BAR_LABEL)
        containers.append(bars)
    ax.set_yticks(range(n), rows, parse_math=False)
    ax.set_ylim(n - 0.5, -0.5)
    ax.spines[["top", "right"]].set_visible(False)
    return containers


def set_limits(ax, positions):
    """Set limits of axes that are laid out: equal scales, and a margin for labels."""
    size = np.array([ax.bbox.width, ax.bbox.height])
    low, high = positions.min(axis=0), positions.max(axis=0)
    # A quarter of a side stays free, an eighth at each end.
    scale = ((high - low) / (0.75 * size)).max() or 1 / size.max()
    half = scale * size / 2
    (x0, y0), (x1, y1) = (low + high) / 2 - half, (low + high) / 2 + half
    ax.set(xlim=(x0, x1), ylim=(y0, y1))
    ax.set_aspect("equal", adjustable="box")
