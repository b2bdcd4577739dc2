"""What an encoder gives, as rows of numbers; and rows that occur several times."""

import numpy as np
from scipy import sparse


def distinct_rows(rows):
    """Return the distinct texts or token lists, and where each row stands among them.

    Parameters
    ----------
    rows : list of str or of list of str

    Returns
    -------
    distinct : list
        In first-seen order.
    places : ndarray of int64, shape (n_rows,)
    """
    found, distinct = {}, []
    places = np.empty(len(rows), dtype=np.int64)
    for i, row in enumerate(rows):
        key = row if isinstance(row, str) else tuple(row)
        places[i] = found.setdefault(key, len(found))
        if len(found) > len(distinct):
            distinct.append(row)
    return distinct, places


def as_vectors(given, n_rows, whose="PairEncoder"):
    """Return what an encoder gave as float32, or say what is wrong with it.

    Parameters
    ----------
    given : array, sparse matrix or DataFrame
    n_rows : int
        How many rows it must have.
    whose : str, default="PairEncoder"
        Begins the error messages.

    Returns
    -------
    ndarray or sparse CSR matrix of float32, shape (n_rows, dim)

    Raises
    ------
    TypeError
        If it is no numbers.
    ValueError
        If it has not one row a text, or is not finite.
    """
    values = given.tocsr() if sparse.issparse(given) else np.asarray(given)
    if values.dtype.kind not in "fiub":
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"{whose}: the encoder must give numbers, tokens or word vectors; got "
                f"{type(given).__name__} of dtype {values.dtype}."
            ) from error
    if values.ndim != 2 or values.shape[0] != n_rows or not values.shape[1]:
        raise ValueError(
            f"{whose}: the encoder must give one row of numbers a text, an array of "
            f"shape ({n_rows}, dim); got shape {values.shape}."
        )
    with np.errstate(over="ignore"):  # told as infinity
        values = values.astype(np.float32, copy=False)
    numbers = values.data if sparse.issparse(values) else values
    if not np.isfinite(numbers).all():
        raise ValueError(
            f"{whose}: the encoder gave NaN or infinity for some texts. Look at its "
            "steps, for example for a division by the length of an empty text."
        )
    return values


def with_indicator(features, info):
    """Return features of pairs, and two columns: which sides were missing."""
    n_pairs = features.shape[0]
    missing = np.zeros(2 * n_pairs) if info.missing is None else info.missing
    columns = missing.reshape(2, n_pairs).T.astype(np.float32)
    if sparse.issparse(features):
        return sparse.hstack([features, columns], format="csr")
    return np.concatenate([features, columns], axis=1)
