"""Drawing points that are joined by labelled lines, no text on top of another."""

import numpy as np

# Black for what is near, grey for what is far, thick and thin: it reads without colour.
_DARK, _LIGHT = 0.0, 0.78
_THICK, _THIN = 3.0, 0.7

_AWAY = (5, 13, 22, 34, 50, 70, 95, 125, 160)  # points between a dot and its label
_CLOSE = 5  # points; a label so near to a dot seems to belong to it
_FAR = 13  # from here on a dotted line leads to the label
_AROUND = np.pi / 2 + np.arange(16) * np.pi / 8  # above first
_SHORT = 45  # points; a line that is shorter has its number beside it
_ALONG = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74)  # of a line, where its number may go


def nearest_pairs(distances, n_neighbors):
    """Return the pairs to join: each point with its nearest others.

    Parameters
    ----------
    distances : ndarray of shape (n, n)
    n_neighbors : int or None
        None joins all of up to six points, and each of more with its two nearest.

    Returns
    -------
    ndarray of int, shape (n_pairs, 2)
        Each pair once, nearest first.
    """
    n = len(distances)
    if n_neighbors is None:
        n_neighbors = n - 1 if n <= 6 else 2
    others = distances.astype(np.float64)
    np.fill_diagonal(others, np.inf)
    nearest = np.argsort(others, axis=1, kind="stable")[:, : min(n_neighbors, n - 1)]
    pairs = {tuple(sorted((i, int(j)))) for i in range(n) for j in nearest[i]}
    pairs = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
    return pairs[np.argsort(distances[tuple(pairs.T)], kind="stable")]


def draw_lines(ax, positions, pairs, distances, line_kw):
    """Join pairs of points by lines, darker and thicker the nearer they are.

    Parameters
    ----------
    ax : matplotlib Axes
    positions : ndarray of shape (n, 2)
    pairs : ndarray of int, shape (n_pairs, 2)
    distances : ndarray of shape (n, n)
        Their range is that of the shades.
    line_kw : dict
        For matplotlib's LineCollection.

    Returns
    -------
    matplotlib LineCollection
    """
    from matplotlib.collections import LineCollection
    from matplotlib.colors import LinearSegmentedColormap

    apart = distances[~np.eye(len(distances), dtype=bool)]
    low, high = (apart.min(), apart.max()) if len(apart) else (0.0, 1.0)
    high = max(high, low + 1e-12)
    lengths = distances[tuple(pairs.T)]
    greys = LinearSegmentedColormap.from_list("near_far", [str(_DARK), str(_LIGHT)])
    style = {
        "array": lengths,
        "cmap": greys,
        "linewidths": np.interp(lengths, [low, high], [_THICK, _THIN]),
        "zorder": 1,
    }
    lines = LineCollection(positions[pairs], **style | line_kw)
    if "clim" not in line_kw:
        lines.set_clim(low, high)
    ax.add_collection(lines)
    return lines


def fit_limits(ax, positions):
    """Set limits that leave points their proportions, and room for labels around."""
    ax.figure.canvas.figure.draw_without_rendering()
    set_limits(ax, positions)
    ax.figure.canvas.figure.draw_without_rendering()


def set_limits(ax, positions):
    """Do so for an axes of a figure that is laid out, without doing that again."""
    size = np.array([ax.bbox.width, ax.bbox.height])
    low, high = positions.min(axis=0), positions.max(axis=0)
    # A quarter of a side stays free, an eighth at each end.
    scale = ((high - low) / (0.75 * size)).max() or 1 / size.max()
    half = scale * size / 2
    (x0, y0), (x1, y1) = (low + high) / 2 - half, (low + high) / 2 + half
    ax.set(xlim=(x0, x1), ylim=(y0, y1))
    ax.set_aspect("equal", adjustable="box")


class Room:
    """What is still free of an axes, in pixels.

    Parameters
    ----------
    ax : matplotlib Axes
        Of a figure that is laid out.
    positions : ndarray of shape (n, 2)
        The points, whose dots are taken.
    pairs : ndarray of int, shape (n_pairs, 2)
        Those that lines join. Labels had better not lie on lines.
    sizes : float or ndarray of shape (n,), default=8
        Points across that a dot takes.
    """

    def __init__(self, ax, positions, pairs, sizes=8):
        self.ax = ax
        self.positions = positions
        self.point = ax.figure.dpi / 72
        self.dots = ax.transData.transform(positions)
        across = np.broadcast_to(sizes, len(positions)) * self.point
        self.taken = [
            _box(*dot, size, size) for dot, size in zip(self.dots, across, strict=True)
        ]
        self.lines = [_path(self.dots[pair]) for pair in pairs]

    def is_free(self, box):
        """Tell whether a box lies within the axes and on nothing that was taken."""
        frame = self.ax.bbox
        inside = frame.x0 <= box.x0 and box.x1 <= frame.x1
        inside = inside and frame.y0 <= box.y0 and box.y1 <= frame.y1
        return inside and not any(box.overlaps(other) for other in self.taken)

    def n_lines(self, box):
        """Return how many lines cross a box."""
        return sum(line.intersects_bbox(box, filled=False) for line in self.lines)

    def n_others(self, box, number):
        """Return how many dots are close to the box of a label of another one."""
        near = box.padded(_CLOSE * self.point)
        dots = self.taken[: len(self.dots)]
        return sum(near.overlaps(dot) for i, dot in enumerate(dots) if i != number)

    def is_short(self, pair):
        """Tell whether a line is so short that a number would hide it."""
        return (
            np.hypot(*(self.dots[pair[1]] - self.dots[pair[0]])) < _SHORT * self.point
        )

    def take(self, box):
        """Keep a box free of what comes later."""
        self.taken.append(box.padded(3))


