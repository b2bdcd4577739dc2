"""Tools outside ``[test]`` that write and read tables: databases, spreadsheets, others.

`FILES` and `CONTAINERS` are as in `tools.py`, of the packages that are installed.
"""

import getpass
import os
import shutil
import sqlite3
import subprocess
import tempfile
import warnings
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec

import pandas as pd
import polars as pl
import pyarrow as pa

from .tools import CONTAINERS as MEMORY
from .tools import FILES as PLAIN
from .tools import by_pandas, by_polars

_PACKAGES = {"calamine": "python_calamine", "psycopg": "psycopg"}


def _have(*packages):
    return all(find_spec(_PACKAGES.get(name, name)) for name in packages)


def _pandas(table):
    return table.to_pandas(integer_object_nulls=True)


def _rows_of(table):
    """Return rows as lists of Python's values."""
    return [list(row.values()) for row in table.to_pylist()]


# DuckDB


def _by_duckdb(options, table, path):
    import duckdb

    with duckdb.connect() as connection:
        connection.register("data", table)
        connection.execute(f"copy data to '{path}' ({options})")


def _from_duckdb(function, convert, path):
    import duckdb

    connection = duckdb.connect()
    return convert(connection.sql(f"select * from {function}('{path}')"))


_RELATION = {
    "duckdb, df": lambda relation: relation.df(),
    "duckdb, arrow": lambda relation: relation.to_arrow_table(),
    "duckdb, polars": lambda relation: relation.pl(),
}


def _duckdb_readers(function):
    return {
        name: partial(_from_duckdb, function, convert)
        for name, convert in _RELATION.items()
    }


# SQLite and PostgreSQL


def _sqlite_by_pandas(table, path):
    with sqlite3.connect(path) as connection:
        _pandas(table).to_sql("data", connection, index=False, if_exists="replace")


def _sqlite_by_adbc(table, path):
    import adbc_driver_sqlite.dbapi as adbc

    path.unlink(missing_ok=True)
    with adbc.connect(str(path)) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("data", table, mode="create")
        connection.commit()


def _sqlite_to_pandas(path):
    with sqlite3.connect(path) as connection:
        return pd.read_sql("select * from data", connection)


def _sqlite_to_polars(path):
    with sqlite3.connect(path) as connection:
        query = "select * from data"
        return pl.read_database(query, connection, infer_schema_length=None)


def _sqlite_to_arrow(path):
    import adbc_driver_sqlite.dbapi as adbc

    with adbc.connect(str(path)) as connection, connection.cursor() as cursor:
        cursor.execute("select * from data")
        return cursor.fetch_arrow_table()


@contextmanager
def postgresql_server():
    """Run a server that listens on a socket in a folder of its own; yield its URI."""
    is_root = os.geteuid() == 0  # which the server refuses
    user = {"user": "postgres", "group": "postgres"} if is_root else {}
    run = partial(subprocess.run, check=True, stdout=subprocess.DEVNULL, **user)
    with tempfile.TemporaryDirectory(prefix="pg-") as folder:
        if is_root:
            shutil.chown(folder, "postgres", "postgres")
        run(["initdb", "-D", f"{folder}/data", "-A", "trust", "-E", "UTF8"], cwd=folder)
        options = f"-k {folder} -c listen_addresses='' -c fsync=off"
        control = ["pg_ctl", "-D", f"{folder}/data", "-w", "-l", f"{folder}/log"]
        run([*control, "-o", options, "start"], cwd=folder)
        try:
            name = "postgres" if is_root else getpass.getuser()
            yield f"postgresql:///postgres?host={folder}&user={name}"
        finally:
            run([*control, "-m", "fast", "stop"], cwd=folder)


def postgresql(uri):
    """Return the writers and readers of a database, as in `FILES`."""

    def by_adbc(table, path):
        import adbc_driver_postgresql.dbapi as adbc

        with adbc.connect(uri) as connection, connection.cursor() as cursor:
            cursor.execute("drop table if exists data")
            cursor.adbc_ingest("data", table, mode="create")
            connection.commit()

    def by_psycopg(table, path):
        import psycopg

        types = [_POSTGRESQL.get(str(field.type), "text") for field in table.schema]
        names = [f'"{name}"' for name in table.column_names]
        columns = ", ".join(map(" ".join, zip(names, types, strict=True)))
        with psycopg.connect(uri) as connection:
            connection.execute("drop table if exists data")
            connection.execute(f"create table data ({columns})")
            places = ", ".join(["%s"] * len(names))
            with connection.cursor() as cursor:
                cursor.executemany(
                    f"insert into data values ({places})", _rows_of(table)
                )

    def to_arrow(path):
        import adbc_driver_postgresql.dbapi as adbc

        with adbc.connect(uri) as connection, connection.cursor() as cursor:
            cursor.execute("select * from data")
            return cursor.fetch_arrow_table()

    def to_pandas(path):
        import psycopg

        with psycopg.connect(uri) as connection, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pandas tests SQLAlchemy and ADBC only
            return pd.read_sql("select * from data", connection)

    def to_rows(path):
        import psycopg

        with psycopg.connect(uri) as connection, connection.cursor() as cursor:
            rows = cursor.execute("select * from data").fetchall()
            names = [column.name for column in cursor.description]
        return pd.DataFrame(rows, columns=names, dtype=object)

    return {
        "postgresql": (
            {"adbc": by_adbc, "psycopg": by_psycopg},
            {"adbc": to_arrow, "pandas": to_pandas, "psycopg": to_rows},
        )
    }


