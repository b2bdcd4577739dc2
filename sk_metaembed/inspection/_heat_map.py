"""Heat maps of square tables: labels that do not overlap, values that fit."""

import numpy as np

_SMALLEST = 6  # points; smaller figures cannot be read in print
_MOST_WRITTEN = 40  # rows; more values take long to draw, and nobody reads them


def heat_map_size(labels):
    """Return width and height in inches of a figure for that many labels."""
    side = float(np.clip(0.55 * len(labels), 1.6, 8.0))
    words = 0.09 * max(map(len, labels))
    return side + words + 1.3, side + 0.8 * words + 0.5


def draw_heat_map(ax, matrix, labels, *, colorbar, im_kw):
    """Draw a square table with its labels.

    Parameters
    ----------
    ax : matplotlib Axes
    matrix : ndarray of shape (n, n)
    labels : list of str, length n
    colorbar : str or None
        What to write at the colour bar. None draws no bar.
    im_kw : dict
        For ``Axes.imshow``.

    Returns
    -------
    matplotlib AxesImage
    """
    image = ax.imshow(matrix, **im_kw)
    if colorbar is not None:
        ax.figure.colorbar(image, ax=ax, label=colorbar)
    # Words are no formulas, whatever dollars are in them.
    ax.set_xticks(range(len(labels)), labels, parse_math=False)
    ax.set_yticks(range(len(labels)), labels, parse_math=False)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    _make_labels_fit(ax, labels)
    return image


def cell_size(ax, n):
    """Return the side of one of n cells in pixels, once the figure is laid out."""
    ax.figure.canvas.figure.draw_without_rendering()
    return ax.get_window_extent().width / n


def _make_labels_fit(ax, labels):
    """Turn labels that are wider than a cell, and leave some out of very many."""
    cell = cell_size(ax, len(labels))
    boxes = [text.get_window_extent() for text in ax.get_xticklabels()]
    width = max(box.width for box in boxes)
    height = max(box.height for box in boxes)
    if width > 0.9 * cell:
        if cell * np.sqrt(0.5) >= height:
            turned = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
        else:
            turned = {"rotation": 90}
        ax.set_xticks(range(len(labels)), labels, parse_math=False, **turned)
        cell = cell_size(ax, len(labels))
    step = int(np.ceil(height / cell))
    if step > 1:
        shown = range(0, len(labels), step)
        ax.set_xticks(shown, labels[::step], rotation=90, parse_math=False)
        ax.set_yticks(shown, labels[::step], parse_math=False)


def write_values(ax, image, matrix, *, asked, values_format, text_kw):
    """Write each value into its cell, as large as fits.

    Parameters
    ----------
    ax : matplotlib Axes
    image : matplotlib AxesImage
        The heat map.
    matrix : ndarray of shape (n, n)
    asked : bool or None
        None writes them where they fit at a size that can be read.
    values_format : str or None
        None takes two decimals, or three figures of numbers from 10 upwards.
    text_kw : dict
        For ``Axes.text``.

    Returns
    -------
    ndarray of matplotlib Text, shape (n, n), or None
        None where nothing is written.
    """
    n = len(matrix)
    if asked is False or (asked is None and n > _MOST_WRITTEN):
        return None
    written = [
        [format_value(value, matrix, values_format) for value in row] for row in matrix
    ]
    size = _font_size(ax, max(sum(written, []), key=len), n)
    if asked is None and size < _SMALLEST:
        return None
    texts = np.empty((n, n), dtype=object)
    for (i, j), value in np.ndenumerate(matrix):
        style = {"ha": "center", "va": "center", "fontsize": max(size, _SMALLEST)}
        style["color"] = _readable_on(image.cmap(image.norm(value)))
        texts[i, j] = ax.text(j, i, written[i][j], **style | text_kw)
    return texts


def format_value(value, values, values_format):
    """Return a number as text, in the format that suits all of them."""
    if values_format is None:
        values_format = ".2f" if np.max(values) < 10 else ".3g"
    return format(float(value), values_format)


def _font_size(ax, longest, n):
    """Return the points at which the longest text fills most of a cell, 10 at most."""
    cell = cell_size(ax, n)
    probe = ax.text(0, 0, longest, fontsize=10)
    box = probe.get_window_extent()
    probe.remove()
    return min(10.0, 10.0 * 0.85 * cell / max(box.width, box.height))


def _readable_on(colour):
    """Return black or white, whichever stands out from a colour."""
    parts = np.asarray(colour[:3])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return "black" if linear @ [0.2126, 0.7152, 0.0722] > 0.179 else "white"
