"""Features of words and characters in a stack are those of scikit-learn."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.metrics.pairwise import paired_cosine_distances
from sklearn.preprocessing import normalize

from sk_metaembed import (
    SequencePairs,
    StackedMetaClassifier,
    Tokenizer,
    TokenSequences,
)

KINDS = "words", "ngrams", "chars", "positions"
every = pytest.mark.parametrize("kind", KINDS)


def fitted(X):
    """Return the models of tokens by name, each a Pipeline of features and a model."""
    y = np.arange(len(X)) % 2
    return StackedMetaClassifier(random_state=0).fit(X, y).estimators_


def lists(n=60, seed=0):
    rng = np.random.default_rng(seed)
    words = [f"{case}{i}" for i in range(3) for case in ("word", "Word", "x")]
    return [rng.choice(words, rng.integers(0, 8)).tolist() for _ in range(n)]


tokens = TokenSequences.from_lists


def cased_words(rows):
    return Tokenizer(lowercase=False).transform([" ".join(row) for row in rows])


def products(rows):
    return (rows @ rows.T).toarray()


def ngrams_and_gaps(text):
    words = text.split()
    for i in range(len(words)):
        yield from (str(words[i : i + n]) for n in (3, 4, 5) if i + n <= len(words))
        yield from (
            f"{words[i]} {n} {word}" for n, word in enumerate(words[i + 2 : i + 5])
        )


OPTIONS = {
    "words": {"analyzer": "word", "ngram_range": (1, 2), "token_pattern": r"\S+"},
    "ngrams": {"analyzer": ngrams_and_gaps},
}


@pytest.mark.parametrize("kind", OPTIONS)
@pytest.mark.parametrize("read", [tokens, cased_words])
def test_rows_have_the_products_of_scikit_learns(kind, read):
    rows, new = lists(), lists(seed=1)
    write = str.lower if read is cased_words else str
    texts, new_texts = ([write(" ".join(row)) for row in part] for part in (rows, new))
    options = {**OPTIONS[kind], "lowercase": False}
    vectorizer = TfidfVectorizer(**options, sublinear_tf=True)
    if kind == "ngrams":  # those of one occurrence are left out
        counter = CountVectorizer(**options)
        counts = counter.fit_transform(texts).sum(axis=0).A1
        vectorizer.set_params(vocabulary=counter.get_feature_names_out()[counts > 1])
    expected = vectorizer.fit(texts).transform(new_texts)
    result = fitted(read(rows))[kind][0].transform(read(new))
    assert sparse.issparse(result)
    assert result.dtype == np.float32
    assert result.shape == expected.shape
    # The features are the same in another order.
    np.testing.assert_allclose(products(result), products(expected), atol=1e-5)


def logarithmic_counts(rows, words):
    counts = np.array([[row.count(word) for word in words] for row in rows])
    return np.where(counts, 1 + np.log(counts.clip(1)), 0)


def test_characters_are_sums_over_words():
    rows, new = lists(), lists(seed=1)
    words = sorted({word for row in rows for word in row})
    counter = CountVectorizer(analyzer="char_wb", ngram_range=(2, 4), lowercase=False)
    of_words = counter.fit_transform(words).toarray()
    is_in = np.array([[word in row for word in words] for row in rows])
    chances = 1 - np.prod(1 - is_in.mean(axis=0)[:, None] * (of_words > 0), axis=0)
    n, weights = len(rows), logarithmic_counts(rows, words)
    means = np.maximum(weights.sum(axis=0) @ of_words / (n * chances), 1)
    of_words = of_words * (1 + np.log((1 + n) / (1 + n * chances)))
    of_words *= (1 + np.log(means)) / means
    weights = logarithmic_counts(new, words)
    lengths = np.sqrt(np.square(weights) @ np.square(of_words).sum(axis=1))
    expected = weights @ of_words / lengths.clip(1e-9)[:, None]
    result = fitted(tokens(rows))["chars"][0].transform(tokens(new))
    assert result.dtype == np.float32
    np.testing.assert_allclose(products(result), expected @ expected.T, atol=1e-5)


def test_characters_of_texts_are_not_multiplied_out():
    rows = tokens(lists(n=400))
    features = fitted(rows)["chars"][0]
    product = features.rows(rows)
    assert product.left.nnz <= rows.n_tokens
    assert product.right.nnz <= sum(3 * (len(t) + 2) for t in rows.types)


@pytest.mark.parametrize("word", ["new york", "\ud800x", "\u3000", "x" * 300])
def test_characters_of_odd_words(word):
    rows = tokens([[word, "new"], ["york"], []])
    result = fitted(rows)["chars"][0].transform(rows).toarray()
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
    result = fitted(tokens(rows))["positions"][0].transform(tokens(rows))
    assert result.shape == expected.shape
    np.testing.assert_allclose(products(result), products(expected), atol=1e-6)


def test_ngrams_of_one_occurrence_are_features_only_if_there_are_no_others():
    once = [["up"], ["down"]] * 20 + [["up", "down", "up"]]
    twice = [*once, ["up", "down", "up"], ["down", "down", "up"]]
    for rows in map(tokens, (once, twice)):
        # "up down up", and its first and third words.
        assert fitted(rows)["ngrams"][0].transform(rows).shape[1] == 2


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        ([["a", "b", "ab"]] * 2, ["words", "chars"]),
        ([["a", "b", "c"]] * 2, ["words"]),
        ([[*"acgt"] * 2] * 4, ["words", "ngrams", "positions"]),
        ([["up", "down"]] * 8, ["words", "chars", "positions"]),
        ([["up"]] * 8, ["words", "chars"]),
    ],
)
@pytest.mark.filterwarnings("ignore:no row could be held out")
def test_order_is_read_of_few_tokens_that_occur_often(rows, names):
    others = tokens([[f"word{i}"] for i in range(99)] + rows)
    assert [*fitted(others[99:])] == names


def test_order_of_many_different_tokens_is_not_read():
    rows = [[f"w{i}", f"w{i + 1}", f"w{i + 2}"] * 4 for i in range(1001)]
    assert [*fitted(tokens(rows))] == ["words", "chars"]
    assert "ngrams" in fitted(tokens(rows[:998]))


@pytest.mark.filterwarnings("ignore:no row could be held out")
@pytest.mark.parametrize(
    ("n_rows", "place", "n_others"), [(70, 0, 1500), (70, 70, 700), (12, 3, 700)]
)
def test_odd_rows_do_not_decide_whether_order_is_read(n_rows, place, n_others):
    odd, rows = [f"x{i}" for i in range(n_others)], [[*"acgt"] * 5] * n_rows
    assert "positions" in fitted(tokens([*rows[place:], odd, *rows[:place]]))
    rows = [[f"{i}w{j}" for j in range(10)] for i in range(70)]
    assert "positions" not in fitted(tokens([*rows, ["a"] * 20_000]))


@every
def test_words_of_no_row_are_not_features(kind):
    many = tokens([*lists(), ["unused", "never"]])[:60]
    one, other = (fitted(X)[kind][0].transform(X) for X in (many, tokens(lists())))
    assert one.shape == other.shape


def test_ngrams_of_any_number_are_counted(monkeypatch):
    """Keys that do not fit into int64 together with a row are numbered first."""
    X = tokens(lists())
    expected = fitted(X)["ngrams"][0].transform(X)
    monkeypatch.setattr("sk_metaembed.sequences._ngrams._MOST_PAIRS", 1)
    found = fitted(X)["ngrams"][0].transform(X)
    np.testing.assert_array_equal(found.toarray(), expected.toarray())


@every
def test_no_words(kind):
    features = fitted(tokens(lists()))[kind][0]
    unknown = "" if kind == "chars" else "unknown"
    assert not features.transform(tokens([[], [unknown]])).nnz
    assert features.transform(tokens([])).shape[0] == 0


@every
def test_pairs_have_features_of_both_sides_and_their_cosine(kind):
    rows = tokens(lists())
    pairs = SequencePairs(rows)
    result = fitted(pairs)[kind][0].transform(pairs).toarray()
    sides = normalize(fitted(rows)[kind][0].transform(rows).toarray())
    u, v = sides[:30], sides[30:]
    expected = np.hstack([u, v, abs(u - v), u * v])
    np.testing.assert_allclose(result[:, :-1], expected, atol=1e-6)
    known = u.any(axis=1) & v.any(axis=1)
    cosines = 1 - paired_cosine_distances(u[known], v[known])
    np.testing.assert_allclose(result[known, -1], cosines, atol=1e-5)
