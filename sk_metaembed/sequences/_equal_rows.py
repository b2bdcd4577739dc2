"""Rows that belong together: a model that has seen one knows others."""

import warnings

import numpy as np

from .._core._arrays import chunks, gather_index, ranges
from .._core._errors import plural
from ._sequence_pairs import SequencePairs, tokens_of

_MOST_LINKED = 0.1  # of all pairs, by texts that they share
_MANY_SHARED = 0.2  # of all pairs
_BASE = np.uint64(0x9E3779B97F4A7C15)  # odd; of polynomial hashes


def equal_rows(X, *, warns=False):
    """Return for each row the number of an equal row, or None if all rows differ.

    Pairs that share a text belong together, too, on whichever sides it is: a model that
    has seen one of them knows the text of the other. With `warns`, a warning is issued
    if that is not possible, because most pairs are linked.
    """
    is_pairs = isinstance(X, SequencePairs)
    groups = texts = first_equal(tokens_of(X.sequences if is_pairs else X))
    if is_pairs:
        pairs = np.split(texts, 2)
        groups = linked_pairs(*pairs)
        if warns:
            _warn_of_shared_texts(pairs, groups)
    return groups if np.any(groups != np.arange(len(groups))) else None


def first_equal(tokens):
    """Return the number of the first sequence with the same tokens, (n_sequences,).

    An empty sequence is equal to no other, because their vectors may still differ.
    Sequences whose hashes are equal are compared token by token.
    """
    numbers, hashes = np.arange(len(tokens)), _row_hashes(tokens)
    rows = np.flatnonzero(tokens.lengths)
    while len(rows):  # more than once only if unequal sequences have equal hashes
        order = rows[np.argsort(hashes[rows], kind="stable")]
        is_first = np.diff(hashes[order], prepend=~hashes[order[:1]]) != 0
        firsts = order[is_first][np.cumsum(is_first) - 1]
        rows, firsts = order[~is_first], firsts[~is_first]
        are_equal = _are_equal(tokens, rows, firsts)
        numbers[rows[are_equal]] = firsts[are_equal]
        rows = np.sort(rows[~are_equal])
    return numbers


def _row_hashes(tokens):
    """Return a polynomial in the codes of each sequence modulo 2^64, (n_sequences,)."""
    all_lengths = tokens.lengths
    powers = np.full(all_lengths.max(initial=0), _BASE)
    np.cumprod(powers, out=powers)
    hashes = np.zeros(len(tokens), dtype=np.uint64)
    for part in chunks(len(tokens)):
        lengths = all_lengths[part]
        offsets = tokens.offsets[part.start : part.start + len(lengths) + 1]
        terms = powers[ranges(np.zeros_like(lengths), lengths)]
        terms *= tokens.codes[offsets[0] : offsets[-1]].astype(np.uint64) + 1
        used = np.flatnonzero(lengths)
        if len(used):
            starts = offsets[used] - offsets[0]
            hashes[part.start + used] = np.add.reduceat(terms, starts)
    return hashes


def _are_equal(tokens, rows, others):
    """Return which sequences have the same tokens as others; none may be empty."""
    lengths = tokens.lengths
    are_equal = lengths[rows] == lengths[others]
    candidates = np.flatnonzero(are_equal)
    for part in chunks(len(candidates)):
        chosen = candidates[part]
        places, offsets = gather_index(tokens.offsets, rows[chosen])
        others_places, _ = gather_index(tokens.offsets, others[chosen])
        same = tokens.codes[places] == tokens.codes[others_places]
        are_equal[chosen] = np.logical_and.reduceat(same, offsets[:-1])
    return are_equal


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
    """Return for each pair the number of a pair in its group, from the texts' numbers.

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
