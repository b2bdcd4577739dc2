"""Span F1, compared with counts by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import UndefinedMetricWarning

from sk_metaembed import Block, EmbeddedSequences, TokenSequences
from sk_metaembed.metrics import span_f1_score
from sk_metaembed.sequences import convert_tags

IOB2 = ["O", "B-x", "I-x", "B-y", "I-y"]
IOBES = [*IOB2, "E-x", "S-x", "E-y", "S-y"]
TRUE = [["B-x", "I-x", "O"], [], ["B-y", "B-x"]]


def spans(rows, *, sound=False, scheme="IOB2"):
    """Return the spans of tag lists as conlleval reads them, one tag at a time."""
    results = []
    for i, row in enumerate(rows):
        before = "O"
        for j, tag in enumerate(row):
            goes_on = before[0] in "BI" and tag[0] in "IE" and tag[1:] == before[1:]
            if goes_on:
                results[-1][2:4] = [j + 1, results[-1][3] + tag[0]]
            elif tag != "O":
                results.append([i, j, j + 1, tag[0], tag[2:]])
            before = tag
    if sound:
        ends = "BI" if scheme == "IOB2" else "ES"
        results = [
            s
            for s in results
            if s[3][0] in "BS" and (s[3][-1] in ends or scheme == "IOB2")
        ]
    return {(i, start, stop, label) for i, start, stop, _, label in results}


def f1(true, pred):
    total = len(true) + len(pred)
    return 2 * len(true & pred) / total if total else 0.0


def by_hand(true, pred, average):
    """Return F1 of two sets whose tuples end in a label."""
    if average == "micro":
        return f1(true, pred)
    labels = sorted({span[-1] for span in true | pred})
    each = [
        f1({s for s in true if s[-1] == a}, {s for s in pred if s[-1] == a})
        for a in labels
    ]
    support = [sum(s[-1] == a for s in true) for a in labels]
    if average is None:
        return each
    weights = support if average == "weighted" else np.ones(len(labels))
    return np.average(each, weights=weights) if np.sum(weights) else 0.0


def pairs(tags):
    """Return a strategy of two taggings of the same sentences."""
    row = st.lists(st.tuples(*[st.sampled_from(tags)] * 2), max_size=7)
    return st.lists(row, max_size=4).map(
        lambda rows: tuple([[pair[k] for pair in r] for r in rows] for k in (0, 1))
    )


@settings(max_examples=60)
@given(
    data=st.data(),
    average=st.sampled_from(["micro", "macro", "weighted", None]),
    scheme=st.sampled_from(["IOB2", "IOBES"]),
    invalid=st.sampled_from(["repair", "drop"]),
)
def test_scores_are_those_counted_by_hand(data, average, scheme, invalid):
    y_true, y_pred = data.draw(pairs({"IOB2": IOB2, "IOBES": IOBES}[scheme]))
    true, pred = (
        spans(y, sound=invalid == "drop", scheme=scheme) for y in (y_true, y_pred)
    )
    score = span_f1_score(
        y_true, y_pred, average=average, scheme=scheme, invalid=invalid, zero_division=0
    )
    np.testing.assert_allclose(score, by_hand(true, pred, average))


def test_form_at_another_position_is_not_correct():
    # The shared task's script: Rome is missed where it is, and claimed where it is not.
    tokens = [["Rome", "is", "far"], ["Rome", "Apple"]]
    y_true = [["B-x", "O", "O"], ["O", "O"]]
    y_pred = [["O", "O", "O"], ["B-x", "O"]]
    surface = {"level": "surface", "tokens": tokens}
    assert span_f1_score(y_true, y_pred, **surface) == 0
    words = TokenSequences.from_lists(tokens)
    surface["tokens"] = EmbeddedSequences(words, [Block("a", np.eye(4), "type")])
    assert span_f1_score(y_true, y_pred, **surface) == 0
    assert (
        span_f1_score(
            [*y_true, ["B-x"]],
            [*y_pred, ["B-x"]],
            level="surface",
            tokens=[*tokens, ["Rome"]],
        )
        == 1
    )


def test_schemes_and_containers_do_not_matter():
    y_pred = [["B-x", "O", "O"], [], ["B-y", "B-x"]]
    expected = span_f1_score(TRUE, y_pred)
    assert expected == pytest.approx(2 / 3)
    as_tokens = TokenSequences.from_lists(TRUE)
    assert span_f1_score(as_tokens, np.array(y_pred, dtype=object)) == expected
    converted = [convert_tags(y, to="IOBES") for y in (TRUE, y_pred)]
    assert span_f1_score(*converted, scheme="IOBES") == expected


@pytest.mark.parametrize(
    ("empty", "average"), [([], "micro"), ([["O", "O"]], "weighted")]
)
def test_zero_division(empty, average):
    for value in (0, 1):
        score = span_f1_score(empty, empty, average=average, zero_division=value)
        assert score == value
    with pytest.warns(UndefinedMetricWarning, match="no true nor predicted"):
        assert span_f1_score(empty, empty, average=average) == 0


def test_labels_without_true_spans_have_equal_weights():
    options = {"labels": ["a", "b", "a"], "average": "weighted", "zero_division": 1}
    assert span_f1_score([["O"]], [["B-a"]], **options) == 0.5


def test_report_agrees_with_scores():
    y_pred = [["B-x", "O", "O"], [], ["B-y", "B-x"]]
    report = span_f1_score(TRUE, y_pred, return_report=True)
    each = span_f1_score(TRUE, y_pred, average=None)
    assert [report[k]["f1-score"] for k in "xy"] == each.tolist()
    for average in ("micro", "macro", "weighted"):
        row = report[f"{average} avg"]
        assert row["f1-score"] == span_f1_score(TRUE, y_pred, average=average)
        assert row["support"] == 3
    with pytest.warns(UndefinedMetricWarning):
        assert "micro avg" in span_f1_score([["O"]], [["O"]], return_report=True)


@pytest.mark.parametrize(
    ("y_pred", "options", "message"),
    [
        (TRUE[:2], {}, "y_pred has 2 rows for 3 sentences"),
        ([["O"] * 3, [], ["O"]], {}, "row 2 of y_pred has 1 tag for a sentence of 2"),
        (TRUE, {"average": "samples"}, "average must be one of"),
        (TRUE, {"level": "word"}, "level must be one of"),
        (TRUE, {"labels": "x"}, r"pass \['x'\]"),
        (TRUE, {"level": "surface"}, "pass tokens="),
        (TRUE, {"level": "surface", "tokens": [["a"]] * 3}, "row 0 of y_true has 3"),
        ([["B-x", "I-x", "O"], [], ["O", "x"]], {}, "row 2 of y_pred, tag 1 is 'x'"),
        (
            [["O", "I-x", "O"], [], ["O", "O"]],
            {"invalid": "raise"},
            "row 0 of y_pred, tag 1 is 'I-x', but in IOB2 it must be 'B-x'",
        ),
    ],
)
@pytest.mark.filterwarnings("error")
def test_invalid_input(y_pred, options, message):
    with pytest.raises(ValueError, match=message):
        span_f1_score(TRUE, y_pred, **options)