def label_points(room, labels, text_kw=None, *, farthest=None):
    """Write each label beside its point, further away where it is crowded.

    Parameters
    ----------
    room : Room
    labels : list of str, length n
    text_kw : dict, default=None
        For ``Axes.annotate``.
    farthest : float, default=None
        Points between a dot and its label, at most; a label without room so near is
        left out. None writes all, and covers what is there if nothing is free.

    Returns
    -------
    list of matplotlib Annotation, length n
        None in the place of a label that was left out.
    """
    style = {"textcoords": "offset points", "ha": "center", "va": "center", "zorder": 4}
    style["parse_math"] = False
    style |= text_kw or {}
    texts = []
    for number, label in enumerate(labels):
        spot = room.positions[number]
        text = room.ax.annotate(label, spot, (0, 0), **style)
        box = text.get_window_extent()
        offset, away = _free_offset(room, number, box, farthest)
        if offset is None:
            text.remove()
            texts.append(None)
            continue
        text.set_position(offset)
        text.set_in_layout(False)
        if away > _FAR:
            line = {"arrowstyle": "-", "linewidth": 0.6, "linestyle": ":", "shrinkB": 3}
            room.ax.annotate("", spot, offset, arrowprops=line, **style)
        texts.append(text)
    return texts


def _free_offset(room, number, box, farthest):
    """Return where a label goes, in points from its dot, and how far away that is."""
    spots = [
        (
            away,
            right * (away * room.point + box.width / 2) / room.point,
            up * (away * room.point + box.height / 2) / room.point,
        )
        for away in _AWAY
        if farthest is None or away <= farthest
        for right, up in zip(np.cos(_AROUND), np.sin(_AROUND), strict=True)
    ]
    best, dot = None, room.dots[number]
    for away, dx, dy in spots:
        if best is not None and away > _FAR:
            break
        x, y = dot + np.array([dx, dy]) * room.point
        place = _box(x, y, box.width, box.height)
        if room.is_free(place):
            # Neither on lines, nor where it could belong to another dot.
            cost = room.n_lines(place), room.n_others(place, number)
            if best is None or cost < best[0]:
                best = cost, place, (dx, dy), away
    if best is None and farthest is not None:
        return None, 0
    # In a crowd without any room, above the dot and over what is there.
    _, place, offset, away = best or (0, box, spots[0][1:], 0)
    room.take(place)
    return offset, away


def label_lines(room, numbered, text_kw):
    """Write numbers onto lines where there is room, and leave out the others.

    Parameters
    ----------
    room : Room
    numbered : list of (ndarray of int of shape (2,), str)
        Pairs and what to write, in the order in which they are served.
    text_kw : dict
        For ``Axes.text``.

    Returns
    -------
    list of matplotlib Text
        Those that found room.
    """
    back = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
    style = {"ha": "center", "va": "center", "fontsize": "x-small"}
    style |= {"zorder": 3, "bbox": back} | text_kw
    to_data = room.ax.transData.inverted()
    texts = []
    for pair, number in numbered:
        text = room.ax.text(*room.positions[pair[0]], number, **style)
        text.set_in_layout(False)
        box = text.get_window_extent()
        gap = 4.5 * room.point if room.is_short(pair) else None
        spots = _spots(*room.dots[pair], box, gap)
        places = (_box(*spot, box.width, box.height) for spot in spots)
        place = next(filter(room.is_free, places), None)
        if place is None:
            text.remove()
            continue
        text.set_position(
            to_data.transform(((place.x0 + place.x1) / 2, (place.y0 + place.y1) / 2))
        )
        room.take(place)
        texts.append(text)
    return texts


def _spots(start, end, box, gap):
    """Yield spots for a number on a line, or with a gap on either side of it."""
    along = end - start
    if gap is None:
        for share in _ALONG:
            yield start + share * along
        return
    across = np.array([-along[1], along[0]]) / (np.hypot(*along) or 1.0)
    # As far as the box reaches in that direction, and past the dots at the ends.
    reach = np.abs(across) @ [box.width, box.height] / 2 + gap
    for side in (1, -1):
        yield (start + end) / 2 + side * reach * across


def _box(x, y, width, height):
    from matplotlib.transforms import Bbox

    return Bbox.from_bounds(x - width / 2, y - height / 2, width, height)


def _path(points):
    from matplotlib.path import Path

    return Path(points)
