"""Words shaded by a source or a contribution, as HTML."""

from html import escape
from pathlib import Path

from ._style import point_style

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


def write_page(fragment, title, path):
    """Return an HTML document with a fragment as its body, and write it to a path."""
    document = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)}</title></head>\n<body>{fragment}</body></html>\n"
    )
    if path is not None:
        Path(path).write_text(document, encoding="utf-8")
    return document


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
    """Return columns, a dict of sequences, as a table; with a summary it is folded."""
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
