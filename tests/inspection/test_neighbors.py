import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_metaembed import (
    ConcatMetaEmbedding,
    EmbeddingUnion,
    FunctionEmbedding,
    Pooling,
    Tokenizer,
    TokenSequences,
)
from sk_metaembed.inspection import NeighborsDisplay
from sk_metaembed.inspection._neighbors import nearest
from sk_metaembed.sequences._word_lookup import lookup_vectors

matplotlib.use("Agg")
VOCABULARY = [f"w{i}" for i in range(40)]


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def table(seed, dim=5, n=40):
    rng = np.random.default_rng(seed)
    return dict(zip(VOCABULARY[:n], rng.normal(size=(n, dim)), strict=True))


@pytest.fixture(scope="module")
def pipeline():
    one, two = table(0), table(1, dim=3)
    sources = [
        ("one", FunctionEmbedding(lambda words: [one[word] for word in words])),
        ("two", FunctionEmbedding(lambda words: [two[word] for word in words])),
    ]
    steps = EmbeddingUnion(sources), ConcatMetaEmbedding(), Pooling(), StandardScaler()
    return make_pipeline(Tokenizer(), *steps).fit([" ".join(VOCABULARY)])


def by_hand(vectors, word, n):
    words = list(vectors)
    values = np.array([vectors[w] / np.linalg.norm(vectors[w]) for w in words])
    cosines = values @ values[words.index(word)]
    order = [i for i in np.argsort(-cosines, kind="stable") if words[i] != word][:n]
    return [words[i] for i in order], cosines[order]


def test_neighbors_equal_those_computed_by_hand():
    tables = {"a": table(0), "b": table(1, dim=9)}
    display = NeighborsDisplay.from_embeddings(
        tables, ["w3", "w17"], vocabulary=VOCABULARY, n_neighbors=6
    )
    for i, word in enumerate(["w3", "w17"]):
        for j, vectors in enumerate(tables.values()):
            words, cosines = by_hand(vectors, word, 6)
            assert display.neighbors[i, j].tolist() == words
            np.testing.assert_allclose(display.cosines[i, j], cosines, atol=1e-6)


def test_a_pipeline_shows_its_sources_and_their_combination(pipeline):
    display = NeighborsDisplay.from_estimator(
        pipeline, "w3", vocabulary=TokenSequences.from_lists([VOCABULARY])
    )
    assert display.embeddings == ["one", "two", "concat"]
    values, _ = lookup_vectors(pipeline[:3], VOCABULARY)
    both = dict(zip(VOCABULARY, values, strict=True))
    for j, vectors in enumerate((table(0), table(1, dim=3), both)):
        assert display.neighbors[0, j].tolist() == by_hand(vectors, "w3", 8)[0]
    alone = NeighborsDisplay.from_estimator(
        pipeline[1], ["w3"], vocabulary=VOCABULARY, n_neighbors=2
    )
    assert alone.embeddings == ["one", "two"]


def test_unknown_words_have_no_neighbors_and_are_not_neighbors():
    values = np.array([[1.0, 0], [1, 0.1], [0, 0], [1, 0.2], [9, 9]])
    known = np.array([True, True, True, True, False])
    result = nearest(values, known, np.array([0, 2, 4]), list("abcde"), 3)
    assert result.neighbors.tolist() == [["b", "d", None], [None] * 3, [None] * 3]
    assert np.isnan(result.cosines[1:]).all()
    display = NeighborsDisplay.from_embeddings(
        {"a": table(0, n=10), "b": table(0)}, ["w30"], vocabulary=VOCABULARY
    )
    assert display.text_[0][0].get_text() == "not known"
    assert set(display.frame()["embedding"]) == {"b"}


def test_shared_neighbors_are_bold_and_joined():
    tables = {"a": table(0), "b": table(0), "c": table(2)}
    display = NeighborsDisplay.from_embeddings(
        tables, ["w1"], vocabulary=VOCABULARY, n_neighbors=5
    )
    frame = display.frame()
    weights = [text.get_weight() for text in display.text_[0]]
    shared = frame["n_embeddings"] > 1
    assert weights == np.where(shared, "bold", "normal").tolist()
    lines = display.links_[0]
    same = set(display.neighbors[0, 1]) & set(display.neighbors[0, 2])
    assert len(lines) == 5 + len(same)
    for rank, line in enumerate(lines[:5], 1):
        assert tuple(line.get_ydata()) == (rank, rank)
        assert 0 < line.get_xdata()[0] < line.get_xdata()[1] < 1


@pytest.mark.parametrize("n_embeddings", [1, 2, 6])
@pytest.mark.parametrize("size", [None, (4, 3)])
def test_nothing_overlaps(n_embeddings, size):
    words = [f"a-long-word-{i}{'x' * i}" for i in range(30)]
    rng = np.random.default_rng(0)
    tables = {
        f"embedding number {i}": dict(zip(words, rng.normal(size=(30, 4)), strict=True))
        for i in range(n_embeddings)
    }
    ax = None if size is None else plt.subplots(figsize=size, layout="constrained")[1]
    display = NeighborsDisplay.from_embeddings(
        tables, words[:1] if size else words[:3], vocabulary=words, ax=ax
    )
    display.figure_.canvas.draw()
    for panel in display.text_:
        boxes = [text.get_window_extent().padded(-0.5) for text in panel]
        for i, box in enumerate(boxes):
            assert not any(box.overlaps(other) for other in boxes[i + 1 :])
    if size is None:
        figure = display.figure_.bbox.padded(1)
        panels = [ax.get_tightbbox() for ax in display.axes_]
        assert all(figure.x0 <= box.x0 <= box.x1 <= figure.x1 for box in panels)
        names = display.ax_.get_xticklabels()
        boxes = [name.get_window_extent() for name in names]
        assert not any(a.overlaps(b) for a, b in zip(boxes, boxes[1:], strict=False))


def test_dollar_signs_in_words_are_drawn():
    vectors = {"$$": [1.0, 0.2], "10.5": [1.0, 0.0], r"$\foo$": [0.5, 1.0]}
    display = NeighborsDisplay.from_embeddings(
        {"$$": vectors}, "$$", vocabulary=vectors
    )
    display.figure_.canvas.draw()
    assert display.text_[0][0].get_text() == "10.5  .98"


def test_errors_say_what_is_wrong(pipeline):
    make = NeighborsDisplay.from_embeddings
    with pytest.raises(
        TypeError, match="requires a dict of embeddings by name; got {}"
    ):
        make({}, ["w1"], vocabulary=VOCABULARY)
    with pytest.raises(ValueError, match="words must contain at least one word"):
        make({"a": table(0)}, [], vocabulary=VOCABULARY)
    with pytest.raises(TypeError, match="got a single str"):
        make({"a": table(0)}, ["w1"], vocabulary="w1 w2")
    with pytest.raises(TypeError, match="words must be str; got 3 of type int"):
        make({"a": table(0)}, [3], vocabulary=VOCABULARY)
    with pytest.raises(ValueError, match="n_neighbors must be 1 or more; got 0"):
        make({"a": table(0)}, ["w1"], vocabulary=VOCABULARY, n_neighbors=0)
    with pytest.raises(ValueError, match="shows at most 24 words; got 25"):
        make({"a": table(0)}, VOCABULARY[:25], vocabulary=VOCABULARY)
    with pytest.raises(TypeError, match="Tokenizer returns no EmbeddedSequences"):
        NeighborsDisplay.from_estimator(pipeline[0], ["w1"], vocabulary=VOCABULARY)
