"""What a tagger is trained towards: a tag a token."""

import numpy as np

from ..sequences._indexing import span_index
from ._targets import PerSequence


class TokenRows:
    """One number a token, cut out by sequence.

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
    """One tag a token.

    Parameters
    ----------
    y : TokenSequences
        Of tags.
    classes : array-like of str, default=None
        All tags; those of y if None.
    """

    is_classification = True
    per_token = True

    def __init__(self, y, classes=None, *, loss, monitor):
        used = y.types[np.flatnonzero(y.type_counts())]
        classes = used if classes is None else np.asarray(classes)
        self.classes = np.unique(classes.astype(str))
        self.n_outputs = len(self.classes)
        self.loss = loss
        self.monitor = monitor
        self.tag_weights = np.ones(self.n_outputs, dtype=np.float32)

    def encode(self, y, *, whose):
        """Return tags as row numbers of `classes`, `TokenRows` of int64."""
        return TokenRows(self.codes(y, whose=whose), y.offsets)

    def codes(self, y, *, whose):
        """Return tags as row numbers of `classes`, int64 of shape (n_tokens,)."""
        types = y.types.astype(str)
        known = np.isin(types, self.classes)
        strange = np.flatnonzero(~known[y.codes])
        if len(strange):
            row = int(np.searchsorted(y.offsets, strange[0], side="right")) - 1
            raise ValueError(
                f"{whose}: tag {types[y.codes[strange[0]]].item()!r} at row {row}, "
                f"position {strange[0] - y.offsets[row]}, is none of the classes "
                f"{self.classes.tolist()}. Pass every tag in partial_fit's `classes`, "
                "or fit again on all the data."
            )
        table = np.searchsorted(self.classes, types).astype(np.int64)
        return table[y.codes]

    def spread(self, weights, y, *, whose):
        """Return each token's weight: its sentence's times its tag's."""
        tags = self.tag_weights[self.codes(y, whose=whose)]
        return TokenRows(np.repeat(weights, y.lengths) * tags, y.offsets)

    def stratify(self, y):
        """Return None: tag sequences have no proportions to keep."""
        return None


def tag_weights(class_weight, y, target, *, whose):
    """Return the weight of each tag.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
    y : TokenSequences
        Of tags.
    target : TagTarget
    whose : str
        The estimator's name.

    Returns
    -------
    ndarray of float32, shape (n_classes,)

    Raises
    ------
    ValueError
        For tags that do not exist, and weights that are negative or 0 for all of y.
    """
    codes = target.codes(y, whose=whose)
    counts = np.bincount(codes, minlength=target.n_outputs)
    weights = np.ones(target.n_outputs)
    if isinstance(class_weight, dict):
        strange = [tag for tag in class_weight if tag not in target.classes]
        if strange:
            raise ValueError(
                f"{whose}: class_weight names {strange[0]!r}, which is none of the "
                f"classes {target.classes.tolist()}."
            )
        for i, tag in enumerate(target.classes.tolist()):
            weights[i] = _number(class_weight.get(tag, 1.0), class_weight, whose)
    elif class_weight == "balanced":
        n_used = np.count_nonzero(counts)
        weights = len(codes) / (n_used * np.maximum(counts, 1))
    if len(codes) and not (weights * counts).any():
        raise ValueError(
            f"{whose}: class_weight is 0 for every tag in y; got {class_weight!r}."
        )
    return weights.astype(np.float32)


def _number(weight, class_weight, whose):
    try:
        weight = float(weight)
    except (TypeError, ValueError):
        weight = -1.0
    if not 0 <= weight < np.inf:
        raise ValueError(
            f"{whose}: class_weight must hold numbers of 0 or more, got "
            f"{class_weight!r}."
        )
    return weight
