"""Contextual sources read texts as they were written, and find their tokens there."""

import pickle
import string

import numpy as np
import pytest
import torch

from sk_metaembed import (
    EmbeddingUnion,
    PretrainedEmbedding,
    Tokenizer,
    TransformerEmbedding,
    WordVectors,
)

from ... import tiny_bert
from ..transformer.test_embedding import counted_passes
from ..transformer.test_families import Slow

TEXTS = [
    "Don't stop, it's a 3.5% rise!",
    "",
    "!?",
    "The KING (queen) was good.",
    "the king queen was good",
]


def cased_tokenizer():
    """Return a tokenizer that keeps case, over letters and signs."""
    signs = f"{string.ascii_letters}{string.digits}.,'!?%()"
    vocab = [*tiny_bert.SPECIAL, *signs, *(f"##{s}" for s in signs), "king", "The"]
    return tiny_bert.bert_tokenizer(vocab, lowercase=False)


@pytest.fixture(scope="module")
def pair():
    tokenizer = cased_tokenizer()
    size = {"vocab_size": len(tokenizer), "max_position_embeddings": 64}
    return tiny_bert.network(**size), tokenizer


def by_hand(pair, *texts):
    """Return the last hidden state of a text, and what the tokenizer tells of it."""
    network, tokenizer = pair
    given = tokenizer(*texts, return_tensors="pt", return_offsets_mapping=True)
    offsets = given.pop("offset_mapping")[0].numpy()
    with torch.no_grad():
        return network(**given).last_hidden_state[0].numpy(), offsets, given


def test_the_whole_text_unchanged_at_the_sequence_level(pair):
    mean, cls = (
        TransformerEmbedding(pair, output=output)
        .fit_transform(TEXTS)
        .block(f"{output}2")
        for output in ("mean", "cls")
    )
    assert mean.known.tolist() == [True, False, True, True, True]
    for i in np.flatnonzero(mean.known):
        states, *_ = by_hand(pair, TEXTS[i])
        np.testing.assert_allclose(mean.values[i], states.mean(0), atol=1e-5)
        np.testing.assert_allclose(cls.values[i], states[0], atol=1e-5)
    assert not mean.values[1].any()


LONG = "The king, (queen) was GOOD: 3.5% more than in 1999! Was it? It was."


@pytest.mark.parametrize("max_length", [4, 16])
def test_windows_of_texts(pair, max_length):
    source = TransformerEmbedding(pair, max_length=max_length)
    for splitter in (Tokenizer(), Tokenizer(punctuation=True), Tokenizer(r"\w\w+")):
        tokens = splitter.transform([LONG, "The king", LONG])
        (result,) = source.fit_transform(tokens).blocks
        assert result.known.all()
        assert source.n_long_ == 2
        (other,) = source.transform(tokens[[2]]).blocks
        np.testing.assert_allclose(
            result.values[-len(tokens[2]) :], other.values, atol=1e-5
        )


def test_a_cache_keeps_texts_and_token_lists_apart(pair, tmp_path):
    source = TransformerEmbedding(pair, cache=tmp_path)
    texts = Tokenizer().transform(TEXTS)
    lists = Tokenizer().transform(texts.to_list())
    source.fit(texts[:0])
    for given in (texts, lists, texts, lists):
        result = source.transform(given).blocks[0].values
        expected = TransformerEmbedding(pair).fit_transform(given).blocks[0].values
        np.testing.assert_allclose(result, expected, atol=1e-5)
    assert abs(source.transform(texts)[0] - source.transform(lists)[0]).max() > 0.1


@pytest.mark.parametrize(("output", "n_other"), [("mean", 0), ("words", 1)])
def test_equal_texts_are_computed_once_however_they_were_split(
    pair, tmp_path, output, n_other
):
    source = TransformerEmbedding(pair, output=output, cache=tmp_path).fit(["good"])
    other = Tokenizer(lowercase=False, punctuation=True).transform([LONG])
    for tokens, n in [
        (Tokenizer().transform([LONG] * 3), 1),
        (other, n_other),  # vectors of words are vectors of other words
        (other[[0, 0]], 0),
    ]:
        with counted_passes(pair) as passes:
            source.transform(tokens)
        assert len(passes) == n


def test_slow_tokenizers_read_tokens_for_words_and_texts_as_a_whole(pair):
    network, tokenizer = pair
    slow = network, Slow(tokenizer)
    lists = Tokenizer().transform(TEXTS).to_list()
    words = TransformerEmbedding(slow)
    result, expected = words.fit_transform(TEXTS), words.fit_transform(lists)
    assert result.blocks[0].values.tolist() == expected.blocks[0].values.tolist()
    for options in ({}, {"max_length": 9}, {"prompt": "The king: ", "max_length": 12}):
        result, expected = (
            TransformerEmbedding(given, output="mean", **options).fit_transform(TEXTS)
            for given in (slow, pair)
        )
        np.testing.assert_allclose(
            result.blocks[0].values, expected.blocks[0].values, atol=1e-5
        )


def test_texts_may_hold_anything(pair):
    texts = ["\ud800 good", "\u200b", "İstanbul ﷺ e\u0301", "\n\tThe\0king "]
    words = TransformerEmbedding(pair).fit_transform(texts).blocks[0]
    assert np.isfinite(words.values).all()
    mean = TransformerEmbedding(pair, output="mean").fit_transform(texts).blocks[0]
    assert mean.known.tolist() == [True, False, True, True]


def test_a_union_feeds_each_source_rightly(pair):
    tokens = Tokenizer().transform(TEXTS)
    words = list(tokens.types)
    vectors = WordVectors.from_arrays(words, np.eye(len(words), 3, dtype=np.float32))
    word2vec = PretrainedEmbedding(vectors, case_fallback=False)
    union = EmbeddingUnion([("w2v", word2vec), ("bert", TransformerEmbedding(pair))])
    result = union.fit_transform(TEXTS)
    assert union.coverage_["w2v"] == {"types": 1.0, "tokens": 1.0}
    alone = TransformerEmbedding(pair).fit_transform(tokens).blocks[0]
    np.testing.assert_allclose(result.block("bert").values, alone.values, atol=1e-5)
    again = pickle.loads(pickle.dumps((union, tokens)))
    np.testing.assert_allclose(again[0].transform(again[1])[3], result[3], atol=1e-5)
