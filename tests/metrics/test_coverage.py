import numpy as np
import pytest

from sk_metaembed import EmbeddingUnion, PretrainedEmbedding, WordVectors
from sk_metaembed.metrics import coverage_report

TEXTS = [["tea", "and", "milk"], ["milk", "and", "Tea"], ["tea", "gnu"], []]
A = {"tea": [1.0], "milk": [2.0]}
B = {"and": [1.0, 0.0], "Tea": [0.0, 1.0], "yak": [1.0, 1.0]}


def store(table):
    return WordVectors.from_arrays([*table], [*table.values()])


def test_types_tokens_and_unknown_words_are_counted():
    (row,) = coverage_report(A, TEXTS)
    assert (row["types"], row["tokens"]) == (2, 4)
    assert row["type_coverage"] == 2 / 5
    assert row["token_coverage"] == 4 / 8
    assert row["unknown"] == [("and", 2), ("Tea", 1), ("gnu", 1)]
    (row,) = coverage_report(B, TEXTS, n_unknown=2)
    assert (row["types"], row["tokens"]) == (2, 3)
    assert row["unknown"] == [("tea", 2), ("milk", 2)]


def test_each_block_of_a_union_is_a_source():
    union = EmbeddingUnion(
        [(n, PretrainedEmbedding(store(t))) for n, t in (("a", A), ("b", B))]
    ).fit(TEXTS)
    rows = coverage_report(union, TEXTS)
    assert [row["source"] for row in rows] == ["a", "b"]
    # These sources look up unknown words again in lower case.
    assert [row["tokens"] for row in rows] == [5, 3]


def test_single_embedding_has_one_row():
    assert [row["source"] for row in coverage_report(store(A), TEXTS)] == [
        "WordVectors"
    ]
    source = PretrainedEmbedding(store(A)).fit(TEXTS)
    assert [row["source"] for row in coverage_report(source, TEXTS)] == ["pretrained"]


def test_empty_input_has_zero_coverage():
    (row,) = coverage_report(A, [[], []])
    assert (row["type_coverage"], row["token_coverage"], row["unknown"]) == (0, 0, [])


def test_invalid_input():
    for n_unknown in (-1, 1.5, None):
        with pytest.raises(ValueError, match="n_unknown must be an int, 0 or more"):
            coverage_report({"tea": [1.0]}, ["tea"], n_unknown=n_unknown)
    with pytest.raises(ValueError, match="dict of vectors is empty"):
        coverage_report({}, TEXTS)
    with pytest.raises(TypeError, match="coverage_report: an embedding must be"):
        coverage_report(np.eye(2), TEXTS)
    with pytest.raises(TypeError, match="single str"):
        coverage_report(A, "tea")
