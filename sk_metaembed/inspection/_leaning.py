"""Which source a word leans on, how strongly, and how to write that down."""

import numpy as np

_CLOSE = 1e-6  # weights that differ by less count as equal
_PALEST, _PALER = 0.10, 0.45  # tints at the even share, and what is added at most
SYMBOLS = "●▲■◆✚▼✖"  # as the markers of `point_style`, in the same order


def leaning(weights):
    """Return which source each row leans on, and how strongly.

    Parameters
    ----------
    weights : ndarray of shape (n, n_sources)
        Of 0 or more; a row of zeros is a word that no source knows.

    Returns
    -------
    source : ndarray of int, shape (n,)
        -1 where several have the most, or none has any.
    strength : ndarray of shape (n,)
        The share of the weights beyond an even one, 0 to 1 for all of them; 0 where
        `source` is -1.

    Examples
    --------
    >>> leaning(np.array([[0.75, 0.25], [0.5, 0.5], [0.0, 0.0]]))
    (array([ 0, -1, -1]), array([0.5, 0. , 0. ]))
    """
    total = weights.sum(axis=1, keepdims=True)
    shares = np.divide(weights, total, out=np.zeros(weights.shape), where=total > 0)
    most = shares.max(axis=1)
    several = (shares >= most[:, None] - _CLOSE).sum(axis=1) > 1
    source = np.where(several | (most == 0), -1, shares.argmax(axis=1))
    even = 1 / weights.shape[1]
    strength = (most - even) / (1 - even) if even < 1 else most
    return source, np.where(source < 0, 0.0, strength)


def tint(colour, strength):
    """Return a pale shade on which black can be read, deeper the stronger, as #rrggbb.

    Parameters
    ----------
    colour : str
        As #rrggbb.
    strength : float
        Within [0, 1].

    Examples
    --------
    >>> tint("#000000", 0.0), tint("#000000", 1.0)
    ('#e6e6e6', '#737373')
    """
    amount = _PALEST + _PALER * strength
    parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(255 - amount * (255 - part)):02x}" for part in parts)


def written(weight):
    """Return a weight in three characters, without the zero before the point."""
    return f"{weight:.2f}".removeprefix("0")[:3]  # a fourth would touch the symbol
