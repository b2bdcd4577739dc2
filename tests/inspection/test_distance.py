import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform
from sklearn.base import BaseEstimator
from sklearn.decomposition import PCA

from sk_metaembed import Block, EmbeddedSequences, TokenSequences
from sk_metaembed.inspection import DistanceDisplay
from sk_metaembed.inspection._distance import nearest_pairs
from sk_metaembed.inspection._mds import (
    classical_plane,
    mds_plane,
    pairwise_distances,
    stress,
)

matplotlib.use("Agg")
WORDS = ["king", "queen", "man", "woman", "apple"]


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def vectors():
    return np.random.default_rng(1).normal(size=(5, 6)) + 1


@pytest.mark.parametrize("metric", ["cosine", "euclidean", "cityblock"])
def test_distances_are_those_of_scipy(vectors, metric):
    ours = pairwise_distances(vectors, metric)
    np.testing.assert_allclose(ours, squareform(pdist(vectors, metric)), atol=1e-12)
    assert (np.diag(ours) == 0).all()
    assert (ours == ours.T).all()


def test_vectors_in_a_plane_keep_their_distances():
    flat = np.random.default_rng(0).normal(size=(8, 2))
    distances = squareform(pdist(flat))
    places = mds_plane(distances)
    np.testing.assert_allclose(pdist(places), pdist(flat), rtol=1e-2)
    assert stress(distances, places) < 1e-2
    assert (mds_plane(distances) == places).all()


@pytest.mark.parametrize("n", [1, 2, 5])
def test_positions_of_few_or_equal_vectors_have_no_nan(n):
    display = DistanceDisplay.from_vectors(np.ones((n, 3)))
    assert (display.positions == 0).all()
    assert display.stress == 0
    apart = DistanceDisplay.from_vectors(np.eye(n), metric="euclidean")
    assert np.isfinite(apart.positions).all()
    assert len(apart.labels_) == n


@pytest.mark.parametrize(
    "distances",
    [
        [
            [0, 1.9, 0.2],
            [1.9, 0, 0.3],
            [0.2, 0.3, 0],
        ],  # violates the triangle inequality
        abs(np.arange(7.0)[:, None] - np.arange(7.0)),
    ],
    ids=["no triangle", "line"],
)
def test_distances_without_a_second_axis_give_a_line(distances):
    distances = np.array(distances)
    places = mds_plane(distances)
    np.testing.assert_allclose(places[:, 1], 0, atol=1e-6)
    if len(places) > 3:
        assert stress(distances, places) < 1e-6


def test_cosine_distances_that_violate_the_triangle_inequality():
    vectors = [[1, 0], [1, 1], [0, 1]]
    display = DistanceDisplay.from_vectors(vectors, ["king", "queen", "apple"])
    assert np.isfinite(display.positions).all()


def test_initial_positions_equal_those_of_classical_mds(vectors):
    distances = pairwise_distances(vectors, "euclidean")
    manifold = pytest.importorskip("sklearn.manifold")
    if not hasattr(manifold, "ClassicalMDS"):
        pytest.skip("needs scikit-learn 1.8")
    mds = manifold.ClassicalMDS(n_components=2, metric="precomputed")
    expected = mds.fit_transform(distances)
    np.testing.assert_allclose(classical_plane(distances), expected, atol=1e-12)


def test_stress_is_zero_at_any_scale_and_one_for_equal_positions(vectors):
    distances = squareform(pdist(vectors[:, :2]))
    assert stress(distances, 7 * vectors[:, :2]) == pytest.approx(0, abs=1e-12)
    assert stress(distances, np.zeros((5, 2))) == 1
    assert 0 < stress(pairwise_distances(vectors, "euclidean"), vectors[:, :2]) < 1


def test_pairs_are_sorted_and_unique():
    distances = squareform(pdist(np.array([[0.0], [1.0], [3.0], [7.0]])))
    assert nearest_pairs(distances, None).tolist() == [
        [0, 1],
        [1, 2],
        [0, 2],
        [2, 3],
        [1, 3],
        [0, 3],
    ]
    assert nearest_pairs(distances, 1).tolist() == [[0, 1], [1, 2], [2, 3]]
    assert nearest_pairs(distances, 0).shape == (0, 2)
    many = squareform(pdist(np.arange(8.0)[:, None]))
    assert len(nearest_pairs(many, None)) < 8 * 2


def test_graph_joins_and_labels_the_tokens(vectors):
    display = DistanceDisplay.from_vectors(vectors, WORDS, title="static")
    assert [text.get_text() for text in display.labels_] == WORDS
    assert len(display.lines_.get_segments()) == 10
    lengths = np.asarray(display.lines_.get_array())
    assert (np.diff(lengths) >= 0).all()
    assert (np.diff(display.lines_.get_linewidths()) <= 0).all()
    shown = [text.get_text() for text in display.text_]
    assert shown == [f"{d:.2f}" for d in lengths]
    assert display.lines_.colorbar.ax.get_ylabel() == "cosine distance"
    assert f"stress {display.stress:.2f}" in display.ax_.get_xlabel()
    np.testing.assert_allclose(display.points_.get_offsets(), display.positions)


