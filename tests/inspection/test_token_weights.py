import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from sk_metaembed import (
    Block,
    DynamicMetaEmbedding,
    EmbeddedSequences,
    TokenSequences,
)
from sk_metaembed.inspection import TokenWeightsDisplay
from sk_metaembed.inspection._attention import (
    SYMBOLS,
    blend_with_white,
    dominant_source,
)
from sk_metaembed.inspection._style import point_style

matplotlib.use("Agg")
TEXTS = [["the", "<b>", "$$", "goal"], [], ["the", "\n", "x" * 80]]
WEIGHTS = np.array(
    [
        [0.8, 0.2],
        [0.5, 0.5],
        [0.0, 0.0],
        [0.1, 0.9],
        [0.8, 0.2],
        [1.0, 0.0],
        [0.45, 0.55],
    ]
)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def display():
    tokens = TokenSequences.from_lists(TEXTS)
    return TokenWeightsDisplay(tokens, WEIGHTS, sources=["w2v", "glove"])


def many(n, rng):
    tokens = TokenSequences.from_lists([[f"word{i}" * (i % 3 + 1) for i in range(n)]])
    weights = rng.dirichlet([1, 1, 1], size=n)
    return TokenWeightsDisplay(tokens, weights, sources=["a", "b", "c"])


def luminance(colour):
    parts = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def test_strength_is_the_share_beyond_an_even_one():
    source, strength = dominant_source(WEIGHTS)
    assert source.tolist() == [0, -1, -1, 1, 0, 0, 1]
    np.testing.assert_allclose(strength, [0.6, 0, 0, 0.8, 0.6, 1, 0.1], atol=1e-12)
    # Gates that do not sum to one: only the shares count.
    np.testing.assert_allclose(dominant_source(3 * WEIGHTS)[1], strength)
    assert dominant_source(np.ones((2, 1)))[1].tolist() == [1, 1]
    assert dominant_source(np.array([[1.0, 1.0, 0.0]]))[0].tolist() == [-1]


@pytest.mark.parametrize("number", range(8))
def test_black_is_readable_on_every_tint(number):
    shades = [blend_with_white(point_style(number)["color"], s) for s in (0, 0.5, 1)]
    light = [luminance(shade) for shade in shades]
    assert light[0] > light[1] > light[2]
    assert (light[2] + 0.05) / 0.05 > 7


def test_words_boxes_and_notes_show_the_weights(display):
    display.plot()
    shown = [text.get_text() for text in display.words_]
    assert shown == ["the", "<b>", "$$", "goal", "the", r"'\n'", "x" * 39 + "…"]
    notes = [text.get_text().strip() for text in display.notes_]
    assert notes == [".80", "even", "?", ".90", ".80", "1.0", ".55"]
    faces = [to_hex(box.get_facecolor()) for box in display.boxes_]
    assert faces[0] == blend_with_white(point_style(0)["color"], 0.6)
    assert faces[3] == blend_with_white(point_style(1)["color"], 0.8)
    assert display.boxes_[2].get_linestyle() == ":"
    names = [text.get_text() for text in display.legend_.get_texts()]
    assert names == ["w2v", "glove", "no source knows it"]
    heads = [t.get_text() for t in display.ax_.texts if t.get_weight() == "bold"]
    assert heads == ["text 0", "text 1", "text 2"]


def test_sources_differ_by_marker_and_by_colour(display):
    display.plot()
    first, second = display.ax_.collections
    assert first.get_paths()[0].vertices.shape != second.get_paths()[0].vertices.shape
    assert len(first.get_offsets()) == 3
    assert len(second.get_offsets()) == 2


@pytest.mark.parametrize("n", [1, 30, 150])
@pytest.mark.parametrize("size", [None, (3, 3)])
def test_nothing_overlaps_or_leaves_the_axes(n, size):
    ax = None
    if size is not None:
        ax = plt.subplots(figsize=size, layout="constrained")[1]
    display = many(n, np.random.default_rng(n)).plot(ax)
    display.figure_.canvas.draw()
    boxes = [b.get_window_extent() for b in display.boxes_ if b.get_visible()]
    assert len(boxes) == n or (size is not None and n == 150)
    whole = display.ax_.get_window_extent().padded(1)
    for i, box in enumerate(boxes):
        assert not any(box.padded(-1).overlaps(other) for other in boxes[i + 1 :])
        assert whole.x0 <= box.x0 <= box.x1 <= whole.x1
        assert whole.y0 <= box.y0 <= box.y1 <= whole.y1
    for words in (display.words_, display.notes_):
        texts = [text for text in words if text.get_visible()]
        for text, box in zip(texts, boxes, strict=True):
            inside = text.get_window_extent()
            assert box.x0 <= inside.x0 <= inside.x1 <= box.x1
            assert box.padded(1.5).y0 <= inside.y0 <= inside.y1 <= box.padded(1.5).y1
    legend = display.legend_.get_window_extent()
    assert not any(legend.padded(-1).overlaps(box) for box in boxes)
    left_out = [t for t in display.ax_.texts if "more words" in t.get_text()]
    assert len(left_out) == (len(boxes) < n)


