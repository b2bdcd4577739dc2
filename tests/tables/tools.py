"""One table, written and read by the tools that hand tables over."""

import csv
import datetime
import decimal
import json
import uuid
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.json
import pyarrow.orc
import pyarrow.parquet
import pytest

from sk_metaembed._command_line._read_table import read_table

# Older ones cannot read some of the files that they write.
pl = pytest.importorskip("polars", minversion="1.30")

N_ROWS = 40
_WORDS = ["quiet", "river", "stone", "garden", "winter"]
_WORDS += ["market", "bridge", "signal", "copper", "meadow"]
# Each package has errors of its own; that of polars' Rust code is no Exception.
_ERRORS = Exception, pl.exceptions.PanicException
_TYPES = {
    "small": pa.int8(),
    "count": pa.int32(),
    "unsigned": pa.uint64(),
    "single": pa.float32(),
    "amount": pa.decimal128(10, 2),
    "grade": pa.dictionary(pa.int32(), pa.string()),
    "empty": pa.null(),
    "zoned": pa.timestamp("us", "Europe/Berlin"),
}


def gaps(values, every=7):
    """Return values with a missing one in every seventh row."""
    return [None if i % every == 3 else value for i, value in enumerate(values)]


def make_table(seed=0, n_rows=N_ROWS):
    """Return an Arrow table with a column of each kind."""
    rng = np.random.default_rng(seed)
    start, rows = datetime.datetime(2021, 3, 5, 7, 30), range(n_rows)
    days = rng.integers(0, 700, n_rows).tolist()
    seconds = rng.integers(0, 86400, n_rows).tolist()
    few = rng.integers(0, 6, n_rows).tolist()
    prices = (rng.integers(100, 99999, n_rows) / 100).tolist()
    words = [[_WORDS[j] for j in rng.choice(10, 3, replace=False)] for _ in rows]
    moments = [
        start + datetime.timedelta(d, s) for d, s in zip(days, seconds, strict=True)
    ]
    sizes = [("small", "medium", "größer")[k % 3] for k in few]
    identifiers = [1234567890123456700 + k for k in few]
    columns = {
        "small": [k - 3 for k in few],
        "count": rng.integers(0, 900, n_rows).tolist(),
        "count_gap": gaps(rng.integers(-50, 900, n_rows).tolist()),
        "unsigned": rng.integers(0, 40000, n_rows).tolist(),
        "id": identifiers,
        "id_gap": gaps(identifiers),
        "price": prices,
        "price_gap": gaps(prices[::-1]),
        "single": [k / 10 for k in few],
        "amount": [decimal.Decimal(f"{p:.2f}") for p in prices[::-1]],
        "flag": [k % 2 == 0 for k in few],
        "flag_gap": gaps([k % 3 == 0 for k in few]),
        "size": sizes,
        "size_gap": gaps(sizes),
        "grade": [("A", "B", "C", "D")[k % 4] for k in few],
        "day": [moment.date() for moment in moments],
        "moment": moments,
        "moment_gap": gaps(moments[::-1]),
        "zoned": [moment.replace(tzinfo=datetime.UTC) for moment in moments],
        "clock": [moment.time() for moment in moments],
        "span": [datetime.timedelta(0, s) for s in seconds],
        "share": [f"{p / 10:.1f}%" for p in prices],
        "money": [f"${p:,.2f}" for p in prices],
        "code": [f"{k * 7:03d}" for k in few],
        "zip": [f"{d * 97:05d}" for d in days],
        "name": [f"{'-'.join(w)} {i}" for i, w in enumerate(words)],
        "prose": [f"{' '.join(w)}, and the {' '.join(w[::-1])}." * 3 for w in words],
        "url": [f"https://example.org/{'/'.join(w)}" for w in words],
        "tags": [w[: 1 + k % 3] for w, k in zip(words, few, strict=True)],
        "constant": ["same"] * n_rows,
        "empty": [None] * n_rows,
        "copy": sizes,
    }
    fields = {name: pa.array(v, _TYPES.get(name)) for name, v in columns.items()}
    return pa.table(fields)


def _plain_rows(table):
    """Return rows as lists of what Python writes: str, numbers, dates."""
    return [list(row.values()) for row in table.to_pylist()]


def _names_taken(function, table):
    """Return the names of the columns with which a function does not fail."""
    try:
        function(table)
        return table.column_names
    except _ERRORS:
        if table.num_columns == 1:
            return []
        columns = [table.select([name]) for name in table.column_names]
        return [name for c in columns for name in _names_taken(function, c)]


# Writers of a file: a table, the path.


def by_pandas(method, table, path, **options):
    """Write a table by a method of its DataFrame."""
    getattr(table.to_pandas(integer_object_nulls=True), method)(path, **options)


