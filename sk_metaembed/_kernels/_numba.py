"""Compile loops with numba, with or without a writable cache directory.

This module imports numba, so only modules with compiled loops, which are imported late,
may import it.
"""

import numba


def cached_njit(function, **options):
    """Compile without the GIL; cache the machine code where a directory is writable."""
    try:
        return numba.njit(nogil=True, cache=True, **options)(function)
    except RuntimeError:  # no writable directory: compiled again in each process
        return numba.njit(nogil=True, **options)(function)


def inlined_njit(function):
    """Compile into the callers, as LLVM does not with functions of this size.

    A lookup of a word takes a quarter of the time without the call, reading a number
    less than a half.
    """
    return cached_njit(function, inline="always")
