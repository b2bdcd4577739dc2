"""Bars of mean weights, by group and source, and what tells the sources apart."""

import numpy as np

from ._drawing import as_written, bar_style

# The line runs behind the bars, and the numbers cover it.
_EVEN = {
    "label": "even share",
    "color": "black",
    "linestyle": "--",
    "linewidth": 1,
    "zorder": 0.5,
}
_LABEL = {
    "fontsize": "small",
    "bbox": {"facecolor": "white", "edgecolor": "none", "pad": 1},
}


def draw_bars(ax, weights, sources, groups, largest, bar_kw):
    """Draw one estimator's bars.

    Parameters
    ----------
    ax : matplotlib Axes
    weights : ndarray of shape (n_groups, n_sources)
    sources, groups : sequence of str
    largest : float
        The largest weight of any panel, for a scale that all share.
    bar_kw : dict
        For ``Axes.barh``.

    Returns
    -------
    list of matplotlib BarContainer
        One a source.
    """
    n_sources = len(sources)
    height = 0.84 / n_sources
    rows = np.arange(len(weights))
    drawn, seen = [], np.nansum(weights, axis=1) > 0
    for number, name in enumerate(sources):
        places = rows + (number - (n_sources - 1) / 2) * height
        style = {"height": height, "label": name, **bar_style(number)}
        bars = ax.barh(places, weights[:, number], **style | bar_kw)
        numbers = [
            f"{w:.2f}" if shown and not np.isnan(w) else ""
            for w, shown in zip(weights[:, number], seen, strict=True)
        ]
        ax.bar_label(bars, numbers, padding=3, **_LABEL)
        drawn.append(bars)
    has = ~np.isnan(weights).all(axis=0)
    if np.allclose(np.nansum(weights[seen], axis=1), 1, atol=1e-3):
        ax.axvline(1 / has.sum(), **_EVEN)
        largest = max(largest, 1 / has.sum())
    ax.set_xlim(0, 1.12 * largest if largest > 0 else 1)
    empty = ["" if shown else "\n(no known words)" for shown in seen]
    names = [f"{name}{note}" for name, note in zip(groups, empty, strict=True)]
    ax.set_yticks(rows, names, parse_math=False)
    ax.set_ylim(len(rows) - 0.5, -0.5)  # the first group on top
    ax.set_xlabel("mean attention weight")
    ax.spines[["top", "right"]].set_visible(False)
    return drawn


def bars_legend(ax, bars, sources):
    """Say beside a panel, where neither bars nor a title can be, what bars mean."""
    lines = [line for line in ax.lines if line.get_label() == _EVEN["label"]]
    names = [*sources, *(line.get_label() for line in lines)]
    beside = {"loc": "upper left", "bbox_to_anchor": (1.01, 1)}
    legend = ax.legend(
        [*bars, *lines], names, frameon=False, handleheight=1.2, **beside
    )
    return as_written(legend)
