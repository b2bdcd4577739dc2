"""Run a fitted pipeline over a source in batches, in this process or on workers."""

from __future__ import annotations

import functools
import secrets
import time
import zlib
from collections.abc import Sequence
from contextlib import closing
from itertools import count, islice, zip_longest
from pathlib import Path
from typing import Any, Literal, NamedTuple

import joblib
import numpy as np
from joblib import effective_n_jobs

from .._core._named_errors import names_errors
from .._core._optional import progress_bar
from .._core._typing import StrPath
from ._columns import read_columns
from ._fingerprint import cloudpickle, pipeline_fingerprint
from ._outputs import NpyOutput, ParquetOutput
from ._partial_output import PartialOutput
from ._results import NAMES, Method, Task, check_options, explain_rows
from ._sources import open_source

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


@names_errors
def transform_in_batches(
    pipeline: Any,
    source: Any,
    out: StrPath,
    *,
    method: Method = "transform",
    batch_size: int = 10_000,
    column: str | Sequence[str] | None = None,
    keep: str | Sequence[str] = (),
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
        ``.parquet`` for a table with a row group per batch: vectors are one column
        "vector" of lists of equal length, as vector stores and `datasets` read them,
        and scores of classes have a column per class, such as "probability_spam";
        scores of pairs of classes (``decision_function_shape="ovo"``) are lists. An
        existing file is replaced at the end, in one step.
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
        Columns of the source to write to the Parquet file, before the pipeline's.
        A named index of a DataFrame counts as a column.
    dtype : {"float16", "float32", "float64", None}, default="float32"
        Type of floats in the output; None for the type that the pipeline returns.
        Predictions are not converted.
    n_jobs : int, default=None
        Number of processes that compute batches. None for this process, which is
        faster if the steps of the pipeline use all cores anyway, as with static
        vectors. Each worker has up to eight batches in flight.
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
        have different types, or a number is too large for `dtype`; if an option is
        invalid.
    OSError
        If the disk is full or the directory is not writable.
    Exception
        Errors of the pipeline, for example about a row that is missing, have a note
        with the rows of the batch.

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
    options = {"method": method, "dtype": dtype}
    sizes = {"batch_size": batch_size, "n_jobs": n_jobs}
    check_options("transform_in_batches", pipeline, **options, **sizes)
    column, keep = read_columns(column, keep)
    task = Task(pipeline, method, dtype)
    output = _output_for(out, keep, task)
    opened = open_source(source, column, keep)
    identity = {
        "version of the format": 6,
        "version of pyarrow or numpy": output.version,
        "pipeline": pipeline_fingerprint(pipeline),
        "source": opened.identity(),
        "batch_size": int(batch_size),
        "column": column,
        "keep": keep,
        **options,
    }
    partial = PartialOutput(out, identity, resume, output)
    try:
        resumed = partial.n_rows
        _run(task, opened, partial, int(batch_size), n_jobs, verbose)
        if opened.identity() != identity["source"]:
            raise ValueError(
                f"{opened.name} was modified while being read, so the output would "
                "mix two versions. Call it again with resume=False."
            )
        partial.finish()
    except OSError as error:
        if error.errno is not None:
            error.add_note(
                f"transform_in_batches: the {partial.n_rows:,} finished rows of {out} "
                f"are kept in {partial.folder}. Fix the cause, for example free some "
                "space, and call it again to resume."
            )
        raise
    finally:
        partial.close()
    return StreamResult(partial.n_rows, [out], time.perf_counter() - start, resumed)


def _output_for(out, keep, task):
    if out.suffix == ".npy":
        return NpyOutput(out, keep)
    if out.suffix in (".parquet", ".pq"):
        return ParquetOutput(out, NAMES[task.method], task.class_columns())
    raise ValueError(f"The suffix of out must be .npy or .parquet, got {out.name!r}.")


class Batch(NamedTuple):
    """Rows that are passed to the pipeline together.

    Parameters
    ----------
    start : int
        Number of the first row in the source, from 0.
    rows : list, TokenSequences or DataFrame
        The input of the pipeline.
    copied : dict of str to list or pyarrow array
        Columns to be copied to the output.
    digest : int or None
        Checksum of the rows, None if they are read from a file.
    """

    start: int
    rows: Any
    copied: dict
    digest: int | None


def _run(task, source, partial, batch_size, n_jobs, verbose):
    """Compute and write every batch that is not finished."""
    batches = _unfinished(source, batch_size, partial.chunks)
    if effective_n_jobs(n_jobs) == 1:
        computed = ((batch, _compute(task, batch)) for batch in batches)
    else:
        computed = _compute_on_workers(task, batches, n_jobs, partial.folder)
    bar = progress_bar(
        total=source.count() if verbose else None,
        initial=partial.n_rows,
        unit=" rows",
        desc="transform_in_batches",
        disable=not verbose,
    )
    with closing(computed), bar:
        for batch, values in computed:
            with _explain_rows(batch):
                partial.add(values, batch.copied, batch.digest)
            bar.update(len(values))


def _unfinished(source, size, finished):
    """Yield a Batch for every `size` rows of a source that are not finished.

    `finished` are the Chunks of the others. The rows of a file are known by its
    identity; other rows are read again and compared.
    """
    pairs = zip_longest(source.read(size), finished)
    for start, (read, chunk) in zip(count(0, size), pairs):
        rows, copied = read or ((), {})
        digest = None if source.files else _digest_rows(rows)
        if chunk is None:
            yield Batch(start, rows, copied, digest)
        elif (chunk.rows, chunk.digest) != (len(rows), digest):
            raise ValueError(
                f"{source.name} has other rows than before among rows {start:,} to "
                f"{start + chunk.rows - 1:,}. To resume, it must return the same rows "
                "in the same order, from the first one on. Pass resume=False to start "
                "over."
            )


def _digest_rows(rows):
    """Return a checksum of texts, token lists or a DataFrame."""
    if hasattr(rows, "codes"):  # a TokenSequences
        arrays = (rows.texts, rows.missing)
        rows = [rows.to_list(), *(np.asarray(array).tolist() for array in arrays)]
    elif hasattr(rows, "columns"):
        rows = rows.to_numpy().tolist()
    else:
        rows = [row.tolist() if hasattr(row, "tolist") else row for row in rows]
    return zlib.crc32(repr(rows).encode())


def _compute(task, batch):
    """Return the array of the pipeline for a Batch."""
    if not len(batch.rows):
        return task.compute_empty()
    with _explain_rows(batch):
        return task.compute(batch.rows)


def _explain_rows(batch):
    stop = batch.start + len(batch.rows) - 1
    return explain_rows(f"rows {batch.start:,} to {stop:,} of the source", batch.start)


def _compute_on_workers(task, batches, n_jobs, folder):
    """Yield each batch and its result, computed by joblib's workers."""
    path = folder / f"pipeline-{secrets.token_hex(8)}"
    path.write_bytes(cloudpickle.dumps(task))
    run = joblib.delayed(_compute_on_worker)
    window_size = _BATCHES_PER_WORKER * effective_n_jobs(n_jobs)
    with joblib.Parallel(n_jobs=n_jobs, return_as="generator") as parallel:
        # In windows: joblib computes ahead even if results are written slowly.
        while window := list(islice(batches, window_size)):
            results = parallel(run(path, batch._replace(copied={})) for batch in window)
            yield from zip(window, results, strict=True)


def _compute_on_worker(path, batch):
    return _compute(_read_task(path), batch)


@functools.lru_cache(maxsize=1)
def _read_task(path):
    return cloudpickle.loads(path.read_bytes())
