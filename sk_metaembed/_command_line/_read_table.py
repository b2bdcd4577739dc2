"""Read a table from a file, and its target as classes or numbers."""

import codecs
import csv
import gzip
import json
import re
import warnings
import zlib
from collections import Counter
from collections.abc import Iterable
from contextlib import contextmanager
from functools import partial
from itertools import compress, islice
from pathlib import Path

import numpy as np
import pandas as pd

from .._core._errors import plural
from .._core._frames import plain_container
from ..tables._api import choose_column_format, read_cells, read_column

# In order of preference: commas also occur in names, texts and numbers.
_SEPARATORS = "\t;|,"
_NAMES = {"tab": "\t", r"\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|"}
_ONE_COLUMN = "\0"  # a separator that does not occur
_SHORT = "have fewer fields than the header. Their last columns are missing values"
_BLANK = 'are skipped. Write "" for an empty value in a table of one column'
_SAMPLE_ROWS = 200
_LARGEST_EXACT = 2**53  # exact as a float
_CODE = re.compile(r"0\d")
_LONGEST_FIELD = 2**31 - 1  # the largest limit of csv on all systems
_MAX_CLASSES = 20  # a target with more distinct integers is a number
_LARGEST = 2.0**63  # integer; larger floats are amounts
_BYTE_ORDER_MARKS = codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE


def read_table(path, separator=None, *, texts=(), ids=()):
    """Return the DataFrame in a file, whose suffix determines the format.

    `separator` is the name or the character that separates the fields of a CSV file;
    None detects it. Text formats keep the cells of the columns `texts` and `ids`, and
    of columns with codes such as "007", as str; in `ids`, "NA" and "" are values too.
    Integers are exact, also next to missing values.
    """
    path = Path(path).expanduser()
    reader = READERS.get(split_suffix(path)[1])
    if reader is None:
        raise ValueError(
            f"{str(path)!r} is not a table with a known suffix: {', '.join(READERS)}. "
            "Save Excel sheets as CSV UTF-8."
        )
    options = {} if reader is _read_parquet else {"texts": {*texts, *ids}}
    if reader is _read_csv:
        options |= {"ids": ids, "separator": _character(separator)}
    elif separator is not None:
        raise ValueError(f"--separator is for CSV files, not for {str(path)!r}.")
    try:
        table = reader(path, **options)
        names = [str(name) for name in table.columns]
        _check_names(names)
        table = table.set_axis(names, axis=1)
    except (ValueError, EOFError, NotImplementedError, csv.Error, zlib.error) as error:
        # The decoder's message gives no advice.
        hint = " Save it as UTF-8." if isinstance(error, UnicodeError) else ""
        message = str(error).rstrip(".")
        raise ValueError(f"{str(path)!r} cannot be read: {message}.{hint}") from error
    return table


def split_suffix(path):
    """Return the name of a file without its suffix and .gz, and the suffix."""
    name = Path(path).name
    if name.lower().endswith(".gz"):
        name = name[:-3]
    return Path(name).stem, Path(name).suffix.lower()


def _character(separator):
    """Return the character of the option --separator, or None."""
    separator = _NAMES.get(separator, separator)
    if separator is not None and (len(separator) != 1 or separator in '"\r\n'):
        raise ValueError(
            f"--separator must be one character, or one of {', '.join(_NAMES)}; got "
            f"{separator!r}."
        )
    return separator


def _read_csv(path, texts, ids, separator):
    if separator is None:
        with _open(path) as file:
            separator = find_separator(list(islice(file, 10 * _SAMPLE_ROWS)))
    with _open(path) as file:
        codes = _check_rows(csv_rows(file, separator), separator)
    read = partial(
        pd.read_csv,
        sep=separator,
        index_col=False,
        skipinitialspace=True,
        low_memory=False,
        dtype_backend="numpy_nullable",  # integers next to missing values are exact
    )
    with _open(path) as file:
        table = read(file, dtype=dict.fromkeys(codes | texts, str))
    if copied := [name for name in table if name in ids]:
        with _open(path) as file:
            table[copied] = read(file, usecols=copied, dtype=str, na_filter=False)
    return table


def _read_json(path, texts, lines=False):
    # pandas.read_json reads "02134" as a number, and numbers in some columns as dates.
    with _open(path) as file:
        text = ",".join(filter(str.strip, file)) if lines else file.read()
    rows = json.loads(f"[{text}]" if lines else text)
    parts = rows.values() if isinstance(rows, dict) else rows  # columns, or records
    if not isinstance(parts, Iterable) or any(map(np.isscalar, parts)):
        raise ValueError("it has no records, such as [{'a': 1}, {'a': 2}]")
    table = pd.DataFrame(rows, dtype=object)
    kept = [
        str(name) in texts or any(map(_is_long, column))
        for name, column in table.items()
    ]
    return table.astype(table.loc[:, np.logical_not(kept)].infer_objects().dtypes)


def _is_long(cell):
    """Return whether a cell is an integer too large to be exact as a float."""
    return type(cell) is int and abs(cell) > _LARGEST_EXACT


def _read_parquet(path):
    import pyarrow.parquet

    table = plain_container(pyarrow.parquet.read_table(path))
    # With the metadata, a column would become the index, and its integers floats.
    return table.to_pandas(integer_object_nulls=True, ignore_metadata=True)


