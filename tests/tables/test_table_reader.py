"""Tables that are not frames, and huge values."""

import datetime
import decimal
import fractions

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute
import pytest

from sk_metaembed import TableEncoder, TextMetaEncoder


@pytest.mark.parametrize("as_rows", [np.array, list])
def test_rows_alone_are_read_as_in_a_table(as_rows):
    """pandas would infer dates from the row of NaT, and refuses the surrogate."""
    cells = [
        [pd.Timedelta(i, "s") if i else pd.NaT, f"a\ud800{i % 3}"] for i in range(9)
    ]
    rows = np.array(cells, dtype=object) if as_rows is np.array else cells
    encoder = TableEncoder().fit(rows)
    encoded = encoder.transform(rows)
    assert encoded[1, 0] == 1
    assert np.isnan(encoded[0, 0])
    for i in range(9):
        np.testing.assert_array_equal(encoder.transform(rows[i : i + 1])[0], encoded[i])


def test_numbers_that_are_huge_are_clipped():
    values = [1e300, -1e300, 1.0, np.nan] * 3
    encoded = TableEncoder().fit_transform(pd.DataFrame({"a": values}))
    np.testing.assert_array_equal(encoded[:4, 0], np.float32([1e30, -1e30, 1, np.nan]))


@pytest.mark.parametrize("form", ["{:.0f}", "{:,}"])
@pytest.mark.parametrize("start", [1_700_000_000, -5e11])
def test_numbers_that_float32_cannot_tell_apart(start, form):
    numbers = [start + i for i in range(60)]
    texts = [form.format(number) for number in numbers]
    table = pd.DataFrame({"a": numbers if form == "{:.0f}" else texts})
    encoder = TableEncoder().fit(table)
    encoded = encoder.transform(table)[:, 0]
    np.testing.assert_array_equal(np.diff(encoded), np.ones(59))
    assert encoder.transform(table[:1])[0, 0] == encoded[0]


@pytest.mark.parametrize(
    "cell",
    [
        *(True, np.False_, 1.5, np.float32(0.1), 2**53 - 1, 2**63 - 1, 10**400, 1e20),
        *(decimal.Decimal("1.50"), fractions.Fraction(1, 4)),
        *(datetime.date(2020, 1, 1), datetime.timedelta(1, 5), np.timedelta64(5, "h")),
    ],
    ids=repr,
)
@pytest.mark.parametrize("n_texts", [1, 3])
def test_a_cell_among_texts_is_the_same_cell_alone(cell, n_texts):
    """In a batch of such cells only, pandas has numbers or dates, and no texts."""
    cells = pd.Series([cell, *["soon", "later", "no"][:n_texts]] * 4, dtype=object)
    encoder = TableEncoder().fit(pd.DataFrame({"a": cells}))
    batch = encoder.transform(pd.DataFrame({"a": cells}))
    np.testing.assert_array_equal(encoder.transform([[cell]]), batch[:1])
    alone = pd.DataFrame({"a": cells[:1]}).infer_objects()
    np.testing.assert_array_equal(encoder.transform(alone), batch[:1])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"a": 1, "b": 2}, {"b": 2, "a": 1}], "row 0 is of type dict .*DataFrame"),
        ([[1, 2], [3]], "row 1 has 1 cell, but row 0 has 2"),
        ([[1, 2], None], "row 1 is missing"),
    ],
)
def test_rows_of_other_columns(rows, message):
    """pandas orders the cells of dicts by the first, and pads short rows."""
    encoder = TableEncoder().fit([[0, 1], [1, 3], [2, 4]])
    with pytest.raises((TypeError, ValueError), match=message):
        encoder.transform(rows)


@pytest.mark.parametrize("encoder", [TableEncoder(), TextMetaEncoder()])
def test_values_are_the_same_in_any_unicode_form(encoder):
    """Names of files on macOS have the other form."""
    table = pd.DataFrame({"town": ["Zürich ", "Bern", "Orléans"] * 10})
    other = table["town"].str.normalize("NFD").str.strip().to_frame()
    expected = encoder.fit(table).transform(table)
    np.testing.assert_array_equal(encoder.transform(other), expected)


NAMES = ["red", "blue", None, "red"] * 3
PAIRS = [["a", "b"], ["b"], None, []] * 3


def _encode(container, column):
    table = pd.DataFrame({"a": NAMES if column is NAMES else PAIRS})
    encoder = TableEncoder().fit(table)
    return encoder.transform(container), encoder.transform(table)


