"""Tags as a training target: weights, allowed transitions, and span F1."""

import numpy as np

from ..sequences import TokenSequences
from ..sequences._indexing import span_index
from ..sequences._tags import (
    allowed_transitions,
    encode_tags,
    tag_classes,
    tags_to_spans,
)
from ._targets import PerSequence


class TokenRows:
    """Values per token, indexed by sequences.

    Parameters
    ----------
    values : ndarray of shape (n_tokens,)
    offsets : ndarray of int64, shape (n_sequences + 1,)
    """

    def __init__(self, values, offsets):
        self.values = values
        self.offsets = offsets

    def __getitem__(self, rows):
        return self.values[span_index(self.offsets, rows)[0]]


class TagTarget(PerSequence):
    """One tag per token.

    Parameters
    ----------
    y : TokenSequences
        The tags.
    classes : array-like of str, default=None
        All tags; those of y if None.
    loss : {"crf", "softmax"}
        Parameter of `TagLoss`.
    monitor : {"valid_f1", "valid_acc"}
        The score of held-out sentences.
    """

    is_classification = True
    takes_classes = True
    per_token = True

    def __init__(self, y, classes=None, *, loss, monitor):
        classes = tag_classes(y) if classes is None else np.asarray(classes)
        self.classes = np.unique(classes.astype(str))
        self.n_outputs = len(self.classes)
        self.loss = loss
        self.monitor = monitor
        self.tag_weights = np.ones(self.n_outputs, dtype=np.float32)

    def encode(self, y, *, caller):
        """Return tags as row numbers of `classes`, `TokenRows` of int64."""
        codes = encode_tags(y, self.classes.tolist(), caller=caller)
        return TokenRows(codes, y.offsets)

    def spread(self, weights, y, *, caller):
        """Return the weight of each token, that of its sentence times its tag."""
        tags = self.tag_weights[encode_tags(y, self.classes.tolist(), caller=caller)]
        return TokenRows(np.repeat(weights, y.lengths) * tags, y.offsets)

    def stratify(self, y):
        """Return None: tag sequences are not stratified."""
        return None


def tag_weights(class_weight, y, classes, *, caller):
    """Return the weight of each tag, float32 (n_classes,).

    Parameters
    ----------
    class_weight : dict, "balanced" or None
    y : TokenSequences
        The tags, all among the classes.
    classes : ndarray of str, shape (n_classes,)
    caller : str
        Name of the estimator.
    """
    counts = np.bincount(
        encode_tags(y, classes.tolist(), caller=caller), minlength=len(classes)
    ).astype(np.float64)
    weights = np.ones(len(classes))
    if class_weight == "balanced":
        weights = counts.sum() / (np.count_nonzero(counts) * np.maximum(counts, 1))
    elif class_weight is not None:
        strange = [tag for tag in class_weight if tag not in classes]
        if strange:
            raise ValueError(
                f"{caller}: class_weight names {strange[0]!r}, which is not one of the "
                f"classes {classes.tolist()}."
            )
        given = [class_weight.get(tag, 1.0) for tag in classes.tolist()]
        weights = np.array(given)
    numbers = weights.dtype.kind in "iuf" and np.isfinite(weights).all()
    if not numbers or weights.min() < 0 or not (weights * counts).any():
        raise ValueError(
            f"{caller}: class_weight must hold numbers of 0 or more, and not 0 for "
            f"every tag in y; got {class_weight!r}."
        )
    return weights.astype(np.float32)


def allowed_tags(classes, scheme):
    """Return allowed transitions, first and last tags as lists of bool; None for all.

    Lists, so that the parameters of two networks can be compared.
    """
    if scheme is None:
        return None
    start, between, end = allowed_transitions(classes, scheme)
    return between.tolist(), start.tolist(), end.tolist()


def weighted_span_f1(right, predicted, weights, lengths, classes, scheme):
    """Return the F1 of spans, each with the weight of its first token; 0 without spans.

    Parameters
    ----------
    right, predicted : ndarray of int, shape (n_tokens,)
        True and predicted tags, as row numbers of `classes`.
    weights : ndarray of float, shape (n_tokens,)
    lengths : ndarray of int, shape (n_sequences,)
    classes : ndarray of str, shape (n_classes,)
    scheme : {"IOB2", "IOBES", "BIOES"}
    """
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    sums, spans = [], []
    for codes in (right, predicted):
        marked = tags_to_spans(TokenSequences(classes, codes, offsets), scheme)
        starts = offsets[marked.rows] + marked.starts
        sums.append(weights[starts].sum())
        stops = offsets[marked.rows] + marked.stops
        spans.append(dict.fromkeys(zip(starts, stops, marked.labels, strict=True)))
    both = sum(weights[start] for start, _, _ in spans[0].keys() & spans[1].keys())
    return float(2 * both / max(sum(sums), 1e-12))
