"""Tables that are not frames, and values at the limits of float32."""

import numpy as np
import pandas as pd
import pytest

from sk_metaembed import TableEncoder

FLOAT32 = np.finfo(np.float32).max


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


def test_numbers_beyond_float32_are_clipped():
    values = [1e300, -1e300, 1.0, np.nan] * 3
    encoded = TableEncoder().fit_transform(pd.DataFrame({"a": values}))
    np.testing.assert_array_equal(encoded[:4, 0], [FLOAT32, -FLOAT32, 1, np.nan])