def by_polars(method, table, path, **options):
    """Write a table by a method of its DataFrame of polars."""
    getattr(pl.from_arrow(table), method)(path, **options)


def _csv_by_python(table, path):
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table.column_names)
        writer.writerows(_plain_rows(table))


def _json_by_python(table, path):
    with open(path, "w", encoding="utf-8") as file:
        for row in table.to_pylist():
            file.write(json.dumps(row, default=str) + "\n")


JSON_LINES = {"orient": "records", "lines": True}
FILES = {
    "csv": (
        {
            "pandas": partial(by_pandas, "to_csv", index=False),
            "polars": partial(by_polars, "write_csv"),
            "pyarrow": pyarrow.csv.write_csv,
            "csv": _csv_by_python,
        },
        {
            "pandas": pd.read_csv,
            "pandas, str": partial(pd.read_csv, dtype=str),
            "pandas, pyarrow": partial(
                pd.read_csv, engine="pyarrow", dtype_backend="pyarrow"
            ),
            "polars": pl.read_csv,
            "polars, dates": partial(pl.read_csv, try_parse_dates=True),
            "pyarrow": pyarrow.csv.read_csv,
            "command line": read_table,
        },
    ),
    "jsonl": (
        {
            "pandas": partial(by_pandas, "to_json", **JSON_LINES, date_format="iso"),
            "polars": partial(by_polars, "write_ndjson"),
            "json": _json_by_python,
        },
        {
            "pandas": partial(pd.read_json, lines=True),
            "polars": pl.read_ndjson,
            "pyarrow": pyarrow.json.read_json,
            "command line": read_table,
        },
    ),
    "parquet": (
        {
            "pandas": partial(by_pandas, "to_parquet"),
            "polars": partial(by_polars, "write_parquet"),
            "pyarrow": pyarrow.parquet.write_table,
        },
        {
            "pandas": pd.read_parquet,
            "pandas, nullable": partial(
                pd.read_parquet, dtype_backend="numpy_nullable"
            ),
            "pandas, pyarrow": partial(pd.read_parquet, dtype_backend="pyarrow"),
            "polars": pl.read_parquet,
            "pyarrow": pyarrow.parquet.read_table,
            "command line": read_table,
        },
    ),
    "arrow": (
        {
            "polars": partial(by_polars, "write_ipc"),
            "pyarrow": pyarrow.feather.write_feather,
        },
        {
            "pandas": pd.read_feather,
            "polars": pl.read_ipc,
            "pyarrow": pyarrow.feather.read_table,
        },
    ),
    "orc": (
        {"pyarrow": pyarrow.orc.write_table},
        {"pandas": pd.read_orc, "pyarrow": pyarrow.orc.read_table},
    ),
}

_NULLABLE = {
    pa.int8(): pd.Int8Dtype(),
    pa.int32(): pd.Int32Dtype(),
    pa.int64(): pd.Int64Dtype(),
    pa.uint64(): pd.UInt64Dtype(),
    pa.float32(): pd.Float32Dtype(),
    pa.float64(): pd.Float64Dtype(),
    pa.bool_(): pd.BooleanDtype(),
    pa.string(): pd.StringDtype(),
}

# Containers in memory, from an Arrow table.
CONTAINERS = {
    "pyarrow": lambda table: table,
    "pandas": lambda table: table.to_pandas(integer_object_nulls=True),
    "pandas, floats": lambda table: table.to_pandas(),
    # convert_dtypes() would merge long ids next to missing ones.
    "pandas, nullable": lambda table: table.to_pandas(types_mapper=_NULLABLE.get),
    "pandas, pyarrow": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "pandas, objects": lambda table: pd.DataFrame(table.to_pydict(), dtype=object),
    "polars": pl.from_arrow,
}


def hand_over(table, folder, files, containers):
    """Yield the name of each way and the container that it hands over.

    A way is a container in memory, or a writer, a format and a reader. Columns that
    writer or reader refuse are left out.
    """
    for name, convert in containers.items():
        yield name, convert(table)
    for suffix, (writers, readers) in files.items():
        for writer, write in writers.items():
            # Not an earlier name: readers may have mapped its file.
            path = folder / f"{uuid.uuid4().hex}.{suffix}"
            names = _names_taken(partial(_write, write, path), table)
            write(table.select(names), path)
            for reader, read in readers.items():
                way = f"{writer} > {suffix} > {reader}"
                try:
                    yield way, read(path)
                except _ERRORS:
                    yield way, _read_columns(table.select(names), path, write, read)


def _write(write, path, table):
    write(table, path)


def _read_columns(table, path, write, read):
    """Return what a reader makes of the columns that it takes."""
    other = path.with_stem("part")

    def round_trip(part):
        write(part, other)
        return read(other)

    return round_trip(table.select(_names_taken(round_trip, table)))
