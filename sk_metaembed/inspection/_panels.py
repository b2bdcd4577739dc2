"""Panels side by side in one figure: axes, and points that coincide."""

import numpy as np

from ._label_placement import FreeSpace, label_points, set_limits
from ._style import make_axes, point_style, without_math

_MARKER_AREA = 44  # points squared
_GROWTH = 1.4  # of a marker's area per marker on top of it
_MAX_LABELS = 3  # written at one spot
_MARGIN = 1.5  # points around a marker
_MAX_GAP = 34  # points from a marker to its label
_LEGEND_ROWS = 12  # per column


def panel_axes(ax, n, n_cols, size, caller):
    """Return n Axes (n,): those given, or a grid that replaces a single one.

    `size` is the width and height of one panel of a new figure in inches.
    """
    if ax is not None and not hasattr(ax, "get_subplotspec"):
        axes = np.asarray(ax, dtype=object).ravel()
        if len(axes) != n:
            raise ValueError(
                f"{caller}: got {len(axes)} axes for {n} panels. Pass one axes per "
                "panel, or a single one, which is divided."
            )
        return axes
    n_cols = min(n, n_cols)
    n_rows = -(-n // n_cols)
    # A new figure gets one axes too, which is divided as a given one.
    whole = make_axes(ax, (size[0] * n_cols, size[1] * n_rows), caller)
    if n == 1:
        return np.array([whole], dtype=object)
    spec = whole.get_subplotspec()
    if spec is None:
        raise ValueError(
            f"{caller}: axes placed by hand cannot be divided into {n} panels. Create "
            f"the axes with plt.subplots, or pass {n} axes."
        )
    figure, grid = whole.figure, spec.subgridspec(n_rows, n_cols)
    if ax is None:
        whole.remove()
    else:
        whole.set_axis_off()
    cells = (grid[number // n_cols, number % n_cols] for number in range(n))
    return np.array([figure.add_subplot(cell) for cell in cells], dtype=object)


def group_by_spot(positions):
    """Return the first point per spot (n_spots,) and the spot of each point (n,)."""
    _, first, members = np.unique(
        positions, axis=0, return_index=True, return_inverse=True
    )
    order = np.argsort(first)
    rank = np.argsort(order)
    return first[order], rank[members.ravel()]


def marker_sizes(positions, groups):
    """Return marker areas (n,) with which no marker hides one of another group."""
    members = group_by_spot(positions)[1]
    occupied = np.zeros((members.max() + 1, groups.max() + 1), dtype=bool)
    occupied[members, groups] = True
    # Groups are drawn in order: later ones are on top.
    above = occupied.sum(axis=1, keepdims=True) - occupied.cumsum(axis=1)
    return _MARKER_AREA * (1 + _GROWTH * above[members, groups])


def draw_points(ax, positions, groups, names, scatter_kw):
    """Draw one PathCollection per group; markers below others are larger."""
    sizes = marker_sizes(positions, groups)
    points = []
    for number, name in enumerate(names):
        own = groups == number
        style = {"zorder": 2, "label": str(name), **point_style(number)}
        style["s"] = sizes[own]
        points.append(ax.scatter(*positions[own].T, **style | scatter_kw))
    return points


def spot_labels(labels, members):
    """Return the text of each spot: the labels of its points, or the first of many."""
    texts = []
    for spot in range(members.max() + 1):
        own = [label for label, at in zip(labels, members, strict=True) if at == spot]
        more = len(own) - _MAX_LABELS
        if more > 1:
            own = [*own[:_MAX_LABELS], f"and {more} more"]
        texts.append("\n".join(own))
    return texts


def coincidence_text(positions):
    """Return the numbers of points and spots as text, empty if no points coincide."""
    n, n_spots = len(positions), len(group_by_spot(positions)[0])
    if n_spots == 1 < n:
        return f"all {n} occurrences coincide"
    return f"{n} occurrences at {n_spots} spots" if n_spots < n else ""


def axis_labels(projector, shares, number):
    """Return the labels of a panel's axes, with shares of the variance if known."""
    names = [f"{projector} {axis}" for axis in (1, 2)]
    if shares is None:
        return names
    notes = [f"{share:.0%} of the variance" for share in shares[number]]
    if not np.any(shares[number]):
        notes = ["no variance"] * 2
    return [": ".join(pair) for pair in zip(names, notes, strict=True)]


def outside_legend(axes, whole):
    """Draw a legend to the right of a row of panels, or of the figure if `whole`."""
    handles, names = axes[-1].get_legend_handles_labels()
    style = {"frameon": False, "ncols": -(-len(names) // _LEGEND_ROWS)}
    if whole:
        legend = axes[-1].figure.legend(
            handles, names, loc="outside right upper", **style
        )
    else:
        style |= {"loc": "upper left", "bbox_to_anchor": (1.01, 1)}
        legend = axes[-1].legend(handles, names, **style)
    for handle in legend.legend_handles:
        handle.set_sizes([_MARKER_AREA])
    return without_math(legend)


def place_labels(axes, positions, groups, labels, text_kw):
    """Set the limits of panels and write one label per spot, None where none fits."""
    style = {"fontsize": "small"} | dict(text_kw or {})
    axes[0].figure.canvas.figure.draw_without_rendering()
    for ax, points in zip(axes, positions, strict=True):
        set_limits(ax, points)
    axes[0].figure.canvas.figure.draw_without_rendering()
    if not len(labels):
        return [[] for _ in axes]
    annotations = []
    for ax, points in zip(axes, positions, strict=True):
        first, members = group_by_spot(points)
        largest = np.zeros(len(first))
        np.maximum.at(largest, members, marker_sizes(points, groups))
        space = FreeSpace(ax, points[first], [], np.sqrt(largest) + _MARGIN)
        texts = spot_labels(labels, members)
        annotations.append(label_points(space, texts, style, max_gap=_MAX_GAP))
    return annotations
