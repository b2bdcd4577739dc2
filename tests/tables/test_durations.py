"""Durations and times of day as tools write them."""

import datetime
import functools
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sk_metaembed import TableEncoder

from .one_column import as_frame, encode, fit

DAY = 86400
# Forms of 1 day, 2 hours, 3 minutes and 4 seconds.
FORMS = [
    "P1DT2H3M4S",
    "PT93784S",  # polars
    "P0Y0M1DT2H3M4.000S",
    "P-1DT-2H-3M-4S",  # negative, as all below until "26:03:04"
    "-P1DT2H3M4S",
    "-1 days -02:03:04",  # PostgreSQL
    "-2 days +21:56:56",  # pandas
    "-2 days, 21:56:56",  # Python
    "@ 1 day 2 hours 3 mins 4 secs ago",
    "INTERVAL '-1 02:03:04' DAY TO SECOND",  # Spark
    "-1.02:03:04.0000000",  # .NET
    "26:03:04",  # spreadsheets, MySQL
    "1 days 02:03:04",
    "1 days 02:03:04.000000",
    "1 day, 2:03:04",
    "1 day 02:03:04",
    "1 2:03:04",
    "+01 02:03:04.000000",  # Oracle
    "@ 1 day 2 hours 3 mins 4 secs",
    "INTERVAL '1 02:03:04' DAY TO SECOND",
    "INTERVAL '1 day 02:03:04'",
]


@functools.cache
def encoder():
    """Return an encoder of typed durations."""
    return fit([datetime.timedelta(0, 37 * i) for i in range(40)])


@pytest.mark.parametrize("text", FORMS)
def test_a_duration_in_the_forms_of_tools(text):
    is_negative = text.startswith(("-", "P-", "INTERVAL '-")) or text.endswith("ago")
    expected = DAY + 2 * 3600 + 3 * 60 + 4
    assert encode(encoder(), [text])[0, 0] == (-expected if is_negative else expected)


READ = [
    ("PT45M", 45 * 60), ("P3D", 3 * DAY), ("P1W", 7 * DAY), ("PT0.5S", 0.5),
    ("PT1,5H", 5400), ("P1Y2M", 31557600 + 2 * 2629800), ("PT0S", 0),
    ("1 mon 02:00:00", 2629800 + 7200), ("1 year 2 mons -3 days 04:00:00",
    31557600 + 2 * 2629800 - 3 * DAY + 14400),
    ("INTERVAL '1-2' YEAR TO MONTH", 31557600 + 2 * 2629800),
    ("INTERVAL '75' MINUTE", 4500), ("INTERVAL '04:05' MINUTE TO SECOND", 245),
    ("15:00:00.25", 54000.25), ("-00:30:00", -1800), ("12:00 AM", 0),
    ("12:05:10 pm", 43510), ("9am", 32400), ("3 P.M.", 54000), ("下午3:00", 54000),
    ("오후 3:00", 54000), ("24:00", DAY), ("15:00 Uhr", 54000), ("17h", 17 * 3600),
    ("07:15:00 PST", 54900), ("07:15 Asia/Tokyo", 80100), ("15:00Z", 54000),
    ("07:15:00+02:00", 18900), ("07:15 PT", 26100), ("07:15 IST", 26100),
    ("13:00 AM", None), ("PT", None), ("P", None), ("P1", None), ("PT5", None),
    ("1:75", None), ("15:00 soon", None), ("5 days", 5 * DAY), ("3:00 PM AM", None),
    ("08:00-12:00", None), ("08:00:00-12:00:00", None), ("07:15:00-05", 44100),
    ("1 d 8 w", None), ("14:11 SAVE", None), ("10:30 art", None),
    ("INTERVAL 'x' DAY", None), ("INTERVAL '1:2:3' SECOND", None),
]  # fmt: skip


def test_other_durations_and_times_of_day():
    texts, seconds = zip(*READ, strict=True)
    expected = [np.nan if s is None else s for s in seconds]
    found = encode(encoder(), texts)[:, 0]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("zone", ["PST", "AEST", "Asia/Tokyo", "AKST", "PT", "IST"])
def test_names_of_zones_are_not_the_half_of_a_day(zone):
    seconds = encode(encoder(), [f"{hour}:15 {zone}" for hour in ("06", "07", "19")])
    assert (np.diff(seconds[:, 0]) % DAY).tolist() == [3600, 12 * 3600]


@pytest.mark.parametrize(
    ("text", "is_new"),
    [
        ("15:00:00", False), ("3 PM", False), ("3:00 pm", False), ("15:00", False),
        ("1:02:03", False), ("2:30.5", True), ("15:00Z", True), ("43:10", True),
        ("07:15 Asia/Tokyo", True), ("07:15 PT", True),
    ],
)  # fmt: skip
def test_notations_that_are_surely_times_of_day(text, is_new):
    times = fit(TIMES)
    with warnings.catch_warnings(record=True, action="always") as found:
        times.transform(as_frame([text]))
    assert [repr(text) in str(each.message) for each in found] == [True] * is_new


