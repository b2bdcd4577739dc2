import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.stats import pearsonr, spearmanr
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sk_metaembed import (
    ConcatMetaEmbedding,
    EmbeddingUnion,
    FunctionEmbedding,
    Pooling,
    PretrainedEmbedding,
    WordVectors,
)
from sk_metaembed.metrics import sentence_similarity_score

WORDS = ["red", "car", "bus", "tea", "milk", "hot"]
MATRIX = np.random.default_rng(1).normal(size=(6, 4)).astype(np.float32)
PAIRS = [
    ("red car", "red bus"),
    ("hot tea", "hot milk"),
    ("red car", "hot milk"),
    ("car bus", "milk"),
]
GOLD = [4.0, 4.5, 0.5, 1.5]
TEXTS = [text for pair in PAIRS for text in pair]


def pooled():
    store = WordVectors.from_arrays(WORDS, MATRIX)
    return make_pipeline(PretrainedEmbedding(store), Pooling()).fit(TEXTS)


def mean_cosines():
    def mean(text):
        return MATRIX[[WORDS.index(word) for word in text.split()]].mean(0)

    sides = [(mean(a), mean(b)) for a, b in PAIRS]
    return [a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a, b in sides]


@pytest.mark.parametrize(
    ("kind", "measure"), [("pearson", pearsonr), ("spearman", spearmanr)]
)
def test_agrees_with_cosines_and_scipy(kind, measure):
    result = sentence_similarity_score(
        pooled(), PAIRS, GOLD, correlation=kind, return_report=True
    )
    np.testing.assert_allclose(result.similarities, mean_cosines(), atol=1e-6)
    assert result.score == pytest.approx(measure(mean_cosines(), GOLD).statistic)
    assert (result.n_pairs, result.n_missing) == (4, 0)


def test_sequence_blocks_frames_and_token_lists():
    store = WordVectors.from_arrays(WORDS, MATRIX)
    by_text = FunctionEmbedding(
        lambda texts: pooled().transform(texts), level="sequence", as_text=True
    ).fit(TEXTS)
    frames = make_pipeline(PretrainedEmbedding(store), Pooling())
    frames.set_output(transform="pandas").fit(TEXTS)
    expected = sentence_similarity_score(pooled(), PAIRS, GOLD)
    for estimator in (by_text, frames):
        result = sentence_similarity_score(estimator, pd.DataFrame(PAIRS), GOLD)
        assert result == pytest.approx(expected)
    lists = [(a.split(), b.split()) for a, b in PAIRS]
    assert sentence_similarity_score(pooled(), lists, GOLD) == pytest.approx(expected)


def test_an_undefined_correlation_is_zero_with_a_warning():
    with pytest.warns(UndefinedMetricWarning, match="all scores"):
        assert sentence_similarity_score(pooled(), PAIRS, [1, 1, 1, 1]) == 0
    with pytest.warns(UndefinedMetricWarning, match="required, and 1 can be") as caught:
        assert sentence_similarity_score(pooled(), PAIRS[:1], [1]) == 0
    assert caught[0].filename == __file__


def test_estimator_without_one_vector_per_text():
    store = WordVectors.from_arrays(WORDS, MATRIX)
    words = PretrainedEmbedding(store).fit(TEXTS)
    union = EmbeddingUnion([("a", PretrainedEmbedding(store))])
    concat = make_pipeline(union, ConcatMetaEmbedding()).fit(TEXTS)
    for estimator in (words, concat):
        with pytest.raises(TypeError, match=r"\(type\); expected one vector per text"):
            sentence_similarity_score(estimator, PAIRS, GOLD)
    classifier = make_pipeline(*pooled(), LogisticRegression())
    classifier.fit(TEXTS, [0, 1] * 4)
    with pytest.raises(TypeError, match=r"ends in a predictor.*pipeline\[:-1\]"):
        sentence_similarity_score(classifier, PAIRS, GOLD)


@pytest.mark.parametrize(
    ("values", "match"),
    [
        (np.zeros((3, 2)), r"returned shape \(3, 2\) for 8 texts"),
        (csr_array((3, 2)), r"returned shape \(3, 2\) for 8 texts"),
        (np.full((8, 2), np.nan), "8 vectors contain NaN"),
    ],
)
def test_invalid_vectors(values, match):
    class Strange:
        def transform(self, texts):
            return values

    with pytest.raises(ValueError, match=match):
        sentence_similarity_score(Strange(), PAIRS, GOLD)


def test_pairs_scores_and_options_are_checked():
    with pytest.raises(ValueError, match="row 1: expected two texts; got 'ab'"):
        sentence_similarity_score(pooled(), [PAIRS[0], "ab"], GOLD[:2])
    with pytest.raises(TypeError, match=r"row 0: a text is missing \(None\)"):
        sentence_similarity_score(pooled(), [("red car", None)], GOLD[:1])
    rows = pd.DataFrame({"a": ["a", "b"], "b": pd.array(["c", pd.NA], "string")})
    with pytest.raises(TypeError, match="pairs, row 1: a text is missing .<NA>."):
        sentence_similarity_score(pooled(), rows, GOLD[:2])
    with pytest.raises(ValueError, match="4 pairs and scores of shape"):
        sentence_similarity_score(pooled(), PAIRS, GOLD[:2])
    with pytest.raises(ValueError, match="correlation must be one of"):
        sentence_similarity_score(pooled(), PAIRS, GOLD, correlation="kendall")
