"""Words that flow from line to line within an axes, each in a box of its own."""

from typing import NamedTuple

import numpy as np

from ..sequences._html import shown_word
from ._drawing import point_style
from ._leaning import tint, written

_WORD, _NOTE, _HEAD = 10.0, 7.0, 9.0  # points, of a word, its note, a text's label
_PAD, _GAP = 3.0, 3.0  # points within a box, and between boxes
_SMALLEST = 0.5  # of these sizes; smaller ones cannot be read
_UNKNOWN = {"facecolor": "white", "linestyle": ":"}


class Texts(NamedTuple):
    """What is drawn: words, one text after the other, and what they lean on."""

    words: list  # of str
    offsets: np.ndarray  # of the texts
    labels: list  # of str or None, one a text
    source: np.ndarray  # as `leaning` returns it
    strength: np.ndarray
    weights: np.ndarray


class Flow(NamedTuple):
    """Where things stand, in points from the upper left corner, y downwards."""

    x: np.ndarray  # of each box' left side
    y: np.ndarray  # of each box' upper side
    heads: np.ndarray  # y of each text's label
    height: float


def flow(widths, offsets, has_head, width, line, head):
    """Return where boxes go, line by line.

    Parameters
    ----------
    widths : ndarray of shape (n,)
        Of the boxes.
    offsets : ndarray of int, shape (n_texts + 1,)
        Each text begins a line.
    has_head : bool
        Whether a line with the text's label is left free before it.
    width : float
        Of a line.
    line, head : float
        Heights.

    Returns
    -------
    Flow

    Examples
    --------
    >>> boxes = flow(np.array([5.0, 4.0, 5.0]), np.array([0, 3]), False, 15.0, 10.0, 0)
    >>> boxes.x.tolist(), boxes.y.tolist(), boxes.height
    ([0.0, 8.0, 0.0], [0.0, 0.0, 10.0], 20.0)
    """
    x, y, heads = np.zeros(len(widths)), np.zeros(len(widths)), []
    top = 0.0
    for start, end in zip(offsets[:-1], offsets[1:], strict=True):
        heads.append(top)
        top, left = top + has_head * head, 0.0
        for i in range(start, end):
            if left > 0 and left + widths[i] > width:
                top, left = top + line, 0.0
            x[i], y[i] = left, top
            left += widths[i] + _GAP
        top += line
    return Flow(x, y, np.array(heads), top)


def draw_texts(ax, texts, *, grows, text_kw):
    """Write texts into an axes, as large as fits.

    Parameters
    ----------
    ax : matplotlib Axes
    texts : Texts
    grows : bool
        Whether the figure may become higher.
    text_kw : dict
        For the words.

    Returns
    -------
    words : list of matplotlib Text
    notes : list of matplotlib Text
    boxes : list of matplotlib Rectangle
    """
    ax.set_axis_off()
    whole = ax.figure.canvas.figure
    whole.draw_without_rendering()
    point = whole.dpi / 72
    style = {"fontsize": _WORD, "parse_math": False} | text_kw
    words = [ax.text(0, 0, word, **style) for word in texts.words]
    notes = [ax.text(0, 0, note, fontsize=_NOTE) for note in _notes(texts)]
    full = _widths(words, notes, point)
    width, height = ax.bbox.width / point, ax.bbox.height / point
    has_head = any(label is not None for label in texts.labels)
    scale = 1.0
    while True:
        line, head = scale * (_WORD + _NOTE + 16), scale * 1.8 * _HEAD
        laid = flow(scale * full, texts.offsets, has_head, width, line, head)
        fits = grows or laid.height <= height
        if (fits and scale * full.max(initial=0) <= width) or scale <= _SMALLEST:
            break
        scale -= 0.05
    if grows:
        inches = whole.get_size_inches()
        whole.set_size_inches(inches[0], inches[1] + (laid.height - height) / 72)
        whole.draw_without_rendering()
    height = laid.height if grows else height
    ax.set(xlim=(0, width), ylim=(height, 0))
    boxes = _place(ax, texts, (words, notes), laid, scale, scale * full)
    _write_heads(ax, texts, laid, scale)
    return words, notes, boxes


def _notes(texts):
    """Return what stands below each word; the symbol before it is drawn."""
    rows = zip(texts.source, texts.weights, strict=True)
    return [
        f"    {written(row[source])}" if source >= 0 else "even" if row.any() else "?"
        for source, row in rows
    ]


def _widths(words, notes, point):
    pairs = zip(words, notes, strict=True)
    return np.array(
        [
            max(text.get_window_extent().width for text in pair) / point + 2 * _PAD
            for pair in pairs
        ]
    )


def _place(ax, texts, written_texts, laid, scale, widths):
    from matplotlib.patches import Rectangle

    height, boxes, marks = scale * (_WORD + _NOTE + 11), [], []
    lowest = ax.get_ylim()[0]
    for i, (word, note) in enumerate(zip(*written_texts, strict=True)):
        x, y, number = laid.x[i], laid.y[i], texts.source[i]
        style = dict(_UNKNOWN)
        if texts.weights[i].any():
            style = {"facecolor": "#f2f2f2"}
        if number >= 0:
            colour = point_style(number)["color"]
            style = {"facecolor": tint(colour, texts.strength[i])}
        box = Rectangle((x, y), widths[i], height, edgecolor="0.6", lw=0.5, **style)
        boxes.append(ax.add_patch(box))
        middle = x + widths[i] / 2
        word.set(position=(middle, y + 0.36 * height), ha="center", va="center")
        note.set(position=(middle, y + 0.78 * height), ha="center", va="center")
        for text in (word, note):
            text.set(fontsize=scale * text.get_fontsize(), zorder=3)
            text.set_in_layout(False)
        marks.append((middle - 5.5 * scale, y + 0.78 * height))
        seen = y + height <= lowest + 0.01
        for artist in (box, word, note):
            artist.set_visible(seen)
    _draw_marks(ax, texts, np.reshape(marks, (-1, 2)), boxes, scale)
    return boxes


def _draw_marks(ax, texts, marks, boxes, scale):
    seen = np.array([box.get_visible() for box in boxes], dtype=bool)
    for number in np.unique(texts.source[texts.source >= 0]):
        own = marks[(texts.source == number) & seen]
        style = point_style(number) | {"linewidth": 0.4, "zorder": 3}
        ax.scatter(*own.T, s=(5 * scale) ** 2, **style)
    if not seen.all():
        more = f"… and {int((~seen).sum())} more words"
        ax.text(1, 0, more, ha="right", va="top", fontsize=_NOTE, **_corner(ax))


def _corner(ax):
    return {"transform": ax.transAxes}


def _write_heads(ax, texts, laid, scale):
    for label, y in zip(texts.labels, laid.heads, strict=True):
        if label is not None and y < ax.get_ylim()[0]:
            style = {"fontsize": scale * _HEAD, "va": "top", "weight": "bold"}
            text = ax.text(0, y + scale * 2, label, parse_math=False, **style)
            text.set_in_layout(False)


def shown_words(tokens):
    """Return the words of a TokenSequences as they can be shown."""
    shown = [shown_word(word) for word in tokens.types]
    return [shown[code] for code in tokens.codes]
