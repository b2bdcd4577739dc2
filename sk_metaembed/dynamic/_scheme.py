"""Which tags may stand beside each other under a tagging scheme."""

import numpy as np

SCHEMES = ("IOB2", "IOBES", "BIOES")
# What a span is open after, and what goes on with one.
_OPENS, _GOES_ON = ("B", "I"), ("I", "E")


def allowed_neighbours(tags, scheme):
    """Return which tags may follow each other, begin and end a sentence.

    Parameters
    ----------
    tags : array-like of str, shape (n_tags,)
        That the scheme knows.
    scheme : {"IOB2", "IOBES", "BIOES"}

    Returns
    -------
    follows : ndarray of bool, shape (n_tags, n_tags)
        Whether the tag of the column may follow that of the row.
    begins, ends : ndarray of bool, shape (n_tags,)
    """
    parts = [str(tag).partition("-") for tag in tags]
    prefix = np.array([part[0] for part in parts])
    label = np.array([part[2] for part in parts])
    opens, goes_on = np.isin(prefix, _OPENS), np.isin(prefix, _GOES_ON)
    same = label[:, None] == label[None, :]
    follows = ~goes_on[None, :] | (opens[:, None] & same)
    if scheme == "IOB2":
        return follows, ~goes_on, np.ones(len(parts), dtype=bool)
    # A span has to be closed by its own E before anything else comes.
    follows &= ~opens[:, None] | goes_on[None, :]
    return follows, ~goes_on, ~opens
