"""Open anything that a caller may pass as a source of documents, in batches."""

import json
import os
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from .._io._text_lines import read_lines
from ._arrow import as_arrow, open_dataset, read_arrow

_END_SIZE = 2**20


def column_list(names, parameter):
    """Return names of columns (str, iterable of str or None) as a list of unique str.

    >>> column_list("id", "keep"), column_list(("a", "b", "a"), "keep")
    (['id'], ['a', 'b'])
    """
    if names is None or isinstance(names, str):
        return [] if names is None else [names]
    unique = list(dict.fromkeys(names)) if isinstance(names, Iterable) else None
    if unique is None or not all(isinstance(name, str) for name in unique):
        raise TypeError(
            f"{parameter} must be the name of a column (str) or a list of names, got "
            f"{names!r:.60}. Use frame.rename(columns=str) to name numbered columns."
        )
    return unique


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
    """

    start: int
    rows: Any
    copied: dict


@dataclass
class Source:
    """Documents that are read in batches.

    Parameters
    ----------
    name : str
        Name in messages.
    read : callable
        ``read(size)`` yields the rows and the copied columns of each batch, also of
        an empty one if there are no rows.
    files : sequence of path-like, default=()
        The files that are read. Rows of other sources are identified by digests.
    count : callable, default=None
        Returns the number of rows, None if it is unknown.
    tokenizer : str or None, default=None
        Fingerprint of what splits the texts.
    """

    name: str
    read: Callable
    files: tuple = ()
    count: Callable = lambda: None
    tokenizer: str | None = None

    def batches(self, size):
        """Yield a Batch per `size` rows, an empty one if there are none."""
        start = 0
        for rows, copied in self.read(size):
            yield Batch(start, rows, copied)
            start += len(rows)

    def identity(self):
        """Return what identifies the files and the tokenizer, for JSON."""
        return [self.tokenizer, *(_file_identity(Path(file)) for file in self.files)]


def _file_identity(path):
    """Return ``[name, size, mtime, digest of the first and last bytes]`` of a file."""
    stat, digest = path.stat(), blake2b(digest_size=16)
    with path.open("rb") as file:
        digest.update(file.read(_END_SIZE))
        file.seek(max(0, stat.st_size - _END_SIZE))
        digest.update(file.read(_END_SIZE))
    return [path.name, stat.st_size, stat.st_mtime_ns, digest.hexdigest()]


_JSON = (".jsonl", ".ndjson", ".json")
_ARROW = {".parquet": "parquet", ".pq": "parquet", ".arrow": "ipc", ".feather": "ipc"}
_TABLES = (".csv", ".tsv", ".xlsx", ".xls", ".orc", ".zip", ".npy", ".pkl")
_ALLOWED = (
    "Allowed are an iterable of texts or token lists, the path of a text, JSON-lines "
    "or Parquet file or of a folder of them, a pandas or polars DataFrame, and a "
    "pyarrow Table, RecordBatch, Dataset or RecordBatchReader"
)


def open_source(source, column=None, keep=()):
    """Return the Source for a `source` of `transform_in_batches`.

    `column` names the columns of texts or token lists, `keep` those to be copied.
    """
    columns = column_list(column, "column")
    keep = column_list(keep, "keep")
    if hasattr(source, "open_source"):  # a TextStream
        return source.open_source(columns, keep)
    if isinstance(source, str | os.PathLike):
        return _open_path(Path(source).expanduser(), columns, keep)
    if hasattr(source, "__dask_graph__"):
        raise TypeError(
            f"The source is a dask {type(source).__name__}. Use transform_partitions, "
            "or write it to Parquet and pass the folder."
        )
    data = as_arrow(source, [*columns, *keep])
    if data is not None:
        return _arrow_source(data, f"the {type(source).__name__}", columns, keep)
    invalid = isinstance(source, bytes | Mapping | Set)
    if invalid or not isinstance(source, Iterable):
        raise TypeError(
            f"The source is {source!r:.60}, of type {type(source).__name__}. "
            f"{_ALLOWED}."
        )
    _reject_columns(columns, keep, f"a {type(source).__name__}")
    # Iterating over an array of pyarrow yields scalars.
    rows = source.to_pylist() if hasattr(source, "to_pylist") else source
    count = getattr(rows, "__len__", lambda: None)
    name = f"the {type(source).__name__} of rows"
    return Source(name, partial(_read_rows, rows), count=count)


def _open_path(path, columns, keep):
    files = _list_files(path)
    suffix, name = _file_suffix(files[0]), str(path)
    if suffix in _JSON:
        _require_columns(columns)
        records = chain.from_iterable(
            _records(file, [*columns, *keep]) for file in files
        )
        return Source(name, partial(_read_records, records, columns, keep), files)
    if suffix in _ARROW:
        data = open_dataset(path, _ARROW[suffix])
        return _arrow_source(data, name, columns, keep)
    if suffix in _TABLES:
        raise ValueError(
            f"Files of type {suffix} cannot be a source: {files[0]}. For text tables, "
            "pass pyarrow.dataset.dataset(path, format='csv') as the source. "
            f"{_ALLOWED}."
        )
    _reject_columns(columns, keep, f"the text file {files[0]}")
    lines = chain.from_iterable(map(read_lines, files))
    return Source(name, partial(_read_rows, lines), files)


def _list_files(path):
    """Return the files of a path: the file itself, or those of a folder, sorted."""
    if not path.exists():
        raise FileNotFoundError(
            f"There is no file or folder {str(path)!r}. A str is read as a path; pass "
            "texts as a list, [text]."
        )
    if path.is_file():
        return [path]
    files = sorted(
        file
        for file in path.rglob("*")
        if file.is_file() and not file.name.startswith((".", "_"))
    )
    kinds = {_file_suffix(file) for file in files}
    if len(kinds) != 1:
        raise ValueError(
            f"The folder {path} contains files of {len(kinds)} types: {sorted(kinds)}. "
            "Pass a folder of one type, or an iterable that reads them."
        )
    return files


def _file_suffix(path):
    """Return the suffix of a file, without that of its compression.

    >>> from pathlib import Path
    >>> _file_suffix(Path("a.jsonl.gz")), _file_suffix(Path("a.TXT"))
    ('.jsonl', '.txt')
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    while suffixes and suffixes[-1] in (".gz", ".bz2", ".xz"):
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def _require_columns(columns):
    if not columns:
        raise ValueError(
            "The source has columns: set column to the name of the one with the texts, "
            "or to a list of names for a step that accepts DataFrames."
        )


