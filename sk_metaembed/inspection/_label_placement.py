"""Draw points joined by labeled lines, without overlapping text.

Labels are placed greedily: each takes the first free offset around its point, and
avoids lines and dots. adjustText moves labels iteratively instead. For 20 points it
takes 1.1 seconds or more, compared with 0.15 to 0.19 for this module; it places labels
on lines and dots, and cannot omit a label that does not fit.
"""

import numpy as np

# Near pairs are black and thick, distant ones gray and thin: no color is needed.
_DARK, _LIGHT = 0.0, 0.78
_THICK, _THIN = 3.0, 0.7

_GAPS = (5, 13, 22, 34, 50, 70, 95, 125, 160)  # points between a dot and its label
_LEADER_GAP = 13  # points; with a larger gap a dotted line joins dot and label
_CLEARANCE = 5  # points; a nearer dot could be mistaken for the label's own
_ANGLES = np.pi / 2 + np.arange(16) * np.pi / 8  # of a label; above the dot first
_SHORT_LINE = 45  # points; shorter lines have their number at their side
_FRACTIONS = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74)  # of a line, for its number


def nearest_pairs(distances, n_neighbors):
    """Return each point with its nearest ones, (n, n) -> (n_pairs, 2), nearest first.

    None joins all pairs of up to six points, and each of more with its two nearest.
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
    """Join pairs (n_pairs, 2) of points by lines, darker and thicker if near."""
    from matplotlib.collections import LineCollection
    from matplotlib.colors import LinearSegmentedColormap

    # The shades cover the range of all distances, not only of those drawn.
    others = distances[~np.eye(len(distances), dtype=bool)]
    low, high = (others.min(), others.max()) if len(others) else (0.0, 1.0)
    high = max(high, low + 1e-12)
    lengths = distances[tuple(pairs.T)]
    grays = LinearSegmentedColormap.from_list("near_far", [str(_DARK), str(_LIGHT)])
    style = {
        "array": lengths,
        "cmap": grays,
        "linewidths": np.interp(lengths, [low, high], [_THICK, _THIN]),
        "zorder": 1,
    }
    lines = LineCollection(positions[pairs], **style | line_kw)
    if "clim" not in line_kw:
        lines.set_clim(low, high)
    ax.add_collection(lines)
    return lines


def fit_limits(ax, positions):
    """Lay out the figure, then set limits with a margin for labels."""
    ax.figure.canvas.figure.draw_without_rendering()
    set_limits(ax, positions)
    ax.figure.canvas.figure.draw_without_rendering()


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


class FreeSpace:
    """Free space of an axes in pixels, after the figure's layout.

    Parameters
    ----------
    ax : matplotlib Axes
    positions : ndarray of shape (n, 2)
        Points, whose dots are occupied.
    pairs : ndarray of int, shape (n_pairs, 2)
        Points joined by lines. Labels avoid lines where possible.
    sizes : float or ndarray of shape (n,), default=8
        Diameters of the dots in points.
    """

    def __init__(self, ax, positions, pairs, sizes=8):
        self.ax = ax
        self.positions = positions
        self.point = ax.figure.dpi / 72
        self.dots = ax.transData.transform(positions)
        widths = np.broadcast_to(sizes, len(positions)) * self.point
        self.occupied = [
            _box(*dot, size, size) for dot, size in zip(self.dots, widths, strict=True)
        ]
        self.lines = [_path(self.dots[pair]) for pair in pairs]

    def is_free(self, box):
        """Return whether a box is inside the axes and overlaps nothing occupied."""
        frame = self.ax.bbox
        inside = frame.x0 <= box.x0 and box.x1 <= frame.x1
        inside = inside and frame.y0 <= box.y0 and box.y1 <= frame.y1
        return inside and not any(box.overlaps(other) for other in self.occupied)

    def n_lines(self, box):
        """Return the number of lines that cross a box."""
        return sum(line.intersects_bbox(box, filled=False) for line in self.lines)

    def n_near_dots(self, box, number):
        """Return the number of dots, except dot `number`, that are close to a box."""
        padded = box.padded(_CLEARANCE * self.point)
        dots = self.occupied[: len(self.dots)]
        return sum(padded.overlaps(dot) for i, dot in enumerate(dots) if i != number)

    def is_short(self, pair):
        """Return whether a number would hide most of a line."""
        length = np.hypot(*(self.dots[pair[1]] - self.dots[pair[0]]))
        return length < _SHORT_LINE * self.point

    def occupy(self, box):
        """Mark a box as occupied."""
        self.occupied.append(box.padded(3))


def label_points(space, labels, text_kw=None, *, max_gap=None):
    """Write each label near its point and return the n Annotations.

    `max_gap` is the largest gap in points between dot and label: labels that do not fit
    within it are left out and None in the list. None writes all, over other artists if
    nothing is free.
    """
    style = {"textcoords": "offset points", "ha": "center", "va": "center", "zorder": 4}
    style["parse_math"] = False
    style |= text_kw or {}
    texts = []
    for number, label in enumerate(labels):
        position = space.positions[number]
        text = space.ax.annotate(label, position, (0, 0), **style)
        box = text.get_window_extent()
        offset, gap = _free_offset(space, number, box, max_gap)
        if offset is None:
            text.remove()
            texts.append(None)
            continue
        text.set_position(offset)
        text.set_in_layout(False)
        if gap > _LEADER_GAP:
            line = {"arrowstyle": "-", "linewidth": 0.6, "linestyle": ":", "shrinkB": 3}
            space.ax.annotate("", position, offset, arrowprops=line, **style)
        texts.append(text)
    return texts


def _free_offset(space, number, box, max_gap):
    """Return the offset of a label from its dot and the gap between them, in points."""
    candidates = [
        (
            gap,
            right * (gap * space.point + box.width / 2) / space.point,
            up * (gap * space.point + box.height / 2) / space.point,
        )
        for gap in _GAPS
        if max_gap is None or gap <= max_gap
        for right, up in zip(np.cos(_ANGLES), np.sin(_ANGLES), strict=True)
    ]
    best, dot = None, space.dots[number]
    for gap, dx, dy in candidates:
        if best is not None and gap > _LEADER_GAP:
            break
        x, y = dot + np.array([dx, dy]) * space.point
        moved = _box(x, y, box.width, box.height)
        if space.is_free(moved):
            # First avoid lines, then dots that the label could be mistaken for.
            cost = space.n_lines(moved), space.n_near_dots(moved, number)
            if best is None or cost < best[0]:
                best = cost, moved, (dx, dy), gap
    if best is None and max_gap is not None:
        return None, 0
    # If nothing is free, write the label above the dot, over other artists.
    _, moved, offset, gap = best or (0, box, candidates[0][1:], 0)
    space.occupy(moved)
    return offset, gap


def label_lines(space, numbered, text_kw):
    """Write numbers onto lines, in order, and return the Texts of those that fit."""
    back = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
    style = {"ha": "center", "va": "center", "fontsize": "x-small"}
    style |= {"zorder": 3, "bbox": back} | text_kw
    to_data = space.ax.transData.inverted()
    texts = []
    for pair, number in numbered:
        text = space.ax.text(*space.positions[pair[0]], number, **style)
        text.set_in_layout(False)
        box = text.get_window_extent()
        gap = 4.5 * space.point if space.is_short(pair) else None
        centers = _candidate_centers(*space.dots[pair], box, gap)
        boxes = (_box(*center, box.width, box.height) for center in centers)
        moved = next(filter(space.is_free, boxes), None)
        if moved is None:
            text.remove()
            continue
        text.set_position(
            to_data.transform(((moved.x0 + moved.x1) / 2, (moved.y0 + moved.y1) / 2))
        )
        space.occupy(moved)
        texts.append(text)
    return texts


def _candidate_centers(start, end, box, gap):
    """Yield candidate centers of a number on a line, or at a distance `gap` from it."""
    along = end - start
    if gap is None:
        for fraction in _FRACTIONS:
            yield start + fraction * along
        return
    across = np.array([-along[1], along[0]]) / (np.hypot(*along) or 1.0)
    # Half the box's extent across the line, plus the gap that clears the dots.
    reach = np.abs(across) @ [box.width, box.height] / 2 + gap
    for side in (1, -1):
        yield (start + end) / 2 + side * reach * across


def _box(x, y, width, height):
    from matplotlib.transforms import Bbox

    return Bbox.from_bounds(x - width / 2, y - height / 2, width, height)


def _path(points):
    from matplotlib.path import Path

    return Path(points)
