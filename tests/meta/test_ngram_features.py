"""Features of words and characters in a stack are those of scikit-learn."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.metrics.pairwise import paired_cosine_distances
from sklearn.preprocessing import normalize

from sk_metaembed import SequencePairs, Tokenizer, TokenSequences
from sk_metaembed._linear._solver import Product
from sk_metaembed.meta._ngram_features import (
    CharacterFeatures,
    NgramFeatures,
    PositionFeatures,
    WordFeatures,
    token_features,
)
from sk_metaembed.sequences._ngrams import _most_frequent


def ngrams_and_gaps(text):
    words = text.split()
    for i in range(len(words)):
        yield from (str(words[i : i + n]) for n in (3, 4, 5) if i + n <= len(words))
        yield from (
            f"{words[i]} {n} {word}" for n, word in enumerate(words[i + 2 : i + 5])
        )


KINDS = {
    WordFeatures: {"analyzer": "word", "ngram_range": (1, 2), "token_pattern": r"\S+"},
    NgramFeatures: {"analyzer": ngrams_and_gaps},
}
EACH = pytest.mark.parametrize("kind", [*KINDS, CharacterFeatures, PositionFeatures])


def lists(n=60, seed=0):
    rng = np.random.default_rng(seed)
    words = [f"{case}{i}" for i in range(3) for case in ("word", "Word", "x")]
    return [rng.choice(words, rng.integers(0, 8)).tolist() for _ in range(n)]


tokens = TokenSequences.from_lists


def cased_words(rows):
    return Tokenizer(lowercase=False).transform([" ".join(row) for row in rows])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("read", [tokens, cased_words])
def test_rows_have_the_products_of_scikit_learns(kind, read):
    rows, new = lists(), lists(seed=1)
    write = str.lower if read is cased_words else str
    texts, new_texts = ([write(" ".join(row)) for row in part] for part in (rows, new))
    options = {**KINDS[kind], "lowercase": False}
    vectorizer = TfidfVectorizer(**options, sublinear_tf=True)
    if kind is NgramFeatures:  # those of one occurrence are left out
        counter = CountVectorizer(**options)
        counts = counter.fit_transform(texts).sum(axis=0).A1
        vectorizer.set_params(vocabulary=counter.get_feature_names_out()[counts > 1])
    expected = vectorizer.fit(texts).transform(new_texts)
    result = kind().fit(read(rows)).transform(read(new))
    assert sparse.issparse(result)
    assert result.dtype == np.float32
    assert result.shape == expected.shape
    # The features are the same in another order.
    np.testing.assert_allclose(
        (result @ result.T).toarray(), (expected @ expected.T).toarray(), atol=1e-5
    )


def test_characters_are_those_of_scikit_learn_for_words_that_share_none():
    """Frequencies of n-grams in one word, and lengths of rows, are then exact."""
    rows = [["abc"], ["abc", "xyzu"], ["abc", "no"], ["xyzu", "no"]]
    options = {"analyzer": "char_wb", "ngram_range": (2, 4)}
    texts = [" ".join(row) for row in rows]
    expected = TfidfVectorizer(**options, sublinear_tf=True).fit_transform(texts)
    result = CharacterFeatures().fit_transform(tokens(rows))
    assert result.shape == expected.shape
    products = (result @ result.T).toarray()
    np.testing.assert_allclose(products, (expected @ expected.T).toarray(), atol=1e-5)


def logarithmic_counts(rows, words):
    counts = np.array([[row.count(word) for word in words] for row in rows])
    return np.where(counts, 1 + np.log(counts.clip(1)), 0)


def test_characters_are_sums_over_words():
    rows = lists()
    step = CharacterFeatures().fit(tokens(rows))
    words = sorted({word for row in rows for word in row})
    counter = CountVectorizer(analyzer="char_wb", ngram_range=(2, 4), lowercase=False)
    of_words = counter.fit_transform(words).toarray()
    is_in = np.array([[word in row for word in words] for row in rows])
    chances = 1 - np.prod(1 - is_in.mean(axis=0)[:, None] * (of_words > 0), axis=0)
    n, new = len(rows), lists(seed=1)
    weights = logarithmic_counts(rows, words)
    means = np.maximum(weights.sum(axis=0) @ of_words / (n * chances), 1)
    of_words = of_words * (1 + np.log((1 + n) / (1 + n * chances)))
    of_words *= (1 + np.log(means)) / means
    weights = logarithmic_counts(new, words)
    lengths = np.sqrt(np.square(weights) @ np.square(of_words).sum(axis=1))
    expected = weights @ of_words / lengths.clip(1e-9)[:, None]
    result = step.transform(tokens(new))
    assert result.dtype == np.float32
    products = (result @ result.T).toarray()
    np.testing.assert_allclose(products, expected @ expected.T, atol=1e-5)


def test_characters_of_texts_are_not_multiplied_out():
    rows = tokens(lists(n=400))
    step = CharacterFeatures()
    fitted = step.fit_rows(rows)
    for product in (fitted, step.rows(rows)):
        assert isinstance(product, Product)
        assert product.left.nnz <= rows.n_tokens
        assert product.right.nnz <= sum(3 * (len(t) + 2) for t in rows.types)
        np.testing.assert_array_equal(
            product.multiply_out().toarray(), step.transform(rows).toarray()
        )


@pytest.mark.parametrize("word", ["new york", "\ud800x", "\u3000", "x" * 300])
def test_characters_of_odd_words(word):
    rows = tokens([[word, "new"], ["york"], []])
    result = CharacterFeatures().fit_transform(rows).toarray()
    assert result.shape[0] == 3
    assert np.isfinite(result).all()
    if word == "new york":
        counter = CountVectorizer(analyzer="char_wb", ngram_range=(2, 4))
        assert result.shape[1] == counter.fit_transform([word]).shape[1]


@pytest.mark.parametrize("lengths", [(20, 21), (0, 20)])
def test_positions_are_counted_from_the_start_and_end_if_lengths_differ(lengths):
    rng = np.random.default_rng(0)
    rows = [rng.choice([*"abc"], rng.integers(*lengths)).tolist() for _ in range(50)]

    def windows(row):
        from_each_end = [row] if lengths == (20, 21) else [row, row[::-1]]
        for end, sequence in enumerate(from_each_end):
            for i, token in enumerate(sequence):
                for width, shift in [(1, 0), (4, 0), (4, 2), (16, 0), (16, 8)]:
                    yield end, width, shift, (i + shift) // width, token

    vectorizer = TfidfVectorizer(analyzer=windows, use_idf=False, sublinear_tf=True)
    expected = vectorizer.fit_transform(rows)
    result = PositionFeatures().fit_transform(tokens(rows))
    assert result.shape == expected.shape
    products = (result @ result.T).toarray()
    np.testing.assert_allclose(products, (expected @ expected.T).toarray(), atol=1e-6)


def test_ngrams_of_one_occurrence_are_features_only_if_there_are_no_others():
    rows = tokens([[*"abcd"], [*"abcx"]])
    assert NgramFeatures().fit_transform(rows).shape == (2, 2)  # abc, a_c
    apart = tokens([[*"abc"], [*"cba"]])
    assert NgramFeatures().fit_transform(apart).shape == (2, 4)


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        ([["a", "b", "ab"]], ["words", "chars"]),
        ([["a", "b", "c"]], ["words"]),
        ([[*"acgt"] * 2] * 4, ["words", "ngrams", "positions"]),
        ([["up", "down"]] * 8, ["words", "chars", "positions"]),
        ([["up"]] * 8, ["words", "chars"]),
        ([[]], []),
    ],
)
def test_order_is_read_of_few_tokens_that_occur_often(rows, names):
    others = TokenSequences.from_lists([[f"word{i}"] for i in range(99)] + rows)
    assert token_features(others[99:]) == names


def test_order_of_many_different_tokens_is_not_read():
    rows = [[f"w{i}", f"w{i + 1}", f"w{i + 2}"] * 4 for i in range(1001)]
    assert token_features(tokens(rows)) == ["words", "chars"]
    assert "ngrams" in token_features(tokens(rows[:998]))


@pytest.mark.parametrize("n_others", [700, 1500])
@pytest.mark.parametrize(("n_rows", "place"), [(70, 0), (70, 70), (12, 3)])
def test_odd_rows_do_not_decide_whether_order_is_read(n_others, n_rows, place):
    odd = [f"x{i}" for i in range(n_others)]
    of_order = {"ngrams", "positions"}
    rows = [[*"acgt"] * 5] * n_rows
    assert of_order < {*token_features(tokens([*rows[place:], odd, *rows[:place]]))}
    rows = [[f"{i}w{j}" for j in range(10)] for i in range(70)]
    repeated = ["a"] * 20_000
    assert not of_order & {*token_features(tokens([*rows, repeated]))}


@pytest.mark.parametrize("scale", [1, 1 << 60])
def test_frequencies_are_of_rows_for_keys_of_any_size(scale):
    keys = np.array([1, 5, 5, 1, 5, 2, 5]) * scale
    rows = np.array([0, 0, 0, 1, 7, 7, 9])
    found, frequencies = _most_frequent(keys, rows, 2, 1)
    assert (found // scale).tolist() == [1, 5]
    assert frequencies.tolist() == [2, 3]


@EACH
def test_words_of_no_row_are_not_features(kind):
    every = tokens([*lists(), ["unused", "never"]])
    few = kind().fit(every[:60]).transform(every[:60])
    assert few.shape == kind().fit(tokens(lists())).transform(every[:60]).shape


@EACH
def test_no_words(kind):
    step = kind().fit(tokens(lists()))
    unknown = "" if kind is CharacterFeatures else "unknown"
    assert not step.transform(tokens([[], [unknown]])).nnz
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
    sides = normalize(kind().fit_transform(tokens(rows)).toarray())
    u, v = sides[:30], sides[30:]
    np.testing.assert_allclose(
        result.toarray()[:, :-1], np.hstack([u, v, abs(u - v), u * v]), atol=1e-6
    )
    known = u.any(axis=1) & v.any(axis=1)
    cosines = 1 - paired_cosine_distances(u[known], v[known])
    np.testing.assert_allclose(result.toarray()[known, -1], cosines, atol=1e-5)
