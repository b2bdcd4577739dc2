"""A fitted pipeline on its way to workers: once a process, small or by reference.

What a worker does with one partition: rows in, rows of the pipeline out.
"""

import atexit
import os
import pickle
import secrets
import shutil
import threading
from collections import OrderedDict
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple

import numpy as np

from .._io._atomic import atomic_path, cache_home
from ..sequences._row_errors import is_missing
from ._batches import ALLOWED
from ._fingerprint import pipeline_fingerprint
from ._results import compute

SMALL = 2**20  # bytes: what a graph takes along
_KEPT = 4  # pipelines that a process has at hand

_loaded: OrderedDict[str, object] = OrderedDict()
_lock = threading.Lock()


class Carried:
    """What tasks hold in the place of a pipeline.

    Parameters
    ----------
    key : str
        Names what the pipeline has learned.
    data : bytes or None
        Its pickle, if that is small.
    path : str or None
        Otherwise the file that it is mapped from.
    """

    __slots__ = ("data", "key", "path")

    def __init__(self, key, data, path):
        self.key, self.data, self.path = key, data, path

    def __reduce__(self):
        return Carried, (self.key, self.data, self.path)

    def __dask_tokenize__(self):
        return Carried.__name__, self.key

    def pipeline(self):
        """Return the pipeline, which a process reads once."""
        with _lock:
            if self.key not in _loaded:
                _loaded[self.key] = self._read()
                while len(_loaded) > _KEPT:
                    _loaded.popitem(last=False)
            _loaded.move_to_end(self.key)
            return _loaded[self.key]

    def _read(self):
        if self.path is None:
            return pickle.loads(self.data)
        import joblib

        if not os.path.exists(self.path):
            raise FileNotFoundError(
                f"transform_partitions wrote the pipeline to {self.path}, which is not "
                "there. Either this worker does not see that folder: pass folder= with "
                "one that all workers share. Or the process that wrote it has ended, "
                "and took it along; what lies in a folder= of yours stays."
            )
        # Mapped, so that a machine holds one copy of each large array.
        return joblib.load(self.path, mmap_mode="r")


def carry(pipeline, folder=None):
    """Return the Carried of a pipeline as it is now.

    Parameters
    ----------
    pipeline : estimator
        Fitted.
    folder : path-like, default=None
        For what is large; None for one that goes when this process ends.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> carried = carry(StandardScaler().fit([[1.0], [3.0]]))
    >>> len(carried.data) < 1000, carried.pipeline().mean_
    (True, array([2.]))
    """
    key = pipeline_fingerprint(pipeline) or secrets.token_hex(20)
    data = _pickled(pipeline, SMALL)
    if data is not None:
        return Carried(key, data, None)
    folder = _own_folder() if folder is None else Path(folder).expanduser()
    try:
        return Carried(key, None, _filed(pipeline, folder.absolute(), key))
    except (pickle.PicklingError, AttributeError, TypeError):  # a lambda, for example
        return Carried(key, _pickled(pipeline, None), None)


class _TooLarge(Exception):
    """More bytes than wanted."""


class _Bounded:
    """A file in memory that takes so many bytes, so that a large matrix is no copy."""

    def __init__(self, limit):
        self._limit, self._size, self._parts = limit, 0, []

    def write(self, data):
        data = memoryview(data).cast("B")
        self._size += data.nbytes
        if self._limit is not None and self._size > self._limit:
            raise _TooLarge
        self._parts.append(bytes(data))
        return data.nbytes

    def getvalue(self):
        return b"".join(self._parts)


def _pickled(pipeline, limit):
    """Return a pickle, None if it has more bytes than the limit."""
    from cloudpickle import Pickler  # what dask itself sends functions with

    file = _Bounded(limit)
    try:
        Pickler(file, protocol=5).dump(pipeline)
    except _TooLarge:
        return None
    return file.getvalue()


def _filed(pipeline, folder, key):
    """Return the path of a file with the pipeline, which takes its place whole."""
    import joblib

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"pipeline-{key}"
    if not path.exists():
        with atomic_path(path) as part:
            joblib.dump(pipeline, part)
    return str(path)


@lru_cache(maxsize=1)
def _own_folder():
    """Return a folder in the cache that goes when this process ends."""
    place = cache_home() / "pipelines"
    place.mkdir(parents=True, exist_ok=True)
    made = mkdtemp(prefix="process-", dir=place)
    atexit.register(_remove, made, os.getpid())
    return Path(made)


def _remove(folder, pid):
    if os.getpid() == pid:  # not what a process forked from this one ends with
        shutil.rmtree(folder, ignore_errors=True)


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
