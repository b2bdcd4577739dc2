import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array

from sk_metaembed import FunctionEmbedding

TEXTS = [["to", "be"], [], ["or", "not", "to", "be"]]


def word_shape(words):
    return np.array([[len(word), word.count("o")] for word in words])


def positions(sequences):
    return [[[j, len(word)] for j, word in enumerate(words)] for words in sequences]


def lengths(sequences):
    return [[len(words), 1.0] for words in sequences]


def some_words(words):
    return [None if word == "not" else [len(word), 0] for word in words]


def test_types_are_embedded_once_each():
    calls = []

    def spy(words):
        calls.extend(words)
        return word_shape(words)

    embedded = FunctionEmbedding(spy).fit_transform(TEXTS)
    assert calls == ["to", "be", "or", "not"]
    assert embedded.block("function").level == "type"
    assert embedded[2].tolist() == [[2, 1], [3, 1], [2, 1], [2, 0]]


def test_tokens():
    block = FunctionEmbedding(positions, "token").fit_transform(TEXTS).blocks[0]
    assert block.level == "token"
    assert block.values.tolist() == [[0, 2], [1, 2], [0, 2], [1, 3], [2, 2], [3, 2]]


def test_sequences_and_empty_ones():
    block = FunctionEmbedding(lengths, "sequence").fit_transform(TEXTS).blocks[0]
    assert block.level == "sequence"
    assert block.values.tolist() == [[2, 1], [0, 0], [4, 1]]
    assert block.known.tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("level", "size"), [("type", 2), ("token", 1), ("sequence", 1)]
)
def test_batches_change_nothing(level, size):
    func = {"type": word_shape, "token": positions, "sequence": lengths}[level]
    whole = FunctionEmbedding(func, level).fit_transform(TEXTS)
    assert FunctionEmbedding(func, level, batch_size=size).fit_transform(TEXTS) == whole


def test_none_is_unknown():
    source = FunctionEmbedding(some_words, preprocess="center").fit(TEXTS)
    assert source.coverage_ == {"types": 0.75, "tokens": 5 / 6}
    block = source.transform([["not", "be"]]).blocks[0]
    assert block.known.tolist() == [False, True]
    assert block.values.tolist() == [[0, 0], [0, 0]]


def test_unknown_sequences_count_for_their_words():
    def no_long(sequences):
        return [None if len(words) > 2 else [1.0] for words in sequences]

    source = FunctionEmbedding(no_long, "sequence").fit(TEXTS)
    assert source.coverage_ == {"types": 0.5, "tokens": 2 / 6}


def test_a_generator_that_was_read_before_is_thought_of():
    texts = (text for text in TEXTS)
    list(texts)
    with pytest.raises(ValueError, match="generator, it may be exhausted"):
        FunctionEmbedding(lambda words: [[1.0] for _ in words]).fit(texts)


def test_nothing_known_in_fit():
    source = FunctionEmbedding(some_words)
    with pytest.raises(ValueError, match="Set dim"):
        source.fit([["not"]])
    assert source.set_params(dim=2).fit_transform([["not"]]).dim == 2


@pytest.mark.parametrize(
    "func, message",
    [
        (lambda ws: [[1.0]] * (len(ws) + 1), "of 4 entries; got 5"),
        (lambda ws: 3, "got int.*not with one entry"),
        (lambda ws: [1.0] * len(ws), "expected one vector"),
        (lambda ws: [[1.0] * len(w) for w in ws], r"'not'.*\(3,\).*\(2,\)"),
        (lambda ws: [[np.nan if w == "or" else 1] for w in ws], "2, for 'or'"),
        (
            lambda ws: np.ma.array(np.eye(4), mask=np.eye(4)),
            "0, for 'to', contains NaN",
        ),
        (lambda ws: np.array([[1e300 if w == "be" else 1] for w in ws]), "1, for 'be'"),
        (lambda ws: [["x"]] * len(ws), "0, for 'to', is not an array"),
    ],
)
def test_faulty_results_are_named(func, message):
    with pytest.raises((TypeError, ValueError), match=f"(?s){message}"):
        FunctionEmbedding(func).fit(TEXTS)


@pytest.mark.parametrize("kind", [csr_array, pd.DataFrame, pl.DataFrame])
def test_matrices_of_other_libraries(kind):
    def lengths(texts):
        return kind(np.array([[len(text), text.count("a")] for text in texts]))

    source = FunctionEmbedding(lengths, level="sequence", as_text=True)
    values = source.fit_transform(["a", "bad", ""]).blocks[0].values
    np.testing.assert_array_equal(values, [[1, 1], [3, 1], [0, 0]])


def test_dimension_is_bound_by_fit():
    widths = iter([2, 3])
    source = FunctionEmbedding(lambda words: np.ones((len(words), next(widths))))
    with pytest.raises(ValueError, match=r"\(3,\); expected \(2,\)"):
        source.fit(TEXTS).transform(TEXTS)
