"""Tags as y of a tagger: valid and invalid input, and predictions."""

import numpy as np
import pandas as pd
import pytest
from sklearn.utils import _safe_indexing

from sk_metaembed import TokenSequences
from sk_metaembed.sequences._tags import (
    decode_tags,
    encode_tags,
    read_tags,
    tag_classes,
)

TOKENS = TokenSequences.from_lists([["in", "Rome"], [], ["Ada"]])
TAGS = [["O", "B-place"], [], ["B-person"]]


def objects(rows):
    array = np.empty(len(rows), dtype=object)
    for i, row in enumerate(rows):
        array[i] = row
    return array


@pytest.mark.parametrize(
    "form",
    [
        TAGS,
        tuple(map(tuple, TAGS)),
        objects(TAGS),
        objects([np.array(row, dtype=str) for row in TAGS]),
        pd.Series(TAGS),
        pd.DataFrame({"tags": TAGS}),
        TokenSequences.from_lists(TAGS),
        TokenSequences.from_lists([["X", "Y"], *TAGS])[1:],
    ],
    ids=["lists", "tuples", "array", "arrays", "series", "frame", "tokens", "subset"],
)
def test_every_form_of_tags_gives_the_same_result(form):
    tags = read_tags(form, TOKENS)
    assert tags.to_list() == TAGS
    assert tag_classes(tags).tolist() == ["B-person", "B-place", "O"]


def test_sentences_of_one_length_may_be_a_matrix():
    tokens = TokenSequences.from_lists([["a", "b"], ["c", "d"]])
    table = np.array([["O", "B-x"], ["B-y", "O"]])
    assert read_tags(table, tokens).to_list() == table.tolist()


def test_classes_are_those_that_occur():
    tags = TokenSequences.from_lists(TAGS)
    assert tag_classes(tags[:2]).tolist() == ["B-place", "O"]


@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        (None, ValueError, "requires y to be passed, but the target y is None"),
        (TAGS[:2], ValueError, "y has 2 rows for 3 sentences"),
        ([["O"], [], ["O"]], ValueError, "row 0 of y has 1 tag for a sentence of 2"),
        ([["O", "O"], ["O"], ["O"]], ValueError, r"row 1 of y has 1 tag .* 0 tokens"),
        ([["O", "O"], [], ["O"] * 9], ValueError, r"row 2 of y has 9 tags .*\['Ada'\]"),
        ([["O"], ["O"], ["O"]], ValueError, r"\(2 rows are wrong in total\.\)"),
        ([["O", None], [], ["O"]], TypeError, r"row 0 of y, tag 1 is missing \(None\)"),
        ([["O", np.nan], [], ["O"]], TypeError, "row 0 of y, tag 1 is missing"),
        ([["O", 3], [], ["O"]], TypeError, r"tag 1 is of type int \(3\).*they encode"),
        (["OB", "", "O"], TypeError, "row 0 of y is of type str: 'OB'"),
        ([["O", "O"], None, ["O"]], TypeError, "row 1 of y is missing: None"),
        (np.arange(3), TypeError, "row 0 of y is of type int: 0"),
        ("OOO", TypeError, "y: expected a collection"),
    ],
)
def test_wrong_tags_are_named(y, error, message):
    with pytest.raises(error, match=message):
        read_tags(y, TOKENS)


def test_decoded_tags_can_be_concatenated_and_indexed():
    tags = read_tags(TAGS, TOKENS)
    classes = tag_classes(tags)
    codes = encode_tags(tags, classes)
    lists = decode_tags(codes, classes, TOKENS.offsets)
    assert lists.shape == (3,)
    assert lists.tolist() == TAGS
    assert np.concatenate([lists[2:], lists[:2]])[[1, 2, 0]].tolist() == TAGS
    assert _safe_indexing(lists, np.array([2])).tolist() == TAGS[2:]


def test_predictions_of_one_length_stay_lists():
    lists = decode_tags(np.zeros(4, dtype=int), ["O"], np.array([0, 2, 4]))
    assert lists.shape == (2,)
    assert lists.tolist() == [["O", "O"], ["O", "O"]]
    assert decode_tags(np.zeros(0, dtype=int), [], np.array([0])).shape == (0,)


def test_a_tag_that_was_not_learned_is_named():
    tags = TokenSequences.from_lists([["O"], [], ["O", "B-new"]])
    with pytest.raises(ValueError, match="row 2 of y, tag 1 is 'B-new', which is"):
        encode_tags(tags, ["O", "B-old"])
