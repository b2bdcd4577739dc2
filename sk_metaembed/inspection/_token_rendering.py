"""Words shaded by their dominant source, as HTML and in matplotlib axes."""

from html import escape
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..sequences._html import display_word
from ._attention import SYMBOLS, blend_with_white, format_weight
from ._style import point_style

_WORD_SIZE, _NOTE_SIZE, _HEAD_SIZE = 10.0, 7.0, 9.0  # points
_PADDING, _GAP = 3.0, 3.0  # points within a box and between boxes
_MARK_OFFSET = 3.5  # of a symbol, from the left side of its note
_MIN_SCALE = 0.5  # of these sizes; smaller words are unreadable
_UNKNOWN = {"facecolor": "white", "linestyle": ":"}

# Boxes have their own colors and everything else inherits the page's, so that the
# fragment is readable on dark and light pages.
_STYLE = """
.skme-words{font-family:sans-serif;font-size:14px;line-height:1.2;max-width:60em}
.skme-words ul{list-style:none;display:flex;flex-wrap:wrap;gap:.3em 1.2em;margin:.4em 0;
padding:0}
.skme-words p{margin:.3em 0 .9em;display:flex;flex-wrap:wrap;gap:4px}
.skme-words h4{margin:.9em 0 .2em;font-size:1em}
.skme-words .b{display:inline-block;color:#000;border:1px solid #777;border-radius:3px;
padding:1px 4px;text-align:center;max-width:100%;overflow-wrap:anywhere}
.skme-words .u{background:none;color:inherit;border-style:dotted}
.skme-words .b small{display:block;font-size:11px;white-space:nowrap}
.skme-words .v{position:absolute;width:1px;height:1px;overflow:hidden;
clip-path:inset(50%);white-space:nowrap}
.skme-words table{border-collapse:collapse;margin:.4em 0}
.skme-words th,.skme-words td{padding:1px 8px;text-align:right;
border-bottom:1px solid #8888}
.skme-words th:first-child,.skme-words td:first-child{text-align:left}
"""


def words_html(texts, sources):
    """Return an HTML fragment: a legend, the texts, and a table of all weights."""
    parts = [_legend(texts, sources)]
    spans = zip(texts.offsets[:-1], texts.offsets[1:], strict=True)
    for label, (start, end) in zip(texts.labels, spans, strict=True):
        if label is not None:
            parts.append(f'<h4 dir="auto">{escape(label)}</h4>')
        boxes = "\n".join(_box(texts, i, sources) for i in range(start, end))
        parts.append(f'<p dir="auto">{boxes}</p>')
    parts.append(_table(texts, sources))
    # Notebooks would typeset text between dollar signs as formulas.
    root = '<div class="skme-words tex2jax_ignore mathjax_ignore">'
    html = f"{root}<style>{_STYLE}</style>{''.join(parts)}</div>"
    return html.encode("utf-8", "backslashreplace").decode()


def write_page(fragment, title, path):
    """Write an HTML document with a fragment as its body; return it without a path."""
    document = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)}</title></head>\n<body>{fragment}</body></html>\n"
    )
    if path is None:
        return document
    Path(path).write_text(document, encoding="utf-8")
    return None


def token_columns(tokens):
    """Return where each token of a TokenSequences is, and the token, as columns."""
    rows = tokens.segment_ids()
    return {
        "sequence": rows,
        "position": np.arange(tokens.n_tokens) - tokens.offsets[:-1][rows],
        "token": tokens.types[tokens.codes],
    }


def _symbol(number):
    return SYMBOLS[number % len(SYMBOLS)]


def _legend(texts, sources):
    entries = []
    for number, name in enumerate(sources):
        color = blend_with_white(point_style(number)["color"], 1.0)
        key = f'<span class="b" style="background:{color}">{_symbol(number)}</span>'
        entries.append(f"<li>{key} <bdi>{escape(name)}</bdi></li>")
    if not texts.weights.any(axis=1).all():
        entries.append('<li><span class="b u">?</span> no source knows the word</li>')
    note = "<li>deeper shade: larger share; number: weight of the source</li>"
    return f'<ul aria-label="Sources">{"".join(entries)}{note}</ul>'


def _box(texts, i, sources):
    number, weights = texts.source[i], texts.weights[i]
    attributes, note, spoken = 'class="b u"', "?", "no source knows it"
    if weights.any():
        attributes, note = 'class="b" style="background:#f2f2f2"', "even"
        spoken = note
    if number >= 0:
        color = blend_with_white(point_style(number)["color"], texts.strength[i])
        attributes = f'class="b" style="background:{color}"'
        note = f"{_symbol(number)} {format_weight(weights[number])}"
        spoken = f"{sources[number]} {weights[number]:.2f}"
    pairs = zip(sources, weights, strict=True)
    title = ", ".join(f"{name} {weight:.2f}" for name, weight in pairs)
    return (
        f'<span {attributes} title="{escape(title)}">'
        f"<bdi>{escape(texts.words[i])}</bdi>"
        f'<small aria-hidden="true">{note}</small>'
        f'<span class="v"> ({escape(spoken)})</span></span>'
    )


def _table(texts, sources):
    head = "".join(
        f'<th scope="col">{escape(name)}</th>' for name in ("word", *sources)
    )
    rows = []
    for word, weights in zip(texts.words, texts.weights, strict=True):
        cells = "".join(f"<td>{weight:.2f}</td>" for weight in weights)
        rows.append(f"<tr><td><bdi>{escape(word)}</bdi></td>{cells}</tr>")
    return (
        "<details><summary>All weights as a table</summary><table><thead><tr>"
        f"{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></details>"
    )


