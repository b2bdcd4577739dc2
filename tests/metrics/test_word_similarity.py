import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.exceptions import UndefinedMetricWarning

from sk_metaembed import WordVectors
from sk_metaembed.metrics import word_similarity_score

WORDS = ["cat", "dog", "car", "bus", "jerusalem", "tea"]
MATRIX = np.random.default_rng(0).normal(size=(6, 5)).astype(np.float32)
VECTORS = dict(zip(WORDS, MATRIX, strict=True))
PAIRS = [("cat", "dog"), ("car", "bus"), ("cat", "car"), ("tea", "bus"), ("dog", "tea")]
GOLD = [9.0, 8.0, 1.0, 2.0, 3.5]


def cosine(a, b):
    a, b = VECTORS[a].astype(float), VECTORS[b].astype(float)
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b)


def report(embedding=VECTORS, pairs=PAIRS, gold=GOLD, **options):
    return word_similarity_score(embedding, pairs, gold, return_report=True, **options)


def test_agrees_with_cosines_and_scipy():
    expected = [cosine(*pair) for pair in PAIRS]
    result = report()
    np.testing.assert_allclose(result.similarities, expected, atol=1e-6)
    assert result.score == pytest.approx(spearmanr(expected, GOLD).statistic)
    assert word_similarity_score(VECTORS, PAIRS, GOLD) == result.score
    assert (result.n_pairs, result.n_missing, result.missing_words) == (5, 0, [])


def test_agrees_with_gensim(tmp_path):
    pairs = [*PAIRS, ("cat", "gnu")]
    lines = [f"{a}\t{b}\t{s}" for (a, b), s in zip(pairs, [*GOLD, 4.0], strict=True)]
    (tmp_path / "pairs.tsv").write_text("\n".join(lines))
    kv = WordVectors.from_arrays(WORDS, MATRIX).to_keyed_vectors()
    _, spearman, oov = kv.evaluate_word_pairs(str(tmp_path / "pairs.tsv"))
    result = report(kv, pairs, [*GOLD, 4.0])
    assert result.score == pytest.approx(spearman.statistic)
    assert 100 * result.n_missing / result.n_pairs == pytest.approx(oov)


def test_missing_pairs_are_dropped_or_scored():
    pairs, gold = [*PAIRS, ("gnu", "cat"), ("yak", "gnu")], [*GOLD, 10.0, 0.5]
    known = np.array([cosine(*pair) for pair in PAIRS])
    omit, zero, mean = (report(VECTORS, pairs, gold, missing=m) for m in MISSING)
    assert omit.score == report().score
    assert omit.n_missing == zero.n_missing == mean.n_missing == 2
    assert zero.missing_words == ["gnu", "yak"]
    for result, fill in ((zero, 0.0), (mean, known.mean())):
        np.testing.assert_allclose(result.similarities[5:], fill, atol=1e-7)
        filled = [*known, fill, fill]
        assert result.score == pytest.approx(spearmanr(filled, gold).statistic)


MISSING = ("omit", "zero", "mean")


@pytest.mark.parametrize(
    ("pairs", "gold", "why"),
    [
        (PAIRS[:1], [1], "2 pairs are required, and 1 can be scored"),
        ([("tea", "tea"), ("cat", "cat")], [1, 2], "all cosines are equal"),
        (PAIRS[:2], [1, 1], "all scores"),
    ],
)
def test_an_undefined_correlation_is_zero_with_a_warning(pairs, gold, why):
    with pytest.warns(UndefinedMetricWarning, match=why) as caught:
        assert word_similarity_score(VECTORS, pairs, gold) == 0.0
    assert caught[0].filename == __file__


def test_case_fallback():
    pairs = [*PAIRS, ("Jerusalem", "TEA")]
    gold = [*GOLD, 4]
    assert report(VECTORS, pairs, gold).n_missing == 0
    exact = report(VECTORS, pairs, gold, case_fallback=False)
    assert exact.missing_words == ["Jerusalem", "TEA"]


@pytest.mark.parametrize(
    ("pairs", "gold", "error", "match"),
    [
        ([], [], ValueError, "got no rows"),
        ({"data": PAIRS, "target": GOLD}, GOLD, TypeError, r"pass its attributes data"),
        ([("tea", 3)], [1.0], TypeError, "row 0: expected 2 words; got int 3"),
        (["ab", "cd"], [1, 2], ValueError, "row 0: expected 2 words; got 'ab'"),
        (PAIRS, GOLD[:2], ValueError, r"5 pairs and scores of shape \(2,\)"),
        (PAIRS, [1, 2, 3, np.nan, 5], ValueError, "score 3 is nan"),
    ],
)
def test_invalid_input(pairs, gold, error, match):
    with pytest.raises(error, match=match):
        word_similarity_score(VECTORS, pairs, gold)


def test_options_and_embeddings_are_checked():
    with pytest.raises(ValueError, match="missing must be one of"):
        report(missing="skip")
    with pytest.raises(TypeError, match="must be a fitted estimator"):
        report(MATRIX)
    with pytest.raises(ValueError, match="NaN or infinity"):
        report({**VECTORS, "cat": np.full(5, np.nan)})


def test_cosines_that_differ_by_rounding_are_ties():
    """Equal angles have equal ranks, whatever the lengths of the vectors."""
    rng = np.random.default_rng(0)
    directions = rng.normal(size=(20, 50))
    lengths = rng.uniform(0.1, 9, size=(40, 20))
    words = [f"w{i}" for i in range(800)]
    vectors = (lengths[..., None] * directions).reshape(800, 50).astype(np.float32)
    table = dict(zip(words, vectors, strict=True))
    pairs = [(f"w{20 * i}", f"w{20 * i + 1 + i % 3}") for i in range(40)]
    scores = rng.normal(size=40)
    cosines = [directions[0] @ d / np.linalg.norm(d) for d in directions[1:4]]
    order = np.argsort(np.argsort(cosines))
    expected = spearmanr([order[i % 3] for i in range(40)], scores).statistic
    assert np.isclose(report(table, pairs, scores).score, expected, atol=1e-12)


def test_a_dense_row_of_cosines_is_not_one_tie():
    """Cosines of vectors with a large common part hardly differ, but have an order."""
    angles = np.linspace(0.001, 0.01, 500)
    table = {f"w{i}": [np.cos(a), np.sin(a)] for i, a in enumerate(angles)}
    table["x"] = [1.0, 0.0]
    pairs = [("x", f"w{i}") for i in range(500)]
    assert report(table, pairs, -angles).score == pytest.approx(1, abs=1e-3)
