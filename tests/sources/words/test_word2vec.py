"""Word2VecEmbedding and FastTextEmbedding against gensim; pickles and errors."""

import pickle

import numpy as np
import pytest
from gensim.models import FastText, Word2Vec
from gensim.models.fasttext import ft_ngram_hashes
from sklearn.utils import check_random_state

from sk_metaembed import FastTextEmbedding, Word2VecEmbedding

CORPUS = [
    ["the", "cat", "walks", "and", "talks"],
    ["the", "dog", "walked", "and", "barked", "once"],
    [],
    ["walking", "and", "talking", "in", "the", "café"],
] * 5
OPTIONS = {
    "vector_size": 7,
    "min_count": 5,
    "window": 3,
    "epochs": 3,
    "sample": 1e-3,
}
UNSEEN = ["walker", "talkative", "cafés", "東京", "", "x", "barking" * 9]
KINDS = {
    "word2vec": Word2VecEmbedding(**OPTIONS, random_state=3),
    "fasttext": FastTextEmbedding(**OPTIONS, bucket=300, random_state=3),
}
both = pytest.mark.parametrize("source", KINDS.values(), ids=KINDS)


def seed(random_state):
    return int(check_random_state(random_state).randint(2**31 - 1))


@pytest.mark.parametrize(
    "ours, theirs",
    [
        ({}, {}),
        ({"sg": 1, "cbow_mean": 0}, {"sg": 1, "cbow_mean": 0}),
        ({"hs": True, "negative": 0}, {"hs": 1, "negative": 0}),
        ({"cbow_mean": False}, {"cbow_mean": 0}),
        ({"alpha": 0.1, "min_alpha": 0.01}, {"alpha": 0.1, "min_alpha": 0.01}),
        ({"ns_exponent": -0.5}, {"ns_exponent": -0.5}),
    ],
)
def test_word2vec_is_gensims(ours, theirs):
    source = Word2VecEmbedding(**OPTIONS, **ours, random_state=3).fit(CORPUS)
    model = Word2Vec(CORPUS, **OPTIONS, **theirs, workers=1, seed=seed(3))
    assert list(source.vocabulary_) == model.wv.index_to_key
    assert np.array_equal(source.vectors_, model.wv.vectors)


@pytest.mark.parametrize(
    ("n_words", "min_count", "sample"),
    [(0, 1, 1 / 4), (2000, 5, 1 / 4), (1000, 1, 1e-3)],
)
def test_small_alphabets_are_not_downsampled_away(n_words, min_count, sample):
    """Words below `min_count` do not make an alphabet large."""
    rows = np.random.default_rng(0).choice([*"AACAGT"], (50, 20)).tolist()
    rows.append([f"word{i}" for i in range(n_words)])
    options = {"vector_size": 5, "min_count": min_count}
    theirs = {**options, "sample": sample, "workers": 1, "seed": seed(3)}
    source = Word2VecEmbedding(**options, random_state=3).fit(rows)
    assert np.array_equal(source.vectors_, Word2Vec(rows, **theirs).wv.vectors)
    source = FastTextEmbedding(**options, bucket=20, random_state=3).fit(rows)
    model = FastText(rows, **theirs, bucket=20)
    assert np.array_equal(source.vectors_, model.wv.vectors)


@pytest.mark.parametrize(
    "options",
    [{}, {"sg": True, "min_n": 1, "max_n": 4, "bucket": 301}],
)
def test_fasttext_is_gensims_with_trained_ngrams_only(options):
    options = {**OPTIONS, "bucket": 300, **options}
    source = FastTextEmbedding(**options, random_state=3).fit(CORPUS)
    options["sg"] = int(options.get("sg", 0))
    model = FastText(CORPUS, **options, workers=1, seed=seed(3))
    words = [*model.wv.index_to_key, *UNSEEN]
    block = source.transform([words]).blocks[0]
    trained = np.unique(np.concatenate(model.wv.buckets_word))
    for word, vector, known in zip(words, block.values, block.known, strict=True):
        expected = np.zeros(len(vector))
        if word in source.vocabulary_:
            expected = model.wv[word]
        else:
            hashes = ft_ngram_hashes(
                word, model.wv.min_n, model.wv.max_n, model.wv.bucket
            )
            used = [h for h in hashes if h in trained]
            assert known == bool(used)
            if used:
                expected = model.wv.vectors_ngrams[used].mean(axis=0)
        np.testing.assert_allclose(vector, expected, rtol=1e-5, atol=1e-7)


