"""Shared parts of displays: colors, axes, legends, bars, and words shaded in HTML."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from .._core._errors import NamedErrorsMixin
from .._core._typing import StrPath

# Okabe and Ito's palette; hatches and markers distinguish groups without color.
_COLORS = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#F0E442",
    "#999999",
)
_HATCHES = ("", "///", "...", "xxx", "\\\\\\", "ooo", "---")
_MARKERS = ("o", "^", "s", "D", "P", "v", "X")


def bar_style(number):
    """Return the color and hatch of bar group `number`."""
    return {**_style(number), "hatch": _HATCHES[number % len(_HATCHES)]}


def point_style(number):
    """Return the color and marker of point group `number`."""
    return {**_style(number), "marker": _MARKERS[number % len(_MARKERS)]}


def _style(number):
    color = _COLORS[number % len(_COLORS)]
    return {"color": color, "edgecolor": "black", "linewidth": 0.6}


def shorten(text, length):
    """Return a text cut to a number of characters, with an ellipsis if it is longer."""
    return text if len(text) <= length else text[: length - 1] + "…"


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


SYMBOLS = "●▲■◆✚▼✖"  # as the markers of `point_style`, in the same order
# Opacity of a tint at strength 0, and what strength 1 adds.
_MIN_OPACITY, _OPACITY_RANGE = 0.10, 0.45

# Shaded words have their own colors and everything else inherits the page's, so that
# the fragment is readable on dark and light pages.
_STYLE = """
.skme-words{font-family:sans-serif;font-size:14px;line-height:1.6;max-width:60em}
.skme-words h4{margin:.9em 0 .2em;font-size:1em}
.skme-words p{margin:.3em 0;white-space:pre-wrap;overflow-wrap:anywhere}
.skme-words .w{color:#000;border-radius:3px;padding:0 3px}
.skme-words small{font-size:11px}
.skme-words table{border-collapse:collapse;margin:.4em 0}
.skme-words th,.skme-words td{padding:1px 8px;text-align:right;
border-bottom:1px solid #8888}
.skme-words th:first-child,.skme-words td:first-child{text-align:left}
"""


def html_fragment(parts):
    """Return parts as one element with its style, which notebooks show as it is."""
    # Notebooks would typeset text between dollar signs as formulas.
    root = '<div class="skme-words tex2jax_ignore mathjax_ignore">'
    html = f"{root}<style>{_STYLE}</style>{''.join(parts)}</div>"
    return html.encode("utf-8", "backslashreplace").decode()


class ShadedTexts:
    """Mixin of displays that show texts in a notebook, by `_repr_html_`."""

    _title: str

    def to_html(self, path: StrPath | None = None) -> str:
        """Return the texts as an HTML page, and write it to a file if one is given.

        The page is one file without scripts or external resources. Text is escaped.

        Parameters
        ----------
        path : str or path-like, default=None
            File to write, in UTF-8.

        Returns
        -------
        str
            The page.
        """
        page = (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            '<meta name="color-scheme" content="light dark">'
            f"<title>{escape(self._title)}</title></head>\n"
            f"<body>{self._repr_html_()}</body></html>\n"
        )
        if path is not None:
            Path(path).write_text(page, encoding="utf-8")
        return page

    def _repr_html_(self) -> str:
        raise NotImplementedError


def paragraph(heading, html):
    """Return a text with a heading, which may be None."""
    head = "" if heading is None else f'<h4 dir="auto">{escape(heading)}</h4>'
    return f'{head}<p dir="auto">{html}</p>'


def shaded(text, number, strength, *, title="", note="", line="solid"):
    """Return a text shaded and underlined in the color of a point style.

    The strength is in [0, 1]; a text with number -1 is not shaded. The note follows the
    text in small print.
    """
    attributes = f' title="{escape(title)}"' if title else ""
    if number >= 0:
        color = point_style(number)["color"]
        tint = blend_with_white(color, strength)
        style = f"background:{tint};border-bottom:2px {line} {color}"
        attributes += f' class="w" style="{style}"'
    note = f" <small>{escape(note)}</small>" if note else ""
    return f"<span{attributes}><bdi>{escape(text)}</bdi>{note}</span>"


def html_table(columns, summary=None):
    """Return a dict of columns as a table, which is folded if it has a summary."""
    head = "".join(f'<th scope="col">{escape(str(name))}</th>' for name in columns)
    rows = [
        "".join(f"<td><bdi>{escape(_cell(value))}</bdi></td>" for value in row)
        for row in zip(*columns.values(), strict=True)
    ]
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    if summary is None:
        return table
    return f"<details><summary>{escape(summary)}</summary>{table}</details>"


def _cell(value):
    return value if isinstance(value, str) else f"{value:.3g}"


def blend_with_white(color, strength):
    """Return a tint of a #rrggbb color, on which black is readable at any strength.

    >>> blend_with_white("#000000", 0.0), blend_with_white("#000000", 1.0)
    ('#e6e6e6', '#737373')
    """
    opacity = _MIN_OPACITY + _OPACITY_RANGE * strength
    parts = [int(color[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(255 - opacity * (255 - part)):02x}" for part in parts)
