"""Small HTML pages that notebooks show for the containers."""

from html import escape

_PREVIEW_ROWS = 5
_PREVIEW_TOKENS = 12


def _table(head, rows):
    cells = "".join(f"<th>{escape(str(cell))}</th>" for cell in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"


def _preview(tokens):
    for i in range(min(len(tokens), _PREVIEW_ROWS)):
        words = tokens[i]
        yield i, len(words), _shown_words(words)


def _shown_words(words):
    more = " …" if len(words) > _PREVIEW_TOKENS else ""
    return " | ".join(words[:_PREVIEW_TOKENS]) + more


def tokens_html(tokens):
    """Return the summary and the first rows of a TokenSequences."""
    rows = _table(("row", "tokens", "preview"), _preview(tokens))
    return f"<div><b>{escape(repr(tokens))}</b>{rows}</div>"


def embedded_html(embedded):
    """Return the blocks' table and the first rows of an EmbeddedSequences."""
    blocks = _table(
        ("block", "level", "rows", "dim", "known"),
        (
            (b.name, b.level, b.n_rows, b.dim, f"{b.known_share:.1%}")
            for b in embedded.blocks
        ),
    )
    rows = _table(("row", "tokens", "preview"), _preview(embedded.tokens))
    return f"<div><b>{escape(repr(embedded))}</b>{blocks}{rows}</div>"


def pairs_html(pairs):
    """Return the summary and the first rows of a SequencePairs."""
    shown = pairs[:_PREVIEW_ROWS].sequences
    tokens = getattr(shown, "tokens", shown)
    n_rows = len(tokens) // 2
    previews = [_shown_words(tokens[i]) for i in range(len(tokens))]
    rows = _table(
        ("row", "first", "second"),
        zip(range(n_rows), previews[:n_rows], previews[n_rows:], strict=True),
    )
    return f"<div><b>{escape(repr(pairs))}</b>{rows}</div>"
