import numpy as np
import pytest

from sk_metaembed import EmbeddingUnion, PretrainedEmbedding, WordVectors
from sk_metaembed.metrics import coverage_report

TEXTS = [["tea", "and", "milk"], ["milk", "and", "Tea"], ["tea", "gnu"], []]
A = {"tea": [1.0], "milk": [2.0]}
B = {"and": [1.0, 0.0], "Tea": [0.0, 1.0], "yak": [1.0, 1.0]}


def store(table):
    return WordVectors.from_arrays(list(table), np.array(list(table.values())))


def by_source(rows):
    return {row["source"]: row for row in rows}


def test_types_tokens_and_unknown_words_are_counted():
    rows = by_source(coverage_report({"a": A, "b": B}, TEXTS, case_fallback=False))
    assert list(rows) == ["a", "b", "(any)", "(all)"]
    counted = {name: (row["types"], row["tokens"]) for name, row in rows.items()}
    assert counted == {"a": (2, 4), "b": (2, 3), "(any)": (4, 7), "(all)": (0, 0)}
    assert rows["a"]["type_coverage"] == 2 / 5
    assert rows["a"]["token_coverage"] == 4 / 8
    assert rows["a"]["unknown"] == [("and", 2), ("Tea", 1), ("gnu", 1)]
    assert rows["b"]["unknown"] == [("tea", 2), ("milk", 2), ("gnu", 1)]


def test_case_fallback():
    (row,) = coverage_report(A, TEXTS)
    assert (row["types"], row["tokens"]) == (3, 5)
    assert row["unknown"] == [("and", 2), ("gnu", 1)]


def test_each_block_of_a_union_is_a_source():
    union = EmbeddingUnion(
        [(n, PretrainedEmbedding(store(t))) for n, t in (("a", A), ("b", B))]
    ).fit(TEXTS)
    rows = coverage_report(union, TEXTS)
    assert rows == coverage_report({"a": A, "b": B}, TEXTS)
    named = coverage_report({"u": union, "b": B}, TEXTS)
    assert [row["source"] for row in named[:3]] == ["u.a", "u.b", "b"]


def test_single_embedding_has_one_row():
    assert [row["source"] for row in coverage_report(store(A), TEXTS)] == [
        "WordVectors"
    ]
    source = PretrainedEmbedding(store(A)).fit(TEXTS)
    assert [row["source"] for row in coverage_report(source, TEXTS)] == ["pretrained"]
    named = coverage_report({"glove": source}, TEXTS)
    assert [row["source"] for row in named] == ["glove"]


def test_empty_input_has_zero_coverage():
    (row,) = coverage_report(A, [[], []])
    assert (row["type_coverage"], row["token_coverage"], row["unknown"]) == (0, 0, [])


def test_invalid_input():
    union = EmbeddingUnion(
        [("a", PretrainedEmbedding(store(A))), ("b", PretrainedEmbedding(store(B)))]
    )
    with pytest.raises(ValueError, match="two sources are named 'u.a'"):
        coverage_report({"u": union.fit(TEXTS), "u.a": A}, TEXTS)
    for n_unknown in (-1, 1.5, None):
        with pytest.raises(ValueError, match="n_unknown must be an int, 0 or more"):
            coverage_report({"tea": [1.0]}, ["tea"], n_unknown=n_unknown)
    with pytest.raises(ValueError, match="reserved for the rows over all sources"):
        coverage_report({"(any)": A, "b": B}, TEXTS)
    with pytest.raises(ValueError, match="got no embedding"):
        coverage_report({}, TEXTS)
    with pytest.raises(TypeError, match="coverage_report: an embedding must be"):
        coverage_report(np.eye(2), TEXTS)
    with pytest.raises(TypeError, match="single str"):
        coverage_report(A, "tea")
