import numpy as np
import pytest

from sk_metaembed import Block, EmbeddedSequences, TokenSequences

ROWS = [["<script>", "$a$", "\n"], [], ["b"] * 30, ["b"], ["c"], ["d", "x" * 200]]


@pytest.fixture
def embedded():
    tokens = TokenSequences.from_lists(ROWS)
    known = np.ones(tokens.n_types, dtype=bool)
    known[:3] = False
    blocks = [
        Block("<i>static", np.ones((tokens.n_types, 3)), "type", known),
        Block("layer", np.ones((tokens.n_tokens, 2), dtype=np.float16), "token"),
        Block("whole", np.ones((6, 4)), "sequence", [True, False] * 3),
    ]
    return EmbeddedSequences(tokens, blocks)


def test_page_shows_numbers_blocks_and_rows(embedded):
    page = embedded._repr_html_()
    assert "6 sequences, 37 tokens, 7 types" in page
    assert "The first 5 of 6" in page
    assert "float16" in page
    assert "57.1%" in page  # of the types of the first block
    assert "<i>empty</i>" in page
    assert "Blocks" not in embedded.tokens._repr_html_()


@pytest.mark.parametrize("level", ["tokens", "embedded"])
def test_page_is_escaped_and_self_contained(embedded, level):
    page = (embedded if level == "embedded" else embedded.tokens)._repr_html_()
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "<i>static" not in page
    for outside in ("http", "src=", "url(", "@import", "<link"):
        assert outside not in page
    assert "mathjax_ignore" in page
    page.encode()