@pytest.mark.parametrize("as_pandas", [False, True])
@pytest.mark.parametrize(
    "kind",
    [
        *(pa.string(), pa.large_string(), pa.string_view()),
        *(
            pa.dictionary(pa.int8(), pa.string()),
            pa.dictionary(pa.int8(), pa.string_view()),
            pa.run_end_encoded(pa.int32(), pa.string()),
        ),
        *(
            pa.list_(pa.string()),
            pa.large_list(pa.string()),
            pa.list_(pa.string_view()),
        ),
        *(pa.list_view(pa.string()), pa.large_list_view(pa.string())),
        pa.list_(pa.dictionary(pa.int32(), pa.string())),
    ],
    ids=str,
)
def test_arrow_types_of_strings(kind, as_pandas):
    cells = PAIRS if "list" in str(kind) else NAMES
    if pa.types.is_run_end_encoded(kind):
        column = pyarrow.compute.run_end_encode(pa.array(cells))
    elif pa.types.is_dictionary(kind):
        codes = pa.array([None if c is None else int(c == "red") for c in cells])
        values = pa.array(["blue", "red"], kind.value_type)
        column = pa.DictionaryArray.from_arrays(codes, values)
    else:
        column = pa.array(cells, kind)
    table = pa.table({"a": column})
    if as_pandas:
        table = pd.DataFrame({"a": pd.arrays.ArrowExtensionArray(column)})
    np.testing.assert_array_equal(*_encode(table, cells))


@pytest.mark.parametrize("as_pandas", [False, True])
@pytest.mark.parametrize(
    "kind",
    [
        *(
            pa.int8(),
            pa.uint64(),
            pa.float16(),
            pa.decimal128(9, 1),
            pa.decimal256(50, 2),
        ),
        pa.dictionary(pa.int32(), pa.int64()),
    ],
    ids=str,
)
def test_arrow_types_of_numbers(kind, as_pandas):
    numbers = [5, 3, None, 12] * 3
    cells = [None if n is None else decimal.Decimal(n) for n in numbers]
    column = pa.array(cells if pa.types.is_decimal(kind) else numbers)
    is_dictionary = pa.types.is_dictionary(kind)
    column = column.dictionary_encode() if is_dictionary else column.cast(kind)
    encoder = TableEncoder().fit(pd.DataFrame({"a": numbers}))
    X = pa.table({"a": column})
    if as_pandas:
        X = pd.DataFrame({"a": pd.arrays.ArrowExtensionArray(column)})
    expected = encoder.transform(pd.DataFrame({"a": numbers}))
    np.testing.assert_array_equal(encoder.transform(X), expected)


def test_arrow_times_have_nanoseconds():
    """Neither datetime.time nor pandas has them."""
    seconds = [3600.5, 7200.25, 60.0] * 3
    column = pa.array([int(s * 1e9) + 1 for s in seconds], pa.time64("ns"))
    plain = column.cast(pa.time64("us"), safe=False)
    encoder = TableEncoder().fit(pa.table({"a": plain}))
    expected = encoder.transform(pa.table({"a": plain}))
    np.testing.assert_array_equal(encoder.transform(pa.table({"a": column})), expected)


@pytest.mark.parametrize(
    "column", [pa.array([b"x"] * 9), pa.array([{"x": 1}] * 9), pa.array([[1]] * 9)]
)
def test_arrow_cells_that_are_refused(column):
    with pytest.raises(TypeError, match="row 0 of the column 'a' is .* decode bytes"):
        TableEncoder().fit(pa.table({"a": column}))


INDEXED = pd.DataFrame({"brand": ["x", "y", "z", "x"] * 10, "size": range(40)})


@pytest.mark.parametrize("index", ["brand", None, ["brand", None]])
def test_an_arrow_table_with_the_index_of_pandas(index):
    """Columns with a name are those of the user; pandas hides them in its index."""
    named = (
        INDEXED.set_index("brand") if index == "brand" else INDEXED[INDEXED.index > -1]
    )
    if index is None:
        named = INDEXED.iloc[::-1].iloc[::-1]
    elif index != "brand":
        levels = [INDEXED["brand"], range(7, 47)]
        named = INDEXED[["size"]].set_index(
            pd.MultiIndex.from_arrays(levels, names=index)
        )
    table = pa.Table.from_pandas(named, preserve_index=True)
    assert any("__index_level" in n for n in table.column_names) == (index != "brand")
    plain = TableEncoder().fit(INDEXED)
    expected = plain.transform(INDEXED)
    encoder = TableEncoder().fit(table)
    assert {column.name for column in encoder.columns_} == {"brand", "size"}
    assert sorted(encoder.feature_names_in_) == ["brand", "size"]
    for X in (table, named, table.to_pandas(), pl.from_arrow(table)):
        np.testing.assert_array_equal(plain.transform(X), expected)
        np.testing.assert_array_equal(encoder.transform(X), encoder.transform(INDEXED))
        np.testing.assert_array_equal(plain.transform(X[:1]), expected[:1])
    # From pandas itself, an index is not a column.
    by_pandas = TableEncoder().fit(named)
    assert len(by_pandas.columns_) == named.shape[1]
    np.testing.assert_array_equal(
        by_pandas.transform(table), by_pandas.transform(named)
    )
