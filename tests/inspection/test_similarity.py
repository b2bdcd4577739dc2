import sys

import numpy as np
import pytest
from sklearn.metrics.pairwise import cosine_similarity

from sk_metaembed import (
    Block,
    EmbeddedSequences,
    FunctionEmbedding,
    TokenSequences,
    WordVectors,
)
from sk_metaembed.inspection import SimilarityDisplay

SENTENCES = [["the", "queen", "met", "the", "king"], ["queen", "met", "a", "king"]]
WORDS = ["king", "queen", "man", "woman", "apple"]


@pytest.fixture(scope="module")
def embedded():
    rng = np.random.default_rng(0)
    tokens = TokenSequences.from_lists(SENTENCES)
    known = np.arange(9) != 2
    blocks = [
        Block("static", rng.normal(size=(5, 3)), "type"),
        Block("layer", rng.normal(size=(9, 4)), "token", known),
        Block("sentence", rng.normal(size=(2, 4)), "sequence"),
    ]
    return EmbeddedSequences(tokens, blocks)


@pytest.fixture(scope="module")
def vectors():
    return np.random.default_rng(1).normal(size=(5, 6))


def test_numbers_are_those_of_scikit_learn(vectors):
    similar = SimilarityDisplay.from_vectors(vectors, WORDS)
    np.testing.assert_allclose(similar.values, cosine_similarity(vectors), atol=1e-12)
    assert SimilarityDisplay.from_vectors(np.ones((2, 3))).values.max() <= 1
    frame = similar.frame()
    assert frame.index.tolist() == frame.columns.tolist() == WORDS
    assert frame.loc["king", "apple"] == similar.values[0, 4]


def test_occurrences_are_selected_by_position_or_word(embedded):
    make = SimilarityDisplay.from_embedded
    places = make(embedded, block="layer", tokens=[(0, 4), (0, 1), (1, 0)])
    words = make(embedded, block="layer", tokens=[(0, "king"), (0, "queen"), (1, 0)])
    expected = cosine_similarity(embedded.block("layer").values[[4, 1, 5]])
    np.testing.assert_allclose(places.values, expected, atol=1e-6)
    assert (places.values == words.values).all()
    assert places.labels == ["king", "queen (0, 1)", "queen (1, 0)"]
    assert places.ax_.get_title() == "layer"


def test_constructors_give_equal_displays(vectors, tmp_path):
    table = dict(zip(WORDS, vectors.astype(np.float32), strict=True))
    source = FunctionEmbedding(lambda words: [table[word] for word in words])
    source.fit([WORDS])
    expected = SimilarityDisplay.from_vectors(vectors, WORDS).values
    store = WordVectors.from_arrays(WORDS, vectors, path=tmp_path / "store")
    displays = [
        SimilarityDisplay.from_words(table, WORDS),
        SimilarityDisplay.from_words(store, WORDS),
        SimilarityDisplay.from_words(source, WORDS),
        SimilarityDisplay.from_estimator(source, [WORDS]),
    ]
    for display in displays:
        np.testing.assert_allclose(display.values, expected, atol=1e-6)
        assert display.labels == WORDS


def test_heat_map_has_labels_values_and_a_symmetric_scale(vectors):
    display = SimilarityDisplay.from_vectors(vectors, WORDS)
    assert display.figure_ is display.ax_.figure
    ax = display.ax_
    assert display.im_.get_clim() == (-1, 1)
    assert [tick.get_text() for tick in ax.get_xticklabels()] == WORDS
    assert [tick.get_text() for tick in ax.get_yticklabels()] == WORDS
    written = [[text.get_text() for text in row] for row in display.text_]
    assert written == [[f"{s:.2f}" for s in row] for row in display.values]
    assert display.im_.colorbar.ax.get_ylabel() == "cosine similarity"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tokens": [(0, 1)]}, r"3 blocks, \['static', 'layer', 'sentence'\].*block="),
        (
            {"block": "layer", "tokens": [(2, 0)]},
            "sequence must be at least 0 and below 2; got 2",
        ),
        ({"block": "layer", "tokens": ["queen"]}, r"2 times, .*: \(0, 1\), \(1, 0\)"),
        ({"block": "static", "tokens": ["cat"]}, "'cat' does not occur in the sequen"),
        ({"block": "layer", "tokens": [(0, "met")]}, "for 1 of 1: met"),
        ({"block": "static", "tokens": []}, "between 1 and 1000 vectors; got 0"),
    ],
)
def test_errors_in_the_selection_say_what_is_wrong(embedded, options, message):
    with pytest.raises(ValueError, match=message):
        SimilarityDisplay.from_embedded(embedded, **options)


def test_other_errors_say_what_is_wrong(embedded, vectors):
    make = SimilarityDisplay
    with pytest.raises(TypeError, match=r"must be \(sequence, position\).*got 3"):
        make.from_embedded(embedded, block="layer", tokens=[3])
    with pytest.raises(TypeError, match=r"got ndarray.*from_vectors"):
        make.from_embedded(vectors)
    with pytest.raises(TypeError, match=r"got dict.*from_words"):
        make.from_estimator({}, WORDS)
    with pytest.raises(ValueError, match="no vector for 1 of 2: dog"):
        make.from_words({"cat": [1.0]}, ["cat", "dog"])
    with pytest.raises(ValueError, match="vector of 'b' is zero"):
        make.from_vectors([[1.0], [0.0]], ["a", "b"])
    with pytest.raises(ValueError, match="vector of '1' contains NaN"):
        make.from_vectors([[1.0], [np.nan]])
    with pytest.raises(ValueError, match="got 1001"):
        make.from_vectors(np.ones((1001, 1)))


def test_a_missing_matplotlib_is_named(monkeypatch):
    for name in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"pip install 'sk_metaembed\[plot\]'"):
        SimilarityDisplay.from_vectors([[1.0]])
