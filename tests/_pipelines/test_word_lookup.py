"""The vectors that any embedding gives to words, as they are exported and counted."""

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
    export_vectors,
)
from sk_metaembed.metrics import coverage_report

TABLE = {"tea": [1.0, 2.0], "milk": [3.0, 4.0], "nil": [0.0, 0.0]}
WORDS = ["milk", "gnu", "tea"]
VALUES = [[3, 4], [0, 0], [1, 2]]


@pytest.fixture
def look_up(tmp_path):
    """Return a function that returns the vectors of words, and the unknown words."""

    def export(embedding, words):
        path, options = tmp_path / "words", {"format": "store", "overwrite": True}
        report = export_vectors(embedding, words, path, unknown="keep", **options)
        vectors = WordVectors.open(path)
        return [vectors[word].tolist() for word in words], [*report.unknown]

    return export


def unknown_words(embedding, words=WORDS):
    """Return the unknown words by source."""
    rows = coverage_report(embedding, [words])
    return {row["source"]: [word for word, _ in row["unknown"]] for row in rows}


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
def test_every_embedding_gives_the_same(make, look_up):
    assert look_up(make(), WORDS) == (VALUES, ["gnu"])
    assert [*unknown_words(make()).values()] == [["gnu"]]


def test_words_are_found_in_any_unicode_form(look_up):
    table = {"cafe\u0301": [1.0], "na\u00efve": [2.0]}
    words = ["caf\u00e9", "nai\u0308ve", "th\u00e9"]
    for embedding in (table, WordVectors.from_arrays([*table], [*table.values()])):
        assert look_up(embedding, words) == ([[1], [2], [0]], words[2:])


def test_words_that_are_not_one_token_have_no_vector(look_up):
    # Two letters in one place and none in another: as many tokens as words.
    words = ["ab", "", "tea"]
    assert look_up(Splitting(), words) == ([[0, 0], [0, 0], [3, 3]], ["ab", ""])
    assert unknown_words(Splitting(), words) == {"letters": ["ab", ""]}


def test_several_blocks_have_known_words_but_no_vectors(look_up):
    other = PretrainedEmbedding(WordVectors.from_arrays(["gnu"], np.eye(1)))
    union = EmbeddingUnion([("a", PretrainedEmbedding(store())), ("b", other)])
    union.fit(WORDS)
    assert unknown_words(union) == {"a": ["gnu"], "b": ["milk", "tea"]}
    with pytest.raises(ValueError, match=r"returns 2 blocks, \['a', 'b'\]. Put a meta"):
        look_up(union, WORDS)


def test_rows_of_zeros_in_arrays_are_unknown(look_up):
    class Lengths:
        def transform(self, tokens):
            return np.array([[len(row[0]) - 3.0] for row in tokens])

    assert look_up(Lengths(), WORDS) == ([[1], [0], [0]], ["gnu", "tea"])
    assert unknown_words(Lengths()) == {"Lengths": ["gnu", "tea"]}


def test_unknown_words_stay_unknown_when_a_step_moves_their_zeros(look_up):
    pipeline = make_pipeline(PretrainedEmbedding(store()), Pooling(), StandardScaler())
    values, unknown = look_up(pipeline.fit([["tea"], ["milk"]]), WORDS)
    assert np.all(values)
    assert unknown == ["gnu"]


class Unknown:
    def transform(self, tokens):
        return np.full((len(tokens), 2), np.nan)


def test_arrays_of_other_lengths_are_refused(look_up):
    class Means:
        def transform(self, tokens):
            return np.zeros(len(tokens))

    for reader in (look_up, unknown_words):
        with pytest.raises(ValueError, match=r"returned shape \(3,\) for 3 words"):
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
def test_invalid_embeddings_are_refused(embedding, error, match, look_up):
    with pytest.raises(error, match=match):
        look_up(embedding, WORDS)
