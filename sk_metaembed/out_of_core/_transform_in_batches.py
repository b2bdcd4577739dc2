"""Run a fitted pipeline over a source in batches, and write its output to a file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from io import BytesIO
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from .._core._errors import prefix_errors
from .._core._optional import progress_bar
from .._core._sklearn import (
    COUNT,
    StrOptions,
    parameter_of_pairs,
    validate_parameter_constraints,
)
from .._core._typing import StrPath
from .._io._atomic import atomic_write
from .._io._compression import read_lines

Method: TypeAlias = Literal[
    "transform", "predict", "predict_proba", "predict_log_proba", "decision_function"
]
_COLUMN_OF_METHOD = {
    "transform": "vector",
    "predict": "prediction",
    "predict_proba": "probability",
    "predict_log_proba": "log_probability",
    "decision_function": "decision",
}
_CONSTRAINTS = {
    "method": [StrOptions(set(_COLUMN_OF_METHOD))],
    "batch_size": [COUNT],
    "column": [str, list, None],
    "keep": [str, list, tuple],
    "dtype": [StrOptions({"float16", "float32", "float64"}), None],
    "verbose": ["verbose"],
}
_JSON = {".jsonl", ".ndjson", ".json"}
_ARROW = {".parquet": "parquet", ".pq": "parquet", ".arrow": "ipc", ".feather": "ipc"}
_OTHER_FORMATS = {".csv", ".tsv", ".xlsx", ".xls", ".orc", ".zip", ".npy", ".pkl"}


@prefix_errors
def transform_in_batches(
    pipeline: Any,
    source: Any,
    out: StrPath,
    *,
    method: Method = "transform",
    batch_size: int = 10_000,
    column: str | list[str] | None = None,
    keep: str | Sequence[str] = (),
    dtype: Literal["float16", "float32", "float64"] | None = "float32",
    verbose: int = 0,
) -> int:
    """Run a fitted pipeline over any number of documents and write the result.

    Use it for corpora larger than memory: a batch is read, computed and written before
    the next one, in the order of the source. The output appears under its name when
    it is complete, so that a list of files can be processed again after an
    interruption: skip those that have an output. For several processes or machines,
    use dask, Ray or Spark.

    Parameters
    ----------
    pipeline : estimator
        A fitted estimator that returns one row per document.
    source : iterable, path-like, DataFrame, or pyarrow Table, Dataset or reader
        The documents: an iterable of texts or token lists, including generators; the
        path of a text file with a document per line, of a JSON-lines file
        (``.jsonl``), either of which may be compressed, of a Parquet or Arrow file, or
        of a folder of files of one of these types; a pandas or polars DataFrame; a
        pyarrow Table, RecordBatch, RecordBatchReader or Dataset, which also reads CSV
        and ORC.
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
        Largest number of documents per batch, which bounds memory. Batches of Parquet
        and Arrow files end with their row groups. Larger batches are faster with static
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
    verbose : int, default=0
        Whether to show a progress bar over the rows.

    Returns
    -------
    int
        The number of rows.

    Raises
    ------
    FileNotFoundError
        If the source does not exist.
    ValueError
        If batches have different types, if a number is too large for `dtype`, if a
        column does not exist, or if an option is invalid.
    OSError
        If the disk is full or the directory is not writable.
    Exception
        Errors of the pipeline, for example about a row that is missing, have a note
        with the rows of the batch.

    See Also
    --------
    sk_metaembed.save : Save the pipeline for other processes.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sk_metaembed import Pooling, PretrainedEmbedding, Tokenizer, WordVectors
    >>> from sk_metaembed.out_of_core import transform_in_batches
    >>> vectors = WordVectors.from_arrays(["tea", "milk"], np.eye(2))
    >>> pipe = make_pipeline(Tokenizer(), PretrainedEmbedding(vectors), Pooling())
    >>> pipe = pipe.fit(["tea and milk"])
    >>> folder = tempfile.TemporaryDirectory()
    >>> out = Path(folder.name, "vectors.npy")
    >>> texts = (text for text in ["tea", "milk", "tea, milk"])
    >>> transform_in_batches(pipe, texts, out, batch_size=2)
    3
    >>> np.load(out, mmap_mode="r")[2]
    memmap([0.5, 0.5], dtype=float32)
    >>> folder.cleanup()
    """
    options: dict[str, Any] = {"method": method, "batch_size": batch_size}
    options |= {"column": column, "keep": keep, "dtype": dtype, "verbose": verbose}
    validate_parameter_constraints(_CONSTRAINTS, options, "transform_in_batches")
    if not hasattr(pipeline, method):
        has = [name for name in _COLUMN_OF_METHOD if hasattr(pipeline, name)]
        raise ValueError(
            f"{type(pipeline).__name__} has no method {method!r}; it has "
            f"{has or 'none of the methods'}. Set method to one of these."
        )
    keep = [keep] if isinstance(keep, str) else list(keep)
    out = Path(out).expanduser()
    batches = _read_batches(source, column, keep, int(batch_size))
    out.parent.mkdir(parents=True, exist_ok=True)
    with (
        progress_bar(unit=" rows", disable=not verbose) as bar,
        atomic_write(out) as file,
        _make_writer(file, out, keep, pipeline, method) as writer,
    ):
        for rows, kept in batches:
            start = writer.n_rows
            try:
                values = _compute(pipeline, method, rows, dtype)
                writer.write(values, kept)
            except Exception as error:
                error.add_note(
                    f"In rows {start:,} to {start + len(rows) - 1:,} of the source. "
                    f"Row numbers in the message count from {start:,}."
                )
                raise
            bar.update(len(values))
    return writer.n_rows


def _read_batches(source, column, keep, size):
    """Return pairs of the input of the pipeline and a dict of columns to copy.

    Each has at most `size` rows. A source without rows has one empty batch.
    """
    is_json = False
    if isinstance(source, str | os.PathLike):
        source, is_json = _open_path(Path(source).expanduser())
    if hasattr(source, "schema") or hasattr(source, "columns"):
        return _read_arrow(source, column, keep, size)
    if isinstance(source, bytes | Mapping | set) or not isinstance(source, Iterable):
        raise TypeError(
            f"The source is {source!r:.60}, of type {type(source).__name__}. Pass an "
            "iterable of texts or token lists, a DataFrame, a pyarrow Table, Dataset "
            "or RecordBatchReader, or the path of a text, JSON-lines, Parquet or Arrow "
            "file or of a folder of them."
        )
    if is_json:
        return _read_records(source, column, keep, size)
    if column or keep:
        raise ValueError(
            f"The source has no columns, but column={column!r} and keep={keep} were "
            "passed. Omit both, or pass JSON-lines, Parquet or a DataFrame."
        )
    if hasattr(source, "codes") or isinstance(source, np.ndarray):
        # A slice of a TokenSequences or of a one-column array has rows of that kind.
        starts = range(0, len(source) or 1, size)
        return ((source[start : start + size], {}) for start in starts)
    # Iterating over an array of pyarrow yields scalars.
    rows = source.to_pylist() if hasattr(source, "to_pylist") else source
    return ((batch, {}) for batch in _slices(rows, size))


def _slices(rows, size):
    """Yield lists of `size` rows, and an empty list if there are no rows."""
    rows = iter(rows)
    batch = list(islice(rows, size))
    yield batch
    while batch := list(islice(rows, size)):
        yield batch


def _json_lines(file):
    """Yield the objects of a JSON-lines file."""
    for number, line in enumerate(read_lines(file), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            if not isinstance(record, dict):
                raise ValueError(f"it is a {type(record).__name__}")
        except ValueError as error:
            raise ValueError(
                f"{file}, line {number:,} is not a JSON object: {error}. Every line "
                'must be an object, such as {"id": 1, "text": "..."}. Read a file with '
                "a single JSON array by pandas.read_json."
            ) from error
        yield record


def _read_records(records, column, keep, size):
    """Return the batches of dicts."""

    def read(batch):
        for record in batch:
            _check_columns(record, column, keep)
        if isinstance(column, str):
            rows = [record[column] for record in batch]
        else:
            from pandas import DataFrame

            rows = DataFrame(batch, columns=column)
        return rows, {name: [record[name] for record in batch] for name in keep}

    return map(read, _slices(records, size))


def _read_arrow(source, column, keep, size):
    """Return the batches of a DataFrame, or of an object of pyarrow."""
    import pyarrow as pa
    from pyarrow import dataset

    is_reader = isinstance(source, pa.RecordBatchReader)
    if not (is_reader or isinstance(source, dataset.Dataset)):
        if hasattr(source, "iloc"):
            source = pa.Table.from_pandas(source, preserve_index=True)
        source = dataset.dataset(pa.table(source))
    _check_columns(source.schema.names, column, keep)
    columns = [column] if isinstance(column, str) else column
    options = {"columns": list(dict.fromkeys([*columns, *keep])), "batch_size": size}
    if is_reader:
        scanner = dataset.Scanner.from_batches(source, **options)
    else:
        scanner = source.scanner(**options, batch_readahead=1, fragment_readahead=1)

    def read(batch):
        if isinstance(column, str):
            rows = batch.column(column).to_pylist()
        else:
            rows = batch.select(column).to_pandas()
        return rows, {name: batch.column(name) for name in keep}

    schema = scanner.projected_schema
    batches = filter(len, scanner.to_batches())
    first = next(batches, pa.RecordBatch.from_pylist([], schema=schema))
    return map(read, chain([first], batches))


def _check_columns(names, column, keep):
    """Raise a ValueError if one of the columns is not among the names."""
    if not column:
        raise ValueError(
            "set column to the name of the one with the texts, or to a list of names "
            f"for a step that accepts DataFrames; the source has {list(names)}."
        )
    for name in [*([column] if isinstance(column, str) else column), *keep]:
        if name not in names:
            raise ValueError(
                f"the source has no column {name!r}; it has {list(names)}."
            )


def _open_path(path):
    """Return the lines or objects of a file or folder, or a Dataset of pyarrow.

    The second result is True for objects.
    """
    if not path.exists():
        raise FileNotFoundError(
            f"There is no file or folder {str(path)!r}. A str is read as a path; pass "
            "texts as a list, [text]."
        )
    files = [path] if path.is_file() else sorted(filter(_is_data, path.rglob("*")))
    suffixes = sorted(set(map(_suffix, files)))
    if len(suffixes) != 1:
        raise ValueError(
            f"The folder {path} contains files of {len(suffixes)} types: {suffixes}. "
            "Pass a folder of one type, or an iterable that reads them."
        )
    (suffix,) = suffixes
    if suffix in _ARROW:
        from pyarrow import dataset

        options = {"format": _ARROW[suffix], "partitioning": "hive"}
        return dataset.dataset(path, **options), False
    if suffix in _OTHER_FORMATS:
        raise ValueError(
            f"Files of type {suffix} cannot be a source: {files[0]}. For text tables, "
            "pass pyarrow.dataset.dataset(path, format='csv'); for others, an iterable "
            "or a DataFrame."
        )
    is_json = suffix in _JSON
    read = _json_lines if is_json else read_lines
    return chain.from_iterable(map(read, files)), is_json


def _is_data(path):
    return path.is_file() and not path.name.startswith((".", "_"))


def _suffix(path):
    """Return the suffix of a file, without the suffix of its compression.

    >>> _suffix(Path("a.jsonl.gz")), _suffix(Path("a.TXT"))
    ('.jsonl', '.txt')
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    while suffixes and suffixes[-1] in (".gz", ".bz2", ".xz"):
        suffixes.pop()
    return "".join(suffixes[-1:])


