"""Greedy selection by a score: what SourceSelector does, without any estimator.

source_subsets: which sources take part, as the values of a grid.
"""

from itertools import combinations

import numpy as np

from .._core._parameters import is_integer


def source_of(name):
    """Return the source that a block belongs to: in a union, before ``__``."""
    return name.partition("__")[0]


def grouped(names, by):
    """Return what is chosen together: names of blocks by the name of their group.

    Parameters
    ----------
    names : sequence of str
        The blocks'.
    by : {"source", "block"}
        Whether the blocks of one source are one group.

    Returns
    -------
    dict of str to list of str
        In the order of first sight.
    """
    groups = {}
    for name in names:
        groups.setdefault(source_of(name) if by == "source" else name, []).append(name)
    return groups


def blocks_of(names, groups, mask):
    """Return the names of the blocks whose groups are in the mask, in their order.

    Parameters
    ----------
    names : sequence of str
        Of all blocks.
    groups : list of list of str
        What `grouped` put together.
    mask : ndarray of bool, shape (n_groups,)

    Returns
    -------
    list of str
    """
    pairs = zip(groups, mask, strict=True)
    chosen = {name for group, is_in in pairs if is_in for name in group}
    return [name for name in names if name in chosen]


def number_of_steps(asked, n_groups, *, tol, backward):
    """Return how many groups to add or remove, at most where `tol` decides.

    Parameters
    ----------
    asked : "auto", int or float
        What `SourceSelector` is asked for; an int is below `n_groups`.
    n_groups : int
    tol : float or None
    backward : bool

    Returns
    -------
    int
        0 for a single group.
    """
    if isinstance(asked, str):
        return n_groups // 2 if tol is None else n_groups - 1
    # As in scikit-learn a float is a share, and an int a number.
    is_share = isinstance(asked, float | np.floating)
    number = max(1, int(n_groups * asked)) if is_share else int(asked)
    return n_groups - number if backward else number


def choose(names, n_steps, score, *, backward, tol):
    """Choose groups step by step, and keep a record of the steps.

    Parameters
    ----------
    names : ndarray of str objects, shape (n_groups,)
    n_steps : int
    score, backward, tol
        As for `greedy_steps`.

    Returns
    -------
    kept : ndarray of bool, shape (n_groups,)
    history : list of dict
        As in ``SourceSelector.history_``.
    """
    # One group that is all there is stays; else forward selection begins with none.
    kept = np.full(len(names), backward or n_steps == 0)
    history = []
    steps = greedy_steps(len(names), n_steps, score, backward=backward, tol=tol)
    for index, left, scores, taken in steps:
        kept = left if taken else kept
        history.append(
            {
                "source": names[index],
                "sources": tuple(names[left]),
                "mean_score": float(np.mean(scores[index])),
                "std_score": float(np.std(scores[index])),
                "scores": {names[i]: float(np.mean(s)) for i, s in scores.items()},
                "taken": bool(taken),
            }
        )
    return kept, history


def greedy_steps(n_groups, n_steps, score, *, backward, tol):
    """Add groups one at a time, or remove them, each time the best by its score.

    Parameters
    ----------
    n_groups, n_steps : int
    score : callable
        Takes a mask of kept groups and returns the scores of the folds.
    backward : bool
        Whether to begin with all groups and remove.
    tol : float or None
        The gain below which a step is not taken and the search ends.

    Yields
    ------
    index : int
        The group added or removed.
    kept : ndarray of bool, shape (n_groups,)
        What is left after it.
    scores : dict of int to ndarray
        The folds' scores of every group that might have been taken at this step.
    taken : bool
        False at the end of a search by `tol`, if the last step gained too little.
    """
    changed = np.zeros(n_groups, dtype=bool)
    old = -np.inf
    for _ in range(n_steps):
        scores = {}
        for index in np.flatnonzero(~changed):
            candidate = changed.copy()
            candidate[index] = True
            scores[int(index)] = score(candidate ^ backward)
        index = best_of(scores)
        new = np.mean(scores[index])
        after = changed.copy()
        after[index] = True
        taken = tol is None or new - old >= tol
        yield index, after ^ backward, scores, taken
        if not taken:
            return
        changed, old = after, new


