"""source_subsets: which sources take part, as the values of a grid."""

from itertools import combinations

from ..sequences._parameters import is_integer


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
