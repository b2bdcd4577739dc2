"""What columns contain, and how their cells are read."""

import datetime
import decimal
import warnings
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sk_metaembed.tables._cells import read_cells
from sk_metaembed.tables._column_kinds import (
    column_kind,
    find_duplicates,
)
from sk_metaembed.tables._column_reading import float_names, read_floats, read_texts
from sk_metaembed.tables._string_kinds import split_list

N = 300
RNG = np.random.default_rng(0)
WORDS = [a + b + c for a in "bcdfglm" for b in "aeiou" for c in "nrst"]
DAYS = [datetime.date(2015, 1, 1) + datetime.timedelta(int(d)) for d in range(N)]


def words(n):
    return " ".join(RNG.choice(WORDS, n))


def some(values, n=N):
    return [values[i] for i in RNG.integers(0, len(values), n)]


PRICES = RNG.uniform(10, 2000, N).round(2).tolist()
COLUMNS = {
    "floats": (PRICES, "number"),
    "whole numbers": (some([1, 2, 3]), "number"),
    "booleans": (some([True, False]), "binary"),
    "0 and 1": (["0", "1"] * (N // 2), "binary"),
    "prices": ([f"${p:,.2f}" for p in PRICES], "number"),
    "percent": ([f"{p % 100:.0f}%" for p in PRICES], "number"),
    "sizes": (some(["19M", "201k", "1.2M", "Varies with device"]), "number"),
    "yes and no": (some(["Yes", "No"]), "binary"),
    "numbers and missing": (some(["1.5", "2.25", "N/A", None, "-"]), "number"),
    "German numbers": ([f"{p:.2f}".replace(".", ",") for p in PRICES], "number"),
    "dates": ([f"{day:%d.%m.%Y}" for day in DAYS], "date"),
    "month names": ([f"{day:%B} {day.day}, {day.year}" for day in DAYS], "date"),
    "compact dates": ([f"{day:%Y%m%d}" for day in DAYS], "date"),
    "compact dates as numbers": ([float(f"{day:%Y%m%d}") for day in DAYS], "date"),
    "date objects": (DAYS, "date"),
    "dates and years": ([f"{d:%Y-%m-%d}" for d in DAYS[:290]] + ["1999"] * 10, "date"),
    "years": (some([str(year) for year in range(1990, 2020)]), "number"),
    "categories": (some(["red", "green", "blue", None]), "category"),
    "one value": (some(["x", None]), "category"),
    "many categories": ([WORDS[i % 50] for i in range(N)], "category"),
    "versions": (some(["4.0.3 and up", "2.3 and up", "Varies"]), "category"),
    "names": ([words(3) for _ in range(N)], "name"),
    "codes": (
        [f"{words(1)} i{i % 9} {p:.1f}GHz" for i, p in enumerate(PRICES)],
        "code",
    ),
    "ranges": ([f"{i}-{i + 2} years" for i in range(N)], "code"),
    "two units": (some([f"{i} min" for i in range(40)] + ["2 Seasons"] * 9), "code"),
    "zip codes": ([f"{int(47 * p):05d}" for p in PRICES], "code"),
    "texts": ([words(30) for _ in range(N)], "text"),
    "lists": ([", ".join(some(WORDS[:20], 3)) for _ in range(N)], "list"),
    "bracketed lists": ([str(some(WORDS[:20], 3)) for _ in range(N)], "list"),
    "piped lists": (["|".join(some(WORDS[:20], 3)) for _ in range(N)], "list"),
    "lists of str": ([some(WORDS[:20], 2) for _ in range(N)], "list"),
    "vectors": ([f"[{p}, {p / 2}]" for p in PRICES], "code"),
    "identifiers in braces": (
        ["{" + str(UUID(int=i**9)) + "}" for i in range(N)],
        "code",
    ),
    "coordinates": ([f"({p}, {p / 2})" for p in PRICES], "code"),
    "last, first": ([f"{words(1)}{i}, {words(1)}" for i in range(N)], "code"),
    "case numbers": ([f"2024-{i + 1:03}" for i in range(N)], "code"),
    "days of years": (
        [f"{2020 + i % 3}-{7 * i % 365 + 1:03}" for i in range(N)],
        "date",
    ),
    "hours of a shop": (some([f"{h:02}:00-{h + 9}:30" for h in range(12)]), "category"),
    "times of day": (
        some([f"{h:02}:{m}" for h in range(24) for m in (15, 45)]),
        "number",
    ),
    "urls": ([f"https://example.org/{words(1)}{i}" for i in range(N)], "url"),
    "counter": (list(range(N)), "key"),
    "counter with prefix": ([f"s{i}" for i in range(N)], "key"),
    "hashes": ([f"{hash((i, 'x')) % 16**15:016x}1" for i in range(N)], "key"),
    "constant": (["x"] * N, "constant"),
    "constant number": ([3.0] * N, "constant"),
    "no cells": ([None] * N, "empty"),
    "blanks": (["", " "] * N, "empty"),
}


def read(cells, kind):
    """Return all that is read from cells."""
    return read_floats(cells, kind), read_texts(cells, kind)


@pytest.mark.parametrize("name", COLUMNS)
def test_kinds(name):
    values, expected = COLUMNS[name]
    cells = read_cells(values, name)
    kind = column_kind(cells, name)
    assert kind.kind == expected
    assert kind.n_odd == 0
    floats, texts = read(cells, kind)
    assert floats.shape == (len(cells), len(float_names(kind)))
    assert texts.shape == (len(cells),)
    assert all(isinstance(text, str) for text in texts)


@pytest.mark.parametrize("name", COLUMNS)
def test_a_row_alone_is_read_as_in_a_batch(name):
    cells = read_cells(COLUMNS[name][0], name)
    kind = column_kind(cells, name)
    floats, texts = read(cells, kind)
    for row in range(0, len(cells), 37):
        alone = read(read_cells(COLUMNS[name][0][row : row + 1], name), kind)
        np.testing.assert_array_equal(alone[0][0], floats[row])
        assert alone[1][0] == texts[row]


@pytest.mark.parametrize("name", ["prices", "dates", "categories", "names", "lists"])
def test_one_odd_cell_does_not_change_the_kind(name):
    values, expected = COLUMNS[name]
    cells = read_cells([*values, "17 unlike (all) others!"], name)
    with warnings.catch_warnings(action="ignore"):
        assert column_kind(cells, name).kind == expected


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([*PRICES, np.inf], r"1 cell of 301 in the column 'price' is infinite, and "),
        ([*map(str, PRICES), "x1"], r"'price' is not a number, .* 'x1' \(row 300\)"),
        ([*map(str, DAYS), "1.1", "soon"], r"2 cells .* are not a date, .*'soon'"),
    ],
)
def test_odd_cells_are_named_and_missing(values, message):
    cells = read_cells(values, "price")
    with pytest.warns(UserWarning, match=message):
        kind = column_kind(cells, "price")
    assert np.isnan(read_floats(cells, kind)[-1]).all()
    assert np.isfinite(read_floats(cells, kind)[:-2]).all()
    assert kind.n_odd > 0


