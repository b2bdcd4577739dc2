"""Run a fitted pipeline on one partition, on a worker that reads the pipeline once."""

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

MAX_INLINE_SIZE = 2**20  # bytes of a pickle that is sent with the graph
_MAX_LOADED = 4  # pipelines that a process keeps

_loaded: OrderedDict[str, object] = OrderedDict()
_lock = threading.Lock()


class PipelineRef:
    """Reference to a pipeline: its fingerprint, and its pickle or the path of a file.

    A small pipeline is pickled; a large one is mapped from a file.
    """

    __slots__ = ("data", "key", "path")

    def __init__(self, key, data, path):
        self.key, self.data, self.path = key, data, path

    def __reduce__(self):
        return PipelineRef, (self.key, self.data, self.path)

    def __dask_tokenize__(self):
        return PipelineRef.__name__, self.key

    def pipeline(self):
        """Return the pipeline, which each process reads once."""
        with _lock:
            if self.key not in _loaded:
                _loaded[self.key] = self._read()
                while len(_loaded) > _MAX_LOADED:
                    _loaded.popitem(last=False)
            _loaded.move_to_end(self.key)
            return _loaded[self.key]

    def _read(self):
        if self.path is None:
            return pickle.loads(self.data)
        import joblib

        if not os.path.exists(self.path):
            raise FileNotFoundError(
                f"transform_partitions: the file {self.path} of the pipeline does not "
                "exist. Either this worker cannot read that folder: pass folder= with "
                "one that all workers share. Or the process that wrote it has ended, "
                "which removes the file unless folder= is set."
            )
        # Mapped, so that a machine holds one copy of each large array.
        return joblib.load(self.path, mmap_mode="r")


def make_reference(pipeline, folder=None):
    """Return a PipelineRef to a pipeline in its current state.

    A large pipeline is written to `folder`, by default one that is removed when this
    process ends.

    >>> from sklearn.preprocessing import StandardScaler
    >>> reference = make_reference(StandardScaler().fit([[1.0], [3.0]]))
    >>> len(reference.data) < 1000, reference.pipeline().mean_
    (True, array([2.]))
    """
    key = pipeline_fingerprint(pipeline) or secrets.token_hex(20)
    data = _pickle_bytes(pipeline, MAX_INLINE_SIZE)
    if data is not None:
        return PipelineRef(key, data, None)
    folder = _temporary_folder() if folder is None else Path(folder).expanduser()
    try:
        return PipelineRef(key, None, _dump(pipeline, folder.absolute(), key))
    except (pickle.PicklingError, AttributeError, TypeError):  # a lambda, for example
        return PipelineRef(key, _pickle_bytes(pipeline, None), None)


class _TooLarge(Exception):
    """The pickle is larger than the limit."""


class _LimitedBuffer:
    """A file in memory with a limit, so that a large matrix is not copied in full."""

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


def _pickle_bytes(pipeline, limit):
    """Return a pickle, None if it has more bytes than the limit."""
    from cloudpickle import Pickler  # as dask does

    file = _LimitedBuffer(limit)
    try:
        Pickler(file, protocol=5).dump(pipeline)
    except _TooLarge:
        return None
    return file.getvalue()


def _dump(pipeline, folder, key):
    """Return the path of a file with the pipeline, written atomically."""
    import joblib

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"pipeline-{key}"
    if not path.exists():
        with atomic_path(path) as part:
            joblib.dump(pipeline, part)
    return str(path)


@lru_cache(maxsize=1)
def _temporary_folder():
    """Return a folder in the cache that is removed when this process ends."""
    parent = cache_home() / "pipelines"
    parent.mkdir(parents=True, exist_ok=True)
    folder = mkdtemp(prefix="process-", dir=parent)
    atexit.register(_remove, folder, os.getpid())
    return Path(folder)


def _remove(folder, pid):
    if os.getpid() == pid:  # not at the end of a forked process
        shutil.rmtree(folder, ignore_errors=True)


