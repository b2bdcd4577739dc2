"""Mean weights by group, as numbers and drawn."""

import sys
import warnings

import numpy as np
import pytest

from sk_metaembed import (
    Block,
    DynamicMetaEmbedding,
    EmbeddedSequences,
    EmbeddingUnion,
    TokenSequences,
)
from sk_metaembed.inspection import SourceWeightsDisplay

GROUPS = np.array(["tech", "sports"] * 10)


@pytest.fixture(scope="module")
def embedded():
    rng = np.random.default_rng(0)
    words = [["chip", "the", "new"], ["goal", "the"]] * 10
    blocks = [
        Block("small", rng.normal(size=(4, 2)), "type", [True, True, False, True]),
        Block("large", rng.normal(size=(4, 3)), "type", [True, False, False, True]),
    ]
    return EmbeddedSequences(TokenSequences.from_lists(words), blocks)


@pytest.fixture(scope="module")
def dme(embedded):
    dme = DynamicMetaEmbedding(projection_dim=4, max_epochs=2, random_state=0)
    return dme.fit(embedded, GROUPS)


def test_means_are_over_tokens_with_a_vector(dme, embedded):
    display = SourceWeightsDisplay.from_estimator(dme, embedded, groups=GROUPS)
    weights = dme.attention_weights(embedded)
    weights["group"] = GROUPS[weights["sequence"]]
    known = weights[weights["token"] != "new"]
    expected = known.groupby("group")[["small", "large"]].mean()
    np.testing.assert_allclose(display.weights, expected, rtol=1e-5)
    assert display.groups.tolist() == ["sports", "tech"]
    assert display.counts.tolist() == [20, 20]
    assert display.n_unknown == 10
    np.testing.assert_allclose(display.weights.sum(axis=1), 1, rtol=1e-5)


def test_bars_show_the_weights_with_labels(dme, embedded):
    display = SourceWeightsDisplay.from_estimator(dme, embedded, groups=GROUPS)
    widths = [[bar.get_width() for bar in bars] for bars in display.bars_]
    np.testing.assert_allclose(np.transpose(widths), display.weights)
    ax = display.ax_
    assert ax.figure is display.figure_
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["sports", "tech"]
    assert ax.get_xlabel()
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert sorted(names) == ["even share", "large", "small"]
    shown = {text.get_text() for text in ax.texts}
    assert shown == {f"{weight:.2f}" for weight in display.weights.ravel()}


def test_words_are_grouped_by_a_function(dme, embedded):
    groups = {"chip": "N", "the": "D", "new": "N", "goal": "N"}.get
    make = SourceWeightsDisplay.from_estimator
    display = make(dme, embedded, groups=groups, group_label="part of speech")
    weights = dme.attention_weights(embedded)
    weights = weights[weights["token"] != "new"]
    weights["tag"] = np.where(weights["token"] == "the", "D", "N")
    expected = weights.groupby("tag")[["small", "large"]].mean()
    np.testing.assert_allclose(display.weights, expected, rtol=1e-5)
    assert display.groups.tolist() == ["D", "N"]
    assert display.counts.tolist() == [20, 20]
    assert display.ax_.get_ylabel() == "part of speech"


def test_groups_without_known_words_are_shown_without_bars(dme, embedded):
    groups = {"new": "unknown", "the": "often"}
    display = SourceWeightsDisplay.from_estimator(
        dme, embedded[:3], groups=lambda word: groups.get(word, "rare")
    )
    assert display.groups.tolist() == ["often", "rare", "unknown"]
    assert display.counts.tolist() == [3, 3, 0]
    assert display.weights[2].tolist() == [0, 0]
    labels = [tick.get_text() for tick in display.ax_.get_yticklabels()]
    assert labels == ["often", "rare", "unknown\n(no known words)"]
    assert [text.get_text() for text in display.ax_.texts].count("") == 2
    assert display.ax_.lines[0].get_label() == "even share"
    numbers = [3, 20, 3]
    display = SourceWeightsDisplay.from_estimator(dme, embedded[:3], groups=numbers)
    assert display.groups.tolist() == [3, 20]


def test_errors_say_what_is_wrong(dme, embedded):
    make = SourceWeightsDisplay.from_estimator
    with pytest.raises(ValueError, match=r"20 sequences.*function of the word; .*\(\)"):
        make(dme, embedded, groups="pos")
    with pytest.raises(ValueError, match="for 30 of 50 weights.*'chip' in sequence 0"):
        make(dme, embedded, groups={"the": "D"}.get)
    with pytest.raises(TypeError, match="an estimator with attention_weights"):
        make(EmbeddingUnion([]), embedded)
    with pytest.raises(ValueError, match=r"each of the 20 sequences.*shape \(3,\)"):
        make(dme, embedded, groups=["a"] * 3)
    with pytest.raises(ValueError, match="3 of 50 weights.*'chip' in sequence 4"):
        make(dme, embedded, groups=["a"] * 4 + [None] + ["b"] * 15)


def test_dollar_signs_are_drawn():
    names = ["$$", r"$\foo$", "a $5 b $6", "x_y^z"]
    display = SourceWeightsDisplay(
        np.full((4, 2), 0.5), sources=names[:2], groups=names, counts=[1] * 4
    )
    with warnings.catch_warnings(action="error"):
        display.plot().figure_.canvas.draw()


def test_a_missing_matplotlib_is_named(monkeypatch):
    for name in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, name, None)
    display = SourceWeightsDisplay(
        np.ones((1, 1)), sources=["a"], groups=["g"], counts=[1]
    )
    with pytest.raises(ImportError, match=r"pip install 'sk_metaembed\[plot\]'"):
        display.plot()
