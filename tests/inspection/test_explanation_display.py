"""Explanations as frames, as HTML and drawn."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline

from sk_metaembed import FunctionEmbedding, Pooling, Tokenizer, TokenSequences
from sk_metaembed.inspection import Explanation, ExplanationDisplay, explain
from sk_metaembed.inspection._attention import blend_with_white
from sk_metaembed.inspection._style import point_style

matplotlib.use("Agg")
TEXTS = ["A <b>good</b> film\x00,\nno?", "", "$$ bad & bad"]
VECTORS = {"good": [2.0, 0.0], "bad": [-1.0, 0.0], "film": [0.0, 1.0]}


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def look_up(words):
    return [VECTORS.get(word) for word in words]


@pytest.fixture(scope="module")
def pipe():
    source = FunctionEmbedding(look_up)
    steps = Tokenizer(missing="empty"), source, Pooling(), LogisticRegression()
    return make_pipeline(*steps).fit(
        ["good film", "bad film", "good", "bad"], ["+", "-", "+", "-"]
    )


@pytest.fixture
def explanation(pipe):
    return explain(pipe, TEXTS, target="+")


def test_frames_hold_the_contributions(explanation):
    frame = explanation.to_frame()
    assert (
        frame["token"].tolist()
        == explanation.tokens.types[explanation.tokens.codes].tolist()
    )
    assert frame["sequence"].tolist() == [0] * 6 + [2] * 2
    assert frame["position"].tolist() == [0, 1, 2, 3, 4, 5, 0, 1]
    assert frame["contribution"].tolist() == explanation.words.tolist()
    frame = explanation.to_frame("sources")
    assert frame.columns.tolist() == ["sequence", "target", "value", "base", "function"]
    assert frame["target"].tolist() == ["+"] * 3
    np.testing.assert_allclose(frame["base"] + frame["function"], frame["value"])
    assert len(explanation.to_frame("columns").columns) == 4
    with pytest.raises(ValueError, match="part must be one of"):
        explanation.to_frame("texts")


def test_explanation_is_frozen_and_short(explanation):
    assert repr(explanation) == (
        "Explanation(3 texts, 8 words, 1 source; words exact, sources exact)"
    )
    with pytest.raises(AttributeError):
        explanation.words = None
    heading = explanation.headings()[2]
    assert heading.startswith("+: decision value -")
    assert ", base " in heading


def test_html_marks_words_in_the_escaped_text(explanation, tmp_path):
    html = explanation._repr_html_()
    assert "<b>" not in html
    assert "&lt;<span" in html
    assert "</span>&gt;<span" in html
    assert "\x00" not in html
    assert " \ufffd,\n" not in html
    assert "mathjax_ignore" in html
    assert "<i>no words</i>" in html
    good = explanation.words[explanation.tokens[0].index("good")]
    color = blend_with_white(point_style(0)["color"], 1.0)
    span = f'<span class="w f" style="background:{color}" title="{good:+.3g}">good'
    assert span in html
    assert '<span title="0">A</span>' in html
    assert html.count('class="w a"') == 1 + 2  # of the legend, and "bad bad"
    for outside in ("http", "src=", "url(", "@import", "<link", "<script"):
        assert outside not in html
    page = explanation.to_html()
    assert page.startswith("<!DOCTYPE html>")
    assert explanation.to_html(tmp_path / "page.html") is None
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page


def test_words_that_overlap_or_were_no_texts_are_listed(pipe):
    pairs = Tokenizer(tokenizer=lambda text: [text[i : i + 2] for i in range(3)])
    source = FunctionEmbedding(lambda words: [[len(word), 1] for word in words])
    steps = pairs, source, Pooling(), Ridge()
    explanation = explain(make_pipeline(*steps).fit(["abcd", "bcde"], [0, 1]), ["abcd"])
    html = explanation._repr_html_()
    assert ">ab</span> <span" in html
    assert explanation.headings()[0].startswith("prediction ")
    html = explain(pipe, [["<b>", "good"], ["\ud800"]])._repr_html_()
    assert '<span title="0">&lt;b&gt;</span> <span' in html
    html.encode("utf-8")


def test_html_shows_the_first_texts():
    tokens = TokenSequences.from_lists([["word"]] * 30)
    ones = np.ones(30)
    explanation = Explanation(tokens, ones, ones, ones, {"<s>": ones}, {"n": ones})
    html = explanation._repr_html_()
    assert html.count("<h4") == 20
    assert "and 10 more texts" in html
    assert "&lt;s&gt;" in html
    assert len(html) < 20_000


def test_words_are_drawn_with_their_contributions(explanation):
    display = ExplanationDisplay(explanation).plot()
    words = [text.get_text() for text in display.words_]
    assert words == ["a", "b", "good", "b", "film", "no", "bad", "bad"]
    notes = [text.get_text().strip() for text in display.notes_]
    expected = [f"{x:+.2f}" if x else "0" for x in explanation.words]
    assert notes == expected
    faces = [to_hex(box.get_facecolor()) for box in display.boxes_]
    assert faces[2] == blend_with_white(point_style(0)["color"], 1.0)
    largest = explanation.words.max()
    share = -explanation.words[-1] / largest
    assert faces[-1] == blend_with_white(point_style(5)["color"], share)
    assert display.boxes_[0].get_linestyle() == ":"
    labels = [text.get_text() for text in display.legend_.get_texts()]
    assert labels == ["for the target", "against it"]
    heads = [t.get_text() for t in display.ax_.texts if t.get_weight() == "bold"]
    assert heads == explanation.headings()
    pd.testing.assert_frame_equal(display.frame(), explanation.to_frame())


def test_symbols_do_not_hide_the_numbers(explanation):
    display = ExplanationDisplay(explanation).plot()
    display.figure_.canvas.draw()
    marks = np.concatenate([c.get_offsets() for c in display.ax_.collections])
    ends = display.ax_.transData.transform(marks)[:, 0]
    radius = 2.5 * display.figure_.dpi / 72
    notes = [n for n in display.notes_ if n.get_text().startswith(" ")]
    lefts = [note.get_window_extent() for note in notes]
    spaces = [box.x0 + 0.3 * box.width for box in lefts]
    assert (np.sort(ends + radius) <= np.sort(spaces)).all()


def test_sources_and_columns_are_bars(explanation):
    display = ExplanationDisplay(explanation, labels=["x", "$$", "z"])
    display.plot(part="sources", bar_kw={"alpha": 0.5})
    (bars,) = display.bars_
    widths = [bar.get_width() for bar in bars]
    assert widths == explanation.sources["function"].tolist()
    labels = [tick.get_text() for tick in display.ax_.get_yticklabels()]
    assert labels == ["x", "$$", "z"]
    assert display.ax_.get_xlabel() == "contribution to the decision value"
    low, high = display.ax_.get_xlim()
    assert low < min(widths)
    assert high > max(widths)
    with pytest.raises(ValueError, match="has no columns"):
        display.plot(part="columns")
    with pytest.raises(ValueError, match="part must be one of"):
        display.plot(part="rows")


def test_estimators_are_explained_and_drawn(pipe):
    make = ExplanationDisplay.from_estimator
    ax = plt.subplots()[1]
    display = make(pipe, TEXTS, target="-", labels=[1, 2, 3], ax=ax, legend=False)
    assert display.ax_ is ax
    assert display.legend_ is None
    assert set(display.explanation.targets) == {"-"}
    assert display.labels == ["1", "2", "3"]
    left_out = make(pipe, TEXTS, method="occlusion").explanation
    assert left_out.word_method == "occlusion"
    with pytest.raises(ValueError, match="1 labels for 3 texts"):
        make(pipe, TEXTS, labels=["x"])
    with pytest.raises(ValueError, match="between 1 and 1000 words; got 0"):
        make(pipe, [""])
    with pytest.raises(ValueError, match=r"got 1200. Pass a part of the texts"):
        make(pipe, ["good bad"] * 600)
