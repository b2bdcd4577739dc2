"""Span F1: how many of the entities that tags mark were found.

Counts of spans found, by label: at their places, as forms, or overlapping.
"""

from __future__ import annotations

import warnings
from collections import Counter
from typing import TYPE_CHECKING, Literal, NamedTuple, overload

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from ..sequences import EmbeddedSequences, check_tokens
from ..sequences._tags import check_scheme, read_tags, tags_to_spans

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypedDict, Unpack

    from numpy.typing import NDArray

    from .._core._typing import Tags, Texts
    from ..sequences import EmbeddedSequences

    class SpanOptions(TypedDict, total=False):
        """Options that both scores take."""

        scheme: Literal["IOB2", "IOBES", "BIOES"]
        labels: Iterable[str] | None
        level: Literal["entity", "surface"]
        tokens: Texts | EmbeddedSequences | None
        match: Literal["strict", "exact", "partial", "type"]
        invalid: Literal["repair", "drop", "raise"]
        zero_division: float | Literal["warn"]


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
    y_true, y_pred, *, scheme, invalid, labels, level, tokens, match, caller
):
    """Return the `SpanCounts` of two taggings, checked.

    Parameters
    ----------
    y_true, y_pred : tags, as `read_tags` takes them
    scheme, invalid, labels, level, tokens, match
        As for `span_f1_score`.
    caller : str
        Begins the error messages.
    """
    check_count_options(invalid, level, labels, match, caller)
    if tokens is not None:
        tokens = _read_tokens(tokens, caller)
    elif level == "surface":
        raise ValueError(
            f"{caller}: level='surface' compares the words of spans, so it needs the "
            "sentences: pass tokens=, the token lists that y_true belongs to."
        )
    true_tags = read_tags(y_true, tokens, caller=caller, name="y_true")
    pred_tags = read_tags(y_pred, true_tags, caller=caller, name="y_pred")
    true = _valid_spans(true_tags, scheme, invalid, caller, "y_true")
    pred = _valid_spans(pred_tags, scheme, invalid, caller, "y_pred")
    if labels is None:
        labels = sorted({*true.labels, *pred.labels})
    labels = list(labels)
    if match != "strict":
        return _overlap_counts(true, pred, labels, len(true_tags), match, caller)
    true, pred = _places(true), _places(pred)
    spans = true & pred, pred, true
    if level == "surface":
        spans = [_forms(each, tokens) for each in spans]
    counts = [_by_label(each, labels) for each in spans]
    return SpanCounts(labels, *counts, np.array([c.sum() for c in counts]))


def check_count_options(invalid, level, labels, match, caller):
    """Raise ValueError for options that `count_spans` does not know."""
    if isinstance(labels, str):
        raise ValueError(
            f"{caller}: labels must be a list, got a single str: pass [{labels!r}]."
        )
    chosen = (
        ("invalid", invalid, INVALID),
        ("level", level, LEVELS),
        ("match", match, MATCHES),
    )
    for name, value, allowed in chosen:
        if value not in allowed:
            raise ValueError(
                f"{caller}: {name} must be one of {allowed}, got {value!r}."
            )
    if level == "surface" and match != "strict":
        raise ValueError(
            f"{caller}: match={match!r} compares places in sentences, and "
            "level='surface' has none; choose one of the two."
        )


def _read_tokens(tokens, caller):
    if isinstance(tokens, EmbeddedSequences):
        return tokens.tokens
    return check_tokens(tokens, caller=f"{caller}: tokens")


def _valid_spans(tags, scheme, invalid, caller, name):
    spans = tags_to_spans(tags, scheme, caller=caller, name=name)
    if invalid == "raise":
        check_scheme(tags, scheme, caller=caller, name=name)
    if invalid == "drop":
        return spans._replace(**{k: v[spans.valid] for k, v in spans._asdict().items()})
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


def _overlap_counts(true, pred, labels, n_rows, match, caller):
    """Count as nervaluate does, label by label and with all labels together."""
    if not n_rows or not labels:
        nothing = np.zeros(len(labels))
        return SpanCounts(labels, nothing, nothing, nothing, np.zeros(3))
    evaluate = _evaluator(caller)
    documents = _documents(true, n_rows), _documents(pred, n_rows)
    result = evaluate(*documents, tags=labels, loader="dict").evaluate()
    strategy = _STRATEGIES[match]
    by_label = [
        _of_result(result["entities"].get(label, {}).get(strategy)) for label in labels
    ]
    total = _of_result(result["overall"][strategy])
    return SpanCounts(labels, *np.array(by_label).T, total)