class Texts(NamedTuple):
    """Words to draw, one text after the other, and their shades and notes."""

    words: list  # of str
    offsets: np.ndarray  # of the texts
    labels: list  # of str or None, one per text
    source: np.ndarray  # number of the color and symbol; -1 for none
    strength: np.ndarray
    weights: np.ndarray  # zeros for words that are drawn as unknown
    notes: list  # of str, below the words, with space for the symbol before it


class Layout(NamedTuple):
    """Positions in points from the upper left corner, y downwards."""

    x: np.ndarray  # left side of each box
    y: np.ndarray  # upper side of each box
    heads: np.ndarray  # y of each text's heading
    height: float


def break_lines(widths, offsets, has_head, width, line, head):
    """Break boxes (n,) into lines of `width`; each text begins a line.

    >>> widths, offsets = np.array([5.0, 4.0, 5.0]), np.array([0, 3])
    >>> boxes = break_lines(widths, offsets, False, width=15.0, line=10.0, head=0)
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
    return Layout(x, y, np.array(heads), top)


def draw_texts(ax, texts, *, grows, text_kw):
    """Write texts into an axes as large as fits; return words, notes and boxes.

    With ``grows=True`` the figure becomes as high as the texts.
    """
    ax.set_axis_off()
    figure = ax.figure.canvas.figure
    figure.draw_without_rendering()
    point = figure.dpi / 72
    style = {"fontsize": _WORD_SIZE, "parse_math": False} | text_kw
    words = [ax.text(0, 0, word, **style) for word in texts.words]
    notes = [ax.text(0, 0, note, fontsize=_NOTE_SIZE) for note in texts.notes]
    own = _widths(notes, point)
    full = np.maximum(_widths(words, point), own) + 2 * _PADDING
    width, height = ax.bbox.width / point, ax.bbox.height / point
    has_head = any(label is not None for label in texts.labels)
    scale = 1.0
    while True:
        line, head = scale * (_WORD_SIZE + _NOTE_SIZE + 16), scale * 1.8 * _HEAD_SIZE
        layout = break_lines(scale * full, texts.offsets, has_head, width, line, head)
        fits = grows or layout.height <= height
        if (fits and scale * full.max(initial=0) <= width) or scale <= _MIN_SCALE:
            break
        scale -= 0.05
    if grows:
        inches = figure.get_size_inches()
        figure.set_size_inches(inches[0], inches[1] + (layout.height - height) / 72)
        figure.draw_without_rendering()
    height = layout.height if grows else height
    ax.set(xlim=(0, width), ylim=(height, 0))
    widths = scale * full, scale * own
    boxes = _place(ax, texts, (words, notes), layout, scale, widths)
    _write_heads(ax, texts, layout, scale)
    return words, notes, boxes


def _widths(artists, point):
    return np.array([text.get_window_extent().width / point for text in artists])


def _place(ax, texts, artists, layout, scale, widths):
    from matplotlib.patches import Rectangle

    widths, note_widths = widths
    height, boxes, marks = scale * (_WORD_SIZE + _NOTE_SIZE + 11), [], []
    lowest = ax.get_ylim()[0]
    for i, (word, note) in enumerate(zip(*artists, strict=True)):
        x, y, number = layout.x[i], layout.y[i], texts.source[i]
        style = dict(_UNKNOWN)
        if texts.weights[i].any():
            style = {"facecolor": "#f2f2f2"}
        if number >= 0:
            color = point_style(number)["color"]
            style = {"facecolor": blend_with_white(color, texts.strength[i])}
        box = Rectangle((x, y), widths[i], height, edgecolor="0.6", lw=0.5, **style)
        boxes.append(ax.add_patch(box))
        middle = x + widths[i] / 2
        word.set(position=(middle, y + 0.36 * height), ha="center", va="center")
        note.set(position=(middle, y + 0.78 * height), ha="center", va="center")
        for text in (word, note):
            text.set(fontsize=scale * text.get_fontsize(), zorder=3)
            text.set_in_layout(False)
        left = middle - note_widths[i] / 2
        marks.append((left + _MARK_OFFSET * scale, y + 0.78 * height))
        fits = y + height <= lowest + 0.01
        for artist in (box, word, note):
            artist.set_visible(fits)
    _draw_marks(ax, texts, np.reshape(marks, (-1, 2)), boxes, scale)
    return boxes


def _draw_marks(ax, texts, marks, boxes, scale):
    visible = np.array([box.get_visible() for box in boxes], dtype=bool)
    for number in np.unique(texts.source[texts.source >= 0]):
        own = marks[(texts.source == number) & visible]
        style = point_style(number) | {"linewidth": 0.4, "zorder": 3}
        ax.scatter(*own.T, s=(5 * scale) ** 2, **style)
    if not visible.all():
        note = f"… and {int((~visible).sum())} more words"
        style = {"ha": "right", "va": "top", "fontsize": _NOTE_SIZE}
        ax.text(1, 0, note, transform=ax.transAxes, **style)


def _write_heads(ax, texts, layout, scale):
    for label, y in zip(texts.labels, layout.heads, strict=True):
        if label is not None and y < ax.get_ylim()[0]:
            style = {"fontsize": scale * _HEAD_SIZE, "va": "top", "weight": "bold"}
            text = ax.text(0, y + scale * 2, label, parse_math=False, **style)
            text.set_in_layout(False)


def display_words(tokens):
    """Return the words of TokenSequences with invisible characters made visible."""
    words = [display_word(word) for word in tokens.types]
    return [words[code] for code in tokens.codes]
