"""Tables that are not frames, and huge values."""

import datetime
import decimal
import fractions

import numpy as np
import pandas as pd
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


@pytest.mark.parametrize("other", ["True", True, "TRUE", 1])
@pytest.mark.parametrize("seen", [[True, False], [1, 0], ["True", "False", "odd"]])
def test_true_is_1(seen, other):
    """pandas reads a file of True and False as bools, and with other words as texts."""
    encoder = TableEncoder().fit(pd.DataFrame({"a": seen * 4}))
    assert encoder.transform(pd.DataFrame({"a": [other]}))[0, 0] == 1


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


def test_integers_of_arrow_are_exact_next_to_missing_ones():
    arrow = pytest.importorskip("pyarrow")
    ids = arrow.table({"id": [*(10**18 + np.arange(60) % 3).tolist(), None]})
    assert TableEncoder().fit(ids).columns_[0].n_distinct == 3


def test_a_date_with_a_zone_is_the_same_text_with_an_offset():
    days = pd.date_range("2024-01-01", periods=30, freq="31h", tz="Europe/Berlin")
    encoder = TableEncoder().fit(pd.DataFrame({"a": days}))
    expected = encoder.transform(pd.DataFrame({"a": days}))
    for same in (days.tz_convert("UTC"), days.astype(object), days.astype(str)):
        found = encoder.transform(pd.DataFrame({"a": same}))
        np.testing.assert_array_equal(found, expected)
