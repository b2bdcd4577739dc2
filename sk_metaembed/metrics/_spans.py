"""Span F1: precision, recall and F1 of the entities that tags mark.

Spans are counted per label, by position or by surface form.
"""

from __future__ import annotations

import warnings
from collections import Counter
from typing import TYPE_CHECKING, Literal, NamedTuple, overload

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from .._core._named_errors import errors_of_input, names_errors
from ..sequences import EmbeddedSequences, check_tokens
from ..sequences._tags import check_scheme, read_tags, tags_to_spans
from ._validation import check_option

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypedDict, Unpack

    from numpy.typing import NDArray

    from .._core._typing import Tags, Texts
    from ..sequences import EmbeddedSequences

    class SpanOptions(TypedDict, total=False):
        """Options of both functions."""

        scheme: Literal["IOB2", "IOBES", "BIOES"]
        labels: Iterable[str] | None
        level: Literal["entity", "surface"]
        tokens: Texts | EmbeddedSequences | None
        invalid: Literal["repair", "drop", "raise"]
        zero_division: float | Literal["warn"]


_INVALID = ("repair", "drop", "raise")
_LEVELS = ("entity", "surface")
_AVERAGES = ("micro", "macro", "weighted", None)


class SpanCounts(NamedTuple):
    """Number of spans per label.

    Attributes
    ----------
    labels : list of str
    correct, predicted, actual : ndarray of float64, shape (n_labels,)
        Correct predictions, predictions, true spans.
    """

    labels: list
    correct: np.ndarray
    predicted: np.ndarray
    actual: np.ndarray


def _count_spans(y_true, y_pred, *, scheme, invalid, labels, level, tokens):
    """Check the arguments of `span_f1_score` and return their `SpanCounts`."""
    if isinstance(labels, str):
        raise ValueError(f"labels must be a list; got a single str: pass [{labels!r}].")
    check_option(invalid, _INVALID, "invalid")
    check_option(level, _LEVELS, "level")
    if isinstance(tokens, EmbeddedSequences):
        tokens = tokens.tokens
    elif tokens is not None:
        with errors_of_input("tokens"):
            tokens = check_tokens(tokens)
    elif level == "surface":
        raise ValueError(
            "level='surface' compares the words of spans: pass tokens=, the token "
            "lists of y_true."
        )
    true_tags = read_tags(y_true, tokens, name="y_true")
    pred_tags = read_tags(y_pred, true_tags, name="y_pred")
    true = _valid_spans(true_tags, scheme, invalid, "y_true")
    pred = _valid_spans(pred_tags, scheme, invalid, "y_pred")
    if labels is None:
        labels = sorted({*true.labels, *pred.labels})
    labels = list(labels)
    true, pred = _positions(true), _positions(pred)
    spans = true & pred, pred, true
    if level == "surface":
        spans = [_surface_forms(each, tokens) for each in spans]
    return SpanCounts(labels, *(_count_labels(each, labels) for each in spans))


def _valid_spans(tags, scheme, invalid, name):
    spans = tags_to_spans(tags, scheme, name=name)
    if invalid == "raise":
        check_scheme(tags, scheme, name=name)
    if invalid == "drop":
        return spans._replace(**{k: v[spans.valid] for k, v in spans._asdict().items()})
    return spans


def _positions(spans):
    return set(
        zip(
            spans.rows.tolist(),
            spans.starts.tolist(),
            spans.stops.tolist(),
            spans.labels,
            strict=True,
        )
    )


def _surface_forms(positions, tokens):
    """Return the distinct pairs of the words of a span and its label."""
    words, begin = tokens.types[tokens.codes].tolist(), tokens.offsets.tolist()
    return {
        (tuple(words[begin[row] + start : begin[row] + stop]), label)
        for row, start, stop, label in positions
    }


def _count_labels(spans, labels):
    """Return the number of tuples per label, their last item, (n_labels,)."""
    counts = Counter(span[-1] for span in spans)
    return np.array([counts[label] for label in labels], dtype=np.float64)


_PARTS = {
    "Precision": lambda correct, predicted, actual: (correct, predicted),
    "Recall": lambda correct, predicted, actual: (correct, actual),
    "F1": lambda correct, predicted, actual: (2 * correct, predicted + actual),
}
_UNDEFINED = {"Precision": "predicted", "Recall": "true", "F1": "true or predicted"}


@overload
def span_f1_score(
    y_true: Tags,
    y_pred: Tags,
    *,
    average: Literal["micro", "macro", "weighted"] = ...,
    **options: Unpack[SpanOptions],
) -> float: ...


@overload
def span_f1_score(
    y_true: Tags, y_pred: Tags, *, average: None, **options: Unpack[SpanOptions]
) -> NDArray[np.float64]: ...


