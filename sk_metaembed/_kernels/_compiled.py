"""Compiled loops: whether they are worth loading, and their threads.

Importing numba takes a third of a second and 100 MB, so work that takes less time runs
in loops of Python and NumPy, which return the same results.
"""

import sys
from concurrent.futures import ThreadPoolExecutor

# In seconds.
_CALL = 0.0003  # work for which compiled loops are called once numba is loaded
_NEGLIGIBLE = 0.002  # work that is never a reason to load numba, however often it comes
_LONGEST = 0.1  # work that loads numba at once
_LOADING = 0.4

_spent = 0.0  # on work that compiled loops would have made faster


def use_compiled(seconds):
    """Return whether to use compiled loops for work that takes Python some seconds.

    A process that never loads numba loses no more time than loading takes, and one that
    loads it has lost no more than that before.
    """
    global _spent
    if "numba" in sys.modules:
        return seconds > _CALL
    if seconds > _NEGLIGIBLE:
        _spent += seconds
    return seconds > _LONGEST or _spent > _LOADING


def in_threads(function, spans):
    """Return ``function(*span)`` of each span, computed in numba's number of threads.

    joblib lowers this number in its workers, so nested pools do not multiply.
    """
    from numba import config

    n_threads = min(config.NUMBA_NUM_THREADS, len(spans))
    if n_threads < 2:
        return [function(*span) for span in spans]
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(function, *zip(*spans, strict=True)))
