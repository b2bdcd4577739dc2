"""Features of words and characters in a stack are those of scikit-learn."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics.pairwise import paired_cosine_distances

from sk_metaembed import SequencePairs, Tokenizer, TokenSequences
from sk_metaembed.meta._ngram_features import CharacterFeatures, WordFeatures

KINDS = {
    WordFeatures: {"analyzer": "word", "ngram_range": (1, 2), "token_pattern": r"\S+"},
    CharacterFeatures: {"analyzer": "char_wb", "ngram_range": (2, 4)},
}
EACH = pytest.mark.parametrize("kind", KINDS)


def lists(n=60, seed=0):
    rng = np.random.default_rng(seed)
    words = [f"{case}{i}" for i in range(12) for case in ("word", "Word", "x")]
    return [rng.choice(words, rng.integers(0, 8)).tolist() for _ in range(n)]


tokens = TokenSequences.from_lists


def cased_words(rows):
    return Tokenizer(lowercase=False).transform([" ".join(row) for row in rows])


@EACH
@pytest.mark.parametrize("read", [tokens, cased_words])
def test_rows_have_the_products_of_scikit_learns(kind, read):
    rows, new = lists(), lists(seed=1)
    options = {**KINDS[kind], "sublinear_tf": True, "lowercase": read is cased_words}
    vectorizer = TfidfVectorizer(**options).fit([" ".join(row) for row in rows])
    expected = vectorizer.transform([" ".join(row) for row in new])
    result = kind().fit(read(rows)).transform(read(new))
    assert sparse.issparse(result)
    assert result.dtype == np.float32
    assert result.shape == expected.shape
    # The features are the same in another order.
    np.testing.assert_allclose(
        (result @ result.T).toarray(), (expected @ expected.T).toarray(), atol=1e-5
    )


@EACH
def test_words_of_no_row_are_not_features(kind):
    every = tokens([*lists(), ["unused", "never"]])
    few = kind().fit(every[:60]).transform(every[:60])
    assert few.shape == kind().fit(tokens(lists())).transform(every[:60]).shape


@EACH
def test_no_words(kind):
    step = kind().fit(tokens(lists()))
    assert not step.transform(
        tokens([[], ["unknown" if kind is WordFeatures else ""]])
    ).nnz
    assert step.transform(tokens([])).shape[0] == 0


def test_no_words_in_fit():
    step = WordFeatures().fit(tokens([[], []]))
    assert step.transform(tokens([[], ["a"]])).shape == (2, 0)


@EACH
def test_pairs_have_features_of_both_sides_and_their_cosine(kind):
    rows = lists()
    pairs = SequencePairs(tokens(rows))
    step = kind().fit(pairs)
    result = step.transform(pairs)
    sides = kind().fit(tokens(rows)).transform(tokens(rows)).toarray()
    u, v = sides[:30], sides[30:]
    np.testing.assert_allclose(
        result.toarray()[:, :-1], np.hstack([u, v, abs(u - v), u * v]), atol=1e-6
    )
    known = u.any(axis=1) & v.any(axis=1)
    cosines = 1 - paired_cosine_distances(u[known], v[known])
    np.testing.assert_allclose(result.toarray()[known, -1], cosines, atol=1e-5)
