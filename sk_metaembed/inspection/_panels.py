"""Panels side by side within one figure: their axes, and points that share a spot."""

import numpy as np

from ._label_placement import Room, label_points, set_limits
from ._style import make_axes, point_style, without_math

_SIZE = 44  # points squared, of a marker
_GROWTH = 1.4  # of a marker for each one that lies on it, in units of its size
_LISTED = 3  # labels written at one spot
_MARGIN = 1.5  # points around a marker
_FARTHEST = 34  # points from a marker to its label
_MOST_LINES = 12  # of a legend's column


def panel_axes(ax, n, n_cols, size, caller):
    """Return axes for n panels: the given ones, or a grid in place of a given one.

    Parameters
    ----------
    ax : matplotlib Axes, array-like of n of them, or None
        None makes a figure.
    n : int
    n_cols : int
        Panels in a row, at most.
    size : (float, float)
        Width and height of a panel of a new figure in inches.
    caller : str
        Begins the error messages.

    Returns
    -------
    ndarray of Axes, shape (n,)
    """
    if ax is not None and not hasattr(ax, "get_subplotspec"):
        axes = np.asarray(ax, dtype=object).ravel()
        if len(axes) != n:
            raise ValueError(
                f"{caller}: there are {n} panels and {len(axes)} axes. "
                "Give one axes a panel, or a single one that is divided."
            )
        return axes
    n_cols = min(n, n_cols)
    n_rows = -(-n // n_cols)
    # One axes fills a new figure; then it makes room for the panels, as a given one.
    whole = make_axes(ax, (size[0] * n_cols, size[1] * n_rows), caller)
    if n == 1:
        return np.array([whole], dtype=object)
    place = whole.get_subplotspec()
    if place is None:
        raise ValueError(
            f"{caller}: {n} panels do not fit into axes that are placed by hand. Make "
            f"them with plt.subplots, or give {n} axes."
        )
    figure, grid = whole.figure, place.subgridspec(n_rows, n_cols)
    if ax is None:
        whole.remove()
    else:
        whole.set_axis_off()
    spots = (grid[number // n_cols, number % n_cols] for number in range(n))
    return np.array([figure.add_subplot(spot) for spot in spots], dtype=object)


def group_by_spot(positions):
    """Return the distinct places of points, and which of them each point has.

    Parameters
    ----------
    positions : ndarray of shape (n, 2)

    Returns
    -------
    first : ndarray of int, shape (n_spots,)
        The first point at each, ascending.
    members : ndarray of int, shape (n,)
    """
    _, first, members = np.unique(
        positions, axis=0, return_index=True, return_inverse=True
    )
    order = np.argsort(first)
    rank = np.argsort(order)
    return first[order], rank[members.ravel()]


def marker_sizes(positions, groups):
    """Return sizes in points squared by which no marker hides that of another group.

    Parameters
    ----------
    positions : ndarray of shape (n, 2)
    groups : ndarray of int, shape (n,)

    Returns
    -------
    ndarray of shape (n,)
    """
    members = group_by_spot(positions)[1]
    there = np.zeros((members.max() + 1, groups.max() + 1), dtype=bool)
    there[members, groups] = True
    # Groups are drawn one after another: above a point lie those that come later.
    above = there.sum(axis=1, keepdims=True) - there.cumsum(axis=1)
    return _SIZE * (1 + _GROWTH * above[members, groups])


def draw_points(ax, positions, groups, names, scatter_kw):
    """Draw the points of each group; what lies below another is larger, and seen.

    Parameters
    ----------
    ax : matplotlib Axes
    positions : ndarray of shape (n, 2)
    groups : ndarray of int, shape (n,)
    names : array-like of shape (n_groups,)
        Of the groups.
    scatter_kw : dict
        For ``Axes.scatter``.

    Returns
    -------
    list of matplotlib PathCollection, one a group
    """
    sizes = marker_sizes(positions, groups)
    points = []
    for number, name in enumerate(names):
        own = groups == number
        style = {"zorder": 2, "label": str(name), **point_style(number)}
        style["s"] = sizes[own]
        points.append(ax.scatter(*positions[own].T, **style | scatter_kw))
    return points


def spot_labels(labels, members):
    """Return what to write at each spot: the labels of its points, or some of them."""
    written = []
    for spot in range(members.max() + 1):
        own = [label for label, at in zip(labels, members, strict=True) if at == spot]
        more = len(own) - _LISTED
        if more > 1:
            own = [*own[:_LISTED], f"and {more} more"]
        written.append("\n".join(own))
    return written


def coincidence_text(positions):
    """Return how many points have how many places, empty if each has its own."""
    n, n_spots = len(positions), len(group_by_spot(positions)[0])
    if n_spots == 1 < n:
        return f"all {n} occurrences coincide"
    return f"{n} occurrences at {n_spots} spots" if n_spots < n else ""


def axis_labels(projector, shares, number):
    """Return what the axes of a panel are called, with what they show if it is told.

    Parameters
    ----------
    projector : str
    shares : ndarray of shape (n_blocks, 2) or None
        Of the variance.
    number : int
        Of the panel.

    Returns
    -------
    list of two str
    """
    names = [f"{projector} {axis}" for axis in (1, 2)]
    if shares is None:
        return names
    told = [f"{share:.0%} of the variance" for share in shares[number]]
    if not np.any(shares[number]):
        told = ["no variance"] * 2
    return [": ".join(pair) for pair in zip(names, told, strict=True)]


def outside_legend(axes, whole):
    """Say beside panels, where nothing is drawn, what their markers mean.

    Parameters
    ----------
    axes : ndarray of Axes
        The panels of one row.
    whole : bool
        Whether the legend may stand beside all that the figure has.

    Returns
    -------
    matplotlib Legend
    """
    handles, names = axes[-1].get_legend_handles_labels()
    style = {"frameon": False, "ncols": -(-len(names) // _MOST_LINES)}
    if whole:
        legend = axes[-1].figure.legend(
            handles, names, loc="outside right upper", **style
        )
    else:
        style |= {"loc": "upper left", "bbox_to_anchor": (1.01, 1)}
        legend = axes[-1].legend(handles, names, **style)
    for handle in legend.legend_handles:
        handle.set_sizes([_SIZE])
    return without_math(legend)


def place_labels(axes, positions, groups, labels, text_kw):
    """Set the limits of panels that have all but labels, and write these.

    Parameters
    ----------
    axes : ndarray of Axes, shape (n_panels,)
    positions : ndarray of shape (n_panels, n, 2)
    groups : ndarray of int, shape (n,)
    labels : list of str, length n or 0
    text_kw : dict or None
        For ``Axes.annotate``.

    Returns
    -------
    list of list of matplotlib Annotation or None
        For each panel one label a spot, None for those without room.
    """
    style = {"fontsize": "small"} | (text_kw or {})
    axes[0].figure.canvas.figure.draw_without_rendering()
    for ax, places in zip(axes, positions, strict=True):
        set_limits(ax, places)
    axes[0].figure.canvas.figure.draw_without_rendering()
    if not len(labels):
        return [[] for _ in axes]
    written = []
    for ax, places in zip(axes, positions, strict=True):
        first, members = group_by_spot(places)
        largest = np.zeros(len(first))
        np.maximum.at(largest, members, marker_sizes(places, groups))
        room = Room(ax, places[first], [], np.sqrt(largest) + _MARGIN)
        texts = spot_labels(labels, members)
        written.append(label_points(room, texts, style, farthest=_FARTHEST))
    return written
