import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.metrics import silhouette_samples, silhouette_score

from sk_metaembed import Block, EmbeddedSequences, FunctionEmbedding, TokenSequences
from sk_metaembed.inspection import SenseProjectionDisplay

SENTENCES = [
    ["he", "sat", "on", "the", "bank", "of", "the", "bank"],
    ["the", "bank", "lent", "money", "to", "banks"],
    ["nothing", "of", "interest"],
    ["Bank", "holidays"],
]
SENSES = ["shore", "shore", "money"]


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.fixture(scope="module")
def embedded():
    rng = np.random.default_rng(0)
    tokens = TokenSequences.from_lists(SENTENCES)
    known = tokens.types[tokens.codes] != "banks"
    blocks = [
        Block("static", rng.normal(size=(tokens.n_types, 3)), "type"),
        Block("layer", rng.normal(size=(tokens.n_tokens, 4)), "token", known),
        Block("sentence", rng.normal(size=(len(tokens), 4)), "sequence"),
    ]
    return EmbeddedSequences(tokens, blocks)


@pytest.fixture(scope="module")
def two_senses():
    """Return 8 vectors, the first half of one sense, and their senses."""
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(8, 5)) + 3 * np.eye(5)[[0] * 4 + [1] * 4]
    return vectors, ["a"] * 4 + ["b"] * 4


def rows_of(embedded, word):
    tokens = embedded.tokens
    return np.flatnonzero(tokens.types[tokens.codes] == word)


def test_planes_and_silhouettes_are_those_of_scikit_learn(two_senses):
    vectors, senses = two_senses
    display = SenseProjectionDisplay.from_vectors({"x": vectors}, senses=senses)
    pca = PCA(2)
    np.testing.assert_allclose(display.positions[0], pca.fit_transform(vectors))
    np.testing.assert_allclose(display.shares[0], pca.explained_variance_ratio_)
    expected = silhouette_score(vectors, senses, metric="cosine")
    assert display.silhouette_scores == {"x": pytest.approx(expected)}
    own = silhouette_samples(vectors, senses, metric="cosine")
    np.testing.assert_allclose(display.silhouettes[0], own)


def test_artists_show_the_data(two_senses):
    vectors, senses = two_senses
    display = SenseProjectionDisplay.from_vectors({"x": vectors}, senses=senses)
    (ax,) = display.axes_
    first, second = display.points_[0]
    np.testing.assert_allclose(first.get_offsets(), display.positions[0][:4])
    np.testing.assert_allclose(second.get_offsets(), display.positions[0][4:])
    assert [text.get_text() for text in display.labels_[0]] == list("01234567")
    score = display.silhouette_scores["x"]
    assert ax.get_title() == f"x\nsilhouette {score:.2f}"
    one, two = display.shares[0]
    assert ax.get_xlabel() == f"PCA 1: {one:.0%} of the variance"
    assert ax.get_ylabel() == f"PCA 2: {two:.0%} of the variance"
    assert [text.get_text() for text in display.legend_.get_texts()] == ["a", "b"]
    assert display.figure_ is ax.figure


def test_occurrences_are_selected_by_word_words_or_function(embedded):
    make = SenseProjectionDisplay.from_embedded
    display = make(embedded, "bank", blocks=["layer"], senses=SENSES)
    values = embedded.block("layer").values[rows_of(embedded, "bank")]
    expected = PCA(2).fit_transform(values.astype(np.float64))
    np.testing.assert_allclose(display.positions[0], expected, atol=1e-9)
    assert display.labels == ["the bank of", "the bank", "the bank lent"]
    several = make(embedded, ("banks", "bank"), blocks=["static"])
    assert several.labels == [*display.labels, "to banks"]
    same = make(embedded, lambda word: word.startswith("bank"), blocks="static")
    assert (same.positions == several.positions).all()
    assert same.labels == several.labels


def test_one_panel_per_block_and_static_blocks_coincide(embedded):
    display = SenseProjectionDisplay.from_embedded(embedded, "bank", senses=SENSES)
    static, layer, sentence = display.axes_
    assert display.blocks == ["static", "layer", "sentence"]
    assert static.get_title() == (
        "static\nsilhouette 0.00\n3 occurrences at 1 position"
    )
    assert static.get_xlabel() == "PCA 1: 0% of the variance"
    assert display.silhouette_scores["static"] == 0
    assert (display.positions[0] == 0).all()
    assert "occurrences" not in layer.get_title()
    assert "3 occurrences at 2 positions" in sentence.get_title()
    (label,) = display.labels_[0]
    assert label.get_text() == f"{display.labels[0]} and 2 more"
    assert len(display.labels_[2]) == 2


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_rounding_errors_are_ignored(scale):
    rng = np.random.default_rng(0)
    exact = scale * rng.normal(size=(1, 300)).repeat(6, axis=0)
    rough = (exact * (1 + 1e-8 * rng.normal(size=exact.shape))).astype(np.float32)
    senses = ["a", "b"] * 3
    display = SenseProjectionDisplay.from_vectors({"x": rough}, senses=senses)
    assert (display.silhouettes == 0).all()
    assert "6 occurrences at 1 position" in display.axes_[0].get_title()
    longer = exact * np.arange(1, 7)[:, None]
    display = SenseProjectionDisplay.from_vectors(longer, senses=senses)
    assert (display.silhouettes == 0).all()
    apart = SenseProjectionDisplay.from_vectors(scale * rng.normal(size=(6, 4)))
    assert len(np.unique(apart.positions[0], axis=0)) == 6