def test_columns_with_many_odd_cells_are_not_numbers():
    for n_odd, expected in ((15, "number"), (40, "code")):
        cells = read_cells([*map(str, PRICES), *(f"x{i}y" for i in range(n_odd))], "x")
        with warnings.catch_warnings(action="ignore"):
            assert column_kind(cells, "x").kind == expected


def test_strays_are_kept_as_texts():
    cells = read_cells(["1.5M", "unknown", "201k", None] * 10)
    kind = column_kind(cells)
    assert kind.strays == ("unknown",)
    assert read_texts(cells, kind)[:4].tolist() == ["", "unknown", "", ""]
    np.testing.assert_array_equal(
        read_floats(cells, kind)[:4, 0], [1.5e6, np.nan, 2.01e5, np.nan]
    )


@pytest.mark.parametrize(
    "values",
    [["<40", ">=40"], ["<=50K", ">50K"], ["50+", "under 50"], ["5", "< 5", "7"]],
)
def test_bounds_with_the_same_number_are_told_apart(values):
    cells = read_cells(values * 20)
    kind = column_kind(cells)
    assert kind.kind == "category"
    assert read_texts(cells, kind)[: len(values)].tolist() == values


def test_measurements_below_a_limit_are_numbers():
    cells = read_cells([f"{i / 10}" for i in range(5, 105)] + ["<0.5", ">10"])
    kind = column_kind(cells)
    assert kind.kind == "number"
    assert read_floats(cells, kind)[-2:, 0].tolist() == [0.5, 10.0]


FEW, MANY = ([10**18 + i % n for i in range(N)] for n in (20, N))


@pytest.mark.parametrize(
    "as_column",
    [
        *(np.array, list, pl.Series, lambda ids: [*map(str, ids)]),
        lambda ids: pd.Series([*ids, None], dtype="Int64"),
        lambda ids: [*map(decimal.Decimal, ids)],
    ],
)  # fmt: skip
def test_ids_that_floats_do_not_tell_apart(as_column):
    cells = read_cells(as_column(FEW))
    kind = column_kind(cells)
    assert (kind.kind, kind.n_distinct) == ("category", 20)
    assert read_texts(read_cells([FEW[3]]), kind).tolist() == [str(FEW[3])]
    assert column_kind(read_cells(as_column(MANY))).kind == "key"
    ends = [1_700_000_000_000_000_000 + 10**9 * i for i in range(N)]
    assert column_kind(read_cells(as_column(ends))).kind == "number"


def test_numbers_can_be_categories_too():
    cells = read_cells([1, 2, 3, None] * 10)
    kind = column_kind(cells)
    assert kind.categorical
    assert read_texts(cells, kind)[:4].tolist() == ["1", "2", "3", ""]


def test_dates_are_read_by_the_order_of_the_column():
    kind = column_kind(read_cells([f"{day:%d/%m/%Y}" for day in DAYS]))
    assert kind.dates.order == "dmy"
    parts = read_floats(read_cells(["03/04/2020"]), kind)[0]
    assert dict(zip(float_names(kind), parts, strict=True))["month"] == 4


