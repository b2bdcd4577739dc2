"""Columns of tables whose names are not str."""

import datetime
import uuid

import numpy as np
import pandas as pd
import pytest

from sk_metaembed import TableEncoder, load, save

DAYS = ["2020-01-31", "2020-02-29"]
NAMES = {
    "timestamps": pd.DatetimeIndex(DAYS),
    "timestamps of a zone": pd.DatetimeIndex(DAYS, tz="Europe/Berlin"),
    "missing timestamps": [pd.NaT, pd.Timestamp(DAYS[0])],
    "dates": [datetime.date.fromisoformat(day) for day in DAYS],
    "times": [datetime.time(1), datetime.time(2)],
    "periods": pd.PeriodIndex(DAYS, freq="M"),
    "durations": pd.to_timedelta([1, 2], unit="D"),
    "intervals": pd.interval_range(0, 2),
    "ints": [3, np.int64(4)],
    "floats": [0.5, 1.5],
    "tuples": pd.MultiIndex.from_tuples([("a", 1), ("b", 2)]),
    "tuples of dates": pd.Index(
        [("a", pd.Timestamp(DAYS[0])), "b"], tupleize_cols=False
    ),
    "none": [None, "a"],
    "nan": [np.nan, "a"],
    "uuids": [uuid.UUID(int=1), uuid.UUID(int=2)],
}


def table(names):
    X = pd.DataFrame({"a": ["red one", "blue"] * 6, "b": np.arange(12.0)})
    return X.set_axis(names, axis=1)


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
def test_names_of_any_type(names, tmp_path):
    X = table(names)
    before = X.copy()
    step = TableEncoder()
    encoded = step.fit_transform(X)
    pd.testing.assert_frame_equal(X, before)
    again = load(save(step, tmp_path / "table.skm"))
    for each in (step, again):
        np.testing.assert_allclose(each.transform(X), encoded, atol=1e-6)
        np.testing.assert_allclose(each.transform(X.iloc[:, ::-1]), encoded, atol=1e-6)
    with pytest.raises(ValueError, match="lacks the columns"):
        step.transform(X.iloc[:, :1])


def test_outputs_have_distinct_names():
    X = pd.DataFrame({"a": ["u", "v"] * 6, "a__u": np.arange(12.0)})
    encoder = TableEncoder().set_output(transform="polars").fit(X)
    assert encoder.transform(X).columns == ["a__u", "a__v", "a__u_"]
