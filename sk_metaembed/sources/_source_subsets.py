"""source_subsets: values of an EmbeddingUnion's `active` for a grid search."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

from .._core._errors import prefix_errors
from ._union import EmbeddingUnion


@prefix_errors
def source_subsets(
    names: Iterable[str] | EmbeddingUnion,
    *,
    min_size: int = 1,
    max_size: int | None = None,
) -> list[tuple[str, ...]]:
    """Return the subsets of sources, to search over the `active` of an EmbeddingUnion.

    Single sources come first, then pairs, and so on, each in the order of `names`, so
    the first rows of a grid are the single sources that a combination has to beat.
    There are 2 ** n - 1 subsets of n sources. `max_size` limits a grid;
    `SourceSelector` evaluates at most about n ** 2 / 2 of them, or a given number.

    Parameters
    ----------
    names : sequence of str or EmbeddingUnion
        Names of the sources. For a union, all sources that are not "drop", regardless
        of `active`.
    min_size : int, default=1
        Number of sources in the smallest subsets.
    max_size : int, default=None
        Number of sources in the largest subsets, None for all sources.

    Returns
    -------
    list of tuple of str
        The smallest subsets first.

    Raises
    ------
    TypeError
        If `names` is a str or contains other types than str.
    ValueError
        If `names` is empty or has duplicates, or no subset has such a size.

    See Also
    --------
    EmbeddingUnion : Takes a subset as `active`.
    SourceSelector : Selects sources if there are many subsets.

    Examples
    --------
    >>> from sk_metaembed import source_subsets
    >>> source_subsets(["w2v", "ft", "glove"], max_size=2)
    [('w2v',), ('ft',), ('glove',), ('w2v', 'ft'), ('w2v', 'glove'), ('ft', 'glove')]
    >>> grid = {"embed__active": source_subsets(["w2v", "ft"])}
    >>> grid["embed__active"]
    [('w2v',), ('ft',), ('w2v', 'ft')]
    """
    distinct = _names(names)
    largest = len(distinct) if max_size is None else max_size
    if not 1 <= min_size <= largest <= len(distinct):
        raise ValueError(
            f"1 <= min_size <= max_size <= {len(distinct)}, the number of sources, "
            f"must hold; got min_size={min_size}, max_size={largest}."
        )
    return [
        subset
        for size in range(min_size, largest + 1)
        for subset in combinations(distinct, size)
    ]


def _names(names):
    if hasattr(names, "sources"):  # an EmbeddingUnion
        names = [name for name, source in names.sources if not isinstance(source, str)]
    given = names
    names = list(names) if hasattr(names, "__iter__") else [names]
    if isinstance(given, str) or not all(isinstance(name, str) for name in names):
        raise TypeError(
            "names must be a list of str or an EmbeddingUnion, not (name, source) "
            f"pairs; got {given!r}."
        )
    if not names or len(set(names)) < len(names):
        raise ValueError(f"names must be distinct, and at least one; got {names}.")
    return [str(name) for name in names]  # converts numpy.str_