def _compute(pipeline, method, rows, dtype):
    """Return the output for rows, (n_rows,) or (n_rows, n_columns)."""
    output = getattr(pipeline, method)(rows)
    if hasattr(output, "blocks") or hasattr(output, "codes"):
        raise TypeError(
            f"The pipeline returns {type(output).__name__}, not one row per "
            "document. Add Pooling or another step that returns rows."
        )
    output = output.to_numpy() if hasattr(output, "to_numpy") else output
    values = output.toarray() if hasattr(output, "toarray") else np.asarray(output)
    if values.ndim not in (1, 2) or len(values) != len(rows):
        raise ValueError(
            f"The pipeline's {method} returned an array of shape {values.shape} for "
            f"{len(rows)} rows. It must return one row for each of them."
        )
    if method == "predict" and values.shape[1:] == (1,):
        values = values[:, 0]  # as CatBoost returns labels
    if dtype is not None and values.dtype.kind == "f" and method != "predict":
        with np.errstate(over="ignore"):
            converted = values.astype(dtype, copy=False)
        if np.any(np.isinf(converted) & np.isfinite(values)):
            raise ValueError(
                f"The result has {np.abs(values).max():g}, which is too large for "
                f"dtype={dtype!r}. Pass dtype=None for the pipeline's own."
            )
        return converted
    return values


