"""Which rows a combination may learn from, and a sentence where there are none."""

import numpy as np

from ..sequences._rows import row_norms

_SMALLEST = 1e-36  # length that float32 can be scaled from


def learning_rows(names, known, *, n_knowing, whose):
    """Return the rows to learn from.

    Parameters
    ----------
    names : sequence of str
        Of the sources.
    known : ndarray of bool, shape (n_rows, n_sources)
    n_knowing : int
        Fewest sources that must know a row; of a single source, that one.
    whose : str
        Begins the error messages.

    Returns
    -------
    ndarray of int, shape (n_learning_rows,)

    Raises
    ------
    ValueError
        If a source knows nothing, or shares no row with the others, or fewer than two
        rows are left.
    """
    counts = dict(zip(names, known.sum(axis=0).tolist(), strict=True))
    what = f"words known, of {len(known)}: {counts}"
    if not len(known):
        raise ValueError(
            f"{whose}: Found array with 0 sample(s): X has no tokens, and at least "
            "one is needed to learn from."
        )
    for name, count in counts.items():
        if not count:
            raise ValueError(
                f"{whose}: the source {name!r} knows none of the words of fit ({what})."
                " Leave it out, or fit on words that it knows."
            )
    for i, name in enumerate(names):
        with_others = known[:, i] & np.delete(known, i, axis=1).any(axis=1)
        if len(names) > 1 and not with_others.any():
            raise ValueError(
                f"{whose}: the source {name!r} shares no word with the other sources "
                f"({what}). Nothing can be learned about it from them: leave it out, "
                "or look whether its words are spelled the same way."
            )
    n_knowing = min(n_knowing, len(names))
    rows = np.flatnonzero(known.sum(axis=1) >= n_knowing)
    if len(rows) < 2:
        who = {len(names): "all sources", 1: "any source"}
        advice = ", or leave out the source that knows fewest" if n_knowing > 1 else ""
        raise ValueError(
            f"{whose}: too few words to learn from: {len(rows)} known to "
            f"{who.get(n_knowing, f'{n_knowing} sources or more')}, where 2 are needed "
            f"({what}). Fit on more words{advice}."
        )
    return rows


def common_scale(sources):
    """Return the root mean square length of the longest source's vectors.

    Vectors over it are of usual size, whatever the sources' units. It is 1 for zeros,
    and for what is so small that float32 could not hold maps to usual size.

    Parameters
    ----------
    sources : list of ndarray of shape (n_rows, dim)

    Returns
    -------
    float
    """
    lengths = [row_norms(values) for values in sources]
    largest = max(float(norms.max(initial=0)) for norms in lengths)
    if largest < _SMALLEST:
        return 1.0
    # Over the largest first: squares of huge lengths would leave every range.
    means = [np.sqrt(np.mean((norms / largest) ** 2)) for norms in lengths]
    return largest * float(max(means))
