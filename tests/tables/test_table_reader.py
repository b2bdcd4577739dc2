"""Tables that are not frames, and huge values."""

import datetime

import numpy as np
import pandas as pd
import pytest

from sk_metaembed import TableEncoder


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


def test_a_date_among_texts_is_the_same_text_alone():
    """pandas infers dates from the row of a date."""
    cells = [datetime.date(2020, 1, 1), "soon", "later"] * 4
    encoder = TableEncoder().fit(pd.DataFrame({"a": cells}))
    alone = pd.DataFrame({"a": pd.to_datetime(cells[:1])})
    batch = encoder.transform(pd.DataFrame({"a": cells}))
    np.testing.assert_array_equal(encoder.transform(alone), batch[:1])