def best_of(scores):
    """Return the key of the highest mean score, the first of equals.

    Parameters
    ----------
    scores : dict of int to ndarray

    Returns
    -------
    int

    Raises
    ------
    ValueError
        If every mean is NaN; one that is counts as the lowest.
    """
    means = {key: np.mean(values) for key, values in scores.items()}
    valid = {key: mean for key, mean in means.items() if not np.isnan(mean)}
    if not valid:
        raise ValueError(
            "SourceSelector: no set of sources has a score that is a number. Look at "
            "what the scorer gives for one fold, and whether each fold has what it "
            "needs, such as every class."
        )
    return max(valid, key=valid.get)


def source_subsets(names, *, min_size=1, max_size=None):
    """Return the subsets of sources, to search over an EmbeddingUnion's `active`.

    Single sources come first, then pairs, and so on, each in the order of `names`:
    the first rows of a grid are the single sources that a combination has to beat.
    There are 2 ** n - 1 subsets of n sources; `max_size` keeps a grid small, and
    `SourceSelector` looks at about n ** 2 / 2 of them.

    Parameters
    ----------
    names : sequence of str or EmbeddingUnion
        The sources' names. Of a union those that are not "drop", whatever its
        `active` says.
    min_size : int, default=1
        Number of sources in the smallest subsets.
    max_size : int, default=None
        Number of sources in the largest subsets, None for all sources.

    Returns
    -------
    list of tuple of str
        Smallest first.

    Raises
    ------
    TypeError
        If `names` is one str, or holds anything but str; if a size is no int.
    ValueError
        If there are no names, names repeat, or no subset has such a size.

    See Also
    --------
    EmbeddingUnion : Takes one of the subsets as `active`.
    SourceSelector : Chooses sources greedily, where there are many subsets.

    Examples
    --------
    >>> from sk_metaembed import source_subsets
    >>> source_subsets(["w2v", "ft", "glove"], max_size=2)
    [('w2v',), ('ft',), ('glove',), ('w2v', 'ft'), ('w2v', 'glove'), ('ft', 'glove')]
    >>> grid = {"embed__active": source_subsets(["w2v", "ft"])}
    >>> grid["embed__active"]
    [('w2v',), ('ft',), ('w2v', 'ft')]
    """
    names = _names(names)
    largest = len(names) if max_size is None else max_size
    _check_sizes(min_size, largest, names)
    return [
        subset
        for size in range(min_size, largest + 1)
        for subset in combinations(names, size)
    ]


def _names(names):
    if hasattr(names, "sources"):  # an EmbeddingUnion
        names = [
            name
            for name, source in names.sources
            if not (isinstance(source, str) and source == "drop")
        ]
    if isinstance(names, str) or not hasattr(names, "__iter__"):
        raise TypeError(
            f"source_subsets: names must be a list of str or an EmbeddingUnion, got "
            f"{names!r}."
        )
    names = list(names)
    strange = [name for name in names if not isinstance(name, str)]
    if strange:
        raise TypeError(
            f"source_subsets: names must hold str, got {strange[0]!r}. Of (name, "
            "source) pairs pass the names, or the EmbeddingUnion."
        )
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(
            f"source_subsets: names must be distinct, but {repeated} stand more than "
            "once."
        )
    if not names:
        raise ValueError("source_subsets: there are no sources; name at least one.")
    return [str(name) for name in names]  # numpy's str among them


def _check_sizes(smallest, largest, names):
    for parameter, size in (("min_size", smallest), ("max_size", largest)):
        if not is_integer(size):
            raise TypeError(
                f"source_subsets: {parameter} must be an int, got {size!r}."
            )
    if not 1 <= smallest <= largest <= len(names):
        raise ValueError(
            f"source_subsets: sizes must obey 1 <= min_size <= max_size <= "
            f"{len(names)}, the number of sources; got min_size={smallest}, "
            f"max_size={largest}."
        )
