"""What columns contain, and how their cells are read."""

import datetime
import decimal
import warnings
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sk_metaembed import TableEncoder

from .one_column import as_frame, encode, fit

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


KEPT = [n for n, (_, kind) in COLUMNS.items() if kind not in ("key", "constant")]


def kind_of(column):
    """Return the kind of a column next to another one, which a table must have."""
    frame = pd.DataFrame({"x": pd.Series(column), "other": np.arange(len(column)) / 7})
    return TableEncoder().fit(frame).columns_[0].kind


@pytest.mark.parametrize("name", COLUMNS)
def test_kinds(name):
    values, expected = COLUMNS[name]
    with warnings.catch_warnings(action="error"):
        assert kind_of(values) == expected


@pytest.mark.parametrize("name", [n for n in KEPT if n not in ("no cells", "blanks")])
def test_a_row_alone_is_read_as_in_a_batch(name):
    values = [*COLUMNS[name][0][::37]]
    encoder = fit(COLUMNS[name][0])
    found = encode(encoder, values)
    for row, value in enumerate(values):
        np.testing.assert_array_equal(encode(encoder, [value])[0], found[row])


@pytest.mark.parametrize("name", ["prices", "dates", "categories", "names", "lists"])
def test_one_odd_cell_does_not_change_the_kind(name):
    values, expected = COLUMNS[name]
    assert fit([*values, "17 unlike (all) others!"]).columns_[0].kind == expected


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([*PRICES, np.inf], r"1 cell of 301 in the column 'x' is infinite, and "),
        ([*map(str, PRICES), "x1"], r"'x' is not a number, .* 'x1' \(row 300\)"),
        ([*map(str, DAYS), "1.1", "soon"], r"2 cells .* are not a date, .*'soon'"),
    ],
)
def test_odd_cells_are_named_and_missing(values, message):
    with pytest.warns(UserWarning, match=message):
        found = TableEncoder().fit_transform(as_frame(values))
    assert np.isnan(found[-1]).all()
    assert np.isfinite(found[:-2]).all()


def test_columns_with_many_odd_cells_are_not_numbers():
    for n_odd, expected in ((15, "number"), (40, "code")):
        column = [*map(str, PRICES), *(f"x{i}y" for i in range(n_odd))]
        assert fit(column).columns_[0].kind == expected


def test_words_that_repeat_among_numbers_have_indicators():
    encoder = fit(["1.5M", "unknown", "201k", None] * 10)
    assert encoder.get_feature_names_out().tolist() == ["x", "x__unknown"]
    found = encode(encoder, ["1.5M", "unknown", "201k", None])
    expected = [[1.5e6, 0], [np.nan, 1], [2.01e5, 0], [np.nan, 0]]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "values",
    [["<40", ">=40"], ["<=50K", ">50K"], ["50+", "under 50"], ["5", "< 5", "7"]],
)
def test_bounds_with_the_same_number_are_told_apart(values):
    encoder = fit(values * 20)
    assert encoder.columns_[0].kind == "category"
    assert {f"x__{value}" for value in values} <= {*encoder.get_feature_names_out()}


def test_measurements_below_a_limit_are_numbers():
    encoder = fit([f"{i / 10}" for i in range(5, 105)] + ["<0.5", ">10"])
    assert encoder.columns_[0].kind == "number"
    assert encode(encoder, ["<0.5", ">10"])[:, 0].tolist() == [0.5, 10.0]


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
    encoder = fit(as_column(FEW))
    assert encoder.columns_[0][1::3][:2] == ("category", 20)
    indicators = [f"x__{number}" for number in sorted({*FEW})]
    assert encoder.get_feature_names_out().tolist()[-20:] == indicators
    assert encode(encoder, [FEW[3]])[0, -20:].sum() == 1
    assert kind_of(list(as_column(MANY))) == "key"
    ends = [1_700_000_000_000_000_000 + 10**9 * i for i in range(N)]
    assert fit(as_column(ends)).columns_[0].kind == "number"


def test_numbers_can_be_categories_too():
    names = fit([1, 2, 3, None] * 10).get_feature_names_out().tolist()
    assert names == ["x", "x__1", "x__2", "x__3"]


FRAMES = {  # others are in `tools.py`
    "decimal": pd.Series([decimal.Decimal("1"), None, decimal.Decimal("3")]),
    "category": pd.Series([1, None, 3]).astype("category"),
    "objects": pd.Series([1, None, np.float32(3)], dtype=object),
    "timedelta objects": [datetime.timedelta(0, 1), None, pd.Timedelta(3, "s")],
    "masked": [1, np.ma.masked, 3],
    "masked objects": pd.Series([1, np.ma.masked, 3], dtype=object),
    "sparse": pd.Series(pd.arrays.SparseArray([1, np.nan, 3])),
}


@pytest.mark.parametrize("name", FRAMES)
def test_numbers_of_any_frame(name):
    encoder = fit(FRAMES[name])
    for column in (FRAMES[name], [1, float("nan"), 3]):
        found = encode(encoder, column)[:, 0]
        assert (found[0], np.isnan(found[1])) == (1, True)


def test_strings_of_any_frame():
    encoder = fit(["a", None, "b"] * 4)
    for column in (
        pd.Series([" a", None, "b"]),
        pd.Series([" a", None, "b"], dtype="category"),
        pd.Series(["a", pd.NA, "b"], dtype="string"),
        pl.Series(["a ", None, "b"]),
        pl.Series(["a ", None, "b"], dtype=pl.Categorical),
        np.array(["a", "", "b"]),
        ["a", np.ma.masked, np.array("b ")],
    ):
        assert encode(encoder, column).tolist() == [[1, 0], [0, 0], [0, 1]]


@pytest.mark.parametrize("cell", [{"a": 1}, b"x", np.ones(2), [1, 2], 1j, object()])
def test_other_cells_are_refused_by_name(cell):
    with pytest.raises(TypeError, match="row 1 of the column 'x' is"):
        TableEncoder().fit(as_frame(["a", cell]))


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
    frame = {f"c{i}": pd.Series(c, dtype=object) for i, c in enumerate(columns)}
    found = TableEncoder().fit(pd.DataFrame(frame)).columns_
    assert [i for i, c in enumerate(found) if c.kind == "duplicate"] == [2, 5, 8, 10]


def test_categories_of_float32_are_the_shortest_decimals():
    column = pd.Series([0.1, None, 0.3], dtype=np.float32)
    names = fit([*column.astype("category")] * 20 + [0.2]).get_feature_names_out()
    assert names.tolist() == ["x", "x__0.1", "x__0.2", "x__0.3"]
