"""Heat maps of square matrices with labels that do not overlap and values that fit."""

import numpy as np

_MIN_FONT_SIZE = 6  # points; smaller numbers are unreadable in print
_MAX_ROWS_WITH_VALUES = 40  # more values are slow to draw and unreadable


def heat_map_size(labels):
    """Return the width and height in inches of a figure for these labels."""
    side = float(np.clip(0.55 * len(labels), 1.6, 8.0))
    margin = 0.09 * max(map(len, labels))
    return side + margin + 1.3, side + 0.8 * margin + 0.5


def draw_heat_map(ax, matrix, labels, *, colorbar, im_kw):
    """Draw a matrix (n, n) with its n labels; `colorbar` is the bar's label or None."""
    image = ax.imshow(matrix, **im_kw)
    if colorbar is not None:
        ax.figure.colorbar(image, ax=ax, label=colorbar)
    # Dollar signs in words do not mark formulas.
    ax.set_xticks(range(len(labels)), labels, parse_math=False)
    ax.set_yticks(range(len(labels)), labels, parse_math=False)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    _make_labels_fit(ax, labels)
    return image


def cell_size(ax, n):
    """Return the side of one of n cells in pixels, after the figure's layout."""
    ax.figure.canvas.figure.draw_without_rendering()
    return ax.get_window_extent().width / n


def _make_labels_fit(ax, labels):
    """Rotate labels that are wider than a cell; write every k-th of too many."""
    cell = cell_size(ax, len(labels))
    boxes = [text.get_window_extent() for text in ax.get_xticklabels()]
    width = max(box.width for box in boxes)
    height = max(box.height for box in boxes)
    if width > 0.9 * cell:
        if cell * np.sqrt(0.5) >= height:
            style = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
        else:
            style = {"rotation": 90}
        ax.set_xticks(range(len(labels)), labels, parse_math=False, **style)
        cell = cell_size(ax, len(labels))
    step = int(np.ceil(height / cell))
    if step > 1:
        shown = range(0, len(labels), step)
        ax.set_xticks(shown, labels[::step], rotation=90, parse_math=False)
        ax.set_yticks(shown, labels[::step], parse_math=False)


def write_values(ax, image, matrix, *, include_values, values_format, text_kw):
    """Write each value into its cell; return the Texts (n, n), or None without any.

    ``include_values=None`` writes them if they fit at a readable size.
    """
    n = len(matrix)
    is_optional = include_values is None
    if include_values is False or (is_optional and n > _MAX_ROWS_WITH_VALUES):
        return None
    numbers = [
        [format_value(value, matrix, values_format) for value in row] for row in matrix
    ]
    size = _font_size(ax, max(sum(numbers, []), key=len), n)
    if is_optional and size < _MIN_FONT_SIZE:
        return None
    texts = np.empty((n, n), dtype=object)
    for (i, j), value in np.ndenumerate(matrix):
        style = {"ha": "center", "va": "center", "fontsize": max(size, _MIN_FONT_SIZE)}
        style["color"] = _readable_on(image.cmap(image.norm(value)))
        texts[i, j] = ax.text(j, i, numbers[i][j], **style | text_kw)
    return texts


def format_value(value, values, values_format):
    """Return a number as text, by default in a format for the largest of `values`."""
    if values_format is None:
        values_format = ".2f" if np.max(values) < 10 else ".3g"
    return format(float(value), values_format)


def _font_size(ax, longest, n):
    """Return the font size, at most 10, at which the longest text fits into a cell."""
    cell = cell_size(ax, n)
    probe = ax.text(0, 0, longest, fontsize=10)
    box = probe.get_window_extent()
    probe.remove()
    return min(10.0, 10.0 * 0.85 * cell / max(box.width, box.height))


def _readable_on(color):
    """Return "black" or "white", whichever has more contrast with a color."""
    parts = np.asarray(color[:3])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return "black" if linear @ [0.2126, 0.7152, 0.0722] > 0.179 else "white"
