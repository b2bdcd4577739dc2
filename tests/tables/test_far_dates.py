"""Dates that stand for none, such as 9999-12-31, and dates far from all others."""

import datetime
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sk_metaembed import TableEncoder

RNG = np.random.default_rng(0)
N = 300
DAYS = RNG.integers(0, 1500, N)
DATES = np.datetime64("2020-01-01", "D") + DAYS
IS_NONE = RNG.random(N) < 0.2
FAR = ["9999-12-31", "1900-01-01", "1970-01-01", "2099-12-31", "0001-01-01"]


def column(date, container="text"):
    """Return dates, some of which are one far date."""
    dates = np.where(IS_NONE, np.datetime64(date), DATES)
    if container == "text":
        return [*np.datetime_as_string(dates, "D")]
    if container == "German":
        return [f"{d.day:02}.{d.month:02}.{d.year:04}" for d in dates.tolist()]
    if container == "offset":
        return [f"{date}T00:00:00+00:00" for date in dates]
    if container == "objects":
        return pd.Series(dates.tolist(), dtype=object)
    if container == "numpy":
        return dates.astype("datetime64[s]")
    return pl.Series(dates.tolist())


CONTAINERS = ["text", "German", "offset", "objects", "numpy", "polars"]


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("date", FAR)
def test_a_far_date_that_repeats_has_an_indicator(date, container):
    encoder = TableEncoder().set_output(transform="pandas")
    with warnings.catch_warnings(action="error"):
        found = encoder.fit_transform(pd.DataFrame({"end": column(date, container)}))
        plain = TableEncoder().fit_transform(pd.DataFrame({"end": DATES}))
        alone = encoder.transform(pd.DataFrame({"end": column(date, container)[:9]}))
    assert encoder.columns_[0].encodings == ("date", "indicators")
    names = encoder.get_feature_names_out().tolist()
    assert names[-1] == f"end__{date}"
    np.testing.assert_array_equal(found[names[-1]], IS_NONE)
    assert found.loc[IS_NONE, names[:-1]].isna().all(axis=None)
    np.testing.assert_array_equal(found.loc[~IS_NONE, names[:-1]], plain[~IS_NONE])
    np.testing.assert_array_equal(alone, found[:9])


def test_infinity_among_dates_has_an_indicator():
    is_none = IS_NONE & (DAYS % 2 == 0)
    texts = [*np.where(is_none, "infinity", DATES.astype(str))]
    encoder = TableEncoder().set_output(transform="pandas")
    found = encoder.fit_transform(pd.DataFrame({"end": texts}))
    assert encoder.columns_[0].kind == "date"
    np.testing.assert_array_equal(found["end__infinity"], is_none)


def test_the_last_moment_of_a_zone_beside_dates_without_one():
    last = datetime.datetime.fromisoformat("9999-12-31T23:59:59-05:00")
    cells = np.where(IS_NONE, last, DATES.astype(object))
    typed, texts = pd.DataFrame({"end": cells}), pd.DataFrame({"end": map(str, cells)})
    with pytest.warns(UserWarning, match="with a time zone, and"):
        encoder = TableEncoder().fit(typed)
    assert encoder.columns_[0].encodings == ("date", "indicators")
    np.testing.assert_array_equal(encoder.transform(texts), encoder.transform(typed))


@pytest.mark.parametrize("date", FAR)
def test_one_far_date_changes_others_by_little(date):
    dates = [*np.datetime_as_string(DATES), date]
    encoder = TableEncoder().fit(pd.DataFrame({"end": dates}))
    days = encoder.transform(pd.DataFrame({"end": dates}))[:, 0]
    assert np.ptp(days) < 5 * np.ptp(days[:-1])
    assert abs(days[-1] - days[0]) > np.ptp(days[:-1])


@pytest.mark.parametrize("step", ["D", "M", "Y"])
@pytest.mark.parametrize("n", [2, 4, 6, 9, 200])
def test_regular_dates_are_not_far(step, n):
    dates = (np.datetime64("2001", step) + np.arange(n)).astype("datetime64[us]")
    encoder = TableEncoder().fit(pd.DataFrame({"end": np.repeat(dates, 5)}))
    assert encoder.columns_[0].encodings == ("date",)
    numbers = encoder.transform(pd.DataFrame({"end": dates}))
    assert len(np.unique(numbers[:, 0])) == n


def test_later_dates_keep_their_parts_beyond_the_limit_of_days():
    days = [datetime.datetime(2024, 8, 13, 8 + i % 9) for i in range(40)]
    encoder = (
        TableEncoder().set_output(transform="pandas").fit(pd.DataFrame({"x": days}))
    )
    later = pd.DataFrame({"x": [datetime.datetime(2025, 8, 20, 10)]})
    assert encoder.transform(later)["x__hour"].tolist() == [10]
