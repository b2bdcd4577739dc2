"""HTML representations of the containers in notebooks."""

import unicodedata
from html import escape

_PREVIEW_ROWS = 5
_PREVIEW_TOKENS = 12
_LONGEST = 40  # maximum characters of a displayed word

# Only translucent grays, which are readable on dark and light pages.
_STYLE = """
.skme-data{font-size:14px;max-width:70em;overflow-x:auto}
.skme-data table{border-collapse:collapse;color:inherit;font-size:inherit}
.skme-data caption{text-align:left;font-weight:bold}
.skme-data th,.skme-data td{padding:2px 10px 2px 0;text-align:left;vertical-align:top;
color:inherit;border-bottom:1px solid rgba(128,128,128,.5)}
.skme-data .t{display:inline-block;border:1px solid rgba(128,128,128,.8);
border-radius:3px;padding:0 4px;margin:1px;max-width:100%;overflow-wrap:anywhere}
"""


def display_word(word):
    r"""Return a word for display, with invisible characters escaped as by `repr`.

    >>> display_word("word"), display_word("\n"), display_word("ab" * 30)
    ('word', "'\\n'", 'abababababababababababababababababababa…')
    """
    word = word.encode("utf-8", "backslashreplace").decode()
    hidden = any(unicodedata.category(c) in ("Cc", "Zl", "Zp") for c in word)
    word = repr(word) if hidden or not word.strip() else word
    return word if len(word) <= _LONGEST else word[: _LONGEST - 1] + "…"


def tokens_html(tokens):
    """Return the counts and the first rows of a TokenSequences as HTML."""
    return _page(tokens, _preview(tokens))


def embedded_html(embedded):
    """Return the counts, blocks and first rows of an EmbeddedSequences as HTML."""
    head = ("block", "level", "rows", "dim", "dtype", "known")
    rows = [_block_row(block) for block in embedded.blocks]
    return _page(embedded, _table("Blocks", head, rows), _preview(embedded.tokens))


def pairs_html(pairs):
    """Return the summary and the first rows of a SequencePairs as HTML."""
    shown = pairs[:_PREVIEW_ROWS].sequences
    words = [_chips(row) for row in getattr(shown, "tokens", shown)]
    n = len(words) // 2
    rows = zip(map(str, range(n)), words[:n], words[n:], strict=True)
    table = _table(_first_rows(len(pairs)), ("row", "first", "second"), rows)
    return _page(pairs, table)


def _block_row(block):
    dtype = block._table_rows[0].dtype
    numbers = (f"{block.n_rows:,}", f"{block.dim:,}", dtype, f"{block.known_share:.1%}")
    cells = (block.name, block.level, *numbers)
    return [f"<bdi>{_escaped(cell)}</bdi>" for cell in cells]


def _preview(tokens):
    shown = tokens[:_PREVIEW_ROWS]
    rows = [(str(i), f"{len(row):,}", _chips(row)) for i, row in enumerate(shown)]
    return _table(_first_rows(len(tokens)), ("row", "tokens", "words"), rows)


def _first_rows(n):
    return f"The first {_PREVIEW_ROWS} of {n:,}" if n > _PREVIEW_ROWS else "Rows"


def _chips(words):
    if not words:
        return "<i>empty</i>"
    shown = map(display_word, words[:_PREVIEW_TOKENS])
    chips = [f'<bdi class="t">{escape(word)}</bdi>' for word in shown]
    return " ".join(chips) + (" …" if len(words) > _PREVIEW_TOKENS else "")


def _escaped(value):
    return escape(str(value).encode("utf-8", "backslashreplace").decode())


def _table(caption, head, rows):
    """Return an HTML table; the cells of `rows` must be HTML already."""
    top = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    body = "".join(f"<tr><td>{'</td><td>'.join(row)}</td></tr>" for row in rows)
    return (
        f"<table><caption>{caption}</caption>"
        f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
    )


def _page(container, *tables):
    # Without these classes notebooks typeset text between dollar signs.
    root = '<div class="skme-data tex2jax_ignore mathjax_ignore">'
    head = f"<p>{_escaped(repr(container))}</p>"
    return f"{root}<style>{_STYLE}</style>{head}{''.join(tables)}</div>"
