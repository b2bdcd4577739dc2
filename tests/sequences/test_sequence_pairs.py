"""SequencePairs, and the reading of pairs."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sk_metaembed import (
    PairEncoder,
    SequencePairs,
    Tokenizer,
    TokenSequences,
)

from ..levels import embed

ROWS = [(["a", "dog"], ["a", "cat"]), (["hi"], []), (["a"], ["dog", "dog"])]


def tokens():
    return SequencePairs.from_lists(ROWS)


def embedded():
    return SequencePairs(embed(tokens().sequences))


@pytest.fixture(params=[tokens, embedded], ids=["tokens", "embedded"])
def pairs(request):
    return request.param()


def test_sides_are_those_that_came_in():
    pairs = tokens()
    assert pairs.first.to_list() == [first for first, _ in ROWS]
    assert pairs.second.to_list() == [second for _, second in ROWS]
    assert pairs.to_list() == list(pairs) == ROWS
    assert len(pairs) == 3
    assert pairs.shape == (3,)


@pytest.mark.parametrize("key", [slice(1, 3), [2, 0, 2], [], np.array([1, 0, 1]) == 1])
def test_a_subset_takes_both_sides(pairs, key):
    subset = pairs[key]
    assert subset.first == pairs.first[key]
    assert subset.second == pairs.second[key]
    for mine, theirs in zip(subset, np.arange(3)[key], strict=True):
        for side, other in zip(mine, pairs[int(theirs)], strict=True):
            np.testing.assert_array_equal(side, other)


def test_copies_are_equal_and_others_are_not(pairs):
    assert pickle.loads(pickle.dumps(pairs)) == pairs
    assert pairs[[0, 1, 2]] == pairs
    assert pairs[[1, 0, 2]] != pairs
    assert pairs != pairs.sequences
    swapped = SequencePairs(pairs.sequences[[3, 4, 5, 0, 1, 2]])
    assert swapped != pairs
    assert swapped.first == pairs.second


def test_it_cannot_be_changed_hashed_or_made_an_array(pairs):
    with pytest.raises(AttributeError, match="immutable"):
        pairs.sequences = None
    with pytest.raises(AttributeError, match="immutable"):
        del pairs.sequences
    with pytest.raises(TypeError, match="unhashable"):
        hash(pairs)
    with pytest.raises(TypeError, match="Pooling"):
        np.asarray(pairs)


def test_it_shows_itself(pairs):
    assert repr(pairs).startswith("SequencePairs(3 pairs of ")
    html = pairs._repr_html_()
    for words in (("a", "dog"), ("dog", "dog")):
        assert " ".join(f'<bdi class="t">{word}</bdi>' for word in words) in html


def test_an_odd_number_of_sequences_and_other_things_are_refused():
    with pytest.raises(ValueError, match="odd"):
        SequencePairs(TokenSequences.from_lists([["a"]]))
    with pytest.raises(TypeError, match="got list"):
        SequencePairs([["a"], ["b"]])
    with pytest.raises(TypeError, match="row 0, first side.*list of str"):
        SequencePairs.from_lists([("a text", "another")])
    with pytest.raises(TypeError, match="single sequences"):
        SequencePairs.from_lists(TokenSequences.from_lists([["a"], ["b"]]))


TEXTS = [("a", "b"), ("c", "d"), ("e", "f")]


def read(X):
    """Return pairs of token lists, as a step that takes pairs reads them."""
    return PairEncoder(Tokenizer()).fit_transform(X).to_list()


@pytest.mark.parametrize(
    "make",
    [
        list,
        tuple,
        iter,
        np.array,
        lambda rows: pd.DataFrame(rows, columns=["one", "other"], index=[5, 6, 7]),
        lambda rows: pl.DataFrame(rows, schema=["one", "other"], orient="row"),
        lambda rows: pa.table({"one": [a for a, _ in rows], "b": [b for _, b in rows]}),
        pd.Series,
        lambda rows: [np.array(row) for row in rows],
    ],
)
def test_every_container_of_pairs_gives_the_same_result(make):
    assert read(make(TEXTS)) == [([a], [b]) for a, b in TEXTS]


def test_token_lists_are_read_as_they_are():
    assert read(ROWS) == read(pd.DataFrame(ROWS)) == read(tokens()) == ROWS
    assert read([(np.array(["a"]), ("b", "c"))]) == [(["a"], ["b", "c"])]


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (np.array([["a", "b", "c"]]), ValueError, "got 3 columns"),
        (pd.DataFrame({"a": ["b"]}), ValueError, r"got 1 column\. "),
        ([("a", "b"), ("a",)], ValueError, "row 1 has 1 cell, "),
        ((["a"] * 3, ["b"] * 3), ValueError, r"3 columns.*list\(zip\(first"),
        ([("a", "b"), None], TypeError, "row 1 is missing"),
        ([("a", "b"), ("a", np.nan)], TypeError, "row 1, second side is missing"),
        ([("a", "b"), (["a"], "b")], TypeError, "row 1, first side is of type list"),
        ([(["a"], ["b", 3])], TypeError, "row 0, second side, token 1"),
        (
            np.ones((3, 2)),
            TypeError,
            "row 0, first side is of type float.* must be a str or .*wrong column",
        ),
        (
            pd.DataFrame({"a": ["b", "c"], "speed": [np.nan, 2.5]}),
            TypeError,
            "row 1, second side is of type float: 2.5.*wrong column",
        ),
        (np.array([[["a"], ["b"]]]), ValueError, "lists of equal length"),
        (TokenSequences.from_lists([["b"]]), TypeError, "single sequences"),
    ],
)
def test_input_other_than_pairs_is_refused(X, error, message):
    with pytest.raises(error, match=message):
        read(X)
