"""transform_in_batches: a pipeline over more documents than memory holds.

From batches to encoded rows: in this process, or on joblib's workers.
"""

import pickle
import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import joblib
from joblib import effective_n_jobs

from .._core._parameters import is_integer
from ._arrow import packed
from ._batches import accepts_missing, other_rows
from ._fingerprint import pipeline_fingerprint
from ._outputs import NpyOutput, ParquetOutput
from ._results import check_method, compute, empty
from ._resume import Sidecar
from ._sources import listed, open_source

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


_LAYOUTS = ("vector", "columns")
_DTYPES = ("float16", "float32", "float64", None)


class StreamResult(NamedTuple):
    """What `transform_in_batches` wrote.

    A named tuple: for a log, and to see whether anything was left to do. The rows
    themselves are in the files alone.

    Parameters
    ----------
    rows : int
        Rows of the output.
    files : list of Path
        The output.
    seconds : float
        Wall time of this call.
    resumed : int
        How many of the rows an earlier call, that was interrupted, had finished.

    See Also
    --------
    transform_in_batches : Returns it.

    Examples
    --------
    >>> from sk_metaembed.scale import StreamResult
    >>> StreamResult(rows=10, files=["out.npy"], seconds=0.5, resumed=0).rows
    10
    """

    rows: int
    files: list
    seconds: float
    resumed: int


def transform_in_batches(
    pipeline,
    source,
    out,
    *,
    method="transform",
    batch_size=10_000,
    column=None,
    keep=(),
    layout="vector",
    dtype="float32",
    n_jobs=None,
    resume=True,
    verbose=0,
):
    """Run a fitted pipeline over any number of documents, and write what it gives.

    For corpora larger than memory: a batch is read, computed and written before the
    next, in the order of the source. If it is interrupted, by Ctrl-C, a full disk or
    a kill, the same call goes on behind the last batch that was finished, and the file
    that comes out is the same, byte for byte, as without the interruption.

    Parameters
    ----------
    pipeline : estimator
        Fitted; gives a row a document.
    source : iterable, path-like, DataFrame, TextStream, or of pyarrow
        The documents: an iterable of texts or token lists, a generator too; the path
        of a text file, a document a line, compressed or not; of a JSON-lines file
        (``.jsonl``), a Parquet or Arrow file; of a folder of files of one kind; a
        pandas or polars DataFrame; a pyarrow Table, RecordBatch, Dataset or
        RecordBatchReader.
    out : path-like
        ``.npy`` for one array, to be mapped by ``np.load(out, mmap_mode="r")``;
        ``.parquet`` for a table with a row group a batch. What is there is replaced in
        one step at the end.
    method : str, default="transform"
        What of the pipeline is called: "transform", "predict", "predict_proba",
        "predict_log_proba" or "decision_function".
    batch_size : int, default=10_000
        Documents a batch: memory is bounded by what a batch takes. Larger ones are
        quicker with static vectors.
    column : str or list of str, default=None
        The column with the texts, where the source has columns. With a list of names
        the pipeline gets DataFrames of these columns.
    keep : str or list of str, default=()
        Columns that are carried along into Parquet, before what the pipeline gives; a
        named index of a DataFrame too.
    layout : {"vector", "columns"}, default="vector"
        In Parquet: one column "vector" ("probability", ...) of lists of equal length,
        as vector stores and `datasets` read them; or a column of numbers for each name
        that ``get_feature_names_out`` gives, for tables.
    dtype : {"float16", "float32", "float64", None}, default="float32"
        What floats are written as; None for what the pipeline gives. Predictions
        stay as they are.
    n_jobs : int, default=None
        Processes that batches are computed in. None for this one, and a thread that
        writes, which is quicker where the pipeline's steps use all cores anyway, such
        as with static vectors. Each worker has up to eight batches under way.
    resume : bool, default=True
        Go on with what an earlier call left. False removes it and begins anew.
    verbose : int, default=0
        Show a progress bar over the rows.

    Returns
    -------
    StreamResult
        ``rows``, ``files``, ``seconds`` and ``resumed``.

    Raises
    ------
    FileNotFoundError
        If there is no such source.
    ValueError
        If the output was begun with another pipeline, source or option; if batches
        are not alike; if an option has no such value.
    TypeError
        If a row is neither text nor token list, or it is missing and no step of the
        pipeline has ``missing="empty"``; the message numbers it from 0 over the whole
        source.
    OSError
        If the disk is full or the folder cannot be written to.

    See Also
    --------
    TextStream : Trains Word2Vec and fastText on such a source.

    Notes
    -----
    What is finished lies in a folder beside `out`, ``.NAME.parts``, as the bytes that
    the file will have, and a journal with a checksum for each batch. A batch that is
    damaged there is computed again. The pipeline is known by a digest of all that it
    has learned: to go on in another process, load the fitted one from a file rather
    than fit it again, which seldom gives the same bits. A file is known by its size,
    its time of change and its ends; an iterable by digests of its rows, which are gone
    through again.

    What a pipeline keeps from one call to the next, such as an `ElmoEmbedding` with
    ``stateful=True``, depends on the batches, and should be off.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sk_metaembed import Pooling, PretrainedEmbedding, Tokenizer, WordVectors
    >>> from sk_metaembed.scale import transform_in_batches
    >>> vectors = WordVectors.from_arrays(["tea", "milk"], np.eye(2))
    >>> pipe = make_pipeline(Tokenizer(), PretrainedEmbedding(vectors), Pooling())
    >>> pipe = pipe.fit(["tea and milk"])
    >>> folder = tempfile.TemporaryDirectory()
    >>> out = Path(folder.name, "vectors.npy")
    >>> texts = (text for text in ["tea", "milk", "tea, milk"])
    >>> transform_in_batches(pipe, texts, out, batch_size=2).rows
    3
    >>> np.load(out, mmap_mode="r")[2]
    memmap([0.5, 0.5], dtype=float32)
    >>> folder.cleanup()
    """
    begun = time.perf_counter()
    out = Path(out).expanduser()
    _check_options(batch_size, layout, dtype, n_jobs)
    column = listed(column, "column", "transform_in_batches")
    keep = listed(keep, "keep", "transform_in_batches")
    check_method(pipeline, method)
    output = _output_of(out, layout)
    opened = open_source(source, column, keep, accepts_missing(pipeline))
    output.check(keep)
    options = {"method": method, "batch_size": int(batch_size), "keep": keep}
    options |= {"layout": layout, "dtype": dtype, "column": column}
    identity = {
        "pipeline": pipeline_fingerprint(pipeline),
        "source": opened.identity(),
        **options,
        "release of pyarrow or numpy": output.release,
    }
    task = Task(method, dtype, layout, output)
    sidecar = Sidecar(out, identity, resume)
    try:
        if identity["pipeline"] is None:
            sidecar.recheck_last()
        resumed = sidecar.n_rows
        _Run(task, pipeline, opened, sidecar, int(batch_size)).go(n_jobs, verbose)
        _check_unchanged(opened, identity["source"])
        sidecar.finish(output)
    finally:
        sidecar.close()
    seconds = time.perf_counter() - begun
    return StreamResult(sidecar.n_rows, [out], seconds, resumed)