class PartitionTask(NamedTuple):
    """What is computed for every partition; it is sent to each worker once.

    Parameters
    ----------
    reference : PipelineRef
    method : str
    dtype : str or None
    column : str, list of str or None
    keep : list of str
    names : list of str or None
        Names of the columns of a frame; None for a Series.
    empty : ndarray
        The result for no rows.
    missing : bool
        Whether rows may be missing.
    """

    reference: Any
    method: str
    dtype: str | None
    column: Any
    keep: list
    names: list | None
    empty: Any
    missing: bool

    def values(self, rows):
        """Return the values of the pipeline for rows."""
        pipeline = self.reference.pipeline()
        return compute(pipeline, self.method, self.dtype, rows).values

    def to_frame(self, values, frame):
        """Return values of the pipeline with the index of their rows in `frame`."""
        import pandas as pd

        if self.names is None:
            result = pd.Series(values, index=frame.index, name="prediction")
        else:
            result = pd.DataFrame(values, index=frame.index, columns=self.names)
        if not self.keep:
            return result
        return pd.concat([frame[self.keep], result], axis=1)


def transform_frame(frame, task, partition_info=None):
    """Return the DataFrame or Series for a partition (DataFrame or Series)."""
    if not len(frame):
        return task.to_frame(task.empty, frame)
    where = f"partition {(partition_info or {}).get('number', 0)}"
    if isinstance(task.column, list):
        rows = frame[task.column]
    else:
        texts = frame if task.column is None else frame[task.column]
        rows = texts.tolist()
        _check_rows(rows, where, task, frame.index)
    first, last = frame.index[0], frame.index[-1]
    with _add_place_to_error(f"{where}, index {first!r} to {last!r}"):
        return task.to_frame(task.values(rows), frame)


def transform_bag(items, task, number):
    """Return a list with a row per item (str, token list or dict with the column).

    `number` yields the number of the partition.
    """
    items, where = list(items), f"partition {next(iter(number))}"
    if not items:
        return []
    rows = items
    if task.column is not None:
        rows = [_field(item, task.column, where, i) for i, item in enumerate(items)]
    _check_rows(rows, where, task)
    with _add_place_to_error(where):
        return list(task.values(rows))


def transform_block(block, task, block_id=None):
    """Return the values for a block of texts, (n,) -> (n, n_features) or (n,)."""
    if not len(block):
        return task.empty
    where, rows = f"block {block_id[0]}", block.tolist()
    _check_rows(rows, where, task)
    with _add_place_to_error(where):
        return task.values(rows)


def _field(item, column, where, i):
    try:
        return item[column]
    except (KeyError, TypeError, IndexError):
        has = f"keys {list(item)}" if isinstance(item, dict) else f"{item!r:.60}"
        raise ValueError(
            f"transform_partitions: {where}, row {i}, has no {column!r}; it is {has}. "
            "Omit column for a bag of texts or token lists."
        ) from None


def _check_rows(rows, where, task, index=None):
    """Raise TypeError for the first row that is neither a text nor a token list."""
    if set(map(type, rows)) in ({str}, {list}, {tuple}):
        return
    is_text = [isinstance(row, str) for row in rows]
    for i, row in enumerate(rows):
        if task.missing and is_missing(row):
            continue
        is_list = isinstance(row, list | tuple) or hasattr(row, "tolist")
        place = f"transform_partitions: {where}, "
        place += f"row {i}" if index is None else f"index {index[i]!r} (row {i} of it)"
        if not is_text[i] and (not is_list or np.isscalar(row)):
            raise TypeError(
                f"{place}, is {row!r:.60}, of type {type(row).__name__}. {ALLOWED}."
            )
        if not is_text[i] and any(is_text):
            raise TypeError(
                f"{place}, is a list, but other rows of its partition are texts. Texts "
                "and token lists cannot be mixed."
            )


@contextmanager
def _add_place_to_error(where):
    """Add to an error the partition that it is about."""
    try:
        yield
    except Exception as error:
        error.add_note(
            f"transform_partitions: in {where}. Row numbers in the message count from "
            "0 within it."
        )
        raise
