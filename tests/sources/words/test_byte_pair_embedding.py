"""BytePairEmbedding: pieces, pooled vectors, unseen words and errors."""

import sys

import numpy as np
import pytest

from sk_metaembed import (
    BytePairEmbedding,
    FunctionEmbedding,
    PretrainedEmbedding,
    Word2VecEmbedding,
    WordVectors,
)

MARK = "\u2581"  # begins a word
TEXTS = ["walking and talking", "walked and talked", "", "the café talks"] * 5
STRANGE = ["", "\ud800", "x\ud800y", "\x00", MARK, "日本語", "t" * 5000, "walk\ud800s"]


def trained(vocab_size=30, **options):
    pieces = Word2VecEmbedding(5, min_count=1, epochs=2, random_state=0)
    return BytePairEmbedding(pieces, vocab_size=vocab_size, **options)


def test_frequent_words_become_pieces():
    words = ["low", "lower", "newest", "widest"]
    rows = [[word] * n for word, n in zip(words, (5, 2, 6, 3), strict=True)]
    learned = trained(100).fit(rows).byte_pairs_
    assert learned.split(words).to_list() == [[MARK + word] for word in words]


def test_vocabulary_size_is_an_upper_limit_but_for_characters():
    rows = [["abab"] * 3, ["abc"]]
    assert len(trained(5).fit(rows).byte_pairs_) == 5
    assert len(trained(10**6).fit(rows).byte_pairs_) < 12
    alone = trained(1).fit(rows).byte_pairs_
    assert alone.pieces == ["a", "b", "c", MARK]
    assert alone.split(["cab", "xa"]).to_list() == [["c", "a", "b"], ["a"]]


def test_a_word_is_the_mean_of_its_pieces():
    source = trained().fit(TEXTS)
    trained_rows = source.source_.vocabulary_
    words = ["walking", "talked", "talks", "ethe"]
    pieces = source.byte_pairs_.split(words).to_list()
    assert ["".join(row).lstrip(MARK) for row in pieces] == words
    untrained = {piece for row in pieces for piece in row} - set(trained_rows)
    assert untrained == {"t"}  # occurs in longer pieces only
    for row, value in zip(pieces, source.transform([words])[0], strict=True):
        rows = [trained_rows[piece] for piece in row if piece != "t"]
        expected = source.source_.vectors_[rows].mean(axis=0)
        np.testing.assert_allclose(value, expected, rtol=1e-5, atol=1e-8)


def test_the_source_is_trained_on_the_pieces_of_each_row():
    source = trained().fit(TEXTS)
    words = [text.split() for text in TEXTS]
    rows = [sum(source.byte_pairs_.split(row).to_list(), []) for row in words]
    expected = source.source.fit(rows)
    assert source.source_.vocabulary_ == expected.vocabulary_
    assert np.array_equal(source.source_.vectors_, expected.vectors_)


def test_any_source_of_word_vectors_takes_the_pieces():
    store = WordVectors.from_arrays(["ab", "c"], [[1.0, 2.0], [3.0, 0.0]])
    source = BytePairEmbedding(PretrainedEmbedding(store), vocab_size=5)
    source.fit([["ab", "c", "ab"]])
    words = ["ab", "abc", "abca", "b"]
    split = source.byte_pairs_.split(words).to_list()
    assert split == [["ab"], ["ab", "c"], ["ab", "c", "a"], ["b"]]
    block = source.transform([words]).blocks[0]
    assert block.values.tolist() == [[1, 2], [2, 1], [2, 1], [0, 0]]
    assert block.known.tolist() == [True, True, True, False]


def test_unknown_words_have_no_known_piece():
    source = trained().fit(TEXTS)
    block = source.transform([STRANGE]).blocks[0]
    known = dict(zip(STRANGE, block.known.tolist(), strict=True))
    assert known == dict.fromkeys(STRANGE, False) | {
        "t" * 5000: True,
        "walk\ud800s": True,
    }
    assert not block.values[~block.known].any()
    strange = trained().fit([STRANGE] * 3).transform([STRANGE]).blocks[0]
    assert not strange.known[:2].any() and strange.known[[2, 3, 5, 6, 7]].all()


def test_errors():
    with pytest.raises(ValueError, match="no word is left") as raised:
        BytePairEmbedding().fit(["a b", "c d"])
    assert "byte pairs" in raised.value.__notes__[0]
    with pytest.raises(ValueError, match="found no tokens"):
        trained().fit([[], []])
    lengths = FunctionEmbedding(
        lambda rows: [[[1.0]] * len(row) for row in rows], level="token"
    )
    with pytest.raises(TypeError, match="one block with a vector per distinct token"):
        BytePairEmbedding(lengths).fit(TEXTS)
    with pytest.raises(ValueError, match="vocab_size"):
        BytePairEmbedding(vocab_size=0).fit(TEXTS)


def test_tokenizers_is_needed(monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(ImportError, match=r"sk_metaembed\[subwords\]"):
        trained().fit(TEXTS)
