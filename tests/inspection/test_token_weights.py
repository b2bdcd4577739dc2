import numpy as np
import pandas as pd
import pytest

from sk_metaembed import Block, DynamicMetaEmbedding, EmbeddedSequences, TokenSequences
from sk_metaembed.inspection import TokenWeightsDisplay

TEXTS = [["the", "<b>", "$$", "goal"], [], ["the", "\n", "x" * 80]]
PAIRS = [(8, 2), (5, 5), (0, 0), (1, 9), (8, 2), (10, 0), (4.5, 5.5)]
WEIGHTS = np.array(PAIRS) / 10


@pytest.fixture
def display():
    tokens = TokenSequences.from_lists(TEXTS)
    return TokenWeightsDisplay(tokens, WEIGHTS, sources=["w2v", "glove"])


def html_of(weights):
    tokens = TokenSequences.from_lists([["word"]] * len(weights))
    names = [f"s{i}" for i in range(len(weights[0]))]
    return TokenWeightsDisplay(tokens, np.array(weights), sources=names).to_html()


def luminance(color):
    parts = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def shades(html):
    """Return the colors of the words, which come after those of the legend."""
    body = html.partition("deeper shade")[2]
    return [part[:7] for part in body.split("background:")[1:]]


def test_black_is_readable_and_a_larger_share_is_darker():
    for number in range(8):
        weights = np.full((3, 8), 1.0)
        weights[:, number] = [1.5, 4, 1000]
        light = [luminance(shade) for shade in shades(html_of(weights))]
        assert light[0] > light[1] > light[2]
        assert (light[2] + 0.05) / 0.05 > 7


def test_only_shares_count_and_ties_have_no_dominant_source(display):
    assert shades(html_of(WEIGHTS)) == shades(html_of(3 * WEIGHTS))
    leads = display.frame()["dominant_source"].tolist()
    assert leads == ["w2v", None, None, "glove", "w2v", "w2v", "glove"]
    alone = html_of([[1.0], [2.0]])
    assert len(set(shades(alone))) == 1
    assert shades(html_of([[1.0, 1.0, 0.0]])) == []


def test_an_estimator_gives_the_weights_of_its_words():
    rng = np.random.default_rng(0)
    tokens = TokenSequences.from_lists([["chip", "new"], ["goal"]] * 8)
    blocks = [Block(name, rng.normal(size=(3, 2)), "type") for name in ("a", "b")]
    X, y = EmbeddedSequences(tokens, blocks), [0, 1] * 8
    dme = DynamicMetaEmbedding(projection_dim=4, max_epochs=1, random_state=0)
    dme.fit(X, y)
    make = TokenWeightsDisplay.from_estimator
    display = make(dme, X[:3], labels=y[:3])
    expected = dme.attention_weights(X[:3])
    frame = display.frame()
    assert display.labels == ["0", "1", "0"]
    for name in ("sequence", "position", "token"):
        assert frame[name].tolist() == expected[name].tolist()
    np.testing.assert_allclose(frame[["a", "b"]], expected[["a", "b"]])
    leads = expected[["a", "b"]].idxmax(axis=1)
    assert frame["dominant_source"].tolist() == leads.tolist()
    assert display.tokens == X.tokens[:3]
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
    display = make(Attending(), [0, 1], labels=["x", "y"])
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
    assert "<bdi>goal</bdi> <small>▲ 0.90</small>" in page
    assert "<bdi>$$</bdi> <small>?</small>" in page
    assert "<small>even</small>" in page
    assert page.count("<h4") == 3
    assert "mathjax_ignore" in display._repr_html_()
