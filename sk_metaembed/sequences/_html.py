"""HTML representations of the containers in notebooks."""

import unicodedata
from html import escape

import numpy as np

_PREVIEW_ROWS = 5
_PREVIEW_TOKENS = 12
_LONGEST = 40  # characters of a displayed word

# Only translucent grays, which read on dark and on light pages.
_STYLE = """
.skme-data{font-size:14px;max-width:70em;overflow-x:auto}
.skme-data p{margin:.3em 0}
.skme-data table{border-collapse:collapse;margin:.3em 0 .8em;color:inherit;
font-size:inherit}
.skme-data caption{text-align:left;font-weight:bold;padding:.2em 0}
.skme-data th,.skme-data td{padding:2px 10px 2px 0;text-align:left;vertical-align:top;
color:inherit;border-bottom:1px solid rgba(128,128,128,.5)}
.skme-data .n{text-align:right;font-variant-numeric:tabular-nums}
.skme-data .t{display:inline-block;border:1px solid rgba(128,128,128,.8);
border-radius:3px;padding:0 4px;margin:1px;max-width:100%;overflow-wrap:anywhere}
"""


def display_word(word):
    r"""Return a word for display: invisible characters as Python writes them.

    >>> display_word("word"), display_word("\n"), display_word("ab" * 30)
    ('word', "'\\n'", 'abababababababababababababababababababa…')
    """
    word = word.encode("utf-8", "backslashreplace").decode()
    hidden = any(unicodedata.category(c) in ("Cc", "Zl", "Zp") for c in word)
    word = repr(word) if hidden or not word.strip() else word
    return word if len(word) <= _LONGEST else word[: _LONGEST - 1] + "…"


def tokens_html(tokens):
    """Return the counts and the first rows of a TokenSequences."""
    return _page("TokenSequences", _counts(tokens), [_preview(tokens)])


def embedded_html(embedded):
    """Return the counts, the blocks and the first rows of an EmbeddedSequences."""
    tokens = embedded.tokens
    summary = [
        *_counts(tokens),
        f"{embedded.dim:,} dimensions",
        f"level {embedded.level}",
    ]
    head = ("block", "level", "rows", "dim", "dtype", "known")
    rows = [_block_row(embedded, block) for block in embedded.blocks]
    parts = [_table("Blocks", head, rows, numeric=(2, 3)), _preview(tokens)]
    return _page("EmbeddedSequences", summary, parts)


def pairs_html(pairs):
    """Return the summary and the first rows of a SequencePairs."""
    shown = pairs[:_PREVIEW_ROWS].sequences
    tokens = getattr(shown, "tokens", shown)
    n_rows = len(tokens) // 2
    words = [_chips(tokens[i]) for i in range(len(tokens))]
    rows = list(
        zip(map(str, range(n_rows)), words[:n_rows], words[n_rows:], strict=True)
    )
    table = _table(_first_rows(len(pairs)), ("row", "first", "second"), rows)
    return _page("SequencePairs", [escape(repr(pairs))], [table])


def known_shares(embedded, block):
    """Return in words the share of used types, tokens or sequences that are known."""
    if block.level != "type":
        return f"{block.known_share:.1%} of {block.level}s"
    counts = embedded.tokens.type_counts()
    used = counts > 0
    if not used.any():
        return "no types"
    types = block.known[used].mean()
    tokens = counts[block.known].sum() / counts.sum()
    return f"{types:.1%} of types, {tokens:.1%} of tokens"


def _counts(tokens):
    n_used = len(np.unique(tokens.codes))
    types = f"{tokens.n_types:,} types"
    if n_used < tokens.n_types:
        types += f" ({n_used:,} of them occur)"
    summary = [f"{len(tokens):,} sequences", f"{tokens.n_tokens:,} tokens", types]
    if len(tokens):
        lengths = tokens.lengths
        summary.append(
            f"{lengths.min():,} to {lengths.max():,} tokens per sequence, "
            f"{lengths.mean():,.1f} on average"
        )
    return summary


def _block_row(embedded, block):
    dtype = block.indexed()[0].dtype
    cells = (block.name, block.level, f"{block.n_rows:,}", f"{block.dim:,}", dtype)
    cells = (*cells, known_shares(embedded, block))
    return [f"<bdi>{_escaped(cell)}</bdi>" for cell in cells]


def _preview(tokens):
    n_shown = min(len(tokens), _PREVIEW_ROWS)
    rows = [
        (str(i), f"{tokens.lengths[i]:,}", _chips(tokens[i])) for i in range(n_shown)
    ]
    head = ("row", "tokens", "words")
    return _table(_first_rows(len(tokens)), head, rows, numeric=(1,))


def _first_rows(n):
    return f"The first {_PREVIEW_ROWS} of {n:,}" if n > _PREVIEW_ROWS else "Rows"


def _chips(words):
    if not words:
        return "<i>empty</i>"
    shown = [f'<bdi class="t">{_word(word)}</bdi>' for word in words[:_PREVIEW_TOKENS]]
    return " ".join(shown) + (" …" if len(words) > _PREVIEW_TOKENS else "")


def _word(word):
    return escape(display_word(word))


def _escaped(value):
    return escape(str(value).encode("utf-8", "backslashreplace").decode())


def _table(caption, head, rows, numeric=()):
    """Return a table; the cells of rows are HTML already."""
    look = ['class="n"' if i in numeric else "" for i in range(len(head))]
    top = "".join(
        f'<th scope="col" {css}>{escape(cell)}</th>'
        for cell, css in zip(head, look, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(f"<td {css}>{c}</td>" for c, css in zip(row, look, strict=True))
        + "</tr>"
        for row in rows
    )
    return (
        f"<table><caption>{escape(caption)}</caption>"
        f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
    )


def _page(name, summary, parts):
    # Without these classes notebooks typeset text between dollar signs.
    root = '<div class="skme-data tex2jax_ignore mathjax_ignore">'
    head = f"<p><b>{name}</b>: {'; '.join(summary)}</p>"
    return f"{root}<style>{_STYLE}</style>{head}{''.join(parts)}</div>"
