"""What a user's function returns, checked and put into one array."""

import numpy as np


def call_in_batches(func, entries, batch_size, whose):
    """Call a function on batches of a list and return its results in one list.

    Parameters
    ----------
    func : callable
    entries : list
    batch_size : int or None
        None for all in one call; no entries, no call.
    whose : str
        Begins the error messages.

    Returns
    -------
    list
        One result an entry.
    """
    size = batch_size or len(entries) or 1
    results = []
    for start in range(0, len(entries), size):
        batch = entries[start : start + size]
        part = func(batch)
        if not hasattr(part, "__len__") or len(part) != len(batch):
            came = len(part) if hasattr(part, "__len__") else type(part).__name__
            raise ValueError(
                f"{whose}: func got {len(batch)} entries and must return as many "
                f"results, got {came}. It is called with a list of entries, not with "
                "one at a time."
            )
        results.extend(part)
    return results


def stack_results(results, entries, sizes, dim, whose):
    """Return all results in one array, and which rows are known.

    Parameters
    ----------
    results : list of array-like or None
        Of shape (dim,) each, or (size, dim) where there are sizes.
    entries : list
        What the results are for, named in errors.
    sizes : ndarray of int64, shape (n_entries,), or None
    dim : int or None
        None takes it from the first result.
    whose : str
        Begins the error messages.

    Returns
    -------
    values : ndarray of float32, shape (n_rows, dim)
        Zero where the result is None.
    known : ndarray of bool, shape (n_rows,)
    """
    given = [i for i, result in enumerate(results) if result is not None]
    if dim is None:
        dim = _dim_of(results[given[0]] if given else None, whose)
    counts = np.ones(len(results), dtype=np.int64) if sizes is None else sizes
    ends = np.cumsum(counts)
    values = np.zeros((int(counts.sum()), dim), dtype=np.float32)
    for i in given:
        shape = (dim,) if sizes is None else (int(counts[i]), dim)
        result = _checked(results[i], shape, f"{whose}: func's result {i}", entries[i])
        values[ends[i] - counts[i] : ends[i]] = result
    has_result = np.zeros(len(results), dtype=bool)
    has_result[given] = True
    known = np.repeat(has_result, counts)
    _check_finite(values, ends, entries, whose)
    return values, known


def scatter(values, known, rows, n_rows):
    """Return values and flags at some rows of longer arrays, zero elsewhere."""
    if len(rows) == n_rows:
        return values, known
    spread = np.zeros((n_rows, values.shape[1]), dtype=values.dtype)
    flags = np.zeros(n_rows, dtype=bool)
    spread[rows], flags[rows] = values, known
    return spread, flags


def _dim_of(result, whose):
    if result is None:
        raise ValueError(
            f"{whose}: func gave no vector for any entry of the training fold, so the "
            "dimension is not known. Set dim; or, if X should have rows, check that it "
            "is not empty, for example a generator that was read before."
        )
    shape = np.shape(result)
    if not shape or not shape[-1]:
        raise ValueError(
            f"{whose}: func must return a vector an entry, but a result has shape "
            f"{shape}."
        )
    return shape[-1]


def _checked(result, shape, which, entry):
    try:
        result = np.asarray(result)
        if result.dtype.kind == "c":
            raise TypeError("it is complex")
        with np.errstate(over="ignore"):  # infinity is reported with its entry
            result = result.astype(np.float32, copy=False)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{which}, for {_shown(entry)}, is no array of numbers: {error}. Return "
            "None for an entry that has no vector."
        ) from error
    if result.shape != shape:
        raise ValueError(
            f"{which}, for {_shown(entry)}, has shape {result.shape}, expected {shape}."
        )
    return result


def _check_finite(values, ends, entries, whose):
    bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if len(bad):
        i = int(np.searchsorted(ends, bad[0], side="right"))
        raise ValueError(
            f"{whose}: func's result {i}, for {_shown(entries[i])}, holds NaN or "
            "infinity. Return None for an entry that has no vector."
        )


def _shown(entry):
    text = repr(entry)
    return text if len(text) <= 60 else text[:57] + "..."