def test_lists():
    assert split_list("ban, cor", ",") == ("ban", "cor")
    assert split_list("ban,,ban ", ",") == ("ban",)
    texts = "['a, b', \"c's\"]", "[x, y]", "[]"
    items = [split_list(text, "[]") for text in texts]
    assert items == [("a, b", "c's"), ("x", "y"), ()]


FRAMES = {
    "nullable": pd.Series([1, None, 3], dtype="Int64"),
    "boolean": pd.Series([True, None, True], dtype="boolean"),
    "decimal": pd.Series([decimal.Decimal("1"), None, decimal.Decimal("3")]),
    "category": pd.Series([1, None, 3]).astype("category"),
    "polars": pl.Series([1, None, 3]),
    "polars decimal": pl.Series([1, None, 3]).cast(pl.Decimal(10, 2)),
    "objects": pd.Series([1, None, np.float32(3)], dtype=object),
    "timedelta": pd.Series(pd.to_timedelta([1, None, 3], unit="s")),
    "polars duration": pl.Series([1000, None, 3000]).cast(pl.Duration("ms")),
    "list": [1, float("nan"), 3],
    "timedelta objects": [datetime.timedelta(0, 1), None, pd.Timedelta(3, "s")],
    "masked": [1, np.ma.masked, 3],
    "masked objects": pd.Series([1, np.ma.masked, 3], dtype=object),
    "sparse": pd.Series(pd.arrays.SparseArray([1, np.nan, 3])),
}


@pytest.mark.parametrize("name", FRAMES)
def test_numbers_of_any_frame(name):
    cells = read_cells(FRAMES[name])
    assert cells.values.dtype == np.float64
    assert np.isnan(cells.values[1])
    assert cells.values[0] == 1


DATE_FRAMES = {
    "pandas": pd.Series(pd.to_datetime(["2019-03-05 14:00", None])),
    "time zone": pd.Series(
        ZONED := pd.to_datetime(["2019-03-05 14:00Z", None]).tz_convert("Asia/Tokyo")
    ),
    "time zone in objects": pd.Series(ZONED, dtype=object),
    "time zone in polars": pl.from_pandas(pd.Series(ZONED)),
    "time zone in arrow": pd.Series(ZONED, dtype="timestamp[us, Asia/Tokyo][pyarrow]"),
    "objects": pd.Series([datetime.datetime(2019, 3, 5, 14), None], dtype=object),
    "polars": pl.Series([datetime.datetime(2019, 3, 5, 14), None]),
    "arrow": pd.Series(
        [datetime.datetime(2019, 3, 5, 14), None], dtype="timestamp[ms][pyarrow]"
    ),
}


@pytest.mark.parametrize("name", DATE_FRAMES)
def test_dates_of_any_frame(name):
    cells = read_cells(DATE_FRAMES[name])
    assert cells.values.dtype == np.dtype("datetime64[us]")
    assert cells.values[0] == np.datetime64("2019-03-05T14:00")
    assert np.isnat(cells.values[1])


def test_years_1_and_9999():
    cells = read_cells([datetime.date(1, 1, 1), datetime.date(9999, 12, 31)])
    kind = column_kind(cells)
    assert read_floats(cells, kind)[:, 1].tolist() == [1, 9999]
    texts = read_cells(["0001-01-01", "9999-12-31"])
    np.testing.assert_array_equal(read_floats(texts, kind), read_floats(cells, kind))


def test_strings_of_any_frame():
    for column in (
        pd.Series([" a", None, "b"]),
        pd.Series([" a", None, "b"], dtype="category"),
        pd.Series(["a", pd.NA, "b"], dtype="string"),
        pl.Series(["a ", None, "b"]),
        pl.Series(["a ", None, "b"], dtype=pl.Categorical),
        np.array(["a", "", "b"]),
        ["a", np.ma.masked, np.array("b ")],
    ):
        assert read_cells(column).values.tolist() == ["a", None, "b"]


@pytest.mark.parametrize("cell", [{"a": 1}, b"x", np.ones(2), [1, 2], 1j, object()])
def test_other_cells_are_refused_by_name(cell):
    with pytest.raises(TypeError, match="row 1 of the column 'c' is"):
        read_cells(["a", cell], "c")


def test_duplicates():
    columns = [
        [1, 2, None],
        ["a", "b", None],
        [1, 2, float("nan")],
        ["a", "b", "d"],
        DAYS[:3],
        ["a ", "b", ""],
        [[*"ab"], [*"c"], None],
        [*DAYS[:2], None],
        DAYS[:3],
        [1, 2, 0],
        [("a", "b"), ("c",), None],
    ]
    cells = [read_cells(column) for column in columns]
    assert find_duplicates(cells) == {2: 0, 5: 1, 8: 4, 10: 6}


def test_categories_of_float32_are_the_shortest_decimals():
    column = pd.Series([0.1, None, 0.3], dtype=np.float32).astype("category")
    np.testing.assert_array_equal(read_cells(column).values, [0.1, np.nan, 0.3])
