"""Encode tags as a training target, and score spans."""

import numpy as np

from .._core._arrays import gather_index, offsets_of
from .._core._sample_weights import relative_weights
from ..sequences import TokenSequences
from ..sequences._api import (
    allowed_transitions,
    encode_tags,
    tag_classes,
    tags_to_spans,
)
from ._check import warn_of_unseen
from ._target import LabelTarget, Target, class_weights


class TokenRows:
    """Values per token, (n_tokens,), indexed by sequences."""

    def __init__(self, values, offsets):
        self.values = values
        self.offsets = offsets

    def __getitem__(self, rows):
        return self.values[gather_index(self.offsets, rows)[0]]


class TagTarget(Target):
    """One tag per token."""

    kind = "tags"
    is_classification = True
    per_token = True
    unseen: tuple[str, ...] = ()  # tags that occur only in held-out sentences
    has_loss = LabelTarget.has_loss

    def __init__(self, y, class_weight, *, loss, score):
        self.classes = tag_classes(y).astype(str)
        self.n_outputs = len(self.classes)
        self.loss = loss
        self.score = score
        codes = self.encode(y).values
        self.tag_weights = class_weights(class_weight, codes, self.classes)

    def encode(self, y, name="y"):
        """Return tags as row numbers of `classes`, `TokenRows` of int64."""
        codes = encode_tags(y, self.classes.tolist(), name=name)
        return TokenRows(codes, y.offsets)

    def encode_held_out(self, y):
        """Return tags as row numbers of `classes` followed by `unseen`."""
        is_unseen = ~np.isin(y.types, self.classes)
        warn_of_unseen(y.types[y.codes[is_unseen[y.codes]]].astype(str), "tag")
        self.unseen = tuple(y.types[is_unseen].tolist())
        codes = encode_tags(y, [*self.classes.tolist(), *self.unseen], name="y_val")
        return TokenRows(codes, y.offsets)

    def loss_weights(self, codes, weights, class_weight):
        """Return the weight of each token: the sentence's weight times the tag's."""
        of_tags = np.append(self.tag_weights, np.ones(len(self.unseen)))
        of_sentences = np.repeat(weights, np.diff(codes.offsets))
        values = relative_weights([of_sentences, of_tags[codes.values]])
        return TokenRows(values.astype(np.float32), codes.offsets)


def allowed_tags(classes, scheme):
    """Return the allowed transitions, first and last tags; None if all are allowed.

    They are lists of bool, so that the parameters of two networks can be compared.
    """
    if scheme is None:
        return None
    start, between, end = allowed_transitions(classes, scheme)
    return between.tolist(), start.tolist(), end.tolist()


def weighted_span_f1(right, predicted, weights, lengths, classes, scheme):
    """Return the F1 score of spans, weighted by their first tokens.

    Without true spans of positive weight, the score is undefined, None. `right` and
    `predicted` are the tags of tokens as row numbers of `classes`.
    """
    offsets = offsets_of(lengths)
    sums, spans = [], []
    for codes in (right, predicted):
        marked = tags_to_spans(TokenSequences(classes, codes, offsets), scheme)
        starts = offsets[marked.rows] + marked.starts
        sums.append(weights[starts].sum())
        stops = offsets[marked.rows] + marked.stops
        spans.append(dict.fromkeys(zip(starts, stops, marked.labels, strict=True)))
    both = sum(weights[start] for start, _, _ in spans[0].keys() & spans[1].keys())
    return float(2 * both / sum(sums)) if sums[0] > 0 else None
