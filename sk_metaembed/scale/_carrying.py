"""A fitted pipeline on its way to workers: once a process, small or by reference."""

import atexit
import os
import pickle
import secrets
import shutil
import threading
from collections import OrderedDict
from functools import lru_cache
from pathlib import Path
from tempfile import mkdtemp

from ..sequences._new_file import beside, cache_home
from ._fingerprint import pipeline_fingerprint

SMALL = 2**20  # bytes: what a graph takes along
_KEPT = 4  # pipelines that a process has at hand

_loaded = OrderedDict()
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
        with beside(path) as part:
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