@pytest.mark.parametrize("shape", [(1, 1), (2, 5), (3, 1)])
def test_positions_of_few_occurrences_or_dimensions_have_no_nan(shape):
    vectors = np.random.default_rng(0).normal(size=shape)
    display = SenseProjectionDisplay.from_vectors(
        {"x": vectors}, senses=["a"] * len(vectors)
    )
    assert np.isfinite(display.positions).all()
    assert np.isfinite(display.shares).all()
    assert display.silhouettes is None
    assert display.silhouette_scores == {}
    assert display.axes_[0].get_title() == "x"
    assert "silhouette" not in display.frame()


def test_axes_and_options_are_passed_on(two_senses):
    vectors, senses = two_senses
    layers = {"x": vectors, "y": vectors[:, :3], "z": vectors**2}
    make = SenseProjectionDisplay.from_vectors
    figure, axes = plt.subplots(3, 1)
    display = make(layers, senses=senses, ax=axes, legend=False)
    assert list(display.axes_) == list(axes)
    assert display.legend_ is None
    ax = plt.subplots()[1]
    style = {"text_kw": {"color": "red"}, "scatter_kw": {"marker": "*"}}
    single = make({"x": vectors}, senses=senses, ax=ax, **style)
    assert list(single.axes_) == [ax]
    assert single.labels_[0][0].get_color() == "red"
    assert make(vectors, include_labels=False).labels_ == [[]]
    many = np.random.default_rng(0).normal(size=(21, 3))
    assert make(many).labels_ == [[]]
    assert len(make(many).plot(include_labels=True).labels_[0]) == 21
    grid = make(layers, senses=senses, n_cols=2)
    assert len(grid.figure_.axes) == 3
    assert grid.axes_[1].get_legend() is grid.legend_


def test_from_estimator_equals_from_embedded():
    def embed(words):
        return [[len(word), ord(word[0]), ord(word[-1])] for word in words]

    source = FunctionEmbedding(embed).fit(SENTENCES)
    display = SenseProjectionDisplay.from_estimator(
        source, SENTENCES, ("bank", "Bank", "banks"), senses=list("aabbb")
    )
    transformed = source.transform(SENTENCES)
    same = SenseProjectionDisplay.from_embedded(
        transformed, ("bank", "Bank", "banks"), senses=list("aabbb")
    )
    assert display.frame().equals(same.frame())
    assert "5 occurrences at 3 positions" in display.axes_[0].get_title()


def test_frame_has_one_row_per_block_and_occurrence(embedded):
    display = SenseProjectionDisplay.from_embedded(embedded, "bank", senses=SENSES)
    frame = display.frame()
    columns = ["block", "label", "sense", "x", "y", "silhouette"]
    assert frame.columns.tolist() == columns
    assert frame["block"].tolist() == np.repeat(display.blocks, 3).tolist()
    assert frame["sense"].tolist() == SENSES * 3
    np.testing.assert_array_equal(frame[["x", "y"]], np.vstack(display.positions))
    means = frame.groupby("block")["silhouette"].mean().to_dict()
    assert means == pytest.approx(display.silhouette_scores)
    assert not frame.isna().any(axis=None)
    plain = SenseProjectionDisplay.from_embedded(embedded, "bank").frame()
    assert plain.columns.tolist() == ["block", "label", "x", "y"]


@pytest.mark.parametrize(
    ("words", "options", "message"),
    [
        ("river", {}, "'river' does not occur in the 4 sequences"),
        (("bank", "bark"), {}, "'bark' does not occur"),
        (str.isdigit, {}, "isdigit selects none of the 14 distinct words"),
        ("banks", {}, "block 'layer': no vector for 1 of 1: to banks"),
        ("bank", {"senses": ["a"]}, "1 senses for 3 occurrences: 'the bank of', 'the"),
        (
            "bank",
            {"senses": ["a", None, "b"]},
            "1 senses are missing.*sense of 'the bank'",
        ),
        ("bank", {"ax": []}, "0 axes for 3 panels"),
    ],
)
def test_errors_say_what_is_wrong(embedded, words, options, message):
    with pytest.raises(ValueError, match=message):
        SenseProjectionDisplay.from_embedded(embedded, words, **options)


def test_other_errors_say_what_is_wrong(embedded):
    make = SenseProjectionDisplay
    with pytest.raises(TypeError, match="got a collection with 3"):
        make.from_embedded(embedded, ["bank", 3])
    with pytest.raises(TypeError, match="requires a fitted estimator .* got dict"):
        make.from_estimator({}, SENTENCES, "bank")
    with pytest.raises(ValueError, match="2 labels for 3 vectors"):
        make.from_vectors({"x": np.eye(2), "y": np.ones((3, 2))})
    with pytest.raises(ValueError, match="vector of '1' is zero"):
        make.from_vectors([[1.0], [0.0]], senses=["a", "a"])
    assert len(make.from_vectors([[1.0], [0.0]]).labels) == 2