@pytest.mark.parametrize(
    ("texts", "clock"),
    [
        (["15:00", "07:30", "9:05"], "h"),
        (["75:30", "59:10", "2:30"], "m"),
        (["15:00", "15:00:30"], "h"),  # Java leaves zero seconds out
        (["2:30", "1:02:03"], "m"),
        (["24:00", "00:30"], "h"),
        ([*[f"{h:02}:{m:02}" for h in range(24) for m in range(9)], "75:30"], "h"),
        (["-02:30", "-01:30"], "h"),
    ],
)
def test_hours_or_minutes_first(texts, clock):
    found = encode(fit(texts * 5), ["15:00", "15:00.5", "15:00:30"])[:, 0]
    assert found.tolist() == [54000 if clock == "h" else 900, 900.5, 54030]


def test_typed_durations_and_times():
    zone = datetime.timezone(datetime.timedelta(hours=2))
    arrow = SimpleNamespace  # has the fields of an Arrow interval
    arrow = type("MonthDayNano", (arrow,), {})(months=1, days=2, nanoseconds=5 * 10**8)
    for cell, expected in (
        (datetime.time(15), 54000),
        (datetime.time(15, 0, 30, 250_000), 54030.25),
        (datetime.time(1, tzinfo=zone), 82800),
        (datetime.timedelta(1, 5), DAY + 5),
        (pd.Timedelta(45, "m"), 2700),
        (np.timedelta64(45, "m"), 2700),
        (pd.DateOffset(months=1, days=2), 2629800 + 2 * DAY),
        (arrow, 2629800 + 2 * DAY + 0.5),
    ):
        assert encode(encoder(), pd.Series([cell], dtype=object))[0, 0] == expected


TIMES = [datetime.time(i * 7 % 24, i * 11 % 60) for i in range(60)]
ARROW_TIME, ARROW_DURATION = pa.time64("ns"), pa.duration("us")
TIME_COLUMNS = {
    "objects": TIMES,
    "hours and minutes": [f"{time:%H:%M}" for time in TIMES],
    "with seconds": [*map(str, TIMES)],
    "am and pm": [f"{time:%I:%M %p}" for time in TIMES],
    "polars": pl.Series(TIMES),
    "arrow": pd.Series(TIMES, dtype=pd.ArrowDtype(ARROW_TIME)),
    "polars, of a sheet": pl.Series(
        [datetime.datetime.combine(datetime.date(1899, 12, 31), t) for t in TIMES]
    ),
    "strptime": pd.to_datetime([f"{t:%H:%M}" for t in TIMES], format="%H:%M"),
    "text of a sheet": [f"1899-12-31 {time}" for time in TIMES],
    "times and durations": [
        datetime.timedelta(0, 3600 * t.hour + 60 * t.minute) if t.hour > 12 else t
        for t in TIMES
    ],
}
DURATIONS = [datetime.timedelta(0, 60 * i * i + 3600) for i in range(60)]
DURATION_COLUMNS = {
    "objects": DURATIONS,
    "pandas": pd.Series(DURATIONS),
    "text of pandas": pd.Series(DURATIONS).astype(str),
    "polars": pl.Series(DURATIONS),
    "ISO by polars": pl.Series(DURATIONS).dt.to_string("iso"),
    "arrow": pd.Series(DURATIONS, dtype=pd.ArrowDtype(ARROW_DURATION)),
    "intervals": pa.array(
        [pa.MonthDayNano([0, d.days, d.seconds * 10**9]) for d in DURATIONS]
    ).to_pandas(),
    "text of Python": [*map(str, DURATIONS)],
    "minutes": [f"{d.total_seconds() / 60:.0f} min" for d in DURATIONS],
}


def _seconds(cell):
    if isinstance(cell, datetime.timedelta):
        return cell.total_seconds()
    return 3600 * cell.hour + 60 * cell.minute


@pytest.mark.parametrize(
    ("columns", "name"),
    [
        (columns, name)
        for columns in (TIME_COLUMNS, DURATION_COLUMNS)
        for name in columns
    ],
)
def test_a_table_means_the_same_from_any_tool(columns, name):
    seconds = [_seconds(cell) for cell in columns["objects"]]
    encoder = TableEncoder()
    with warnings.catch_warnings(action="error"):
        found = encoder.fit_transform(as_frame(columns[name]))
        np.testing.assert_allclose(found[:, 0], seconds, rtol=1e-6)
        for other in columns.values():
            new = encoder.transform(as_frame(other))
            np.testing.assert_allclose(new[:, 0], seconds, rtol=1e-6)


SHORT = [f"{minutes}:{seconds}" for minutes in (3, 4, 12) for seconds in (10, 45)]


@pytest.mark.parametrize(
    ("seen", "new"),
    [
        (SHORT, [datetime.timedelta(0, 225)]),
        (SHORT, ["PT225S"]),
        (DURATIONS, SHORT),
        ([*SHORT, "75:30"], [datetime.time(3, 45)]),
        ([*SHORT, "75:30"], ["3:45 PM"]),
    ],
)
def test_two_numbers_that_can_be_hours_or_minutes_are_named(seen, new):
    encoder = TableEncoder().fit(as_frame(seen * 5))
    with pytest.warns(UserWarning, match="'x' was written as '.*' in fit, but has '.*"):
        encoder.transform(as_frame(new))


@pytest.mark.parametrize("columns", [TIME_COLUMNS, DURATION_COLUMNS])
def test_fractions_of_a_day_are_named_in_a_warning(columns):
    encoder = TableEncoder().fit(as_frame(columns["objects"]))
    fractions = [_seconds(cell) / DAY for cell in columns["objects"]]
    with pytest.warns(UserWarning, match="'x' was written as '.*' in fit, but has 0"):
        encoder.transform(as_frame(fractions))
