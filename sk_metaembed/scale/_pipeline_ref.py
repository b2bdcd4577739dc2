"""A fitted pipeline in other processes, each of which reads it once."""

import os
import secrets
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import joblib

from .._io._atomic import atomic_path
from ._fingerprint import pipeline_fingerprint

MAX_INLINE_SIZE = 2**20  # bytes of a pickle that is not written to a file


class PipelineRef(NamedTuple):
    """A pipeline's fingerprint, and its pickle or the path of a file."""

    key: str
    data: bytes | None
    path: str | None

    def __dask_tokenize__(self):
        return PipelineRef.__name__, self.key

    def __hash__(self):
        return hash(self.key)

    def __eq__(self, other):
        return self.key == other.key

    def pipeline(self):
        """Return the pipeline, which each process reads once."""
        return _read(self)


def _cloudpickle():
    """Return the module that pickles functions of a script, as dask and joblib do."""
    try:
        import cloudpickle
    except ImportError:  # joblib contains it, except as some distributions package it
        from joblib.externals import cloudpickle
    return cloudpickle


@lru_cache(maxsize=4)
def _read(reference):
    if reference.path is None:
        return _cloudpickle().loads(reference.data)
    if not os.path.exists(reference.path):
        raise FileNotFoundError(
            f"The file {reference.path} of the pipeline does not exist, or this worker "
            "cannot read its folder. Pass folder= with one that all workers share."
        )
    # Mapped, so that a machine holds one copy of each large array.
    return joblib.load(reference.path, mmap_mode="r")


def make_reference(pipeline, folder=None):
    """Return a PipelineRef to a pipeline in its current state.

    A pipeline of more than 1 MiB is written to `folder`, if there is one and it can be
    pickled without its code.

    >>> from sklearn.preprocessing import StandardScaler
    >>> reference = make_reference(StandardScaler().fit([[1.0], [3.0]]))
    >>> len(reference.data) < 1000, reference.pipeline().mean_
    (True, array([2.]))
    """
    fingerprint = pipeline_fingerprint(pipeline)
    key = fingerprint or secrets.token_hex(20)
    data = _cloudpickle().dumps(pipeline)
    if folder is None or fingerprint is None or len(data) <= MAX_INLINE_SIZE:
        return PipelineRef(key, data, None)
    folder = Path(folder).expanduser().absolute()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"pipeline-{key}"
    if not path.exists():
        with atomic_path(path) as part:
            joblib.dump(pipeline, part)
    return PipelineRef(key, None, str(path))
