"""What a worker does with one partition: rows in, rows of the pipeline out."""

from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ._batch import ALLOWED
from ._missing import is_missing
from ._results import compute


class Work(NamedTuple):
    """What is done with every partition; it travels once a worker, tasks name it.

    Parameters
    ----------
    carried : Carried
    method : str
    dtype : str or None
    column : str, list of str or None
    keep : list of str
    names : list of str or None
        Of the columns of a frame; None for a Series, or where there are none.
    empty : ndarray
        The result of no rows.
    missing : bool
        Whether rows may be missing.
    """

    carried: Any
    method: str
    dtype: str | None
    column: Any
    keep: list
    names: list | None
    empty: Any
    missing: bool

    def rows_of(self, rows):
        """Return what the pipeline gives for rows."""
        pipeline = self.carried.pipeline()
        return compute(pipeline, self.method, self.dtype, rows).values

    def framed(self, values, frame):
        """Return rows of the pipeline under the index of those they came from."""
        import pandas as pd

        if self.names is None:
            found = pd.Series(values, index=frame.index, name="prediction")
        else:
            found = pd.DataFrame(values, index=frame.index, columns=self.names)
        if not self.keep:
            return found
        return pd.concat([frame[self.keep], found], axis=1)


def frame_rows(frame, work, partition_info=None):
    """Return the frame, or the Series, of a partition of a frame or a Series.

    Parameters
    ----------
    frame : pandas DataFrame or Series
    work : Work
    partition_info : dict
        From dask, the partition's number.
    """
    if not len(frame):
        return work.framed(work.empty, frame)
    where = f"partition {(partition_info or {}).get('number', 0)}"
    if isinstance(work.column, list):
        rows = frame[work.column]
    else:
        texts = frame if work.column is None else frame[work.column]
        rows = texts.tolist()
        _check(rows, where, work, frame.index)
    first, last = frame.index[0], frame.index[-1]
    with _naming(f"{where}, index {first!r} to {last!r}"):
        return work.framed(work.rows_of(rows), frame)


def bag_rows(items, work, number):
    """Return the rows of a partition of a bag, one an item.

    Parameters
    ----------
    items : iterable of str, of token lists, or of dicts with a column
    work : Work
    number : iterable of one int
        The partition's.
    """
    items, where = list(items), f"partition {next(iter(number))}"
    if not items:
        return []
    rows = items
    if work.column is not None:
        rows = [_field(item, work.column, where, i) for i, item in enumerate(items)]
    _check(rows, where, work)
    with _naming(where):
        return list(work.rows_of(rows))


def array_rows(block, work, block_id=None):
    """Return the rows of a block of an array.

    Parameters
    ----------
    block : ndarray of shape (n,)
        Texts.
    work : Work
    block_id : tuple
        From dask.
    """
    if not len(block):
        return work.empty
    where, rows = f"block {block_id[0]}", block.tolist()
    _check(rows, where, work)
    with _naming(where):
        return work.rows_of(rows)


def _field(item, column, where, i):
    try:
        return item[column]
    except (KeyError, TypeError, IndexError):
        has = f"keys {list(item)}" if isinstance(item, dict) else f"{item!r:.60}"
        raise ValueError(
            f"transform_partitions: {where}, row {i}, has no {column!r}; it is {has}. "
            "Leave column out for a bag of texts or token lists."
        ) from None


def _check(rows, where, work, index=None):
    """Refuse rows that are neither texts nor token lists, naming the first."""
    if set(map(type, rows)) in ({str}, {list}, {tuple}):
        return
    is_text = [isinstance(row, str) for row in rows]
    for i, row in enumerate(rows):
        if work.missing and is_missing(row):
            continue
        is_list = isinstance(row, list | tuple) or hasattr(row, "tolist")
        row_is = f"transform_partitions: {where}, "
        row_is += f"row {i}" if index is None else f"index {index[i]!r} (row {i} of it)"
        if not is_text[i] and (not is_list or np.isscalar(row)):
            raise TypeError(
                f"{row_is}, is {row!r:.60}, of type {type(row).__name__}. {ALLOWED}."
            )
        if not is_text[i] and any(is_text):
            raise TypeError(
                f"{row_is}, is a list and others of its partition are texts. Rows of "
                "str and rows of token lists cannot be mixed."
            )


@contextmanager
def _naming(where):
    """Add to an error which rows it is about."""
    try:
        yield
    except Exception as error:
        error.add_note(
            f"transform_partitions: in {where}. Rows that the message numbers count "
            "from 0 within it."
        )
        raise
