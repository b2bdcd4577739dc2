"""Compiling loops with numba, also where no folder can keep the machine code.

Imports numba, so it is itself imported only by modules of compiled loops, which load
late.
"""

import numba


def cached_njit(function):
    """Compile without the GIL; keep the machine code where a folder can be written.

    Parameters
    ----------
    function : callable
        What numba compiles.

    Returns
    -------
    Dispatcher
        Compiled when it is first called with arguments of new types.
    """
    try:
        return numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # no folder to keep it in: compiled again in each process
        return numba.njit(nogil=True)(function)
