"""Tags as y of a tagger: valid and invalid input, and predictions."""

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils import _safe_indexing

from sk_metaembed import Block, EmbeddedSequences, TokenClassifier, TokenSequences
from sk_metaembed.sequences import convert_tags

ROWS = [["in", "Rome"], [], ["Ada"]]
TAGS = [["O", "B-place"], [], ["B-person"]]


def embedded(rows=ROWS):
    """Return sentences of which each word has a vector of its own."""
    tokens = TokenSequences.from_lists(rows)
    return EmbeddedSequences(tokens, [Block("w", np.eye(tokens.n_types), "type")])


def fitted(X, y):
    return TokenClassifier(KNeighborsClassifier(1)).fit(X, y)


@pytest.mark.parametrize(
    "form",
    [
        TAGS,
        tuple(map(tuple, TAGS)),
        np.fromiter(TAGS, object),
        np.fromiter((np.array(row, dtype=str) for row in TAGS), object),
        pd.Series(TAGS),
        pd.DataFrame({"tags": TAGS}),
        TokenSequences.from_lists(TAGS),
        TokenSequences.from_lists([["X", "Y"], *TAGS])[1:],
    ],
    ids=["lists", "tuples", "array", "arrays", "series", "frame", "tokens", "subset"],
)
def test_every_form_of_tags_gives_the_same_result(form):
    assert convert_tags(form, to="IOB2").tolist() == TAGS
    model = fitted(embedded(), form)
    assert model.classes_.tolist() == ["B-person", "B-place", "O"]
    assert model.score(embedded(), form) == 1


def test_sentences_of_one_length_may_be_a_matrix():
    table = np.array([["O", "B-x"], ["B-y", "O"]])
    X = embedded([["a", "b"], ["c", "d"]])
    result = fitted(X, table).predict(X)
    assert result.shape == (2,)
    assert result.tolist() == table.tolist()


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
        fitted(embedded(), y)


def test_predicted_tags_can_be_concatenated_and_indexed():
    lists = fitted(embedded(), TAGS).predict(embedded())
    assert lists.shape == (3,)
    assert lists.tolist() == TAGS
    assert np.concatenate([lists[2:], lists[:2]])[[1, 2, 0]].tolist() == TAGS
    assert _safe_indexing(lists, np.array([2])).tolist() == TAGS[2:]