def _make_writer(file, out, keep, pipeline, method):
    if out.suffix == ".npy":
        if keep:
            raise ValueError(
                f"{out.name} is a single array and cannot hold the columns "
                f"keep={keep!r}. Write .parquet or do not pass keep."
            )
        return _NpyWriter(file)
    if out.suffix not in (".parquet", ".pq"):
        raise ValueError(
            f"The suffix of out must be .npy or .parquet, got {out.name!r}."
        )
    name, classes = _COLUMN_OF_METHOD[method], ()
    of_pairs = method == "decision_function" and parameter_of_pairs(pipeline)
    if method != "transform" and not of_pairs:
        classes = getattr(pipeline, "classes_", ())
    return _ParquetWriter(file, name, [f"{name}_{label}" for label in classes])


class _NpyWriter:
    """Writes batches of equal type to a .npy file."""

    def __init__(self, file):
        self._file, self._dtype, self.n_rows = file, None, 0

    def __enter__(self):
        return self

    def __exit__(self, error, *info):
        if error is None:
            self._file.seek(0)
            self._write_header()

    def write(self, values, kept):
        if values.dtype.hasobject:
            raise ValueError(
                "a .npy file cannot hold Python objects. Write .parquet, or fit on "
                "labels that are a NumPy array of str or numbers."
            )
        if self._dtype is None:
            self._dtype, self._shape = values.dtype, values.shape[1:]
            self._write_header()
        if (values.dtype, values.shape[1:]) != (self._dtype, self._shape):
            raise ValueError(
                f"The pipeline returned {values.dtype} of shape {values.shape} after "
                f"{self._dtype} with rows of shape {self._shape}. All batches must "
                "have the same type; .parquet can hold labels of any length."
            )
        self._file.write(values.tobytes())
        self.n_rows += len(values)

    def _write_header(self):
        # NumPy pads a header, so its size does not depend on the number of rows.
        header, shape = BytesIO(), (self.n_rows, *self._shape)
        fields = {"descr": self._dtype.str, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(header, fields)
        self._file.write(header.getvalue())


class _ParquetWriter:
    """Writes each batch as a row group of a Parquet file.

    Values are one column `name`, with lists of equal length if they are vectors, or a
    column per name in `class_names` if they have as many columns.
    """

    def __init__(self, file, name, class_names):
        try:
            from pyarrow import parquet
        except ImportError as error:
            raise ImportError(
                "pyarrow is required to write Parquet: pip install pyarrow. "
                "Writing .npy does not require it."
            ) from error
        self._open = parquet.ParquetWriter
        self._file, self._writer, self.n_rows = file, None, 0
        self._name, self._class_names = name, class_names

    def __enter__(self):
        return self

    def __exit__(self, error, *info):
        # An open writer would write again when it is deleted.
        with suppress(OSError) if error else nullcontext():
            if self._writer is not None:
                self._writer.close()

    def write(self, values, kept):
        import pyarrow as pa

        columns = self._columns(values)
        repeated = sorted(set(kept) & set(columns))
        if repeated:
            raise ValueError(
                f"keep names columns {repeated} that the pipeline returns as well. "
                "Rename them in the source."
            )
        table = pa.table({**kept, **columns})
        if self._writer is None:
            self._schema = table.schema
            # A dictionary does not compress vectors, whose numbers do not repeat.
            self._writer = self._open(self._file, table.schema, use_dictionary=False)
        for expected, field in zip(self._schema, table.schema, strict=True):
            if field.type != expected.type and not pa.types.is_null(field.type):
                raise ValueError(
                    f"The column {field.name!r} has values of type {field.type}, after "
                    f"batches of type {expected.type}. Convert them to one type in "
                    "the source."
                )
        self._writer.write_table(table.cast(self._schema))
        self.n_rows += len(values)

    def _columns(self, values):
        import pyarrow as pa

        if values.ndim == 1:
            return {self._name: pa.array(values)}
        if values.shape[1] == len(self._class_names):
            # pyarrow would copy each strided column as well.
            columns = map(pa.array, map(np.ascontiguousarray, values.T))
            return dict(zip(self._class_names, columns, strict=True))
        flat = pa.array(np.ascontiguousarray(values).reshape(-1))
        return {self._name: pa.FixedSizeListArray.from_arrays(flat, values.shape[1])}
