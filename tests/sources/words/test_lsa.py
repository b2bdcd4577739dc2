"""LSAEmbedding: parity with scikit-learn, unknown features, and few rows."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from sk_metaembed import LSAEmbedding

WORDS = [
    *("engine", "wing", "damage", "bird", "seen", "no", "dent", "crack", "of", "the"),
    *("on", "climb", "landing", "tail", "nose", "café", "東京"),
]


def texts(n_rows=120, seed=0):
    """Return rows of one to twelve words, some of them twice or more."""
    rng = np.random.default_rng(seed)
    rows = [rng.choice(WORDS, rng.integers(1, 13)) for _ in range(n_rows)]
    return [" ".join(row) for row in rows]


def vectors(source, X):
    return source.transform(X).block("lsa").values


def reference(char_ngrams):
    """Return the vectorizer of scikit-learn with the same features."""
    if char_ngrams is None:
        options = {"tokenizer": str.split, "token_pattern": None}
    else:
        options = {"analyzer": "char_wb", "ngram_range": char_ngrams}
    return TfidfVectorizer(sublinear_tf=True, **options)


@pytest.mark.parametrize("char_ngrams", [None, (3, 4)])
def test_parity_with_scikit_learn(char_ngrams):
    # With all of the features known and more components than matter, distances and
    # products do not depend on the signs and the order of the directions.
    X = texts()
    source = LSAEmbedding(500, char_ngrams=char_ngrams, random_state=0).fit(X)
    expected = reference(char_ngrams).fit_transform(X)
    result = vectors(source, X)
    scale = np.linalg.norm(result, axis=1).max()
    assert scale == pytest.approx(1, abs=1e-5)
    products = (expected @ expected.T).toarray()
    np.testing.assert_allclose(result @ result.T, products, atol=1e-5)


def test_an_unknown_feature_counts_toward_the_length():
    X = texts()
    source = LSAEmbedding(500, random_state=0).fit(X)
    known, partly = "engine wing", "engine wing zyxwv qqqqq"
    places = [source.vectorizer_.vocabulary_[word] for word in known.split()]
    squares = (source.tfidf_.idf_[places] ** 2).sum()
    unseen = 1 + np.log(1 + len(X))
    share = np.sqrt(squares / (squares + 2 * unseen**2))
    whole, part = vectors(source, [known, partly])
    np.testing.assert_allclose(part, share * whole, atol=1e-6)
    assert np.linalg.norm(part) == pytest.approx(share, abs=1e-5)


@pytest.mark.parametrize("char_ngrams", [None, (3, 4)])
def test_unknown_and_empty_rows_are_zero(char_ngrams):
    source = LSAEmbedding(5, char_ngrams=char_ngrams, random_state=0).fit(texts())
    block = source.transform([["zyxwv"], [], ["", " "], ["engine"]]).block("lsa")
    assert block.known.tolist() == [False, False, False, True]
    assert not block.values[:3].any()
    for rows in ([], [[]], [[""]]):
        assert not source.transform(rows).block("lsa").values.any()
    with pytest.raises(ValueError, match="1 sequence. All of them are empty"):
        source.fit([[]])


def test_white_space_is_a_word_without_ngrams():
    rows = [["", " "], ["\t"], [" "]] * 2
    values = LSAEmbedding(3, random_state=0).fit_transform(rows).block("lsa").values
    assert len(np.unique(values.round(4), axis=0)) == 3
    with pytest.raises(ValueError, match="empty vocabulary"):
        LSAEmbedding(3, char_ngrams=(1, 2)).fit(rows)


@pytest.mark.parametrize(
    ("X", "dim"),
    [
        (["engine"], 1),
        (["engine wing damage", "bird"], 2),
        (["engine", "", "wing", "bird"], 3),
    ],
)
def test_few_rows_and_features(X, dim):
    source = LSAEmbedding(100, random_state=0)
    block = source.fit_transform(X).block("lsa")
    assert block.values.shape == (len(X), dim)
    assert source.dims_ == {"lsa": dim}
    assert source.get_feature_names_out().tolist() == [f"lsa{i}" for i in range(dim)]
    lengths = np.linalg.norm(block.values, axis=1)
    np.testing.assert_allclose(lengths[block.known], 1, atol=1e-5)


@pytest.mark.parametrize("bad", [(3,), (0, 2), (4, 3)])
def test_bad_ngrams(bad):
    with pytest.raises(ValueError, match="char_ngrams must be two ints"):
        LSAEmbedding(char_ngrams=bad).fit(["a text"])
