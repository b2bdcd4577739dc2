import numpy as np
import pytest
from scipy.stats import ortho_group

from sk_metaembed import WordVectors, align_vectors
from sk_metaembed.metrics import word_translation_score
from sk_metaembed.vectors._csls import mean_cosines, mutual_neighbors, nearest

N, DIM = 600, 12
WORDS = [f"w{i}" for i in range(N)]
FOREIGN = [f"f{i}" for i in range(N)]


def spaces(noise=0.1, dim=DIM, seed=0):
    """Return vectors of words, and of their translations with other axes."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(N, dim)) * np.linspace(2, 0.5, dim) + 0.3
    turned = (x - x.mean(axis=0)) @ ortho_group.rvs(dim, random_state=1)
    moved = turned + rng.normal(size=dim) + noise * rng.normal(size=x.shape)
    return x, moved


def make_stores(folder, x, y, foreign=FOREIGN):
    """Return the stores of the source and of the target."""
    return [
        WordVectors.from_arrays(words, values, cache_dir=folder)
        for words, values in ((foreign, y), (WORDS, x))
    ]


@pytest.fixture
def stores(tmp_path):
    return make_stores(tmp_path, *spaces())


PAIRS = list(zip(FOREIGN, WORDS, strict=True))


def centered(values):
    unit = values / np.linalg.norm(values, axis=1, keepdims=True)
    unit = unit - unit.mean(axis=0)
    return unit / np.linalg.norm(unit, axis=1, keepdims=True)


def test_the_map_is_the_orthogonal_procrustes_solution(stores, tmp_path):
    source, target = stores
    report = align_vectors(source, target, PAIRS, n_refinements=0, cache_dir=tmp_path)
    x, y = centered(source.vectors), centered(target.vectors)
    left, _, right = np.linalg.svd(x.T @ y)
    np.testing.assert_allclose(report.rotation, left @ right, atol=1e-5)
    assert report.rotation.dtype == np.float32
    assert report.n_seeds == N and report.pairs == tuple(PAIRS)
    # Preprocessing by the target's mean restores what was aligned.
    unit = report.vectors.vectors / np.linalg.norm(
        report.vectors.vectors, axis=1, keepdims=True
    )
    unit_target = target.vectors / np.linalg.norm(target.vectors, axis=1)[:, None]
    back = unit - unit_target.mean(axis=0)
    back /= np.linalg.norm(back, axis=1, keepdims=True)
    np.testing.assert_allclose(back, x @ report.rotation, atol=1e-5)


def test_translations_become_neighbors(stores, tmp_path):
    before = word_translation_score(*stores, PAIRS[300:])
    report = align_vectors(*stores, dict(PAIRS[:200]), cache_dir=tmp_path)
    after = word_translation_score(report.vectors, stores[1], PAIRS[300:])
    assert before < 0.05 and after > 0.95
    assert report.n_seeds == 200


def test_refinement_repairs_a_small_dictionary(stores, tmp_path):
    target, few = stores[1], PAIRS[:13]
    scores = [
        word_translation_score(
            align_vectors(*stores, few, n_refinements=n, cache_dir=tmp_path).vectors,
            target,
            PAIRS[300:],
        )
        for n in (0, 5)
    ]
    assert scores[0] < scores[1] and scores[1] > 0.95


def test_without_a_dictionary_identical_words_are_pairs(tmp_path):
    foreign = WORDS[:40] + FOREIGN[40:]
    source, target = make_stores(tmp_path, *spaces(), foreign)
    report = align_vectors(source, target, cache_dir=tmp_path)
    assert report.n_seeds == 40
    assert word_translation_score(report.vectors, target, PAIRS[300:]) > 0.95


@pytest.mark.parametrize(("wide", "narrow"), [(0, 1), (1, 0)])
def test_dimensions_may_differ(tmp_path, wide, narrow):
    x, y = spaces(noise=0.01)
    cut = [x, y]
    cut[narrow] = cut[narrow][:, : DIM - 2]
    source, target = make_stores(tmp_path, cut[1], cut[0])
    report = align_vectors(source, target, PAIRS, n_refinements=0, cache_dir=tmp_path)
    rotation = report.rotation
    assert rotation.shape == (source.dim, target.dim)
    assert report.vectors.dim == target.dim
    small = rotation.T @ rotation if narrow else rotation @ rotation.T
    np.testing.assert_allclose(small, np.eye(len(small)), atol=1e-5)


def test_vectors_of_zeros_stay_zero(tmp_path):
    x, y = spaces()
    y[7] = 0
    stores = make_stores(tmp_path, x, y)
    report = align_vectors(*stores, PAIRS, cache_dir=tmp_path)
    assert not report.vectors["f7"].any() and report.vectors["f8"].any()


def test_few_pairs_warn(stores, tmp_path):
    with pytest.warns(UserWarning, match="from only 3 pairs .* not unique"):
        align_vectors(*stores, PAIRS[:3], n_refinements=0, cache_dir=tmp_path)


def test_errors(stores, tmp_path):
    with pytest.raises(ValueError, match="no word is in both stores"):
        align_vectors(*stores)
    with pytest.raises(ValueError, match="dictionary is empty"):
        align_vectors(*stores, {})
    swapped = [(b, a) for a, b in PAIRS]
    with pytest.raises(ValueError, match=r"600 have a first word .* Check the order"):
        align_vectors(*stores, swapped)
    with pytest.raises(TypeError, match=r"source must be a WordVectors; got dict"):
        align_vectors({"a": [1.0]}, stores[1])
    for wrong in ([("a", 1)], ["ab"], [("a", "b", "c")]):
        with pytest.raises(TypeError, match="pairs of str"):
            align_vectors(*stores, wrong)
    for name, value in (("n_refinements", -1), ("n_words", 0), ("n_words", True)):
        with pytest.raises(ValueError, match=f"{name} must be an int"):
            align_vectors(*stores, PAIRS, **{name: value})


def test_csls_against_the_formula():
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=(n, 5)).astype(np.float32) for n in (40, 50))
    x, y = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (x, y))
    cosines = x @ y.T
    r_x = np.sort(cosines, axis=1)[:, -3:].mean(axis=1)
    r_y = np.sort(cosines, axis=0)[-3:].mean(axis=0)
    csls = 2 * cosines - r_x[:, None] - r_y
    np.testing.assert_allclose(mean_cosines(y, x, 3), r_y, atol=1e-6)
    np.testing.assert_allclose(mean_cosines(x, y, 99), cosines.mean(axis=1), atol=1e-6)
    assert nearest(x, y, r_y).tolist() == csls.argmax(axis=1).tolist()
    rows, columns = mutual_neighbors(x, y, 3)
    expected = [
        (i, j) for i, j in enumerate(csls.argmax(axis=1)) if csls[:, j].argmax() == i
    ]
    assert list(zip(rows, columns, strict=True)) == expected