@names_errors
def span_f1_score(
    y_true: Tags,
    y_pred: Tags,
    *,
    scheme: Literal["IOB2", "IOBES", "BIOES"] = "IOB2",
    average: Literal["micro", "macro", "weighted"] | None = "micro",
    labels: Iterable[str] | None = None,
    level: Literal["entity", "surface"] = "entity",
    tokens: Texts | EmbeddedSequences | None = None,
    invalid: Literal["repair", "drop", "raise"] = "repair",
    zero_division: float | Literal["warn"] = "warn",
) -> float | NDArray[np.float64]:
    r"""Compute the F1 score of the entities that predicted tags mark.

    This is the standard metric of named entity recognition. A prediction is correct if
    its first token, last token and label are those of a true span; a part of an entity
    does not count. For ``GridSearchCV`` and ``cross_val_score`` use
    ``make_scorer(span_f1_score)``.

    Parameters
    ----------
    y_true, y_pred : list of lists of str, array of such lists, or TokenSequences
        One tag per token.
    scheme : {"IOB2", "IOBES", "BIOES"}, default="IOB2"
        Tagging scheme.
    average : {"micro", "macro", "weighted"} or None, default="micro"
        "micro" counts all spans together; "macro" is the mean over labels; "weighted"
        weights it by the number of true spans; None returns one score per label.
    labels : list of str, default=None
        Labels to score, such as "person". None means all labels in `y_true` and
        `y_pred`, sorted.
    level : {"entity", "surface"}, default="entity"
        "entity" counts each occurrence of an entity; "surface" counts each distinct
        pair of words and label once. The latter is the second score of the WNUT-2017
        shared task, which a few frequent entities cannot increase. As in the script of
        that task, a pair is correct if one of its occurrences is.
    tokens : token lists, TokenSequences or EmbeddedSequences, default=None
        The sentences, for ``level="surface"``.
    invalid : {"repair", "drop", "raise"}, default="repair"
        How to treat spans that do not begin (and, in IOBES, end) as the scheme
        requires, such as an I after an O. "repair" starts a new span, like the script
        conlleval; "drop" ignores the span, like the strict mode of seqeval; "raise" is
        an error that names the first.
    zero_division : {"warn", 0.0, 1.0}, default="warn"
        Score if there are no true and no predicted spans. "warn" means 0 and a warning.

    Returns
    -------
    float, or ndarray of float64 of shape (n_labels,)
        Between 0 and 1.

    Raises
    ------
    TypeError
        If tags are not lists of str.
    ValueError
        If rows differ in length (the message names the first), a tag is not in the
        scheme, or an option is invalid.

    See Also
    --------
    span_classification_report : Precision, recall and F1 per label.
    make_span_f1_scorer : Makes a scorer, which also passes the tokens.

    Notes
    -----
    With :math:`T` the true and :math:`P` the predicted spans,
    :math:`F_1 = 2 |T \cap P| / (|T| + |P|)`.

    For ``level="surface"`` in a search, `make_span_f1_scorer` passes the words of each
    fold.

    References
    ----------
    L. Derczynski et al. (2017). Results of the WNUT2017 shared task on novel and
    emerging entity recognition. W-NUT.

    Examples
    --------
    >>> from sk_metaembed.metrics import span_f1_score
    >>> y_true = [["B-place", "O", "B-place"], ["B-person", "I-person"]]
    >>> y_pred = [["B-place", "O", "B-place"], ["B-person", "O"]]
    >>> round(span_f1_score(y_true, y_pred), 3)
    0.667
    >>> span_f1_score(y_true, y_pred, average=None)
    array([0., 1.])
    >>> tokens = [["Rome", "and", "Rome"], ["Ada", "Lovelace"]]
    >>> span_f1_score(y_true, y_pred, level="surface", tokens=tokens)
    0.5
    """
    _check_averaging(average, zero_division)
    counts = _count_spans(
        y_true,
        y_pred,
        scheme=scheme,
        invalid=invalid,
        labels=labels,
        level=level,
        tokens=tokens,
    )
    score = _score(counts, "F1", average, zero_division)
    return score if average is None else float(score)


@overload
def span_classification_report(
    y_true: Tags,
    y_pred: Tags,
    *,
    digits: int = ...,
    output_dict: Literal[False] = ...,
    **options: Unpack[SpanOptions],
) -> str: ...


@overload
def span_classification_report(
    y_true: Tags,
    y_pred: Tags,
    *,
    digits: int = ...,
    output_dict: Literal[True],
    **options: Unpack[SpanOptions],
) -> dict[str, dict[str, float]]: ...


