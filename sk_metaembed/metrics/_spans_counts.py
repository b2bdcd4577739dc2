"""Counts of spans found, by label: at their places, as forms, or overlapping."""

from collections import Counter
from typing import NamedTuple

import numpy as np

from ..sequences import EmbeddedSequences, check_tokens
from ..sequences._spans import check_scheme, spans_of
from ..sequences._tags import read_tags

INVALID = ("repair", "drop", "raise")
LEVELS = ("entity", "surface")
_STRATEGIES = {"exact": "exact", "partial": "partial", "type": "ent_type"}
MATCHES = ("strict", *_STRATEGIES)


class SpanCounts(NamedTuple):
    """How many spans there are and how many were found.

    Attributes
    ----------
    labels : list of str
    found, predicted, actual : ndarray of float64, shape (n_labels,)
        Spans that are right (a partial match is half a one), predicted, and true.
    total : ndarray of float64, shape (3,)
        The three over all labels.
    """

    labels: list
    found: np.ndarray
    predicted: np.ndarray
    actual: np.ndarray
    total: np.ndarray


def count_spans(
    y_true, y_pred, *, scheme, invalid, labels, level, tokens, match, whose
):
    """Return the `SpanCounts` of two taggings, checked.

    Parameters
    ----------
    y_true, y_pred : tags, as `read_tags` takes them
    scheme, invalid, labels, level, tokens, match
        As for `span_f1_score`.
    whose : str
        Begins the error messages.
    """
    check_count_options(invalid, level, labels, match, whose)
    if tokens is not None:
        tokens = _read_tokens(tokens, whose)
    elif level == "surface":
        raise ValueError(
            f"{whose}: level='surface' compares the words of spans, so it needs the "
            "sentences: pass tokens=, the token lists that y_true belongs to."
        )
    true_tags = read_tags(y_true, tokens, whose=whose, name="y_true")
    pred_tags = read_tags(y_pred, true_tags, whose=whose, name="y_pred")
    true = _valid_spans(true_tags, scheme, invalid, whose, "y_true")
    pred = _valid_spans(pred_tags, scheme, invalid, whose, "y_pred")
    if labels is None:
        labels = sorted({*true.labels, *pred.labels})
    labels = list(labels)
    if match != "strict":
        return _overlap_counts(true, pred, labels, len(true_tags), match, whose)
    true, pred = _places(true), _places(pred)
    spans = true & pred, pred, true
    if level == "surface":
        spans = [_forms(each, tokens) for each in spans]
    counts = [_by_label(each, labels) for each in spans]
    return SpanCounts(labels, *counts, np.array([c.sum() for c in counts]))


def check_count_options(invalid, level, labels, match, whose):
    """Raise ValueError for options that `count_spans` does not know."""
    if isinstance(labels, str):
        raise ValueError(
            f"{whose}: labels must be a list, got a single str: pass [{labels!r}]."
        )
    chosen = (
        ("invalid", invalid, INVALID),
        ("level", level, LEVELS),
        ("match", match, MATCHES),
    )
    for name, value, allowed in chosen:
        if value not in allowed:
            raise ValueError(
                f"{whose}: {name} must be one of {allowed}, got {value!r}."
            )
    if level == "surface" and match != "strict":
        raise ValueError(
            f"{whose}: match={match!r} compares places in sentences, and "
            "level='surface' has none; choose one of the two."
        )


def _read_tokens(tokens, whose):
    if isinstance(tokens, EmbeddedSequences):
        return tokens.tokens
    return check_tokens(tokens, whose=f"{whose}: tokens")


def _valid_spans(tags, scheme, invalid, whose, name):
    spans = spans_of(tags, scheme, whose=whose, name=name)
    if invalid == "raise":
        check_scheme(tags, scheme, whose=whose, name=name)
    if invalid == "drop":
        return spans._replace(**{k: v[spans.sound] for k, v in spans._asdict().items()})
    return spans


def _places(spans):
    return set(
        zip(
            spans.rows.tolist(),
            spans.starts.tolist(),
            spans.stops.tolist(),
            spans.labels,
            strict=True,
        )
    )


def _forms(places, tokens):
    """Return the distinct pairs of a span's words and its label."""
    words, begin = tokens.types[tokens.codes].tolist(), tokens.offsets.tolist()
    return {
        (tuple(words[begin[row] + start : begin[row] + stop]), label)
        for row, start, stop, label in places
    }


def _by_label(spans, labels):
    """Count tuples that end in a label."""
    counts = Counter(span[-1] for span in spans)
    return np.array([counts[label] for label in labels], dtype=np.float64)


def _overlap_counts(true, pred, labels, n_rows, match, whose):
    """Count as nervaluate does, label by label and with all labels together."""
    if not n_rows or not labels:
        nothing = np.zeros(len(labels))
        return SpanCounts(labels, nothing, nothing, nothing, np.zeros(3))
    evaluate = _evaluator(whose)
    documents = _documents(true, n_rows), _documents(pred, n_rows)
    result = evaluate(*documents, tags=labels, loader="dict").evaluate()
    strategy = _STRATEGIES[match]
    by_label = [
        _of_result(result["entities"].get(label, {}).get(strategy)) for label in labels
    ]
    total = _of_result(result["overall"][strategy])
    return SpanCounts(labels, *np.array(by_label).T, total)


def _evaluator(whose):
    try:
        from nervaluate import Evaluator
    except ImportError as error:
        raise ImportError(
            f"{whose}: matches other than 'strict' are counted by nervaluate, which is "
            "not installed: pip install 'sk_metaembed[tagging]'."
        ) from error
    return Evaluator


def _documents(spans, n_rows):
    documents = [[] for _ in range(n_rows)]
    columns = (spans.rows, spans.starts, spans.stops)
    for row, start, stop, label in zip(
        *(column.tolist() for column in columns), spans.labels, strict=True
    ):
        documents[row].append({"label": label, "start": start, "end": stop - 1})
    return documents


def _of_result(result):
    if result is None:
        return np.zeros(3)
    found = result.correct + 0.5 * result.partial
    return np.array([found, result.actual, result.possible], dtype=np.float64)
