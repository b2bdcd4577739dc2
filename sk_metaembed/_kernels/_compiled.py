"""Compiled loops: whether they are worth loading, and their threads.

Importing numba and reading compiled loops from its cache takes half a second and 120
MB, so shorter work runs in loops of Python and NumPy, which return the same results.
"""

import sys
from concurrent.futures import ThreadPoolExecutor

# In seconds of Python loops; compiled loops take at most a third of the time.
_CALL = 0.0003  # work for which compiled loops are called once numba is loaded
_NEGLIGIBLE = 0.002  # work that is never a reason to load numba, however often it comes
_LOADING = 0.7  # work after which loading numba would have paid off

_spent = 0.0  # on work that compiled loops would have made faster


def use_compiled(seconds):
    """Return whether to use compiled loops for work that takes Python some seconds.

    Numba is loaded as soon as it would have paid off, so a process loses no more time
    than loading takes, whether it loads numba or not.
    """
    global _spent
    if "numba" in sys.modules:
        return seconds > _CALL
    if seconds > _NEGLIGIBLE:
        _spent += seconds
    return _spent > _LOADING


def in_threads(function, spans):
    """Return ``function(*span)`` for each span, computed in as many threads as numba.

    joblib lowers this number in its workers, so nested pools do not multiply.
    """
    from numba import config

    n_threads = min(config.NUMBA_NUM_THREADS, len(spans))
    if n_threads < 2:
        return [function(*span) for span in spans]
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(function, *zip(*spans, strict=True)))
