"""Open anything that a caller may pass as a source of documents, in batches."""

import json
import os
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path

import numpy as np

from .._io._text_lines import read_lines
from ._arrow import as_arrow, open_dataset, read_arrow
from ._columns import all_names, check_columns

_END_SIZE = 2**20


@dataclass
class Source:
    """Documents that are read in batches.

    Parameters
    ----------
    name : str
        Name in messages.
    read : callable
        ``read(size)`` yields, for every `size` rows and at least once, the input of the
        pipeline (list, TokenSequences or DataFrame) and the columns to copy (dict of
        str to list or pyarrow array).
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

    `column` is the name of the column of texts or token lists, or a list of the columns
    of a DataFrame; `keep` are those to be copied.
    """
    if hasattr(source, "_open_source"):  # a TextStream
        return source._open_source(column, keep)
    if isinstance(source, str | os.PathLike):
        return _open_path(Path(source).expanduser(), column, keep)
    kind = type(source).__name__
    if hasattr(source, "__dask_graph__"):
        raise TypeError(
            f"The source is a dask {kind}. Use its map_partitions, or write it to "
            "Parquet and pass the folder."
        )
    data = as_arrow(source, all_names(column, keep))
    if data is not None:
        return _arrow_source(data, f"the {kind}", column, keep)
    invalid = isinstance(source, bytes | Mapping | Set)
    if invalid or not isinstance(source, Iterable):
        raise TypeError(f"The source is {source!r:.60}, of type {kind}. {_ALLOWED}.")
    check_columns(f"The source, a {kind},", None, column, keep)
    # Iterating over an array of pyarrow yields scalars.
    rows = source.to_pylist() if hasattr(source, "to_pylist") else source
    count = getattr(rows, "__len__", lambda: None)
    return Source(f"the {kind} of rows", partial(_read_rows, rows), count=count)


def _open_path(path, column, keep):
    files = _list_files(path)
    suffix, name = _file_suffix(files[0]), str(path)
    if suffix in _JSON:
        records = chain.from_iterable(_records(file, column, keep) for file in files)
        return Source(name, partial(_read_records, records, column, keep), files)
    if suffix in _ARROW:
        data = open_dataset(path, _ARROW[suffix])
        return _arrow_source(data, name, column, keep)
    if suffix in _TABLES:
        raise ValueError(
            f"Files of type {suffix} cannot be a source: {files[0]}. For text tables, "
            "pass pyarrow.dataset.dataset(path, format='csv') as the source. "
            f"{_ALLOWED}."
        )
    check_columns(f"The source, the text file {files[0]},", None, column, keep)
    lines = chain.from_iterable(map(read_lines, files))
    return Source(name, partial(_read_rows, lines), files)


def _list_files(path):
    """Return the files of a path: the file itself, or all files of a folder, sorted."""
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
    """Return the suffix of a file, without the suffix of its compression.

    >>> from pathlib import Path
    >>> _file_suffix(Path("a.jsonl.gz")), _file_suffix(Path("a.TXT"))
    ('.jsonl', '.txt')
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    while suffixes and suffixes[-1] in (".gz", ".bz2", ".xz"):
        suffixes.pop()
    return "".join(suffixes[-1:])


def _arrow_source(data, name, column, keep):
    check_columns(name, data.schema.names, column, keep)
    files = getattr(data, "files", ())
    read = partial(read_arrow, data, column, keep)
    # A RecordBatchReader has no count_rows.
    return Source(name, read, files, getattr(data, "count_rows", lambda: None))


def _read_rows(rows, size):
    """Yield `size` rows of an iterable at a time, and no columns."""
    # Slices of a TokenSequences, and of an array of one column, are such rows too.
    if hasattr(rows, "codes") or isinstance(rows, np.ndarray):
        for start in range(0, len(rows) or 1, size):
            yield rows[start : start + size], {}
        return
    rows, some = iter(rows), None
    while (batch := list(islice(rows, size))) or some is None:
        some = batch
        yield batch, {}


def _read_records(records, column, keep, size):
    """Yield the rows and the copied columns of `size` dicts at a time."""
    for batch, _ in _read_rows(records, size):
        if isinstance(column, list):
            from pandas import DataFrame

            rows = DataFrame(batch, columns=column)
        else:
            rows = [record[column] for record in batch]
        yield rows, {name: [record[name] for record in batch] for name in keep}


def _records(file, column, keep):
    """Yield the objects of a JSON-lines file, which have all columns."""
    names = {*all_names(column, keep)}
    for number, line in enumerate(read_lines(file), start=1):
        if not line.strip():
            continue
        where = f"{file}, line {number:,}"
        try:
            record = json.loads(line)
        except ValueError as error:
            raise ValueError(
                f"{where} is not valid JSON: {error}. {_OBJECT}"
            ) from error
        if not isinstance(record, dict):
            raise ValueError(f"{where} is a {type(record).__name__}. {_OBJECT}")
        if not (column and names <= record.keys()):
            check_columns(where, record, column, keep)
        yield record


_OBJECT = (
    'Every line must be an object, such as {"id": 1, "text": "..."}. Read a file that '
    "is a single JSON array with pandas.read_json and pass the DataFrame."
)
