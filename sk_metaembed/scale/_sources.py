"""Open anything that a caller may pass as a source of documents."""

import os
from collections.abc import Iterable, Mapping, Set
from itertools import islice
from pathlib import Path

from ._arrow import ArrowRows
from ._batches import Batch, check_rows
from ._file_sources import JsonLines, TextLines, file_suffix, list_files


def column_list(names, parameter, caller):
    """Return names of columns (str, iterable of str or None) as a list of unique str.

    >>> column_list("id", "keep", "f"), column_list(("a", "b", "a"), "keep", "f")
    (['id'], ['a', 'b'])
    """
    if names is None:
        return []
    if isinstance(names, str):
        return [names]
    try:
        unique = list(dict.fromkeys(names))
    except TypeError:
        unique = None
    if unique is None or not all(isinstance(name, str) for name in unique):
        raise TypeError(
            f"{caller}: {parameter} must be the name of a column (str) or a list of "
            f"names, got {names!r:.60}. Use frame.rename(columns=str) to name numbered "
            "columns."
        )
    return unique


class IterableRows:
    """Rows of an iterable of texts or token lists, which may be a generator."""

    in_files = False

    def __init__(self, iterable, missing=False):
        self._iterable, self._missing = iterable, missing
        self.n_rows = len(iterable) if hasattr(iterable, "__len__") else None

    @property
    def name(self):
        """Name in messages."""
        return f"the {type(self._iterable).__name__} of rows"

    def identity(self):
        """Return what identifies the source; its rows are identified by digests."""
        return ["rows"]

    def no_rows(self):
        """Return None: there are no columns to be copied."""

    def batches(self, size):
        """Yield a Batch per `size` rows."""
        start = 0
        for rows in self._slices(size):
            yield self._batch(rows, start)
            start += len(rows)

    def _batch(self, rows, start):
        check_rows(rows, lambda i: f"{self.name}: row {start + i:,}", self._missing)
        where = f"{self.name}, rows {start:,} to {start + len(rows) - 1:,}"
        return Batch(start, rows, None, where)

    def _slices(self, size):
        if hasattr(self._iterable, "codes"):  # slices of a TokenSequences are too
            for start in range(0, len(self._iterable), size):
                yield self._iterable[start : start + size]
            return
        rows = iter(self._iterable)
        while some := list(islice(rows, size)):
            yield some


_JSON = (".jsonl", ".ndjson", ".json")
_ARROW = {".parquet": "parquet", ".pq": "parquet", ".arrow": "ipc", ".feather": "ipc"}
_TABLES = (".csv", ".tsv", ".xlsx", ".xls", ".orc", ".zip", ".npy", ".pkl")
_ALLOWED = (
    "Allowed are an iterable of texts or token lists, the path of a text, JSON-lines "
    "or Parquet file or of a folder of them, a pandas or polars DataFrame, and a "
    "pyarrow Table, RecordBatch, Dataset or RecordBatchReader"
)


def open_source(source, column=None, keep=(), missing=False):
    """Return a TextLines, JsonLines, ArrowRows or IterableRows for a source.

    Parameters
    ----------
    source : object
        As for `transform_in_batches`.
    column : str or list of str, default=None
        Columns of texts, for sources with columns.
    keep : sequence of str, default=()
        Columns to be copied.
    missing : bool, default=False
        Whether rows may be missing (None, NaN, null).

    Returns
    -------
    source
        It has ``name``, ``n_rows``, ``identity()``, ``in_files``, which tells whether
        the identity is that of its rows, ``batches(size, skip)``, and ``no_rows()``,
        which returns the columns to be copied without rows.
    """
    columns = column_list(column, "column", "The source")
    keep = column_list(keep, "keep", "The source")
    if hasattr(source, "open_source"):  # a TextStream
        return source.open_source(columns, keep, missing)
    if isinstance(source, str | os.PathLike):
        return _open_path(Path(source).expanduser(), columns, keep, missing)
    if hasattr(source, "__dask_graph__"):
        raise TypeError(
            f"The source is a dask {type(source).__name__}. Use transform_partitions, "
            "or write it to Parquet and pass the folder."
        )
    if _has_columns(source):
        data = _as_arrow(source, [*columns, *keep])
        return ArrowRows(data, *_require_columns(columns, keep), missing)
    invalid = isinstance(source, bytes | Mapping | Set)
    if invalid or not isinstance(source, Iterable):
        raise TypeError(
            f"The source is {source!r:.60}, of type {type(source).__name__}. "
            f"{_ALLOWED}."
        )
    _reject_columns(columns, keep, f"a {type(source).__name__}")
    # Iterating over an array of pyarrow yields scalars.
    rows = source.to_pylist() if hasattr(source, "to_pylist") else source
    return IterableRows(rows, missing)


def _has_columns(source):
    is_lazy = hasattr(source, "collect_schema")  # polars; its schema warns
    is_frame = hasattr(source, "iloc") and source.ndim == 2
    return is_lazy or is_frame or hasattr(source, "schema")


def _open_path(path, columns, keep, missing):
    files = list_files(path, (*_JSON, *_ARROW))
    suffix = file_suffix(files[0])
    if suffix in _JSON:
        return JsonLines(files, *_require_columns(columns, keep), missing)
    if suffix in _ARROW:
        from pyarrow import dataset

        data = _dataset(dataset, files, _ARROW[suffix])
        if set(columns + keep) - set(data.schema.names):  # perhaps names of folders
            options = {"partitioning": "hive", "partition_base_dir": str(path)}
            data = _dataset(dataset, files, _ARROW[suffix], **options)
        return ArrowRows(data, *_require_columns(columns, keep), missing)
    if suffix in _TABLES:
        raise ValueError(
            f"Files of type {suffix} cannot be a source: {files[0]}. For text tables, "
            "pass pyarrow.dataset.dataset(path, format='csv') as the source. "
            f"{_ALLOWED}."
        )
    _reject_columns(columns, keep, f"the text file {files[0]}")
    return TextLines(files)


def _dataset(dataset, files, kind, **options):
    return dataset.dataset([str(file) for file in files], format=kind, **options)


def _require_columns(columns, keep):
    if not columns:
        raise ValueError(
            "The source has columns: set column to the name of the one with the texts, "
            "or to a list of names for a step that accepts DataFrames."
        )
    return columns, keep


def _reject_columns(columns, keep, what):
    if columns or keep:
        raise ValueError(
            f"The source, {what}, has no columns, but column={columns} and keep={keep} "
            "were passed. Omit both, or pass JSON-lines, Parquet or a DataFrame."
        )


def _as_arrow(source, names):
    import pyarrow as pa

    names = list(dict.fromkeys(names))
    if hasattr(source, "iloc"):  # pandas, whose index may be among the names
        if set(names) - set(source.columns):
            source = source.reset_index()
        _check_names(source.columns, names)
        return pa.Table.from_pandas(source[names], preserve_index=False)
    if hasattr(source, "collect_schema"):  # polars
        _check_names(source.collect_schema().names(), names)
        source = source.select(names)
        return (source.collect() if hasattr(source, "collect") else source).to_arrow()
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    return source


def _check_names(has, names):
    missing = [name for name in names if name not in has]
    if missing:
        raise ValueError(f"The frame has no column {missing[0]!r}; it has {list(has)}.")
