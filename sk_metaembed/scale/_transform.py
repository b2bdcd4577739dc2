"""Run a fitted pipeline over a source in batches, in this process or on workers."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import joblib
from joblib import effective_n_jobs

from .._core._checked_parameters import is_integer
from ._arrow import compact
from ._batches import accepts_missing, pipeline_rows, unfinished
from ._fingerprint import pipeline_fingerprint
from ._outputs import NpyOutput, ParquetOutput
from ._partial_output import PartialOutput
from ._pipeline_ref import PipelineRef, make_reference
from ._results import check_method, compute, compute_empty, explain_rows
from ._sources import column_list, open_source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._core._typing import StrPath
    from ._results import Method

_LAYOUTS = ("vector", "columns")
_BATCHES_PER_WORKER = 8  # in flight, which bounds memory


class StreamResult(NamedTuple):
    """Summary of a call of `transform_in_batches`.

    A named tuple for logs, and to check whether anything was left to compute. The rows
    are in the files.

    Parameters
    ----------
    rows : int
        Number of rows of the output.
    files : list of Path
        The output.
    seconds : float
        Wall time of this call.
    resumed : int
        Number of rows that an earlier, interrupted call had finished.

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
    files: list[Path]
    seconds: float
    resumed: int


def transform_in_batches(
    pipeline: Any,
    source: Any,
    out: StrPath,
    *,
    method: Method = "transform",
    batch_size: int = 10_000,
    column: str | Sequence[str] | None = None,
    keep: str | Sequence[str] = (),
    layout: Literal["vector", "columns"] = "vector",
    dtype: Literal["float16", "float32", "float64"] | None = "float32",
    n_jobs: int | None = None,
    resume: bool = True,
    verbose: int = 0,
) -> StreamResult:
    """Run a fitted pipeline over any number of documents and write the result.

    Use it for corpora larger than memory: a batch is read, computed and written before
    the next one, in the order of the source. After an interruption by Ctrl-C, a full
    disk or a kill, the same call resumes after the last finished batch, and the file
    is the same, byte for byte, as without the interruption.

    Parameters
    ----------
    pipeline : estimator
        A fitted estimator that returns one row per document.
    source : iterable, path-like, DataFrame, TextStream, or pyarrow object
        The documents: an iterable of texts or token lists, including generators; the
        path of a text file with a document per line, compressed or not; of a
        JSON-lines file (``.jsonl``), a Parquet or Arrow file; of a folder of files of
        one kind; a pandas or polars DataFrame; a pyarrow Table, RecordBatch, Dataset
        or RecordBatchReader.
    out : path-like
        ``.npy`` for a single array, which ``np.load(out, mmap_mode="r")`` maps;
        ``.parquet`` for a table with a row group per batch. An existing file is
        replaced at the end, in one step.
    method : str, default="transform"
        The method of the pipeline to call: "transform", "predict", "predict_proba",
        "predict_log_proba" or "decision_function".
    batch_size : int, default=10_000
        Documents per batch, which bounds memory. Larger batches are faster with static
        vectors.
    column : str or list of str, default=None
        The column with the texts, for sources with columns. With a list of names, the
        pipeline receives DataFrames of these columns.
    keep : str or list of str, default=()
        Columns of the source to copy to the Parquet file, before those of the pipeline.
        A named index of a DataFrame counts as a column.
    layout : {"vector", "columns"}, default="vector"
        Layout of vectors in Parquet: one column "vector" ("probability", ...) of lists
        of equal length, as vector stores and `datasets` read them; or one column of
        numbers per name in ``get_feature_names_out``.
    dtype : {"float16", "float32", "float64", None}, default="float32"
        Type of floats in the output; None for the type that the pipeline returns.
        Predictions are not converted.
    n_jobs : int, default=None
        Number of processes that compute batches. None for this process and a thread
        that writes, which is faster if the steps of the pipeline use all cores anyway,
        as with static vectors. Each worker has up to eight batches in flight.
    resume : bool, default=True
        Whether to continue with what an earlier call finished; it is discarded
        otherwise.
    verbose : int, default=0
        Whether to show a progress bar over the rows.

    Returns
    -------
    StreamResult
        ``rows``, ``files``, ``seconds`` and ``resumed``.

    Raises
    ------
    FileNotFoundError
        If the source does not exist.
    ValueError
        If the output was started with another pipeline, source or option; if batches
        have different types; if an option is invalid.
    TypeError
        If a row is neither a text nor a token list, or is missing and no step of the
        pipeline has ``missing="empty"``. The message gives its number in the source,
        from 0.
    OSError
        If the disk is full or the directory is not writable.

    See Also
    --------
    TextStream : Train Word2Vec and fastText on such a source.

    Notes
    -----
    Finished batches are appended to a file in ``.NAME.parts``, a folder next to `out`,
    with checksums; from the first batch that is corrupt there, batches are computed
    again. A Parquet file is written from them at the end, so that twice its size is
    needed on the disk.

    The pipeline is identified by a digest of all that it has learned. To resume in
    another process, load the fitted pipeline from a file instead of fitting it again,
    which rarely gives the same bits. A file is identified by its size, its modification
    time and its first and last bytes; an iterable by digests of its rows, which are
    read again. Resuming reads a file from its start, without computing anything.

    State that a pipeline carries from one call to the next, such as that of an
    `ElmoEmbedding` with ``stateful=True``, depends on the batches and should be off.

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
    start = time.perf_counter()
    out = Path(out).expanduser()
    check_method(pipeline, method, dtype, "transform_in_batches")
    _check_options(batch_size, layout, n_jobs)
    column = column_list(column, "column", "transform_in_batches")
    keep = column_list(keep, "keep", "transform_in_batches")
    output = _output_for(out, layout)
    opened = open_source(source, column, keep, accepts_missing(pipeline))
    output.check(keep)
    identity = {
        "pipeline": pipeline_fingerprint(pipeline),
        "source": opened.identity(),
        "method": method,
        "batch_size": int(batch_size),
        "keep": keep,
        "layout": layout,
        "dtype": dtype,
        "column": column,
        "version of pyarrow or numpy": output.version,
    }
    task = Task(pipeline, method, dtype, layout, output)
    partial = PartialOutput(out, identity, resume, output)
    try:
        if identity["pipeline"] is None:
            partial.recheck_last()
        resumed = partial.n_rows
        _run(task, opened, partial, int(batch_size), n_jobs, verbose)
        if opened.identity() != identity["source"]:
            raise ValueError(
                f"transform_in_batches: {opened.name} was modified while being read, "
                "so the output would mix two versions. Call it again with resume=False."
            )
        partial.finish()
        rows = partial.n_rows
    finally:
        partial.close()
    return StreamResult(rows, [out], time.perf_counter() - start, resumed)


def _check_options(batch_size, layout, n_jobs):
    if not is_integer(batch_size) or batch_size < 1:
        raise ValueError(
            f"transform_in_batches: batch_size must be an int of at least 1, got "
            f"{batch_size!r}."
        )
    if layout not in _LAYOUTS:
        raise ValueError(
            f"transform_in_batches: layout must be one of {_LAYOUTS}, got {layout!r}."
        )
    if not (n_jobs is None or is_integer(n_jobs) and n_jobs):
        raise ValueError(
            "transform_in_batches: n_jobs must be None or an int other than 0, got "
            f"{n_jobs!r}."
        )


def _output_for(out, layout):
    if out.suffix == ".npy":
        return NpyOutput(out)
    if out.suffix in (".parquet", ".pq"):
        return ParquetOutput(out, layout)
    raise ValueError(
        "transform_in_batches: the suffix of out must be .npy or .parquet, got "
        f"{out.name!r}."
    )


class Task(NamedTuple):
    """What is computed for every batch, by a pipeline or a PipelineRef."""

    pipeline: Any
    method: str
    dtype: str | None
    layout: str
    output: Any

    def result(self, batch):
        """Return the Result of the pipeline for a batch."""
        pipeline = self.pipeline
        if isinstance(pipeline, PipelineRef):
            pipeline = pipeline.pipeline()
        with _explain_rows(batch):
            rows = pipeline_rows(batch.rows, pipeline)
            return compute(pipeline, self.method, self.dtype, rows, self.layout)

    def empty_result(self):
        """Return the Result of the pipeline for no rows."""
        note = (
            "transform_in_batches: the source has no rows, and the pipeline does not "
            "accept an empty document, so the columns are unknown."
        )
        options = self.pipeline, self.method, self.dtype
        return compute_empty(*options, ([""], [[]]), note)

    def encode(self, spec, result, batch):
        """Return a result in the format of the output."""
        with _explain_rows(batch):
            return self.output.encode(spec, result, batch.copied)


def _explain_rows(batch):
    stop = batch.start + len(batch.rows) - 1
    where = f"rows {batch.start:,} to {stop:,} of the source ({batch.where})"
    return explain_rows("transform_in_batches", where, batch.start)


def _run(task, source, partial, batch_size, n_jobs, verbose):
    """Compute and write every batch that is not finished.

    A thread writes each batch while the next one is computed.
    """
    from tqdm import tqdm

    batches = unfinished(source, batch_size, partial.finished)
    if partial.spec is None:
        _start(task, source, partial, next(batches, (None, None)))
    if effective_n_jobs(n_jobs) == 1:
        encoded = _encode_here(task, partial.spec, batches)
    else:
        encoded = _encode_on_workers(task, partial, batches, n_jobs)
    bar = tqdm(
        total=source.n_rows if verbose else None,
        initial=partial.n_rows,
        unit=" rows",
        desc="transform_in_batches",
        disable=not verbose,
    )
    with closing(encoded), bar, ThreadPoolExecutor(1) as thread:
        writing = None
        for rows, data, digest in encoded:
            if writing is not None:
                writing.result()
            writing = thread.submit(partial.add, rows, data, digest)
            bar.update(rows)
        if writing is not None:
            writing.result()


def _start(task, source, partial, first):
    """Start the output from the first batch and its digest, or from no rows (None)."""
    batch, digest = first
    if batch is None:
        result, copied = task.empty_result(), source.no_rows()
    else:
        result, copied = task.result(batch), batch.copied
    partial.start(task.output.spec(result, copied))
    if batch is not None:
        data = task.encode(partial.spec, result, batch)
        partial.add(len(batch.rows), data, digest)


def _encode_here(task, spec, batches):
    """Yield the number of rows, the bytes and the digest of each batch."""
    for batch, digest in batches:
        yield len(batch.rows), task.encode(spec, task.result(batch), batch), digest


def _encode_on_workers(task, partial, batches, n_jobs):
    """Yield the same as `_encode_here`, computed by joblib's workers."""
    task = task._replace(pipeline=make_reference(task.pipeline, partial.folder))
    run = joblib.delayed(_encode_detached)
    window_size = _BATCHES_PER_WORKER * effective_n_jobs(n_jobs)
    with joblib.Parallel(n_jobs=n_jobs, return_as="generator") as parallel:
        # In windows: joblib computes ahead even if results are written slowly.
        while window := list(islice(batches, window_size)):
            tasks = (run(task, partial.spec, _detached(batch)) for batch, _ in window)
            for (batch, digest), data in zip(window, parallel(tasks), strict=True):
                yield len(batch.rows), data, digest


def _detached(batch):
    """Return a batch that is pickled without the rest of its source."""
    if hasattr(batch.copied, "schema"):  # a pyarrow Table
        return batch._replace(copied=compact(batch.copied))
    return batch


def _encode_detached(task, spec, batch):
    return bytes(task.encode(spec, task.result(batch), batch))