_POSTGRESQL = {
    "int8": "smallint",
    "int32": "integer",
    "int64": "bigint",
    "uint64": "bigint",
    "float": "real",
    "double": "double precision",
    "decimal128(10, 2)": "numeric(10, 2)",
    "bool": "boolean",
    "date32[day]": "date",
    "timestamp[us]": "timestamp",
    "timestamp[us, tz=Europe/Berlin]": "timestamptz",
    "time64[us]": "time",
    "duration[us]": "interval",
    "list<item: string>": "text[]",
}

# Statistics packages


def _by_pyreadstat(name, table, path):
    import pyreadstat

    getattr(pyreadstat, name)(_pandas(table), str(path))


def _from_pyreadstat(name, path):
    import pyreadstat

    return getattr(pyreadstat, name)(str(path))[0]


def _r_by_pyreadr(table, path):
    import pyreadr

    pyreadr.write_rds(str(path), _pandas(table))


def _r_to_pandas(path):
    import pyreadr

    return pyreadr.read_r(str(path))[None]


# Spreadsheets

_EXCEL = partial(by_pandas, "to_excel", index=False)


# Avro


def _avro_by_fastavro(table, path):
    import fastavro

    fields = [
        {"name": field.name, "type": ["null", _AVRO[str(field.type)]]}
        for field in table.schema
    ]
    schema = {"type": "record", "name": "data", "fields": fields}
    with open(path, "wb") as file:
        fastavro.writer(file, fastavro.parse_schema(schema), table.to_pylist())


def _avro_to_rows(path):
    import fastavro

    with open(path, "rb") as file:
        return pd.DataFrame(list(fastavro.reader(file)))


_AVRO = {
    **dict.fromkeys(["int8", "int32"], "int"),
    **dict.fromkeys(["int64", "uint64"], "long"),
    "float": "float",
    "double": "double",
    "bool": "boolean",
    "string": "string",
    "decimal128(10, 2)": {
        "type": "bytes",
        "logicalType": "decimal",
        "precision": 10,
        "scale": 2,
    },
    "date32[day]": {"type": "int", "logicalType": "date"},
    "timestamp[us]": {"type": "long", "logicalType": "local-timestamp-micros"},
    "timestamp[us, tz=Europe/Berlin]": {
        "type": "long",
        "logicalType": "timestamp-micros",
    },
    "time64[us]": {"type": "long", "logicalType": "time-micros"},
    "list<item: string>": {"type": "array", "items": "string"},
    "dictionary<values=string, indices=int32, ordered=0>": "string",
}

# Hugging Face datasets, Spark, HDF5


def _dataset(table):
    import datasets

    return datasets.Dataset(pa.Table.from_batches(table.to_batches(), table.schema))


def _from_datasets(name, path):
    import datasets

    datasets.disable_progress_bars()
    cache = str(path.parent / f"cache-{path.name}-{path.stat().st_mtime_ns}")
    return getattr(datasets.Dataset, name)(str(path), cache_dir=cache)


def _by_datasets(name, table, path):
    import datasets

    datasets.disable_progress_bars()
    getattr(_dataset(table), name)(str(path))


def _spark():
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]")
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "1",
        "spark.log.level": "ERROR",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _by_spark(name, options, table, path):
    # Spark has no unsigned integers, and most of its formats have no clock times.
    lacks = {"unsigned", "clock", "empty"} | ({"tags"} if name == "csv" else set())
    table = table.drop_columns([n for n in table.column_names if n in lacks])
    frame = _spark().createDataFrame(table).coalesce(1)
    getattr(frame.write.mode("overwrite").options(**options), name)(str(path))


def _from_spark(name, options, path):
    return getattr(_spark().read.options(**options), name)(str(path)).toPandas()


