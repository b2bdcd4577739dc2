"""From batches to encoded rows: in this process, or on joblib's workers."""

import pickle
import secrets
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

import joblib

from ._arrow import packed
from ._results import compute, empty

_BATCHES_A_WORKER = 8  # in flight: what memory is bounded by


class Encoded(NamedTuple):
    """A batch as the output holds it."""

    rows: int
    data: Any
    note: str | None
    cursor: dict
    digest: int | None


class Task(NamedTuple):
    """What is done with every batch."""

    method: str
    dtype: str | None
    layout: str
    output: Any

    def result(self, pipeline, batch):
        """Return what the pipeline gives for a batch."""
        with naming(batch):
            return compute(pipeline, self.method, self.dtype, batch.rows, self.layout)

    def empty(self, pipeline):
        """Return what the pipeline would give for no rows."""
        return empty(pipeline, self.method, self.dtype, self.layout)

    def encoded(self, spec, result, batch):
        """Return a result as the output holds it."""
        with naming(batch):
            data, note = self.output.encode(spec, result, batch.kept)
        return Encoded(len(batch.rows), data, note, batch.cursor, batch.digest)


@contextmanager
def naming(batch):
    """Add to an error which rows of the source it is about."""
    try:
        yield
    except Exception as error:
        error.add_note(
            f"transform_in_batches: in rows {batch.start:,} to {batch.stop - 1:,} of "
            f"the source ({batch.where}). Rows that the message numbers count from "
            f"{batch.start:,} on."
        )
        raise


def run_here(task, pipeline, spec, batches, commit):
    """Run batches in this process, writing one while the next is computed.

    Parameters
    ----------
    task : Task
    pipeline : estimator
    spec : dict
        What all batches have in common.
    batches : iterable of Batch
    commit : callable
        Gets each Encoded, in order.
    """
    with ThreadPoolExecutor(1) as thread:
        written = None
        for batch in batches:
            result = task.result(pipeline, batch)
            if written is not None:
                written.result()
            written = thread.submit(_write, commit, task, spec, result, batch)
        if written is not None:
            written.result()


def _write(commit, task, spec, result, batch):
    commit(task.encoded(spec, result, batch))


def run_on_workers(task, pipeline, spec, batches, commit, *, n_jobs, folder):
    """Run batches on joblib's workers, which read the pipeline from a file once.

    Parameters
    ----------
    task, pipeline, spec, batches, commit
        As for `run_here`.
    n_jobs : int
    folder : Path
        Where the file of the pipeline is put for the while.
    """
    pipeline, path = _filed(pipeline, folder)
    width = _BATCHES_A_WORKER * joblib.effective_n_jobs(n_jobs)
    batches = iter(batches)
    try:
        with joblib.Parallel(n_jobs=n_jobs, return_as="generator") as parallel:
            # A window at a time: joblib goes on computing whether or not what is
            # finished can be written as fast.
            while window := list(islice(batches, width)):
                found = parallel(
                    joblib.delayed(_on_worker)(task, pipeline, spec, _packed(batch))
                    for batch in window
                )
                for encoded in found:
                    commit(encoded)
    finally:
        if path is not None:
            path.unlink(missing_ok=True)


def _filed(pipeline, folder):
    """Return the name of a file with the pipeline, or itself if none can be made."""
    path = folder / f"pipeline-{secrets.token_hex(6)}"
    try:
        joblib.dump(pipeline, path)
    except (pickle.PicklingError, AttributeError, TypeError):  # a lambda, for example
        path.unlink(missing_ok=True)
        return pipeline, None
    return str(path), path


def _packed(batch):
    """Return a batch that is pickled without the rest of its source."""
    if hasattr(batch.kept, "schema"):  # a Table of Arrow's
        return batch._replace(kept=packed(batch.kept))
    return batch


def _on_worker(task, pipeline, spec, batch):
    if isinstance(pipeline, str):
        pipeline = _loaded(pipeline)
    encoded = task.encoded(spec, task.result(pipeline, batch), batch)
    return encoded._replace(data=bytes(encoded.data))


@lru_cache(maxsize=1)
def _loaded(path):
    # Mapped, so that a machine holds one copy of each large array.
    return joblib.load(path, mmap_mode="r")