def test_an_estimator_gives_the_weights_of_its_words():
    rng = np.random.default_rng(0)
    tokens = TokenSequences.from_lists([["chip", "new"], ["goal"]] * 8)
    blocks = [Block(name, rng.normal(size=(3, 2)), "type") for name in ("a", "b")]
    X, y = EmbeddedSequences(tokens, blocks), [0, 1] * 8
    dme = DynamicMetaEmbedding(projection_dim=4, max_epochs=1, random_state=0)
    dme.fit(X, y)
    make = TokenWeightsDisplay.from_estimator
    display = make(dme, X[:3], labels=y[:3], plot=False)
    expected = dme.attention_weights(X[:3])
    frame = display.frame()
    assert not hasattr(display, "ax_")
    assert display.labels == ["0", "1", "0"]
    for name in ("sequence", "position", "token"):
        assert frame[name].tolist() == expected[name].tolist()
    np.testing.assert_allclose(frame[["a", "b"]], expected[["a", "b"]])
    leads = expected[["a", "b"]].idxmax(axis=1)
    assert frame["dominant_source"].tolist() == leads.tolist()
    assert display.tokens == X.tokens[:3]
    assert len(make(dme, X[:1]).boxes_) == 2
    with pytest.raises(ValueError, match="2 labels for 3 texts"):
        make(dme, X[:3], labels=["a", "b"])
    with pytest.raises(ValueError, match=r"between 1 and 1000 words; got 0.*X\[:3\]"):
        make(dme, X[:0])
    with pytest.raises(
        TypeError, match="TokenWeightsDisplay: requires an estimator with"
    ):
        make(None, X)


def test_each_side_of_a_pair_is_a_text():
    class Attending:
        def attention_weights(self, X):
            return pd.DataFrame(
                {
                    "sequence": [0, 0, 0, 1],
                    "side": ["first", "first", "second", "second"],
                    "position": [0, 1, 0, 0],
                    "token": ["a", "b", "a", "c"],
                    "w2v": [0.7, 0.2, 0.7, 1.0],
                    "glove": [0.3, 0.8, 0.3, 0.0],
                }
            )

    make = TokenWeightsDisplay.from_estimator
    display = make(Attending(), [0, 1], labels=["x", "y"], plot=False)
    assert display.sources == ["w2v", "glove"]
    assert display.tokens.to_list() == [["a", "b"], ["a"], [], ["c"]]
    assert display.labels == ["x, first", "x, second", "y, first", "y, second"]


def test_html_is_escaped_and_self_contained(display):
    page = display.to_html()
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert "<script" not in page
    for outside in ("http", "src=", "url(", "@import", "<link"):
        assert outside not in page
    assert 'title="w2v 0.80, glove 0.20"' in page
    assert f"{SYMBOLS[1]} .90" in page
    assert page.count("<h4") == 3
    assert "mathjax_ignore" in display._repr_html_()


def test_html_is_written_in_utf_8(display, tmp_path):
    display.labels = ["Fußball", "\ud800", "&"]
    assert display.to_html(tmp_path / "page.html") is None
    written = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert written == display.to_html()
    assert "Fußball" in written
    assert "&amp;" in written


_MEASURE = """
const elements = [...document.querySelectorAll('p .b')];
const boxes = elements.map(b => b.getBoundingClientRect());
const separate = boxes.every((a, i) => boxes.slice(i + 1).every(b =>
  a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top));
return {
  n: boxes.length, separate,
  inside: boxes.every(b => b.right <= innerWidth && b.left >= 0),
  scrolls: document.documentElement.scrollWidth > innerWidth,
  words: [...document.querySelectorAll('p .b bdi')].map(b => b.textContent),
  spoken: [...document.querySelectorAll('p .v')].map(b => b.textContent.trim()),
  visible: [...document.querySelectorAll('p .v')].some(b => b.offsetWidth > 1),
  colours: [...document.querySelectorAll('p .b')].map(b => getComputedStyle(b).color),
  requests: performance.getEntriesByType('resource').length,
  rows: document.querySelectorAll('tbody tr').length,
};
"""


@pytest.mark.parametrize("width", [360, 1000])
def test_words_in_a_browser_do_not_overlap_and_have_spoken_text(
    display, browser, width
):
    page = browser(display.to_html(), _MEASURE, width=width)
    assert page["n"] == page["rows"] == 7
    assert page["separate"]
    assert page["inside"]
    assert not page["scrolls"]
    assert page["words"][1:3] == ["<b>", "$$"]
    assert page["spoken"][:3] == ["(w2v 0.80)", "(even)", "(no source knows it)"]
    assert not page["visible"]
    assert page["requests"] == 0
    assert page["colours"][0] == "rgb(0, 0, 0)"
