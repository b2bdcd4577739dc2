"""Contextual vectors made static are plain means, whatever the batches."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from sk_metaembed import (
    Block,
    ConcatMetaEmbedding,
    EmbeddedSequences,
    FunctionEmbedding,
    Pooling,
    PretrainedEmbedding,
    TokenSequences,
    WordVectors,
    contextual_to_static,
)
from sk_metaembed.sources import BaseEmbedding

RNG = np.random.default_rng(0)
VOCABULARY = [f"w{i}" for i in range(12)]
CORPUS = [
    list(RNG.choice(VOCABULARY, size=n, p=np.arange(1, 13) / 78))
    for n in RNG.integers(0, 9, size=60)
]


def place(sequences):
    """Return what depends on the context, one array a sequence."""
    return [
        [(len(row) / 3, i / 7, sum(map(len, row)) / 11) for i in range(len(row))]
        for row in sequences
    ]


class Partly(BaseEmbedding):
    """Two layers, which do not know words at even and at every third place."""

    def _embed(self, tokens):
        places = np.arange(tokens.n_tokens) - np.repeat(
            tokens.offsets[:-1], tokens.lengths
        )
        lengths = np.repeat(tokens.lengths, tokens.lengths)
        unseen = np.equal(tokens.types, "w0").astype(bool)[tokens.codes]
        blocks = []
        for name, step in (("low", 2), ("high", 3)):
            known = (places % step != 0) & ~unseen
            values = np.stack([places / 3, lengths / 7], axis=1) * step
            values[~known] = 99  # a policy's values: no mean may hold them
            blocks.append(Block(name, values, "token", known))
        return blocks


def direct_means(source, corpus, name):
    """Return each word's mean by the plainest of loops, and its count."""
    results = {}
    embedded = source.transform(corpus)
    block = embedded.broadcast(embedded.block(name), "token")
    for i in np.flatnonzero(block.known):
        word = embedded.tokens.types[embedded.tokens.codes[i]]
        results.setdefault(word, []).append(block.values[i])
    means = {w: np.mean(np.array(v, np.float64), axis=0) for w, v in results.items()}
    return means, {w: len(v) for w, v in results.items()}


def assert_is(wv, means, counts):
    assert set(wv.words) == set(means)
    for word, mean in means.items():
        np.testing.assert_allclose(wv[word], mean, rtol=1e-5, atol=1e-6)
    frequency = [counts[word] for word in wv.words]
    assert frequency == sorted(frequency, reverse=True)


@pytest.mark.parametrize("name", ["low", "high"])
@pytest.mark.filterwarnings("ignore:contextual_to_static:UserWarning")
def test_unknown_occurrences_are_not_counted(name):
    source = Partly().fit(CORPUS)
    expected = direct_means(source, CORPUS, name)
    for size in (1, 7, 1000):
        wv = contextual_to_static(source, CORPUS, block=name, batch_size=size)
        assert_is(wv, *expected)
    wv = contextual_to_static(source, CORPUS, block=name, min_count=10)
    assert set(wv.words) == {word for word, n in expected[1].items() if n >= 10}
    with pytest.raises(ValueError, match="the maximum is"):
        contextual_to_static(source, CORPUS, block=name, min_count=1000)


def test_a_source_without_context_gives_its_own_vectors():
    known = [word for word in VOCABULARY if word != "w3"]
    own = WordVectors.from_arrays(known, RNG.normal(size=(11, 5)))
    source = PretrainedEmbedding(own).fit(CORPUS)
    with pytest.warns(UserWarning, match=r"1 of 12 words .* omitted: 'w3'\."):
        wv = contextual_to_static(source, CORPUS, batch_size=7)
    assert "w3" not in set(wv.words)
    np.testing.assert_array_equal(wv.vectors, own.vectors_for(wv.words)[0])


def test_unicode_forms_are_one_word_of_texts_and_two_tokens_of_lists():
    source = FunctionEmbedding(place, level="token").fit(CORPUS)
    texts = ["caf\u00e9 tea", "tea cafe\u0301"]
    wv = contextual_to_static(source, texts)
    assert wv.words.tolist() == ["caf\u00e9", "tea"]
    np.testing.assert_allclose(*wv.vectors[:, 1:2], rtol=1e-6)
    wv = contextual_to_static(source, [text.split() for text in texts])
    assert sorted(wv.words.tolist()) == ["cafe\u0301", "caf\u00e9", "tea"]


def test_the_corpus_is_streamed():
    source = FunctionEmbedding(place, level="token").fit(CORPUS)
    drawn, most = [0], []

    class Watching:
        def transform(self, rows):
            most.append(drawn[0] - 10 * len(most))
            return source.transform(rows)

    def rows():
        for row in CORPUS:
            drawn[0] += 1
            yield row

    wv = contextual_to_static(Watching(), rows(), batch_size=10)
    assert max(most) == 10
    again = contextual_to_static(source, TokenSequences.from_lists(CORPUS))
    np.testing.assert_array_equal(wv.words, again.words)
    np.testing.assert_allclose(wv.vectors, again.vectors, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("more", "error", "match"),
    [
        ({}, ValueError, r"returns the blocks \['low', 'high'\]"),
        ({"block": "middle"}, KeyError, "No block is named 'middle'"),
        ({"block": "low", "corpus": []}, ValueError, "contains no words"),
        ({"corpus": "one text"}, TypeError, "single str"),
        ({"batch_size": 0}, ValueError, "batch_size == 0, must be >= 1"),
        ({"source": 3}, TypeError, "fitted estimator"),
    ],
)
def test_wrong_arguments_raise(more, error, match):
    call = {"source": Partly().fit(CORPUS), "corpus": CORPUS, **more}
    with pytest.raises(error, match=match):
        contextual_to_static(**call)


def test_sequence_vectors_and_arrays_are_refused():
    class Sentences:
        def transform(self, rows):
            tokens = TokenSequences.from_lists(rows)
            return EmbeddedSequences(
                tokens, [Block("s", np.ones((len(tokens), 2)), "sequence")]
            )

    with pytest.raises(ValueError, match="one vector per sequence"):
        contextual_to_static(Sentences(), CORPUS)
    source = FunctionEmbedding(place, level="token")
    pooled = make_pipeline(source, ConcatMetaEmbedding(), Pooling()).fit(CORPUS)
    with pytest.raises(TypeError, match="returns ndarray instead of EmbeddedSequences"):
        contextual_to_static(pooled, CORPUS)


def test_an_existing_path_is_rejected_first(tmp_path):
    source = FunctionEmbedding(place, level="token").fit(CORPUS)
    wv = contextual_to_static(source, CORPUS, path=tmp_path / "means")
    assert wv.path == str(tmp_path / "means")
    unread = iter(CORPUS)
    with pytest.raises(FileExistsError, match="means already exists"):
        contextual_to_static(source, unread, path=tmp_path / "means")
    assert len(list(unread)) == len(CORPUS)
