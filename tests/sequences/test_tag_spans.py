"""Spans of tags against a reference implementation, and the rules of schemes."""

from itertools import product

import pytest

from sk_metaembed.metrics import span_f1_score
from sk_metaembed.sequences import convert_tags

IOB2 = ["O", "B-x", "I-x", "B-y", "I-y"]
IOBES = [*IOB2, "E-x", "S-x", "E-y", "S-y"]


def sequences(tags, length):
    return [list(row) for n in range(length + 1) for row in product(tags, repeat=n)]


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


def written(row):
    """Return a row of tags in IOBES."""
    tags = ["O"] * len(row)
    for start, stop, label in conlleval(row):
        inside = ["B", *"I" * (stop - start - 2), "E"] if stop - start > 1 else ["S"]
        tags[start:stop] = [f"{letter}-{label}" for letter in inside]
    return tags


@pytest.mark.parametrize(("tags", "length"), [(IOB2, 4), (IOBES, 3)])
def test_spans_are_those_of_a_reading_tag_by_tag(tags, length):
    rows = sequences(tags, length)
    assert convert_tags(rows, to="IOBES").tolist() == [written(row) for row in rows]


def test_no_tags_hold_no_spans():
    assert convert_tags([], to="IOB2").shape == (0,)
    assert convert_tags([[], []], to="IOBES").tolist() == [[], []]


def test_a_label_may_hold_dashes_and_may_be_missing():
    row = ["B-creative-work", "I-creative-work", "B", "I", "I-x"]
    expected = ["B-creative-work", "E-creative-work", "B", "E", "S-x"]
    assert convert_tags([row], to="IOBES").tolist() == [expected]


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
    y = [["O"], row]
    with pytest.raises(ValueError, match="row 1 of y_true, " + message):
        span_f1_score(y, y, scheme=scheme, invalid="raise")


def test_an_unknown_scheme_is_refused():
    with pytest.raises(ValueError, match="scheme must be one of .*, got 'BILOU'"):
        convert_tags([["O"]], to="BILOU")


def test_conversion_round_trips():
    rows = sequences(IOB2, 4)
    rows = [
        r for r, same in zip(rows, convert_tags(rows, "IOB2"), strict=True) if r == same
    ]
    there = convert_tags(rows, to="IOBES")
    assert convert_tags(there, to="IOBES").tolist() == there.tolist()
    assert convert_tags(there, to="IOB2").tolist() == rows