READERS = {
    ".csv": _read_csv,
    ".tsv": _read_csv,
    ".parquet": _read_parquet,
    ".json": _read_json,
    ".jsonl": partial(_read_json, lines=True),
}


@contextmanager
def _open(path):
    """Open a text file in UTF-8, or in UTF-16 with a byte order mark; also gzipped."""
    opener = gzip.open if path.name.lower().endswith(".gz") else open
    with opener(path, "rb") as file:
        is_wide = file.read(2) in _BYTE_ORDER_MARKS
    encoding = "utf-16" if is_wide else "utf-8-sig"
    with opener(path, "rt", encoding=encoding, newline="") as file:
        yield file


def csv_rows(lines, separator):
    """Yield the line number and the fields of each row; no fields if it is blank."""
    before = csv.field_size_limit(_LONGEST_FIELD)
    try:
        rows = csv.reader(lines, delimiter=separator, skipinitialspace=True)
        for fields in rows:
            yield rows.line_num, fields
    finally:
        csv.field_size_limit(before)


def find_separator(lines):
    """Return the separator of CSV lines with which most rows agree with the header.

    Quotes are respected. There is a single column if no separator divides the header
    and at least half of the rows.
    """
    best, best_share = _ONE_COLUMN, -1.0
    for separator in _SEPARATORS:
        rows = (fields for _, fields in csv_rows(lines, separator) if fields)
        sizes = [len(fields) for fields in islice(rows, _SAMPLE_ROWS)]
        if not sizes or sizes[0] == 1:
            continue
        n_rows = len(sizes) - 1
        is_divided = sum(size > 1 for size in sizes[1:]) >= n_rows / 2
        share = sum(size == sizes[0] for size in sizes[1:]) / max(n_rows, 1)
        if is_divided and share > best_share:
            best, best_share = separator, share
    return best


def _check_rows(rows, separator):
    """Return the columns with codes such as "007".

    Raises ValueError for a repeated name, or a row that is longer than the header.
    Warns about shorter rows, and about blank lines between rows. pandas takes the first
    fields of longer rows for an index, or drops the last ones.
    """
    header = next((fields for _, fields in rows if fields), None)
    if header is None:
        raise ValueError("it is empty")
    _check_names([name for name in header if name])  # pandas renames repeated ones
    short, blank, codes, last = [], [], set(), 0
    for line, fields in rows:
        if not fields:
            blank.append(line)
            continue
        last = line
        codes.update(compress(header, map(_CODE.match, fields)))
        if len(fields) > len(header):
            raise ValueError(
                f"line {line} has {plural(len(fields), 'field')}, but the header has "
                f"{len(header)} with the separator {separator!r}. Quote fields that "
                "contain it, or pass another --separator"
            )
        if len(fields) < len(header):
            short.append(line)
    blank = [line for line in blank if line < last]
    for lines, what, effect in (short, "row", _SHORT), (blank, "blank line", _BLANK):
        if lines:
            first = f"{plural(len(lines), what)}, the first in line {lines[0]}"
            warnings.warn(f"{first}, {effect}.", stacklevel=2)
    return codes - {""}


def _check_names(names):
    """Raise a ValueError if a name is repeated."""
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(
            f"several columns are named {repeated[0]!r}. Rename all but one of them"
        )


def read_target(y, task):
    """Return the task, and the target as an array of classes or numbers.

    The values decide whether the task "auto" is "classifier" or "regressor". Numbers
    are read as in other columns, including "12,5" and "$1,299".
    """
    y = y.convert_dtypes()  # integers are read as float if some are missing
    numbers = _numbers(y)
    if task == "auto":
        known = np.unique(numbers[~np.isnan(numbers)])
        is_whole = (known == np.round(known)) & (np.abs(known) < _LARGEST)
        has_many = len(known) > 0 and y.nunique() > _MAX_CLASSES
        is_amount = has_many or not is_whole.all()
        task = "regressor" if is_amount else "classifier"
    if y.dtype.kind == "f" or task == "regressor":
        _check_numbers(y, numbers)
    if task == "regressor":
        return task, numbers
    if y.dtype.kind not in "biuf":
        y = y.astype(str).str.strip()
    if y.nunique() < 2:
        raise ValueError(f"--target: column {y.name!r} has only one value.")
    return task, y.to_numpy()


def _numbers(y):
    """Return a Series as float64, NaN for values that are not numbers."""
    if y.dtype.kind in "biuf":
        return y.to_numpy(dtype=np.float64)
    cells = read_cells(y, y.name)
    if any(isinstance(cell, tuple) for cell in cells.values):
        raise ValueError(
            f"--target: column {y.name!r} has lists. Predict one label per row."
        )
    with warnings.catch_warnings(action="ignore"):
        column_format = choose_column_format(cells)  # may warn about odd values
    if column_format.numbers is None:
        return np.full(len(y), np.nan)
    return read_column(cells, column_format).floats[:, 0]


def _check_numbers(y, numbers):
    """Raise a ValueError that names the first value that is not a finite number."""
    invalid = np.flatnonzero(~np.isfinite(numbers))
    if len(invalid):
        value, row = y.tolist()[invalid[0]], y.index[invalid[0]] + 1
        raise ValueError(
            f"--target: column {y.name!r} has {value!r} in row {row:,}, which is not a "
            f"finite number; {len(invalid):,} of {len(y):,} values are not. Correct or "
            "remove the rows, or pass --task classifier if the values are classes."
        )
