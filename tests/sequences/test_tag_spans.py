"""Spans of tags against a reference implementation, and the rules of schemes."""

from itertools import product

import numpy as np
import pytest

from sk_metaembed import TokenSequences
from sk_metaembed.sequences import convert_tags
from sk_metaembed.sequences._tags import (
    allowed_transitions,
    check_scheme,
    tags_to_spans,
)

IOB2 = ["O", "B-x", "I-x", "B-y", "I-y"]
IOBES = [*IOB2, "E-x", "S-x", "E-y", "S-y"]


def sequences(tags, length):
    return [list(row) for n in range(length + 1) for row in product(tags, repeat=n)]


def read(tags, scheme=None):
    """Return the spans of each row as a list of (start, stop, label)."""
    spans = tags_to_spans(TokenSequences.from_lists(tags), scheme)
    results = [[] for _ in tags]
    for row, *span in zip(*spans[:4], strict=True):
        results[row].append(tuple(span))
    return results


def conlleval(row):
    """Return the spans of a row, reading one tag at a time."""
    spans, before = [], "O"
    for i, tag in enumerate(row):
        goes_on = tag[0] in "IE" and before[0] in "BI" and tag[2:] == before[2:]
        if goes_on:
            spans[-1] = (spans[-1][0], i + 1, tag[2:])
        elif tag != "O":
            spans.append((i, i + 1, tag[2:]))
        before = tag
    return spans


@pytest.mark.parametrize(("tags", "length"), [(IOB2, 4), (IOBES, 3)])
def test_spans_are_those_of_a_reading_tag_by_tag(tags, length):
    rows = sequences(tags, length)
    assert read(rows) == [conlleval(row) for row in rows]


def keeps(row, scheme):
    """Return whether writing a row's spans gives the row again."""
    return convert_tags([row], to=scheme)[0] == row


def test_spans_end_with_their_sentence():
    assert read([["B-x"], ["I-x"], [], ["I-x"]]) == [
        [(0, 1, "x")],
        [(0, 1, "x")],
        [],
        [(0, 1, "x")],
    ]


def test_no_tags_hold_no_spans():
    spans = tags_to_spans(TokenSequences.from_lists([]), "IOB2")
    assert [len(array) for array in spans] == [0] * 5
    check_scheme(TokenSequences.from_lists([[], []]), "IOBES")


def test_a_label_may_hold_dashes_and_may_be_missing():
    assert read([["B-creative-work", "I-creative-work", "B", "I"]]) == [
        [(0, 2, "creative-work"), (2, 4, "_")]
    ]
    assert convert_tags([["B", "I", "I-x"]], to="BIOES").tolist() == [["B", "E", "S-x"]]


@pytest.mark.parametrize(
    ("row", "scheme", "message"),
    [
        (["O", "I-x"], "IOB2", "tag 1 is 'I-x', but in IOB2 it must be 'B-x'"),
        (["B-x", "I-y"], "IOB2", "tag 1 is 'I-y', but in IOB2 it must be 'B-y'"),
        (["I-x"], "IOB2", "tag 0 is 'I-x', but in IOB2"),
        (["O", "B-x"], "IOBES", "tag 1 is 'B-x', but in IOBES it must be 'S-x'"),
        (["B-x", "O"], "IOBES", "tag 0 is 'B-x', but in IOBES it must be 'S-x'"),
        (
            ["O", "S-x"],
            "IOB2",
            r'tag 1 is \'S-x\', which is not a tag of IOB2.*"I-..."',
        ),
        (["person"], "IOB2", "tag 0 is 'person', which is not a tag of IOB2"),
        (["O-x"], "IOB2", "tag 0 is 'O-x', which is not a tag"),
        (["B-"], "IOBES", "tag 0 is 'B-', which is not a tag of IOBES"),
    ],
)
def test_damage_is_named(row, scheme, message):
    tags = TokenSequences.from_lists([["O"], row])
    with pytest.raises(ValueError, match="row 1 of y, " + message):
        check_scheme(tags, scheme)


def test_an_unknown_scheme_is_refused():
    with pytest.raises(ValueError, match="scheme must be one of .*, got 'BILOU'"):
        tags_to_spans(TokenSequences.from_lists([["O"]]), "BILOU")


def test_transitions_are_those_that_the_check_lets_pass():
    start, between, end = allowed_transitions(IOBES, "IOBES")
    for (i, one), (j, other) in product(enumerate(IOBES), repeat=2):
        legal = start[i] and between[i, j] and end[j]
        assert legal == keeps([one, other], "IOBES")
    assert np.array_equal(start & end, [keeps([tag], "IOBES") for tag in IOBES])
    with pytest.raises(ValueError, match=r"\['X'\] are not tags of IOB2"):
        allowed_transitions(["O", "X"], "IOB2")


def test_conversion_round_trips():
    rows = [row for row in sequences(IOB2, 4) if keeps(row, "IOB2")]
    there = convert_tags(rows, to="IOBES")
    check_scheme(TokenSequences.from_lists(there), "IOBES")
    assert convert_tags(there, to="IOB2").tolist() == rows
