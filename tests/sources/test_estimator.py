"""EstimatorEmbedding: the output of a transformer becomes the block unchanged."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfVectorizer,
)
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer

from sk_metaembed import (
    DistilledEmbedding,
    EstimatorEmbedding,
    Pooling,
    PretrainedEmbedding,
    TokenSequences,
    WordVectors,
)

TEXTS = ["tea and milk", "milk and honey", "rain or snow", "tea or rain", "snow"]
TOKENS = TokenSequences.from_lists([t.split() for t in TEXTS])
RNG = np.random.default_rng(0)
TABLE = WordVectors.from_arrays(TOKENS.types, RNG.normal(size=(TOKENS.n_types, 3)))


class Giving(TransformerMixin, BaseEstimator):
    """Return the output of a given function."""

    def __init__(self, make):
        self.make = make

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return self.make(X)


def values_of(source, X):
    return source.transform(X).block("estimator").values


def test_it_gives_what_the_estimator_gives():
    lsa = make_pipeline(TfidfVectorizer(), TruncatedSVD(2, random_state=0))
    source = EstimatorEmbedding(lsa, as_text=True).fit(TOKENS)
    expected = clone(lsa).fit(TEXTS).transform(TEXTS)
    np.testing.assert_array_equal(
        values_of(source, TOKENS), expected.astype(np.float32)
    )
    assert not hasattr(lsa[0], "vocabulary_")  # the clone was fitted
    assert source.dims_ == {"estimator": 2}
    assert source.coverage_ == {"types": 1.0, "tokens": 1.0}


def test_steps_of_this_package_get_tokens():
    pooled = make_pipeline(PretrainedEmbedding(TABLE), Pooling())
    source = EstimatorEmbedding(pooled).fit(TOKENS)
    expected = clone(pooled).fit(TOKENS).transform(TOKENS)
    np.testing.assert_array_equal(values_of(source, TOKENS), expected)
    tokens = [["Tea & milk", "rain"]]  # a token with blanks stays one
    source = EstimatorEmbedding(CountVectorizer(analyzer=list)).fit(tokens)
    assert source.estimator_.get_feature_names_out().tolist() == ["Tea & milk", "rain"]


def test_empty_sequences_are_not_known_and_not_passed_on():
    seen = []

    def lengths(texts):
        seen.extend(texts)
        return [[len(text), 1] for text in texts]

    X = ["tea", "", "milk and honey", ""]
    embedded = EstimatorEmbedding(Giving(lengths), as_text=True).fit(X).transform(X)
    block = embedded.blocks[0]
    assert block.known.tolist() == [True, False, True, False]
    assert block.values.tolist() == [[3, 1], [0, 0], [14, 1], [0, 0]]
    assert "" not in seen
    source = EstimatorEmbedding(TfidfVectorizer(), as_text=True).fit(TEXTS)
    assert values_of(source, ["", ""]).tolist() == np.zeros((2, 7)).tolist()
    with pytest.raises(ValueError, match="found no tokens in"):
        source.fit(["", ""])


def test_labels_go_to_the_estimator_without_those_of_empty_sequences():
    chosen = make_pipeline(CountVectorizer(), SelectKBest(chi2, k=2))
    source = EstimatorEmbedding(chosen, as_text=True)
    y = pd.Series([0, 0, 1, 1, 1], index=list("abcde"))
    source.fit([*TEXTS[:4], ""], y)
    alone = clone(chosen).fit(TEXTS[:4], y[:4])
    assert (
        values_of(source, TEXTS).tolist() == alone.transform(TEXTS).toarray().tolist()
    )


def test_sparse_output_is_dense_up_to_a_limit():
    def wide(n):
        return Giving(lambda X: csr_array((len(X), n)))

    assert values_of(EstimatorEmbedding(wide(4096)).fit(TEXTS), TEXTS).shape[1] == 4096
    with pytest.raises(ValueError, match="4,097 columns.*TruncatedSVD"):
        EstimatorEmbedding(wide(4097)).fit(TEXTS)


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda X: np.ones((2, 3)), ValueError, r"\(5, dim\); got \(2, 3\)"),
        (lambda X: np.ones((len(X), 0)), ValueError, "dim"),
        (lambda X: np.ma.masked_equal(np.eye(5), 1), ValueError, "5 of 5 rows contain"),
        (lambda X: np.full((len(X), 2), 1e300), ValueError, "infinity"),
        (lambda X: np.array([["a"]] * len(X)), TypeError, "must return numbers"),
        (PretrainedEmbedding(TABLE).fit(TEXTS).transform, TypeError, "Add Pooling"),
    ],
)
def test_output_other_than_rows_of_numbers_is_refused(make, error, match):
    with pytest.raises(error, match=match):
        EstimatorEmbedding(Giving(make)).fit(TEXTS)


def test_tokens_where_strings_are_needed_get_a_hint():
    estimator = make_pipeline(HashingVectorizer())
    message = "failed on a TokenSequences: .*lower.*Set as_text=True"
    with pytest.raises(TypeError, match=message):
        EstimatorEmbedding(estimator).fit(TEXTS)


def test_columns_may_not_change_after_fit():
    source = EstimatorEmbedding(Giving(lambda X: np.ones((len(X), len(X))))).fit(TEXTS)
    with pytest.raises(ValueError, match="2 columns, but 5 in fit"):
        source.transform(TEXTS[:2])


@pytest.mark.parametrize("n", [2, 9])
def test_as_many_targets_as_rows_are_needed_also_with_empty_rows(n):
    for source in (EstimatorEmbedding(Giving(len)), DistilledEmbedding(Giving(len))):
        with pytest.raises(ValueError, match=rf"numbers of samples: \[3, {n}\]"):
            source.fit(["good film", "", "bad"], [1] * n)


def embedded_rows(data, n_fit, *steps):
    """Return the vectors of rows, and the output of steps fitted on the first ones."""
    texts = [str(i) for i in range(len(data))]
    rows = Giving(lambda texts: data[np.array(texts, dtype=int)])
    source = EstimatorEmbedding(make_pipeline(rows, *steps), as_text=True)
    source.fit(texts[:n_fit])
    return values_of(source, texts), source.estimator_.transform(texts)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("rank", "steps"),
    [
        (8, [PCA(14, svd_solver="full")]),
        (8, [PCA(14, svd_solver="covariance_eigh", whiten=True)]),
        (9, [TruncatedSVD(14, random_state=0), Normalizer()]),
        (8, [Pipeline([("a", PCA(14)), ("b", "passthrough"), ("c", Normalizer())])]),
    ],
)
def test_components_beyond_the_rank_are_zeros(rank, steps, dtype):
    # Their directions are arbitrary, and rows that fit has not seen are longer there.
    rng = np.random.default_rng(0)
    data = 3 + rng.normal(size=(220, 8)) @ rng.normal(size=(8, 30))
    data[200:] += rng.normal(size=(20, 30))
    values, expected = embedded_rows(data.astype(dtype), 200, *steps)
    expected[:, rank:] = 0
    np.testing.assert_array_equal(values, expected.astype(np.float32))
    assert values[:, :rank].any(axis=0).all()


@pytest.mark.parametrize(("dtype", "size"), [(np.float32, 1e-4), (np.float64, 1e-9)])
def test_small_components_and_dimensions_remain(dtype, size):
    rng = np.random.default_rng(0)
    data = (rng.normal(size=(50, 2)) * [1, size]).astype(dtype)
    for step in (PCA(2), TruncatedSVD(2), FunctionTransformer()):
        values, expected = embedded_rows(data, 50, step)
        np.testing.assert_array_equal(values, expected.astype(np.float32))
        assert values.std(axis=0)[1] > size / 2