def test_fasttext_without_ngrams_knows_what_it_saw():
    source = FastTextEmbedding(**OPTIONS, max_n=0).fit(CORPUS)
    block = source.transform([["the", "unseen"]]).blocks[0]
    assert block.known.tolist() == [True, False]
    assert not block.values[1].any()


@pytest.mark.parametrize("policy", ["zero", "mean", "error"])
def test_fasttext_may_ignore_subwords(policy):
    source = FastTextEmbedding(**OPTIONS, bucket=300, oov=policy)
    if policy == "error":
        with pytest.raises(ValueError, match=r"1 of 14 .*'unseen' \(row 20, token 0\)"):
            source.fit([*CORPUS, ["unseen"]])
        return
    block = source.fit(CORPUS).transform([["the", "unseen"]]).blocks[0]
    # Vectors that a policy writes are vectors like any other.
    assert block.known.tolist() == [True, policy == "mean"]


def test_words_below_min_count_are_unknown():
    source = Word2VecEmbedding(**OPTIONS).fit([*CORPUS, ["rare", "the"]])
    block = source.transform([["rare", "the"]]).blocks[0]
    assert block.known.tolist() == [False, True]
    assert not block.values[0].any()
    assert source.coverage_["types"] == 13 / 14


@both
def test_pickle_keeps_no_training_state(source):
    source = source.fit(CORPUS)
    data = pickle.dumps(source)
    assert len(data) < 25_000
    assert b"gensim" not in data
    assert pickle.loads(data).transform([UNSEEN]) == source.transform([UNSEEN])


@both
def test_nothing_to_train_on(source):
    with pytest.raises(ValueError, match="found no tokens in"):
        source.fit([[], []])
    with pytest.raises(
        ValueError, match="most frequent occurs 2 times, but min_count=5"
    ):
        source.fit([["a", "b", "a"]])
    params = {**source.get_params(), "hs": False, "negative": 0}
    with pytest.raises(ValueError, match="no training objective"):
        type(source)(**params).fit(CORPUS)


def test_long_sequences_are_not_cut():
    long = [f"w{i % 30}" for i in range(25_000)]
    parts = long[:10_000], long[10_000:20_000], long[20_000:]
    source = Word2VecEmbedding(4, epochs=1, random_state=0)
    vectors = source.fit([long, [], ["a"]]).vectors_
    assert np.array_equal(vectors, source.fit([*parts, ["a"]]).vectors_)


def test_the_row_of_a_lone_surrogate_is_named():
    half = "b\ud800c"
    source = FastTextEmbedding(vector_size=3, min_count=2, bucket=50)
    message = r"row 2 contains the word 'b\\ud800c'.*surrogate.*\"replace\""
    rows = [["a", "x"], [], ["x", half], [half, "a"]]
    with pytest.raises(ValueError, match=message):
        source.fit(rows)

    class Stream:
        def __iter__(self):
            return iter(rows)

    with pytest.raises(ValueError, match=r"FastTextEmbedding: the word 'b\\ud800c'"):
        source.fit(Stream())
    # Words below min_count have no n-grams.
    source.fit([*rows[:2], rows[0], rows[2]])
    assert set(source.vocabulary_) == {"a", "x"}
    assert not source.transform([[half]]).blocks[0].known.any()