def _evaluator(caller):
    try:
        from nervaluate import Evaluator
    except ImportError as error:
        raise ImportError(
            f"{caller}: matches other than 'strict' are counted by nervaluate, which "
            "is not installed: pip install 'sk_metaembed[tagging]'."
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


AVERAGES = ("micro", "macro", "weighted", None)
_PARTS = {
    "Precision": lambda found, predicted, actual: (found, predicted),
    "Recall": lambda found, predicted, actual: (found, actual),
    "F1": lambda found, predicted, actual: (2 * found, predicted + actual),
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


def span_f1_score(
    y_true: Tags,
    y_pred: Tags,
    *,
    scheme: Literal["IOB2", "IOBES", "BIOES"] = "IOB2",
    average: Literal["micro", "macro", "weighted"] | None = "micro",
    labels: Iterable[str] | None = None,
    level: Literal["entity", "surface"] = "entity",
    tokens: Texts | EmbeddedSequences | None = None,
    match: Literal["strict", "exact", "partial", "type"] = "strict",
    invalid: Literal["repair", "drop", "raise"] = "repair",
    zero_division: float | Literal["warn"] = "warn",
) -> float | NDArray[np.float64]:
    r"""Score predicted tags by the spans that they mark: F1 of entities.

    The usual score of named entity recognition. A span is found if it is predicted with
    the same first token, last token and label; half an entity is none.
    ``make_scorer(span_f1_score)`` serves ``GridSearchCV`` and ``cross_val_score``.

    Parameters
    ----------
    y_true, y_pred : list of lists of str, array of such lists, or TokenSequences
        One tag a token.
    scheme : {"IOB2", "IOBES", "BIOES"}, default="IOB2"
        What the tags are written in.
    average : {"micro", "macro", "weighted"} or None, default="micro"
        Over all spans; the mean over labels; that mean weighted by how often labels are
        true; or None for one score a label.
    labels : list of str, default=None
        The labels that count, such as "person". None means all that occur in either,
        sorted.
    level : {"entity", "surface"}, default="entity"
        Count each occurrence of an entity, or each distinct pair of its words and its
        label once: the second score of the WNUT-2017 shared task, which a few frequent
        entities cannot raise. As in the script of that task, a pair is found if one of
        its occurrences is.
    tokens : token lists, TokenSequences or EmbeddedSequences, default=None
        The sentences, for ``level="surface"``.
    match : {"strict", "exact", "partial", "type"}, default="strict"
        What counts as found. The others are those of SemEval-2013, counted by the
        package nervaluate: "exact" asks for the place alone; "partial" for that too,
        and an overlap is half a find; "type" for the label and an overlap. With
        averages other than "micro", each label is matched among its own spans.
    invalid : {"repair", "drop", "raise"}, default="repair"
        What becomes of spans that do not begin (and, in IOBES, end) as the scheme asks,
        such as an I behind an O. "repair" reads them as the scorer conlleval does: what
        has no span of its label to go on with begins one. "drop" counts them as no
        spans, as seqeval's strict mode does. "raise" refuses them and says where.
    zero_division : {"warn", 0.0, 1.0}, default="warn"
        The score where no span is true and none predicted. "warn" is 0 and a warning.

    Returns
    -------
    float, or ndarray of float64 of shape (n_labels,)
        Between 0 and 1.

    Raises
    ------
    TypeError
        If tags are no lists of str.
    ValueError
        If rows differ in length (the message names the first), a tag is none of the
        scheme's, or an option is unknown.
    ImportError
        If `match` asks for nervaluate and it is not installed.

    See Also
    --------
    span_classification_report : Precision, recall and F1 of each label.
    make_span_f1_scorer : The same for searches, which finds the words itself.

    Notes
    -----
    With :math:`T` the true and :math:`P` the predicted spans,
    :math:`F_1 = 2 |T \cap P| / (|T| + |P|)`.

    A search by surface forms needs the words of each fold: `make_span_f1_scorer`.

    References
    ----------
    L. Derczynski et al. (2017). Results of the WNUT2017 shared task on novel and
    emerging entity recognition. W-NUT.

    I. Segura-Bedmar et al. (2013). SemEval-2013 task 9: extraction of drug-drug
    interactions from biomedical texts. SemEval.

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
    check_averaging(average, zero_division, "span_f1_score")
    counts = count_spans(
        y_true,
        y_pred,
        scheme=scheme,
        invalid=invalid,
        labels=labels,
        level=level,
        tokens=tokens,
        match=match,
        caller="span_f1_score",
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


def span_classification_report(
    y_true: Tags,
    y_pred: Tags,
    *,
    scheme: Literal["IOB2", "IOBES", "BIOES"] = "IOB2",
    labels: Iterable[str] | None = None,
    level: Literal["entity", "surface"] = "entity",
    tokens: Texts | EmbeddedSequences | None = None,
    match: Literal["strict", "exact", "partial", "type"] = "strict",
    invalid: Literal["repair", "drop", "raise"] = "repair",
    zero_division: float | Literal["warn"] = "warn",
    digits: int = 2,
    output_dict: bool = False,
) -> str | dict[str, dict[str, float]]:
    """Tell precision, recall and F1 of the spans of each label, and their averages.

    It shows which labels a tagger misses or gives wrongly, where one number hides that
    rare ones are never found. The layout is that of scikit-learn's
    ``classification_report``.

    Parameters
    ----------
    y_true, y_pred : list of lists of str, array of such lists, or TokenSequences
        One tag a token.
    scheme : {"IOB2", "IOBES", "BIOES"}, default="IOB2"
        What the tags are written in.
    labels : list of str, default=None
        The labels to tell of. None means all that occur in either, sorted.
    level : {"entity", "surface"}, default="entity"
        As for `span_f1_score`.
    tokens : token lists, TokenSequences or EmbeddedSequences, default=None
        The sentences, for ``level="surface"``.
    match : {"strict", "exact", "partial", "type"}, default="strict"
        As for `span_f1_score`.
    invalid : {"repair", "drop", "raise"}, default="repair"
        As for `span_f1_score`.
    zero_division : {"warn", 0.0, 1.0}, default="warn"
        A precision without predicted, a recall without true, and an F1 without any
        spans. "warn" is 0 and a warning.
    digits : int, default=2
        Of the numbers in the text.
    output_dict : bool, default=False
        Return a dict instead of a text.

    Returns
    -------
    str, or dict of str to dict
        By label, and under "micro avg", "macro avg" and "weighted avg": "precision",
        "recall", "f1-score" and "support", the number of true spans.

    Raises
    ------
    TypeError, ValueError, ImportError
        As `span_f1_score` does.

    See Also
    --------
    span_f1_score : One number.

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
    check_averaging("micro", zero_division, "span_classification_report")
    counts = count_spans(
        y_true,
        y_pred,
        scheme=scheme,
        invalid=invalid,
        labels=labels,
        level=level,
        tokens=tokens,
        match=match,
        caller="span_classification_report",
    )
    rows = zip(*_scores(counts, None, zero_division), counts.actual, strict=True)
    report = dict(zip(counts.labels, map(_cells, rows), strict=True))
    for average in AVERAGES[:3]:
        actual = counts.total[2] if average == "micro" else counts.actual.sum()
        scores = _scores(counts, average, zero_division)
        report[f"{average} avg"] = _cells([*scores, actual])
    return report if output_dict else _text(report, digits)


def check_averaging(average, zero_division, caller):
    """Raise ValueError for options that no score is computed with."""
    if average not in AVERAGES:
        raise ValueError(
            f"{caller}: average must be one of {AVERAGES}, got {average!r}."
        )
    if zero_division not in ("warn", 0, 1):
        raise ValueError(
            f'{caller}: zero_division must be "warn", 0 or 1, got {zero_division!r}.'
        )


def _scores(counts, average, zero_division):
    return [_score(counts, name, average, zero_division) for name in _PARTS]


def _score(counts, name, average, zero_division):
    """Return a score, an array with one a label for ``average=None``."""
    found, predicted, actual = counts.found, counts.predicted, counts.actual
    if average == "micro":
        found, predicted, actual = counts.total[:, None]
    part, whole = _PARTS[name](found, predicted, actual)
    scores = _ratio(part, whole, zero_division, name)
    if average in ("micro", None):
        return scores if average is None else scores[0]
    weights = actual if average == "weighted" else np.ones(len(scores))
    if weights.sum():
        return np.average(scores, weights=weights)
    # No span is true: a predicted one is wrong, none at all is undefined.
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
        f"{name} is undefined where no spans are {_UNDEFINED[name]}, and is set to 0. "
        "Use zero_division to say what it should be.",
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
    """Lay a report out as scikit-learn's `classification_report` does."""
    width = max(len("weighted avg"), *map(len, report), digits)
    names = "precision", "recall", "f1-score", "support"
    head = " " * width + " " + "".join(f" {name:>9}" for name in names)
    lines = []
    for label, cells in report.items():
        scores = "".join(f" {cells[name]:>9.{digits}f}" for name in names[:3])
        lines.append(f"{label:>{width}} {scores} {cells['support']:>9}")
    blocks = ["\n".join(lines[:-3])] if lines[:-3] else []
    return "\n\n".join([head, *blocks, "\n".join(lines[-3:])]) + "\n"
