"""Base class of the displays, and the legends and bars that they share."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core._errors import NamedErrorsMixin
from ._style import bar_style

_BAR_LABEL = {
    "fontsize": "small",
    "bbox": {"facecolor": "white", "edgecolor": "none", "pad": 1},
}


class BaseDisplay(NamedErrorsMixin):
    """Base class of the displays: a subclass stores arrays and has `plot`."""

    ax_: Any
    figure_: Any

    def _make_axes(self, ax, size):
        """Return `ax`, or the axes of a new figure of `size` (width, height) in inches.

        They are stored as `ax_`, and their figure as `figure_`.
        """
        if ax is None:
            try:
                import matplotlib.pyplot as plt
            except ImportError as error:
                raise ImportError(
                    "Displays require matplotlib: pip install 'sk_metaembed[plot]'."
                ) from error
            ax = plt.figure(figsize=size, layout="constrained").add_subplot()
        self.ax_, self.figure_ = ax, ax.figure
        return ax


def draw_legend(ax, handles, names, **style):
    """Draw a legend to the right of axes; dollar signs do not mark formulas."""
    place = {"loc": "upper left", "bbox_to_anchor": (1.01, 1), "frameon": False}
    legend = ax.legend(handles, names, **place | style)
    for text in legend.get_texts():
        text.set_parse_math(False)
    return legend


def draw_bars(ax, values, numbers, names, rows, bar_kw):
    """Draw groups of horizontal bars, and return a BarContainer per column.

    `values` and `numbers`, the text at each bar, have shape (n_groups, n_columns).
    `names` are the names of the columns, `rows` the names of the groups from the top.
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