def _hdf_by_pandas(table, path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # objects are pickled
        _pandas(table).to_hdf(path, key="data", mode="w")


# Libraries that convert what other libraries hand over.


def _narwhals(table):
    import narwhals

    return narwhals.from_native(pl.from_arrow(table))


def _dask(table):
    import dask.dataframe

    return dask.dataframe.from_pandas(_pandas(table), npartitions=2)


def _arro3(table):
    import arro3.core

    return arro3.core.Table.from_arrow(table)


CONTAINERS = {"pyarrow": MEMORY["pyarrow"]}
for package, make in {
    "narwhals": _narwhals,
    "dask": _dask,
    "arro3": _arro3,
    "datasets": _dataset,
}.items():
    if _have(package):
        CONTAINERS[package] = make

FILES = {
    "sqlite": (
        {"pandas": _sqlite_by_pandas},
        {"pandas": _sqlite_to_pandas, "polars": _sqlite_to_polars},
    ),
    "dta": (
        {"pandas": partial(by_pandas, "to_stata", write_index=False, version=118)},
        {"pandas": pd.read_stata},
    ),
}


def _add(suffix, writers, readers, *packages):
    """Add the writers and readers of a format if packages are installed."""
    if _have(*packages):
        known = FILES.setdefault(suffix, ({}, {}))
        known[0].update(writers)
        known[1].update(readers)


def _add_plain(suffix, writers, readers, *packages):
    """Add tools for a format that `tools.py` has too, with its tools."""
    if _have(*packages):
        if suffix not in FILES:
            FILES[suffix] = tuple({**part} for part in PLAIN[suffix])
        _add(suffix, writers, readers)


_add(
    "sqlite",
    {"adbc": _sqlite_by_adbc},
    {"adbc": _sqlite_to_arrow},
    "adbc_driver_sqlite",
)
for suffix, options, function in (
    ("csv", "format csv, header", "read_csv"),
    ("jsonl", "format json", "read_json"),
    ("parquet", "format parquet", "read_parquet"),
):
    _add_plain(
        suffix,
        {"duckdb": partial(_by_duckdb, options)},
        _duckdb_readers(function),
        "duckdb",
    )
for suffix, method in ("csv", "csv"), ("jsonl", "json"), ("parquet", "parquet"):
    _add_plain(
        suffix,
        {"datasets": partial(_by_datasets, f"to_{method}")},
        {"datasets": partial(_from_datasets, f"from_{method}")},
        "datasets",
    )
for suffix, method in ("dta", "dta"), ("sav", "sav"), ("xpt", "xport"):
    _add(
        suffix,
        {"pyreadstat": partial(_by_pyreadstat, f"write_{method}")},
        {"pyreadstat": partial(_from_pyreadstat, f"read_{method}")},
        "pyreadstat",
    )
_add("sav", {}, {"pandas": pd.read_spss}, "pyreadstat")
_add("rds", {"pyreadr": _r_by_pyreadr}, {"pyreadr": _r_to_pandas}, "pyreadr")
for engine in ("openpyxl", "xlsxwriter"):
    _add("xlsx", {f"pandas, {engine}": partial(_EXCEL, engine=engine)}, {}, engine)
for engine in ("openpyxl", "calamine"):
    _add(
        "xlsx", {}, {f"pandas, {engine}": partial(pd.read_excel, engine=engine)}, engine
    )
_add("xlsx", {"polars": partial(by_polars, "write_excel")}, {}, "xlsxwriter")
_add("xlsx", {}, {"polars": pl.read_excel}, "fastexcel")
_add(
    "ods",
    {"pandas, odf": partial(_EXCEL, engine="odf")},
    {"pandas, odf": partial(pd.read_excel, engine="odf")},
    "odf",
)
_add(
    "ods",
    {},
    {"pandas, calamine": partial(pd.read_excel, engine="calamine")},
    "odf",
    "calamine",
)
_add("avro", {"fastavro": _avro_by_fastavro}, {"fastavro": _avro_to_rows}, "fastavro")
_add(
    "avro",
    {"polars": partial(by_polars, "write_avro")},
    {"polars": pl.read_avro},
    "fastavro",
)
_add(
    "h5",
    {"pandas": _hdf_by_pandas},
    {"pandas": partial(pd.read_hdf, key="data")},
    "tables",
)
_HAS_JAVA = shutil.which("java") is not None
_HEADER = {"header": "true"}
_INFERRED = {**_HEADER, "inferSchema": "true"}
for suffix, method, writing, reading in (
    ("spark.csv", "csv", _HEADER, _INFERRED),
    ("spark.json", "json", {}, {}),
    ("spark.parquet", "parquet", {}, {}),
    ("spark.orc", "orc", {}, {}),
):
    _add(
        suffix,
        {"spark": partial(_by_spark, method, writing)},
        {"spark": partial(_from_spark, method, reading)},
        "pyspark" if _HAS_JAVA else "java",
    )
