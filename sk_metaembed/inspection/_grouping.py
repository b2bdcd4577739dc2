"""Groups of tokens: by sequence, by tag, by a function of the word, by frequency."""

import numpy as np

from ..sequences import TokenSequences
from ..sequences._tags import read_tags


def token_groups(groups, frame, n_sequences, frequencies, whose):
    """Return the groups, and which one each row of a table of weights belongs to.

    Parameters
    ----------
    groups : None, array-like, lists of str, TokenSequences, callable or "frequency"
        As `SourceWeightsDisplay.from_estimator` describes them.
    frame : pandas.DataFrame
        With ``sequence`` and, unless there is a row a sequence, ``token``.
    n_sequences : int
    frequencies : mapping of str to int, or None
    whose : str
        Begins the error messages.

    Returns
    -------
    names : ndarray of shape (n_groups,)
        In the order in which they are shown.
    members : ndarray of int, shape (n_rows,)
    """
    rows = frame["sequence"].to_numpy()
    if frequencies is not None and not _is(groups, "frequency"):
        raise ValueError(
            f"{whose}: frequencies come with groups='frequency', got groups="
            f"{groups!r}. Leave them out."
        )
    if groups is None:
        return np.array(["all"]), np.zeros(len(frame), dtype=np.int64)
    if isinstance(groups, str) and groups != "frequency":
        raise ValueError(
            f"{whose}: groups must be one a sequence, one a token, a function of the "
            f"word, or 'frequency'; got {groups!r}."
        )
    if isinstance(groups, str) or callable(groups) or _is_by_token(groups):
        return _by_token(groups, frame, n_sequences, frequencies, whose)
    names, members = np.unique(_check_groups(groups, n_sequences), return_inverse=True)
    return names, members[rows]


def _is(groups, name):
    return isinstance(groups, str) and groups == name


def _is_by_token(groups):
    if isinstance(groups, TokenSequences):
        return True
    rows = groups if isinstance(groups, list | tuple) else np.asarray(groups)
    return len(rows) > 0 and isinstance(next(iter(rows)), list | tuple | np.ndarray)


def _by_token(groups, frame, n_sequences, frequencies, whose):
    if "token" not in frame:
        raise ValueError(
            f"{whose}: the weights are those of whole sequences, which have no words "
            "to group. Give each sequence a group."
        )
    types, codes = np.unique(frame["token"].to_numpy(dtype=object), return_inverse=True)
    if isinstance(groups, str):
        counts = np.bincount(codes, minlength=len(types))
        if frequencies is not None:
            counts = np.array([int(frequencies.get(word, 0)) for word in types])
        names, members = magnitudes(counts)
        return names, members[codes]
    if callable(groups):
        names, members = np.unique(_named(groups, types, whose), return_inverse=True)
        return names, members[codes]
    lengths = np.bincount(frame["sequence"].to_numpy(), minlength=n_sequences)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    tokens = TokenSequences(types, codes, offsets)
    tags = read_tags(groups, tokens, whose=whose, name="groups")
    names, members = np.unique(tags.types[tags.codes], return_inverse=True)
    return names, members


def magnitudes(counts):
    """Return powers of ten that counts lie between, and which of them each does.

    Parameters
    ----------
    counts : ndarray of int, shape (n,)

    Returns
    -------
    names : ndarray of str, shape (n_groups,)
        Ascending, those that occur.
    members : ndarray of int, shape (n,)

    Examples
    --------
    >>> names, members = magnitudes(np.array([3, 120, 0, 10]))
    >>> names.tolist(), members.tolist()
    (['0', '1 to 9', '10 to 99', '100 to 999'], [1, 3, 0, 2])
    """
    digits = np.array(
        [len(str(count)) if count > 0 else 0 for count in counts.tolist()]
    )
    found, members = np.unique(digits, return_inverse=True)
    names = [
        f"{10 ** (n - 1):,} to {10**n - 1:,}" if n else "0" for n in found.tolist()
    ]
    return np.array(names, dtype=object), members


def mean_by_group(values, members, n_groups):
    """Return the means of rows by group, and the number of rows of each.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_columns)
    members : ndarray of int, shape (n_rows,)
    n_groups : int

    Returns
    -------
    means : ndarray of float64, shape (n_groups, n_columns)
        Zeros for a group without rows.
    counts : ndarray of int64, shape (n_groups,)
    """
    counts = np.bincount(members, minlength=n_groups)
    sums = [np.bincount(members, weights=v, minlength=n_groups) for v in values.T]
    return np.stack(sums, axis=1) / np.maximum(counts, 1)[:, None], counts


def _named(function, types, whose):
    named = [function(word) for word in types]
    gaps = [word for word, name in zip(types, named, strict=True) if _is_gap(name)]
    if gaps:
        raise ValueError(
            f"{whose}: groups gave no group for {len(gaps)} words, the first is "
            f"{gaps[0]!r}. Return a name for every word, such as 'other'."
        )
    return np.array(named)


def _is_gap(group):
    # What is missing equals nothing, itself included.
    return group is None or group != group


def _check_groups(groups, n):
    groups = np.asarray(groups)
    if groups.shape != (n,):
        raise ValueError(
            f"groups must name a group for each of the {n} sequences of X, "
            f"got an array of shape {groups.shape}."
        )
    gaps = np.array([_is_gap(group) for group in groups.tolist()], dtype=bool)
    if gaps.any():
        raise ValueError(
            f"groups has {int(gaps.sum())} missing entries, the first at row "
            f"{int(gaps.argmax())}. Name a group for every sequence."
        )
    return groups