def _reject_columns(columns, keep, what):
    if columns or keep:
        raise ValueError(
            f"The source, {what}, has no columns, but column={columns} and keep={keep} "
            "were passed. Omit both, or pass JSON-lines, Parquet or a DataFrame."
        )


def _arrow_source(data, name, columns, keep):
    _require_columns(columns)
    for column in (*columns, *keep):
        if column not in data.schema.names:
            raise ValueError(
                f"{name} has no column {column!r}; it has {data.schema.names}."
            )
    files = getattr(data, "files", ())
    read = partial(read_arrow, data, columns, keep)
    # A RecordBatchReader has no count_rows.
    return Source(name, read, files, getattr(data, "count_rows", lambda: None))


def _read_rows(rows, size):
    """Yield `size` rows of an iterable at a time, and no columns."""
    if hasattr(rows, "codes"):  # slices of a TokenSequences are too
        for start in range(0, len(rows) or 1, size):
            yield rows[start : start + size], {}
        return
    rows, some = iter(rows), None
    while (batch := list(islice(rows, size))) or some is None:
        some = batch
        yield batch, {}


def _read_records(records, columns, keep, size):
    """Yield the texts and the copied columns of `size` dicts at a time."""
    for batch, _ in _read_rows(records, size):
        values = {
            name: [record[name] for record in batch] for name in (*columns, *keep)
        }
        rows = values[columns[0]]
        if len(columns) > 1:
            from pandas import DataFrame

            rows = DataFrame({name: values[name] for name in columns})
        yield rows, {name: values[name] for name in keep}


def _records(file, columns):
    """Yield the objects of a JSON-lines file, which have all `columns`."""
    for number, line in enumerate(read_lines(file), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            raise ValueError(
                f"{file}, line {number:,} is not valid JSON: {error}. {_OBJECTS}"
            ) from error
        if not isinstance(record, dict):
            raise ValueError(
                f"{file}, line {number:,} is a {type(record).__name__}. {_OBJECTS}"
            )
        for name in columns:
            if name not in record:
                raise ValueError(
                    f"{file}, line {number:,} has no key {name!r}; it has "
                    f"{list(record)}."
                )
        yield record


_OBJECTS = (
    'Every line must be an object, such as {"id": 1, "text": "..."}. Read a file that '
    "is a single JSON array with pandas.read_json and pass the DataFrame."
)
