"""open_source: what a user passes as a source, as something that gives batches.

Names of columns, as users pass them.
"""

import os
from collections.abc import Iterable, Mapping, Set
from pathlib import Path

from ._arrow import ArrowRows
from ._batches import Rows
from ._file_sources import JsonLines, TextLines, files_of, suffix_of


def listed(names, what, caller):
    """Return names as a list without repetitions.

    Parameters
    ----------
    names : str, iterable of str, or None
    what : str
        The parameter.
    caller : str
        Begins the error message.

    Raises
    ------
    TypeError
        If one is no str.

    Examples
    --------
    >>> listed("id", "keep", "f"), listed(("a", "b", "a"), "keep", "f")
    (['id'], ['a', 'b'])
    """
    if names is None:
        return []
    if isinstance(names, str):
        return [names]
    try:
        found = list(dict.fromkeys(names))
    except TypeError:
        found = None
    if found is None or not all(isinstance(name, str) for name in found):
        raise TypeError(
            f"{caller}: {what}={names!r:.60} must be the name of a column, a str, or a "
            "list of them. Columns that are numbered get names by "
            "frame.rename(columns=str)."
        )
    return found


_JSON = (".jsonl", ".ndjson", ".json")
_ARROW = {".parquet": "parquet", ".pq": "parquet", ".arrow": "ipc", ".feather": "ipc"}
_TABLES = (".csv", ".tsv", ".xlsx", ".xls", ".orc", ".zip", ".npy", ".pkl")
_ALLOWED = (
    "Allowed are an iterable of texts or token lists, a path of a text, JSON-lines or "
    "Parquet file or a folder of them, a pandas or polars DataFrame, and pyarrow's "
    "Table, RecordBatch, Dataset and RecordBatchReader"
)


def open_source(source, column=None, keep=(), missing=False):
    """Return a source of batches.

    Parameters
    ----------
    source : see `transform_in_batches`
    column : str or list of str, default=None
        Columns of texts, where the source has columns.
    keep : sequence of str, default=()
        Columns that are carried along.
    missing : bool, default=False
        Whether rows may be missing (None, NaN, null).

    Returns
    -------
    TextLines, JsonLines, ArrowRows or Rows
        Each has ``name``, ``n_rows``, ``identity()``, ``batches(size, cursor)``, and
        ``no_rows()``, the columns that are carried along where there are no rows.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    TypeError, ValueError
        If the source is nothing of the kind, or columns are missing.
    """
    columns = listed(column, "column", "The source")
    keep = listed(keep, "keep", "The source")
    if hasattr(source, "opened_source"):  # a TextStream
        return source.opened_source(columns, keep, missing)
    if isinstance(source, str | os.PathLike):
        return _of_path(Path(source).expanduser(), columns, keep, missing)
    if hasattr(source, "__dask_graph__"):
        raise TypeError(
            f"The source is a {type(source).__name__} of dask's. transform_partitions "
            "takes those; or write it to Parquet, and give the folder."
        )
    if _has_columns(source):
        data = _as_arrow(source, [*columns, *keep])
        return ArrowRows(data, *_named(columns, keep), missing)
    wrong = isinstance(source, bytes | Mapping | Set) or not isinstance(
        source, Iterable
    )
    if wrong:
        raise TypeError(
            f"The source is {source!r:.60}, of type {type(source).__name__}. "
            f"{_ALLOWED}."
        )
    _no_columns(columns, keep, f"a {type(source).__name__}")
    # Arrow's arrays would give scalars.
    rows = source.to_pylist() if hasattr(source, "to_pylist") else source
    return Rows(rows, missing)


def _has_columns(source):
    is_lazy = hasattr(source, "collect_schema")  # whose schema warns
    is_frame = hasattr(source, "iloc") and source.ndim == 2
    return is_lazy or is_frame or hasattr(source, "schema")


def _of_path(path, columns, keep, missing):
    files = files_of(path, (*_JSON, *_ARROW))
    suffix = suffix_of(files[0])
    if suffix in _JSON:
        return JsonLines(files, *_named(columns, keep), missing)
    if suffix in _ARROW:
        from pyarrow import dataset

        data = _dataset(dataset, files, _ARROW[suffix])
        if set(columns + keep) - set(data.schema.names):  # in names of folders, maybe
            options = {"partitioning": "hive", "partition_base_dir": str(path)}
            data = _dataset(dataset, files, _ARROW[suffix], **options)
        return ArrowRows(data, *_named(columns, keep), missing)
    if suffix in _TABLES:
        raise ValueError(
            f"A source cannot be of {suffix} files, such as {files[0]}. "
            "pyarrow.dataset.dataset(path, format='csv') reads tables as text, and is "
            f"a source. {_ALLOWED}."
        )
    _no_columns(columns, keep, f"the text file {files[0]}")
    return TextLines(files)


def _dataset(dataset, files, kind, **options):
    return dataset.dataset([str(file) for file in files], format=kind, **options)


def _named(columns, keep):
    if not columns:
        raise ValueError(
            "The source has columns; column= must name the one with the texts, or "
            "several for a step that takes a frame."
        )
    return columns, keep


def _no_columns(columns, keep, what):
    if columns or keep:
        raise ValueError(
            f"The source, {what}, has no columns, but column={columns} and keep={keep} "
            "name some. Leave both out, or give JSON-lines, Parquet or a DataFrame."
        )


def _as_arrow(source, names):
    import pyarrow as pa

    names = list(dict.fromkeys(names))
    if hasattr(source, "iloc"):  # pandas; an index that is asked for is a column
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