@names_errors
def span_classification_report(
    y_true: Tags,
    y_pred: Tags,
    *,
    scheme: Literal["IOB2", "IOBES", "BIOES"] = "IOB2",
    labels: Iterable[str] | None = None,
    level: Literal["entity", "surface"] = "entity",
    tokens: Texts | EmbeddedSequences | None = None,
    invalid: Literal["repair", "drop", "raise"] = "repair",
    zero_division: float | Literal["warn"] = "warn",
    digits: int = 2,
    output_dict: bool = False,
) -> str | dict[str, dict[str, float]]:
    """Report precision, recall and F1 of the spans of each label, and their averages.

    It shows which labels a tagger misses or confuses, such as rare labels that it never
    predicts. The layout is that of scikit-learn's ``classification_report``.

    Parameters
    ----------
    y_true, y_pred : list of lists of str, array of such lists, or TokenSequences
        One tag per token.
    scheme : {"IOB2", "IOBES", "BIOES"}, default="IOB2"
        Tagging scheme.
    labels : list of str, default=None
        Labels to report. None means all labels in `y_true` and `y_pred`, sorted.
    level : {"entity", "surface"}, default="entity"
        As for `span_f1_score`.
    tokens : token lists, TokenSequences or EmbeddedSequences, default=None
        The sentences, for ``level="surface"``.
    invalid : {"repair", "drop", "raise"}, default="repair"
        As for `span_f1_score`.
    zero_division : {"warn", 0.0, 1.0}, default="warn"
        Value of a precision without predicted spans, a recall without true spans, and
        an F1 without both. "warn" means 0 and a warning.
    digits : int, default=2
        Number of decimals in the text.
    output_dict : bool, default=False
        Whether to return a dict instead of a text.

    Returns
    -------
    str, or dict of str to dict
        For each label, "micro avg", "macro avg" and "weighted avg": "precision",
        "recall", "f1-score" and "support", the number of true spans.

    Raises
    ------
    TypeError, ValueError
        As for `span_f1_score`.

    See Also
    --------
    span_f1_score : Computes a single score.

    Examples
    --------
    >>> from sk_metaembed.metrics import span_classification_report
    >>> y_true = [["B-place", "O", "B-place"], ["B-person", "I-person"]]
    >>> y_pred = [["B-place", "O", "B-place"], ["B-person", "O"]]
    >>> print(span_classification_report(y_true, y_pred))
                  precision    recall  f1-score   support
    <BLANKLINE>
          person       0.00      0.00      0.00         1
           place       1.00      1.00      1.00         2
    <BLANKLINE>
       micro avg       0.67      0.67      0.67         3
       macro avg       0.50      0.50      0.50         3
    weighted avg       0.67      0.67      0.67         3
    <BLANKLINE>
    """
    _check_averaging("micro", zero_division)
    counts = _count_spans(
        y_true,
        y_pred,
        scheme=scheme,
        invalid=invalid,
        labels=labels,
        level=level,
        tokens=tokens,
    )
    rows = zip(*_scores(counts, None, zero_division), counts.actual, strict=True)
    report = dict(zip(counts.labels, map(_cells, rows), strict=True))
    for average in _AVERAGES[:3]:
        scores = _scores(counts, average, zero_division)
        report[f"{average} avg"] = _cells([*scores, counts.actual.sum()])
    return report if output_dict else _text(report, digits)


def _check_averaging(average, zero_division):
    if average not in _AVERAGES:
        raise ValueError(f"average must be one of {_AVERAGES}; got {average!r}.")
    if zero_division not in ("warn", 0, 1):
        raise ValueError(
            f'zero_division must be "warn", 0 or 1; got {zero_division!r}.'
        )


def _scores(counts, average, zero_division):
    return [_score(counts, name, average, zero_division) for name in _PARTS]


def _score(counts, name, average, zero_division):
    """Return a score; for ``average=None`` an array, (n_labels,)."""
    numbers = counts.correct, counts.predicted, counts.actual
    if average == "micro":
        numbers = [each.sum(keepdims=True) for each in numbers]
    _, predicted, actual = numbers
    part, whole = _PARTS[name](*numbers)
    scores = _ratio(part, whole, zero_division, name)
    if average in ("micro", None):
        return scores if average is None else scores[0]
    weights = actual if average == "weighted" else np.ones(len(scores))
    if weights.sum():
        return np.average(scores, weights=weights)
    # No true span: the score of predictions is 0, without any it is undefined.
    return 0.0 if predicted.sum() else _undefined(zero_division, name)


def _ratio(part, whole, zero_division, name):
    ratio = np.zeros(len(whole))
    defined = whole > 0
    ratio[defined] = part[defined] / whole[defined]
    if not defined.all():
        ratio[~defined] = _undefined(zero_division, name)
    return ratio


def _undefined(zero_division, name):
    if zero_division != "warn":
        return float(zero_division)
    warnings.warn(
        f"{name} is undefined and set to 0 because no spans are {_UNDEFINED[name]}. "
        "Use zero_division to control this behavior.",
        UndefinedMetricWarning,
        stacklevel=2,
    )
    return 0.0


def _cells(numbers):
    *scores, support = numbers
    names = "precision", "recall", "f1-score"
    cells = {name: float(score) for name, score in zip(names, scores, strict=True)}
    return {**cells, "support": int(support)}


def _text(report, digits):
    """Return a report in the layout of scikit-learn's `classification_report`."""
    width = max(len("weighted avg"), *map(len, report), digits)
    names = "precision", "recall", "f1-score", "support"
    head = " " * width + " " + "".join(f" {name:>9}" for name in names)
    lines = []
    for label, cells in report.items():
        scores = "".join(f" {cells[name]:>9.{digits}f}" for name in names[:3])
        lines.append(f"{label:>{width}} {scores} {cells['support']:>9}")
    blocks = ["\n".join(lines[:-3])] if lines[:-3] else []
    return "\n\n".join([head, *blocks, "\n".join(lines[-3:])]) + "\n"
