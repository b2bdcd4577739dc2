"""Groups of equal or linked rows, which must be held out together."""

import warnings
from itertools import pairwise

import numpy as np

from .._core._errors import plural
from ._sequence_pairs import SequencePairs, tokens_of

_MOST_LINKED = 0.1  # the largest share of the pairs that texts may link
_MANY_SHARED = 0.2  # a larger share of pairs with shared texts gives a warning
# Equal rows of a table are copies if there are this many times as many as independent
# columns would have.
_NOT_BY_CHANCE = 10
_DISAGREEMENT = 0.1  # between targets of copies, relative to their variance
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # an odd factor of hashes


def equal_rows(X, *, warns=False):
    """Return a group number per row, shared by equal rows; None if all rows differ.

    Empty sequences do not count as equal, because their vectors may still differ. Pairs
    that share a text belong together, too: a model that has seen one of them knows the
    text of the other. With `warns`, a warning is issued if most pairs are linked.
    """
    is_pairs = isinstance(X, SequencePairs)
    tokens = tokens_of(X.sequences if is_pairs else X)
    groups = texts = np.arange(len(tokens))
    codes, firsts = tokens.codes.tobytes(), {}
    bounds = (tokens.codes.itemsize * tokens.offsets).tolist()
    for i, (begin, end) in enumerate(pairwise(bounds)):
        if begin < end:
            groups[i] = firsts.setdefault(codes[begin:end], i)
    if is_pairs:
        pairs = np.split(texts, 2)
        groups = linked_pairs(*pairs)
        if warns:
            _warn_of_shared_texts(pairs, groups)
    return groups if np.any(groups != np.arange(len(groups))) else None


def _warn_of_shared_texts(pairs, groups):
    """Warn if many pairs share a text with pairs of other groups.

    Texts that are in a tenth of the pairs, such as names of classes, do not count,
    because new pairs have the same texts.
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
            "Weights and scores_ apply to new pairs of known texts. If new pairs have "
            "new texts, pass groups to fit, such as the first text of each pair.",
            UserWarning,
            stacklevel=4,
        )


def linked_pairs(first, second):
    """Return the group of each pair: the number of one of the pairs in it.

    `first` and `second` are the numbers of the texts of each pair. Texts link pairs,
    the rarest first, unless more than a tenth of all pairs would be in one group.
    """
    texts = np.sort(np.stack([first, second]), axis=0)  # (a, b) as (b, a)
    keys = texts[0] * (texts.max(initial=0) + 1) + texts[1]
    _, distinct, pairs = np.unique(keys, return_index=True, return_inverse=True)
    ends = np.unique(texts[:, distinct].ravel(), return_inverse=True)[1]
    members = np.argsort(ends, kind="stable")  # the members of each text, text by text
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


def find_copies(columns, targets):
    """Return the first row that each row is a copy of; None if there are no copies.

    Equal rows are not copies if a table with few distinct values has as many of them by
    chance, or if their targets differ. In these cases new rows repeat training rows,
    too. `columns` are floats or integers (n_rows,), `targets` float64 (n_rows,
    n_targets).
    """
    hashes = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        if column.dtype.kind == "f":  # equal numbers can differ in bits: 0.0, NaN
            nan = column.dtype.type(np.nan)
            column = np.where(np.isnan(column), nan, column + 0)
        hashes = (hashes ^ column.view(f"u{column.itemsize}")) * _FACTOR
        hashes ^= hashes >> np.uint64(32)
    # Unequal rows with equal hashes, one pair in 2**64, would only share a fold.
    _, first, places = np.unique(hashes, return_index=True, return_inverse=True)
    first = first[places]
    counts = np.bincount(first, minlength=len(first))
    repeated = counts[first] > 1
    if not repeated.any() or _vary(targets, first, counts, repeated):
        return None
    n_pairs = len(first) * (len(first) - 1)
    share = _NOT_BY_CHANCE * n_pairs / (counts * (counts - 1)).sum()
    for column in columns:
        if share < 1:
            break
        own = np.unique(column, return_counts=True)[1]  # NaN are equal
        share *= (own * (own - 1)).sum() / n_pairs
    return first if share < 1 else None


def _vary(targets, first, counts, repeated):
    """Return whether the targets of equal rows differ clearly."""
    own, first = targets[repeated], first[repeated]
    sums = [np.bincount(first, column, len(counts)) for column in own.T]
    means = np.stack(sums, axis=1)[first] / counts[first, None]
    spread = np.square(targets - targets.mean(axis=0)).mean()
    return np.square(own - means).mean() > _DISAGREEMENT * spread
