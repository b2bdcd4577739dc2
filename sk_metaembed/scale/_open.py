"""open_source: what a user passes as a source, as something that gives batches."""

import os
from collections.abc import Iterable, Mapping, Set
from pathlib import Path

from ._arrow import ArrowRows
from ._files import files_of, suffix_of
from ._lines import JsonLines, TextLines
from ._rows import Rows

_JSON = (".jsonl", ".ndjson", ".json")
_ARROW = {".parquet": "parquet", ".pq": "parquet", ".arrow": "ipc", ".feather": "ipc"}
_TABLES = (".csv", ".tsv", ".xlsx", ".xls", ".orc", ".zip", ".npy", ".pkl")
_ALLOWED = (
    "Allowed are an iterable of texts or token lists, a path of a text, JSON-lines or "
    "Parquet file or a folder of them, a pandas or polars DataFrame, and pyarrow's "
    "Table, Dataset and RecordBatchReader"
)


def open_source(source, column=None, keep=()):
    """Return a source of batches.

    Parameters
    ----------
    source : see `transform_in_batches`
    column : str or list of str, default=None
        Columns of texts, where the source has columns.
    keep : sequence of str, default=()
        Columns that are carried along.

    Returns
    -------
    TextLines, JsonLines, ArrowRows or Rows
        Each has ``name``, ``n_rows``, ``identity()`` and ``batches(size, cursor)``.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    TypeError, ValueError
        If the source is nothing of the kind, or columns are missing.
    """
    columns = [column] if isinstance(column, str) else list(column or ())
    keep = [keep] if isinstance(keep, str) else list(keep)
    if hasattr(source, "opened_source"):  # a TextStream
        return source.opened_source(columns, keep)
    if isinstance(source, str | os.PathLike):
        return _of_path(Path(source).expanduser(), columns, keep)
    if hasattr(source, "schema") or hasattr(source, "iloc") and source.ndim == 2:
        return ArrowRows(_as_arrow(source, [*columns, *keep]), *_named(columns, keep))
    wrong = isinstance(source, bytes | Mapping | Set) or not isinstance(
        source, Iterable
    )
    if wrong:
        raise TypeError(
            f"transform_in_batches got {source!r:.60}, of type "
            f"{type(source).__name__}, as its source. {_ALLOWED}."
        )
    _no_columns(columns, keep, f"a {type(source).__name__}")
    # Arrow's arrays would give scalars.
    return Rows(source.to_pylist() if hasattr(source, "to_pylist") else source)


def _of_path(path, columns, keep):
    files = files_of(path, (*_JSON, *_ARROW))
    suffix = suffix_of(files[0])
    if suffix in _JSON:
        return JsonLines(files, *_named(columns, keep))
    if suffix in _ARROW:
        from pyarrow import dataset

        data = dataset.dataset([str(f) for f in files], format=_ARROW[suffix])
        return ArrowRows(data, *_named(columns, keep))
    if suffix in _TABLES:
        raise ValueError(
            f"transform_in_batches does not read {suffix} files, such as {files[0]}. "
            "pyarrow.dataset.dataset(path, format='csv') reads tables as text, and is "
            f"a source. {_ALLOWED}."
        )
    _no_columns(columns, keep, f"the text file {files[0]}")
    return TextLines(files)


def _named(columns, keep):
    if not columns:
        raise ValueError(
            "transform_in_batches: the source has columns; column= must name the one "
            "with the texts, or several for a step that takes a frame."
        )
    return columns, keep


def _no_columns(columns, keep, what):
    if columns or keep:
        raise ValueError(
            f"transform_in_batches: {what} has no columns, but column={columns} and "
            f"keep={keep} name some. Leave both out, or give JSON-lines, Parquet or a "
            "DataFrame."
        )


def _as_arrow(source, names):
    import pyarrow as pa

    if hasattr(source, "iloc"):  # pandas; an index that is asked for is a column
        if set(names) - set(source.columns):
            source = source.reset_index()
        found = [name for name in names if name in source.columns]
        return pa.Table.from_pandas(source[found], preserve_index=False)
    if hasattr(source, "collect_schema"):  # polars
        source = source.collect() if hasattr(source, "collect") else source
        found = [name for name in names if name in source.columns]
        return source.select(found).to_arrow()
    return source
