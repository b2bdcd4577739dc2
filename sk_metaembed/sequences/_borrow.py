"""Handing a read-only array to a library that cannot say "read-only"."""

import numpy as np


class _Borrowed:
    """An array's memory, offered as writable."""

    def __init__(self, array):
        self._array = array
        data = (array.__array_interface__["data"][0], False)
        self.__array_interface__ = {**array.__array_interface__, "data": data}


def borrow(array):
    """Return an array on the same memory that is marked writable.

    The containers' arrays are read-only. torch has no such notion: it warns and
    wraps them all the same. Whoever borrows promises not to write.

    Parameters
    ----------
    array : ndarray

    Returns
    -------
    ndarray
        Contiguous; on the same memory if `array` is.
    """
    return np.asarray(_Borrowed(np.ascontiguousarray(array)))
