"""Texts whose words are shaded, as HTML that needs nothing else."""

from html import escape

from ._drawing import point_style
from ._leaning import SYMBOLS, tint, written

# Boxes bring their own colours, and all else inherits: it reads on dark and on light.
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
    """Return a fragment: a legend, the texts, and a table of all weights.

    Parameters
    ----------
    texts : Texts
    sources : list of str

    Returns
    -------
    str
    """
    parts = [_legend(texts, sources)]
    spans = zip(texts.offsets[:-1], texts.offsets[1:], strict=True)
    for label, (start, end) in zip(texts.labels, spans, strict=True):
        if label is not None:
            parts.append(f'<h4 dir="auto">{escape(label)}</h4>')
        boxes = "\n".join(_box(texts, i, sources) for i in range(start, end))
        parts.append(f'<p dir="auto">{boxes}</p>')
    parts.append(_table(texts, sources))
    # Notebooks would typeset what stands between dollars.
    root = '<div class="skme-words tex2jax_ignore mathjax_ignore">'
    html = f"{root}<style>{_STYLE}</style>{''.join(parts)}</div>"
    return html.encode("utf-8", "backslashreplace").decode()


def page(fragment, title):
    """Return a whole HTML document around a fragment."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)}</title></head>\n<body>{fragment}</body></html>\n"
    )


def _symbol(number):
    return SYMBOLS[number % len(SYMBOLS)]


def _legend(texts, sources):
    entries = []
    for number, name in enumerate(sources):
        colour = tint(point_style(number)["color"], 1.0)
        key = f'<span class="b" style="background:{colour}">{_symbol(number)}</span>'
        entries.append(f"<li>{key} <bdi>{escape(name)}</bdi></li>")
    if not texts.weights.any(axis=1).all():
        entries.append('<li><span class="b u">?</span> no source knows the word</li>')
    told = "<li>deeper: leans more; number: weight of the source</li>"
    return f'<ul aria-label="Sources">{"".join(entries)}{told}</ul>'


def _box(texts, i, sources):
    number, weights = texts.source[i], texts.weights[i]
    look, note, said = 'class="b u"', "?", "no source knows it"
    if weights.any():
        look, note, said = 'class="b" style="background:#f2f2f2"', "even", "even"
    if number >= 0:
        colour = tint(point_style(number)["color"], texts.strength[i])
        look = f'class="b" style="background:{colour}"'
        note = f"{_symbol(number)} {written(weights[number])}"
        said = f"{sources[number]} {weights[number]:.2f}"
    pairs = zip(sources, weights, strict=True)
    every = ", ".join(f"{name} {weight:.2f}" for name, weight in pairs)
    return (
        f'<span {look} title="{escape(every)}"><bdi>{escape(texts.words[i])}</bdi>'
        f'<small aria-hidden="true">{note}</small>'
        f'<span class="v"> ({escape(said)})</span></span>'
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
