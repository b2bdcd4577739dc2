"""Values and counts as text for error messages."""

import numpy as np

_LONGEST = 60  # characters


def short_repr(value):
    """Return the repr of a value, cut to 60 characters; of a NumPy number its value.

    >>> short_repr(np.float64(1.5)), len(short_repr("a" * 99))
    ('1.5', 60)
    """
    text = repr(value.item() if isinstance(value, np.number) else value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def plural(n, noun):
    """Return a number and what it counts.

    >>> plural(1, "tag"), plural(2, "tag")
    ('1 tag', '2 tags')
    """
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
