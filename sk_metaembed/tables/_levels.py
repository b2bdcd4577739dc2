"""Numbers with few values, each of which has an indicator.

A value is the same number whatever tool hands it over: as float32, or as a sum that is
rounded in the 17th digit.
"""

from functools import lru_cache

import numpy as np

from ._cells import number_text

_MOST = 30  # values
_ROWS_PER_VALUE = 10
_MOST_DISTINCT = 300  # before numbers are rounded


def find_levels(values, n_rows):
    """Return the distinct values of numbers if they are few, in ascending order."""
    if len({*values.tolist()}) > _MOST_DISTINCT:
        return ()
    levels = np.unique(_at_15_digits(values)).tolist()
    is_few = 3 <= len(levels) <= _MOST and n_rows >= _ROWS_PER_VALUE * len(levels)
    return tuple(levels) if is_few else ()


def has_fine_levels(levels):
    """Return whether float32 does not tell levels apart."""
    return len(levels) > 0 and _keys(levels)[2] is not _as_single


def level_names(numbers, levels):
    """Return the level that each number is as text, "" if it is none.

    Numbers are equal if they are as float32; if levels are not told apart by float32,
    at 15 digits.
    """
    keys, names, round_ = _keys(levels)
    numbers = round_(numbers)
    places = np.minimum(np.searchsorted(keys, numbers), len(keys) - 1)
    return names[np.where(keys[places] == numbers, places, -1)]


@lru_cache(1024)
def _keys(levels):
    """Return the rounded levels, their names and "", and the function that rounds."""
    levels = np.array(levels)
    is_single = len(np.unique(_as_single(levels))) == len(levels)
    round_ = _as_single if is_single else _at_15_digits
    pairs = zip(levels, keys := round_(levels), strict=True)
    names = [str(key) if level % 1 else number_text(level) for level, key in pairs]
    return keys, np.array([*names, ""], dtype=object), round_


def _as_single(numbers):
    with np.errstate(over="ignore"):
        return numbers.astype(np.float32)


def _at_15_digits(numbers):
    """Return numbers rounded to 15 digits; floats have 15 to 17. Integers have all."""
    values, places = np.unique(numbers, return_inverse=True)
    is_whole = values == np.rint(values)
    values[~is_whole] = [float(f"{value:.15g}") for value in values[~is_whole]]
    return values[places]
