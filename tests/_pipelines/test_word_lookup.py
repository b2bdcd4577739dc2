import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_metaembed import (
    Block,
    EmbeddedSequences,
    EmbeddingUnion,
    Pooling,
    PretrainedEmbedding,
    TokenSequences,
    WordVectors,
)
from sk_metaembed._pipelines import lookup_known, lookup_vectors

TABLE = {"tea": [1.0, 2.0], "milk": [3.0, 4.0], "nil": [0.0, 0.0]}
WORDS = ["milk", "gnu", "tea", "milk"]
VALUES = [[3, 4], [0, 0], [1, 2], [3, 4]]
KNOWN = [True, False, True, True]


def store():
    return WordVectors.from_arrays(list(TABLE), np.array(list(TABLE.values())))


class Splitting:
    """Split a word into no token, one, or one per letter, by its length."""

    def transform(self, tokens):
        texts = ["".join(sequence) for sequence in tokens]
        tokens = TokenSequences.from_lists(
            list(text) if len(text) != 3 else [text] for text in texts
        )
        values = np.arange(1, 1 + tokens.n_types)[:, None] * [1.0, 1.0]
        return EmbeddedSequences(tokens, [Block("letters", values, "type")])


@pytest.mark.parametrize(
    "make",
    [
        lambda: TABLE,
        store,
        lambda: store().to_keyed_vectors(),
        lambda: PretrainedEmbedding(store()).fit(["tea"]),
    ],
    ids=["dict", "store", "gensim", "estimator"],
)
def test_every_embedding_gives_the_same(make):
    values, known = lookup_vectors(make(), WORDS)
    np.testing.assert_array_equal(values, VALUES)
    assert values.dtype == np.float32
    assert known.tolist() == KNOWN
    (by_block,) = lookup_known(make(), WORDS).values()
    assert by_block.tolist() == KNOWN


def test_words_are_found_in_any_unicode_form():
    table = {"cafe\u0301": [1.0], "na\u00efve": [2.0]}
    words = ["caf\u00e9", "nai\u0308ve", "th\u00e9"]
    for embedding in (table, WordVectors.from_arrays([*table], [*table.values()])):
        values, known = lookup_vectors(embedding, words)
        assert values.ravel().tolist() == [1, 2, 0]
        assert known.tolist() == [True, True, False]


def test_words_that_are_not_one_token_have_no_vector():
    # Two letters in one place and none in another: as many tokens as words.
    values, known = lookup_vectors(Splitting(), ["ab", "", "tea"])
    assert known.tolist() == [False, False, True]
    assert values.tolist() == [[0, 0], [0, 0], [3, 3]]
    known = lookup_known(Splitting(), ["ab", "", "tea"])["letters"]
    assert known.tolist() == [False, False, True]


def test_several_blocks_have_known_words_but_no_vectors():
    other = PretrainedEmbedding(WordVectors.from_arrays(["gnu"], np.eye(1)))
    union = EmbeddingUnion([("a", PretrainedEmbedding(store())), ("b", other)])
    union.fit(WORDS)
    known = lookup_known(union, WORDS)
    assert known["a"].tolist() == KNOWN
    assert known["b"].tolist() == [False, True, False, False]
    with pytest.raises(ValueError, match=r"returns 2 blocks, \['a', 'b'\]. Put a meta"):
        lookup_vectors(union, WORDS)


def test_rows_of_zeros_in_arrays_are_unknown():
    class Lengths:
        def transform(self, tokens):
            return np.array([[len(row[0]) - 3.0] for row in tokens])

    values, known = lookup_vectors(Lengths(), WORDS)
    assert values.tolist() == [[1], [0], [0], [1]]
    assert known.tolist() == [True, False, False, True]
    assert lookup_known(Lengths(), WORDS)[""].tolist() == known.tolist()


def test_unknown_words_stay_unknown_when_a_step_moves_their_zeros():
    pipeline = make_pipeline(PretrainedEmbedding(store()), Pooling(), StandardScaler())
    values, known = lookup_vectors(pipeline.fit([["tea"], ["milk"]]), WORDS)
    assert values.all(axis=1).tolist() == [True] * 4
    assert known.tolist() == KNOWN


class Unknown:
    def transform(self, tokens):
        return np.full((len(tokens), 2), np.nan)


def test_arrays_of_other_lengths_are_refused():
    class Means:
        def transform(self, tokens):
            return np.zeros(len(tokens))

    for reader in (lookup_vectors, lookup_known):
        with pytest.raises(ValueError, match=r"returned shape \(4,\) for 4 words"):
            reader(Means(), WORDS)


@pytest.mark.parametrize(
    ("embedding", "error", "match"),
    [
        (np.eye(2), TypeError, "must be a fitted estimator.*got ndarray"),
        ({}, ValueError, "dict of vectors is empty"),
        ({"tea": [1.0], "milk": [1.0, 2.0]}, ValueError, r"'milk' has shape \(2,\)"),
        (
            {"tea": ["1"]},
            ValueError,
            "'tea' has .* dtype <U1; expected numbers of shape",
        ),
        (PretrainedEmbedding, TypeError, "must be a fitted estimator.*"),
        ({"tea": [np.inf]}, ValueError, "vector of 'tea' holds NaN or infinity"),
        (Unknown(), ValueError, f"vector of '{WORDS[0]}' holds NaN or infinity"),
    ],
)
def test_invalid_embeddings_are_refused(embedding, error, match):
    with pytest.raises(error, match=match):
        lookup_vectors(embedding, WORDS)
