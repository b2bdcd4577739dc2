"""Explanations as tables, as HTML and drawn."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline

from sk_metaembed import FunctionEmbedding, Pooling, Tokenizer
from sk_metaembed.inspection import explain

TEXTS = ["A <b>good</b> film\x00,\nno?", "", "$$ bad & bad"]
VECTORS = {"good": [2.0, 0.0], "bad": [-1.0, 0.0], "film": [0.0, 1.0]}


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
    frame = explanation.frame()
    assert (
        frame["token"].tolist()
        == explanation.tokens.types[explanation.tokens.codes].tolist()
    )
    assert frame["sequence"].tolist() == [0] * 6 + [2] * 2
    assert frame["position"].tolist() == [0, 1, 2, 3, 4, 5, 0, 1]
    assert frame["contribution"].tolist() == explanation.words.tolist()
    frame = explanation.frame("sources")
    assert frame.columns.tolist() == ["sequence", "target", "value", "base", "function"]
    assert frame["target"].tolist() == ["+"] * 3
    np.testing.assert_allclose(frame["base"] + frame["function"], frame["value"])
    assert len(explanation.frame("columns").columns) == 4
    with pytest.raises(ValueError, match="part must be one of"):
        explanation.frame("texts")


def test_explanation_is_short(explanation):
    assert repr(explanation) == (
        "Explanation(3 texts, 8 words, 1 source; words exact, sources exact)"
    )
    heading = explanation.headings()[2]
    assert heading.startswith("+: decision value -")
    assert ", base " in heading


def test_html_marks_words_in_the_escaped_text(explanation, tmp_path):
    html = explanation._repr_html_()
    assert "<b>" not in html
    assert "&lt;<span" in html
    assert "\x00" not in html
    assert " \ufffd,\n" not in html
    assert "mathjax_ignore" in html
    assert "<i>no words</i>" in html
    good = explanation.words[explanation.tokens[0].index("good")]
    assert f'title="{good:+.3g}" class="w"' in html
    assert '2px solid #0072B2"><bdi>good</bdi>' in html
    assert '<span title="+0"><bdi>A</bdi></span>' in html
    assert html.count("2px dashed") == 1 + 2  # of the legend, and "bad bad"
    for outside in ("http", "src=", "url(", "@import", "<link", "<script"):
        assert outside not in html
    page = explanation.to_html()
    assert page.startswith("<!DOCTYPE html>")
    assert explanation.to_html(tmp_path / "page.html") == page
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page


def test_words_that_overlap_or_were_no_texts_are_listed(pipe):
    pairs = Tokenizer(tokenizer=lambda text: [text[i : i + 2] for i in range(3)])
    source = FunctionEmbedding(lambda words: [[len(word), 1] for word in words])
    steps = pairs, source, Pooling(), Ridge()
    explanation = explain(make_pipeline(*steps).fit(["abcd", "bcde"], [0, 1]), ["abcd"])
    html = explanation._repr_html_()
    assert "<bdi>ab</bdi></span> <span" in html
    assert explanation.headings()[0].startswith("prediction ")
    html = explain(pipe, [["<b>", "good"], ["\ud800"]])._repr_html_()
    assert "<bdi>&lt;b&gt;</bdi></span> <span" in html
    html.encode("utf-8")


def test_sources_and_columns_are_bars(explanation):
    ax = plt.subplots()[1]
    assert explanation.plot(ax, bar_kw={"alpha": 0.5}) is explanation
    assert explanation.ax_ is ax
    (bars,) = explanation.bars_
    widths = [bar.get_width() for bar in bars]
    assert widths == explanation.sources["function"].tolist()
    labels = [tick.get_text() for tick in ax.get_yticklabels()]
    assert labels == explanation.headings()
    assert ax.get_xlabel() == "contribution to the decision value"
    assert [text.get_text() for text in explanation.legend_.get_texts()] == ["function"]
    low, high = ax.get_xlim()
    assert low < min(widths)
    assert high > max(widths)
    with pytest.raises(ValueError, match="has no columns"):
        explanation.plot(part="columns")
    with pytest.raises(ValueError, match="part must be one of"):
        explanation.plot(part="words")
