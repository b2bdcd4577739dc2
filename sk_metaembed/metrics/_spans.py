"""Span F1: precision, recall and F1 of the entities that tags mark.

Spans are counted per label, by position or by surface form.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import classification_report, precision_recall_fscore_support

from .._core._errors import check_choice, prefix_errors, prefix_input_errors
from .._core._typing import Tags, Texts
from ..sequences import EmbeddedSequences, check_tokens
from ..sequences._api import check_scheme, read_tags, tags_to_spans


class SpanOptions(TypedDict, total=False):
    """Options of `span_f1_score`, except those that select the result."""

    scheme: Literal["IOB2", "IOBES"]
    labels: Iterable[str] | None
    level: Literal["entity", "surface"]
    tokens: Texts | EmbeddedSequences | None
    invalid: Literal["repair", "drop", "raise"]
    zero_division: float | Literal["warn"]


_INVALID = ("repair", "drop", "raise")
_LEVELS = ("entity", "surface")
_AVERAGES = ("micro", "macro", "weighted", None)


def _label_codes(y_true, y_pred, scheme, invalid, labels, level, tokens):
    """Return the labels to score, and the true and the predicted label of each span.

    The labels of spans are codes, (n_spans,): -1 if a span is not true, or not
    predicted. To scikit-learn, spans are samples, and the scored labels are classes.
    """
    if isinstance(labels, str):
        raise ValueError(f"labels must be a list; got a single str: pass [{labels!r}].")
    check_choice(invalid, _INVALID, "invalid")
    check_choice(level, _LEVELS, "level")
    if isinstance(tokens, EmbeddedSequences):
        tokens = tokens.tokens
    elif tokens is not None:
        with prefix_input_errors("tokens"):
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
    labels = list(dict.fromkeys(labels))
    true, pred = _positions(true), _positions(pred)
    correct = true & pred
    if level == "surface":
        correct, true, pred = (_surface_forms(s, tokens) for s in (correct, true, pred))
    codes = {label: code for code, label in enumerate(labels)}
    both, missed, wrong = (
        [codes.get(span[-1], -1) for span in spans]
        for spans in (correct, true - correct, pred - correct)
    )
    # Append one unlabeled sample, so that the arrays are never empty.
    of_true = both + missed + [-1] * len(wrong) + [-1]
    of_pred = both + [-1] * len(missed) + wrong + [-1]
    return labels, np.array(of_true), np.array(of_pred)


def _valid_spans(tags, scheme, invalid, name):
    spans = tags_to_spans(tags, scheme, name=name)
    if invalid == "raise":
        check_scheme(tags, scheme, name=name)
    if invalid == "drop":
        return spans._replace(**{k: v[spans.valid] for k, v in spans._asdict().items()})
    return spans


def _positions(spans):
    places = spans.rows, spans.starts, spans.stops, spans.labels
    return set(zip(*(column.tolist() for column in places), strict=True))


def _surface_forms(positions, tokens):
    """Return the distinct pairs of the words of a span and its label."""
    words, begin = tokens.types[tokens.codes].tolist(), tokens.offsets.tolist()
    return {
        (tuple(words[begin[row] + start : begin[row] + stop]), label)
        for row, start, stop, label in positions
    }


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


@overload
def span_f1_score(
    y_true: Tags,
    y_pred: Tags,
    *,
    return_report: Literal[True],
    **options: Unpack[SpanOptions],
) -> dict[str, dict[str, float]]: ...


@prefix_errors
def span_f1_score(
    y_true: Tags,
    y_pred: Tags,
    *,
    scheme: Literal["IOB2", "IOBES"] = "IOB2",
    average: Literal["micro", "macro", "weighted"] | None = "micro",
    labels: Iterable[str] | None = None,
    level: Literal["entity", "surface"] = "entity",
    tokens: Texts | EmbeddedSequences | None = None,
    invalid: Literal["repair", "drop", "raise"] = "repair",
    zero_division: float | Literal["warn"] = "warn",
    return_report: bool = False,
) -> float | NDArray[np.float64] | dict[str, dict[str, float]]:
    r"""Compute the F1 score of the entities that predicted tags mark.

    This is the standard metric of named entity recognition. A prediction is correct if
    a true span has the same first token, last token and label; a part of an entity does
    not count. For ``GridSearchCV`` and ``cross_val_score`` use
    ``make_scorer(span_f1_score)``.

    Parameters
    ----------
    y_true, y_pred : list of lists of str, array of such lists, or TokenSequences
        One tag per token.
    scheme : {"IOB2", "IOBES"}, default="IOB2"
        Tagging scheme.
    average : {"micro", "macro", "weighted"} or None, default="micro"
        "micro" counts all spans together; "macro" is the mean over labels; "weighted"
        is the mean weighted by the number of true spans, or unweighted if there are
        none; None returns one score per label.
    labels : list of str, default=None
        Labels to score, such as "person"; repeated ones count once. None means all
        labels in `y_true` and `y_pred`, sorted.
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
        Score of a label without true and predicted spans, and of "micro" if there are
        no spans at all, as in scikit-learn. Averages over labels include it. "warn"
        means 0 and a warning.
    return_report : bool, default=False
        Whether to return precision, recall and F1 per label and their averages instead
        of the score, whatever `average`.

    Returns
    -------
    score : float, or ndarray of float64 of shape (n_labels,)
        Between 0 and 1.
    report : dict of str to dict
        Returned instead of the score if `return_report`, as from scikit-learn's
        ``classification_report``: for each label, "micro avg", "macro avg" and
        "weighted avg", the values "precision", "recall", "f1-score" and "support", the
        number of true spans. ``pandas.DataFrame(report).T`` makes a table.

    Raises
    ------
    TypeError
        If tags are not lists of str.
    ValueError
        If rows differ in length (the message names the first), a tag is not in the
        scheme, or an option is invalid.

    See Also
    --------
    sk_metaembed.TokenClassifier : Tags tokens with any classifier.

    Notes
    -----
    With :math:`T` the true and :math:`P` the predicted spans,
    :math:`F_1 = 2 |T \cap P| / (|T| + |P|)`.

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
    >>> report = span_f1_score(y_true, y_pred, return_report=True, zero_division=0)
    >>> report["place"]
    {'precision': 1.0, 'recall': 1.0, 'f1-score': 1.0, 'support': 2.0}
    >>> tokens = [["Rome", "and", "Rome"], ["Ada", "Lovelace"]]
    >>> span_f1_score(y_true, y_pred, level="surface", tokens=tokens)
    0.5
    """
    if average not in _AVERAGES:
        raise ValueError(f"average must be one of {_AVERAGES}; got {average!r}.")
    options = scheme, invalid, labels, level, tokens
    names, true, pred = _label_codes(y_true, y_pred, *options)
    if return_report:
        names = names or ["(no spans)"]
        return classification_report(
            true,
            pred,
            labels=range(len(names)),
            target_names=names,
            output_dict=True,
            zero_division=zero_division,
        )
    if average is None and not names:
        return np.zeros(0)
    score = precision_recall_fscore_support(
        true,
        pred,
        labels=range(len(names) or 1),
        average=average,
        warn_for=("f-score",),
        zero_division=zero_division,
    )[2]
    return score if average is None else float(score)