class _Run:
    """One go over a source, from where the sidecar ends."""

    def __init__(self, task, pipeline, source, sidecar, batch_size):
        self._task, self._pipeline, self._source = task, pipeline, source
        self._sidecar, self._batch_size = sidecar, batch_size

    def go(self, n_jobs, verbose):
        """Compute and keep every batch that is not finished."""
        from tqdm import tqdm

        sidecar = self._sidecar
        self._bar = tqdm(
            total=self._source.n_rows if verbose else None,
            initial=sidecar.n_rows,
            unit=" rows",
            desc="transform_in_batches",
            disable=not verbose,
        )
        with self._bar:
            batches = iter(self._source.batches(self._batch_size, sidecar.cursor))
            if sidecar.ended:
                return self._check_end(batches)
            if sidecar.spec is None:
                self._first(next(batches, None))
            if effective_n_jobs(n_jobs) == 1:
                run_here(
                    self._task, self._pipeline, sidecar.spec, batches, self._commit
                )
            else:
                run_on_workers(
                    self._task,
                    self._pipeline,
                    sidecar.spec,
                    batches,
                    self._commit,
                    n_jobs=n_jobs,
                    folder=sidecar.folder,
                )

    def _check_end(self, batches):
        """Refuse a source that goes on where it ended before."""
        for more in batches:
            raise other_rows(self._source.name, more.start, len(more.rows))

    def _first(self, batch):
        """Learn from the first batch, or from none, what all have in common."""
        task = self._task
        if batch is None:
            result = task.empty(self._pipeline)
            kept = self._source.no_rows()
        else:
            result, kept = task.result(self._pipeline, batch), batch.kept
        spec = task.output.spec(result, kept)
        self._sidecar.describe(spec, task.output.head(spec))
        if batch is not None:
            self._commit(task.encoded(self._sidecar.spec, result, batch))

    def _commit(self, encoded):
        self._sidecar.add(*encoded)
        self._bar.update(encoded.rows)


def _check_options(batch_size, layout, dtype, n_jobs):
    if not is_integer(batch_size) or batch_size < 1:
        raise ValueError(
            f"transform_in_batches: batch_size must be an int of 1 or more, got "
            f"{batch_size!r}."
        )
    if layout not in _LAYOUTS:
        raise ValueError(
            f"transform_in_batches: layout must be one of {_LAYOUTS}, got {layout!r}."
        )
    if dtype not in _DTYPES:
        raise ValueError(
            f"transform_in_batches: dtype must be one of {_DTYPES}, got {dtype!r}."
        )
    if not (n_jobs is None or is_integer(n_jobs) and n_jobs):
        raise ValueError(
            "transform_in_batches: n_jobs must be None, or an int that is not 0, got "
            f"{n_jobs!r}."
        )


def _output_of(out, layout):
    if out.suffix == ".npy":
        return NpyOutput(out)
    if out.suffix in (".parquet", ".pq"):
        return ParquetOutput(out, layout)
    raise ValueError(
        f"transform_in_batches writes .npy and .parquet, got {out.name!r}. The suffix "
        "says which."
    )


def _check_unchanged(source, identity):
    if source.identity() != identity:
        raise ValueError(
            f"transform_in_batches: {source.name} was changed while it was read, so "
            "that the rows are of no one state of it. Run it again with resume=False."
        )
