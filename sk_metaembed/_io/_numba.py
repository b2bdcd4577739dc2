"""Compile loops with numba, with or without a writable cache directory.

Imports numba, so only modules of compiled loops, which are imported late, import it.
"""

import numba


def cached_njit(function):
    """Compile without the GIL; cache the machine code where a directory is writable."""
    try:
        return numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # no writable directory: compiled again in each process
        return numba.njit(nogil=True)(function)