@pytest.mark.parametrize(("n", "numbered"), [(6, True), (14, False)])
def test_lines_of_few_tokens_have_numbers(n, numbered):
    """All 15 pairs of six tokens are joined; numbers of more would hide each other."""
    vectors = np.random.default_rng(0).normal(size=(n, 4))
    display = DistanceDisplay.from_vectors(vectors)
    assert (display.text_ is not None) == numbered
    lines = len(display.lines_.get_segments())
    assert len(display.plot(include_values=True).text_) == lines


def test_labels_of_a_graph_are_above_their_points(vectors):
    display = DistanceDisplay.from_vectors(vectors, WORDS)
    display.figure_.canvas.draw()
    points = display.ax_.transData.transform(display.positions)
    for label, (x, y) in zip(display.labels_, points, strict=True):
        box = label.get_window_extent()
        assert box.x0 < x < box.x1
        assert y < box.y0 < y + 20


def test_a_graph_keeps_its_proportions(vectors):
    ax = DistanceDisplay.from_vectors(vectors, WORDS).ax_
    per_unit = np.diff(ax.transData.transform([[0, 0], [1, 1]]), axis=0)[0]
    assert per_unit[0] == pytest.approx(per_unit[1], rel=1e-3)


def test_colour_scale_starts_at_zero_and_near_is_light(vectors):
    display = DistanceDisplay.from_vectors(
        vectors, WORDS, metric="euclidean", kind="matrix"
    )
    assert display.im_.get_clim() == (0, display.distances.max())
    grey = display.im_.cmap(np.linspace(0, 1, 50))[:, :3] @ [0.299, 0.587, 0.114]
    assert (np.diff(grey) < 0).all()
    assert display.text_[0, 1].get_text() == f"{display.distances[0, 1]:.2f}"
    assert display.im_.colorbar.ax.get_ylabel() == "euclidean distance"


class FirstDistances(BaseEstimator):
    """Place each vector by its distances from the first two."""

    def __init__(self, metric="precomputed"):
        self.metric = metric

    def fit_transform(self, distances):
        return distances[:, :2]


def test_projector_gives_the_positions(vectors):
    pca = DistanceDisplay.from_vectors(vectors, WORDS, projector=PCA(2))
    np.testing.assert_allclose(pca.positions, PCA(2).fit_transform(vectors))
    given = DistanceDisplay.from_vectors(vectors, projector=FirstDistances())
    np.testing.assert_allclose(given.positions, given.distances[:, :2])


def test_from_embedded_and_from_words(vectors):
    tokens = TokenSequences.from_lists([WORDS])
    embedded = EmbeddedSequences(tokens, [Block("glove", vectors, "type")])
    display = DistanceDisplay.from_embedded(embedded, tokens=["king", "apple"])
    assert display.labels == ["king", "apple"]
    assert display.ax_.get_title() == "glove"
    table = dict(zip(WORDS, vectors, strict=True))
    same = DistanceDisplay.from_words(table, ["king", "apple"])
    np.testing.assert_allclose(display.distances, same.distances, atol=1e-6)


def test_options_are_passed_on(vectors):
    figure, ax = plt.subplots()
    display = DistanceDisplay.from_vectors(
        vectors,
        ax=ax,
        n_neighbors=1,
        include_values=False,
        colorbar=False,
        line_kw={"linestyles": "dashed"},
        scatter_kw={"marker": "s"},
    )
    assert display.ax_ is ax
    assert len(figure.axes) == 1
    assert display.text_ is None
    assert len(display.lines_.get_segments()) < 5
    display.plot(values_format=".3f", text_kw={"color": "red"})
    assert len(display.text_[0].get_text()) == 5
    assert display.text_[0].get_color() == "red"


def test_frame_is_square(vectors):
    frame = DistanceDisplay.from_vectors(vectors, WORDS).frame()
    assert frame.index.tolist() == frame.columns.tolist() == WORDS
    assert frame.loc["king", "king"] == 0


def test_errors_say_what_is_wrong(vectors):
    make = DistanceDisplay.from_vectors
    with pytest.raises(ValueError, match="vector of '1' is zero"):
        make([[1.0, 0.0], [0.0, 0.0]])
    assert make([[1.0, 0.0], [0.0, 0.0]], metric="euclidean").distances[0, 1] == 1
    with pytest.raises(
        ValueError, match=r"PCA.fit_transform must .*; got shape \(5, 3\)"
    ):
        make(vectors, projector=PCA(3))
    with pytest.raises(ValueError, match="negative or not finite"):
        make([[1.0, 1.0], [2.0, 2.0]], metric="correlation")
    with pytest.raises(ValueError, match="kind must be 'graph' or 'matrix'"):
        make(vectors, kind="tree")
    with pytest.raises(ValueError, match="n_neighbors must be 0 or more; got -1"):
        make(vectors, n_neighbors=-1)
