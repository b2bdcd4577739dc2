"""Rows that belong together: a model that has seen one knows others."""

import warnings

import numpy as np

from .._core._messages import plural
from ._sequence_pairs import SequencePairs, tokens_of

_MOST_LINKED = 0.1  # of all pairs, by texts that they share
_MANY_SHARED = 0.2  # of all pairs


def equal_rows(X, *, warns=False):
    """Return the number of a row that is equal to each, None if none are.

    Pairs that share a text belong together, too, on whichever sides it is: a model that
    has seen one of them knows the text of the other. With `warns`, a warning is issued
    if that is not possible, because most pairs are linked.
    """
    is_pairs = isinstance(X, SequencePairs)
    tokens = tokens_of(X.sequences if is_pairs else X)
    # Vectors of empty sequences may still differ.
    keys = (
        codes.tobytes() or i
        for i, codes in enumerate(np.split(tokens.codes, tokens.offsets[1:])[:-1])
    )
    places = {}
    texts = np.array([places.setdefault(key, i) for i, key in enumerate(keys)])
    groups = texts
    if is_pairs:
        pairs = np.split(texts, 2)
        groups = linked_pairs(*pairs)
        if warns:
            _warn_of_shared_texts(pairs, groups)
    return groups if len(np.unique(groups)) < len(groups) else None


def _warn_of_shared_texts(pairs, groups):
    """Warn if many pairs share a text with pairs of other groups.

    Texts of a tenth of the pairs, such as the names of all classes, do not count: they
    are known in new pairs, too.
    """
    ends, size = np.concatenate(pairs), 2 * len(groups)
    n_pairs = np.bincount(ends, minlength=size)
    in_groups = np.unique(ends * size + np.tile(groups, 2)) // size
    n_groups = np.bincount(in_groups, minlength=size)
    is_open = (n_groups > 1) & (n_pairs <= _MOST_LINKED * len(groups))
    is_shared = is_open[pairs[0]] | is_open[pairs[1]]
    if is_shared.mean() > _MANY_SHARED:
        warnings.warn(
            f"{np.count_nonzero(is_shared):,} of {plural(len(groups), 'pair')} share a "
            "text with pairs in other folds: texts link more than a tenth of all. "
            "Weights and scores_ are for new pairs of known texts. If new pairs have "
            "new texts, pass groups to fit, such as the first text of each pair.",
            UserWarning,
            stacklevel=4,
        )


def linked_pairs(first, second):
    """Return the number of a pair in the group of each, given the texts' numbers.

    Texts link pairs, the rarest first, unless more than a tenth of all pairs would be
    in one group.
    """
    texts = np.sort(np.stack([first, second]), axis=0)  # (a, b) as (b, a)
    keys = texts[0] * (texts.max(initial=0) + 1) + texts[1]
    _, distinct, pairs = np.unique(keys, return_index=True, return_inverse=True)
    ends = np.unique(texts[:, distinct].ravel(), return_inverse=True)[1]
    members = np.argsort(ends, kind="stable")  # of each text, one after the other
    stops = np.cumsum(np.bincount(ends))
    members = (members % len(distinct)).tolist()
    n_rows = np.bincount(ends, np.tile(np.bincount(pairs), 2))
    by_size = np.argsort(n_rows, kind="stable")
    starts, stops = np.append(0, stops[:-1])[by_size].tolist(), stops[by_size].tolist()
    sizes, parents = np.bincount(pairs).tolist(), [*range(len(distinct))]
    most = max(len(first) * _MOST_LINKED, 2)

    def root(pair):
        while parents[pair] != pair:
            parents[pair] = pair = parents[parents[pair]]
        return pair

    for start, stop in zip(starts, stops, strict=True):
        roots = {root(pair) for pair in members[start:stop]}
        total = sum(sizes[pair] for pair in roots)
        if len(roots) > 1 and total <= most:
            kept = roots.pop()
            sizes[kept] = total
            for other in roots:
                parents[other] = kept
    return distinct[[root(pair) for pair in range(len(distinct))]][pairs]
