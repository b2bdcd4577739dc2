"""Dates in usual formats."""

import contextlib
import functools
import re
import warnings
from datetime import date, datetime

import numpy as np
import pandas as pd
import pytest

from sk_metaembed import TableEncoder

from .one_column import as_frame, encode, fit

# Each text, and the date in ISO format or None.
DATES = [
    ("2019-03-05", "2019-03-05"),
    ("2019/3/5", "2019-03-05"),
    ("20190305", "2019-03-05"),
    ("2019-03", "2019-03-01"),
    ("03/2019", "2019-03-01"),
    ("2019", "2019-01-01"),
    ("2019-Q2", "2019-04-01"),
    ("Q4 2019", "2019-10-01"),
    ("03/05/2019", "2019-03-05"),
    ("3/5/19", "2019-03-05"),
    ("3/5/70", "1970-03-05"),
    ("March 5, 2019", "2019-03-05"),
    ("March 5th 2019", "2019-03-05"),
    ("Tuesday, 5 March 2019", "2019-03-05"),
    ("5th of March 2019", "2019-03-05"),
    ("05-Mar-19", "2019-03-05"),
    ("Mar 2019", "2019-03-01"),
    ("2019 OCT", "2019-10-01"),
    ("Sept 2019", "2019-09-01"),
    ("Mar-98", "1998-03-01"),
    ("5. März 2019", "2019-03-05"),
    ("5 février 2019", "2019-02-05"),
    ("5 de agosto de 2019", "2019-08-05"),
    ("2019-03-05 14:05", "2019-03-05T14:05"),
    ("2019-03-05T14:05:33.25Z", "2019-03-05T14:05:33.250"),
    ("2019-03-05T00:05:00+02:00", "2019-03-04T22:05"),
    ("2019-03-05 14:05:00-0530", "2019-03-05T19:35"),
    ("3/5/2019 2:05 PM", "2019-03-05T14:05"),
    ("March 5, 2019, 12:30 a.m.", "2019-03-05T00:30"),
    ("Tue, 05 Mar 2019 14:05:33 GMT", "2019-03-05T14:05:33"),
    ("Tue Mar 05 14:05:33 +0200 2019", "2019-03-05T12:05:33"),
    ("2019年3月5日", "2019-03-05"),
    ("2019年3月", "2019-03-01"),
    ("0001-01-01", "0001-01-01"),
    ("9999-12-31", "9999-12-31"),
    ("2020-02-29", "2020-02-29"),
    ("2019-02-29", None),
    ("13/05/2019", None),
    ("2019-03-05 25:99", None),
    ("0001-01-01T00:00:00+02:00", "0000-12-31T22:00"),
    ("9999-12-31T23:59:59-05:00", "+10000-01-01T04:59:59"),
    ("9999-12-31 24:00", "+10000-01-01T00:00"),
    ("0044-03-15 BC", "-0043-03-15"),
    ("-0043-03-15", "-0043-03-15"),
    ("0000-00-00 00:00:00", None),
    ("1900-01-00", None),
    ("March 5", None),
    ("Summer 2019", None),
    ("Marketing 2019", None),
    ("1.2.3", None),
    ("12.5", None),
    ("3", None),
    ("", None),
    ("N/A", None),
]


@functools.cache
def encoder(form="%m/%d/%Y %H:%M:%S"):
    """Return an encoder of dates that show their order, and have all parts."""
    days = pd.date_range("1900-01-02", "2100-01-01", 400)
    return fit(days.strftime(form))


def check_read_as(texts, dates, form="%m/%d/%Y %H:%M:%S"):
    """Check that texts are encoded as typed dates, of which None is missing."""
    typed = pd.Series(np.array([d or "NaT" for d in dates], "datetime64[us]"))
    found, expected = encode(encoder(form), texts), encode(encoder(form), typed)
    np.testing.assert_array_equal(found, expected)
    is_none = [d is None for d in dates]
    np.testing.assert_array_equal(np.isnan(found).all(axis=1), is_none)


def test_formats():
    check_read_as(*zip(*DATES, strict=True))


# Forms of one moment, as tools write it.
MOMENT = np.datetime64("2024-08-13T15:04:13", "us")
FORMS = [
    "2024-08-13T17:04:13+02:00",
    "2024-08-13 17:04:13.000000000 +02:00",
    "2024-08-13 15:04:13Z",
    "2024-08-13 17:04:13+02",  # PostgreSQL
    "2024-08-13T17:04:13+02:00[Europe/Paris]",  # Java, Temporal
    "2024-08-13T17:04:13[Europe/Paris]",
    "2024-08-13 17:04:13 Europe/Paris",
    "2024-08-13 17:04:13 EUROPE/PARIS",
    "2024-08-13 17:04:13 CEST",
    "2024-08-13 08:04:13 PDT",
    "2024-08-13 08:04:13 PT",
    "2024-08-13 08:04:13 PST8PDT",
    "2024-08-13 10:04:13 Etc/GMT+5",
    "2024-08-13 07:04:13 AKDT",
    "2024-08-14 01:04:13 AEST",
    "2024-08-14 00:04:13 Asia/Tokyo",
    "2024-08-13 11:04:13 America/New_York",
    "2024-08-13 11:04:13 AM America/New_York",
    "2024-08-13 17:04:13 UTC+2",
    "2024-08-13 15:04:13 (UTC)",
    "2024-08-13 17:04:13 +0200 CEST m=+0.000012",  # Go
    "Tue Aug 13 2024 17:04:13 GMT+0200 (Central European Summer Time)",  # JavaScript
    "Tue Aug 13 17:04:13 2024 +0200",  # git
    "Tue Aug 13 17:04:13 CEST 2024",
    "Aug 13 15:04:13 2024 GMT",  # OpenSSL
    "Tue, 13 Aug 2024 17:04:13 +0200 (CEST)",
    "Tuesday, 13-Aug-24 15:04:13 GMT",
    "13/Aug/2024:17:04:13 +0200",  # Apache
    "[13/Aug/2024:17:04:13 +0200]",
    "20240813T150413Z",
    "20240813T170413+0200",
    "20240813T170413.000+02:00",
    "13AUG2024:15:04:13",  # SAS
    "13AUG24:15:04:13",
    "13-AUG-24 05.04.13.000000 PM +02:00",  # Oracle
    "13-AUG-24 05.04.13.000000000 PM EUROPE/PARIS",
    "13-AUG-24 03.04.13.000000 PM",
    "2024-08-13-15.04.13.000000",  # Db2
    "13.8.2024 15.04.13",
    "13. August 2024 um 15:04:13 Uhr",
    "13 août 2024 à 15h04m13s",
    "2024:08:13 15:04:13",  # EXIF
    "20240813150413",
    "20240813_150413",
    "Tue Aug 13 15:04:13 2024",
    "2024-226 15:04:13",
    "2024-W33-2 15:04:13",
    "8/13/2024, 3:04:13\u202fPM",  # browsers
    "13/8/2024, 3:04:13 p.\xa0m.",
    "2024/8/13 下午3:04:13",
    "2024年8月13日 15時04分13秒",
    "2024. 8. 13. 오후 3:04:13",
    "Aug 13 2024 03:04:13:000PM",  # SQL Server
    "August 13, 2024 at 3:04:13 PM",
]


@pytest.mark.parametrize("text", FORMS)
def test_a_moment_in_the_forms_of_tools(text):
    day_first = text.startswith("13/8")
    check_read_as([text], [MOMENT], "%d/%m/%Y %H:%M:%S" if day_first else "%m/%d/%Y %T")


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "PST", "PT", "AEST", "AKST", "IST"])
def test_names_of_zones_are_not_the_half_of_a_day(zone):
    texts = [f"2024-08-13 {hour}:15 {zone}" for hour in ("06", "07", "19")]
    hours = encode(encoder(), texts)[:, -1]
    assert (np.diff(hours) % 24).tolist() == [1, 12]


@pytest.mark.parametrize(
    ("text", "hour"),
    [
        ("12:00 AM", 0), ("12:30 a.m.", 0.5), ("12:00 PM", 12), ("1:00 P", 13),
        ("AM 9:00", 9), ("11:00 p. m.", 23), ("13:00 PM", 13), ("24:00", 24),
    ],
)  # fmt: skip
def test_half_of_the_day(text, hour):
    moment = np.datetime64("2024-08-13") + np.timedelta64(int(60 * hour), "m")
    check_read_as([f"2024-08-13 {text}"], [moment])


@pytest.mark.parametrize("text", ["13:00 AM", "24:01", "25:00", "10:61", "AM 1:00 PM"])
def test_times_that_do_not_exist(text):
    check_read_as([f"2024-08-13 {text}"], [None])


def test_when_summer_time_begins_and_ends():
    texts = [f"2024-{day} 02:30 Europe/Paris" for day in ("03-31", "10-27")]
    # Clocks skip the first, which is read by winter time; the second occurs twice.
    check_read_as(texts, ["2024-03-31T01:30", "2024-10-27T00:30"])


@pytest.mark.parametrize(
    ("text", "is_new"),
    [
        ("2024-08-13 17:04", False),
        ("2024-08-13", False),
        ("17:04 AUG 13 2024", False),
        ("5 Mar 2019 10:30 PM", False),
        ("2024", True),
        ("2024-08-13T17:04:13-05:00", True),
        ("20240813T170413Z", True),
        ("2024-08-13 17:04 IST", True),
        ("2024-08-13 17:04 Mars/Olympus", True),
        ("Tue Aug 13 17:04:13 CEST 2024", True),
    ],
)
def test_years_and_zones_are_other_notations_than_dates(text, is_new):
    with warnings.catch_warnings(record=True, action="always") as found:
        encoder().transform(as_frame([text]))
    assert [text in str(each.message) for each in found] == [True] * is_new


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-226", "2024-08-13"), ("2024-366", "2024-12-31"), ("2023-366", None),
        ("2024-W33-2", "2024-08-13"), ("2024W33", "2024-08-12"), ("2024-W54", None),
        ("2024q3", "2024-07-01"), ("2024m8", "2024-08-01"), ("2024h2", "2024-07-01"),
        ("2024M13", None), ("AUG2024", "2024-08-01"), ("13AUG2024", "2024-08-13"),
        ("2024. 08. 13.", "2024-08-13"), ("2024-08-13Z", "2024-08-13"),
    ],
)  # fmt: skip
def test_parts_of_years(text, expected):
    check_read_as([text], [expected])


def _written(form, start="2023-11-20", n=60, step=1):
    days = np.datetime64(start) + step * np.arange(n)
    return [f"{day:{form}}" for day in days.astype(object)]


def dates_by_order(text):
    """Return what "05/03/24" is by each order of day, month and year."""
    match = re.search(r"(\d+)([-/.])(\d+)\2(\d+)$", text)
    dates = {}
    for order in ("mdy", "dmy", "ymd") if match and len(match[1]) < 3 else ():
        numbers = dict(zip(order, (match[1], match[3], match[4]), strict=True))
        form = "%Y-%m-%d" if len(numbers["y"]) > 2 else "%y-%m-%d"
        with contextlib.suppress(ValueError):
            text = "-".join(numbers[part] for part in "ymd")
            dates[order] = datetime.strptime(text, form)
    return dates


def order_of(texts):
    """Return the order by which a column is read, and whether it is shown."""
    with warnings.catch_warnings(record=True, action="always") as found:
        encoder = TableEncoder().fit(as_frame([*texts, None]))
    is_shown = not any("shows the order" in str(each.message) for each in found)
    pairs = [(t, order, day) for t in texts for order, day in dates_by_order(t).items()]
    if not pairs:
        return "", is_shown
    texts, orders, dates = zip(*pairs, strict=True)
    read = encode(encoder, [text.split()[-1] for text in texts])[:, 0]
    are_read = read == encode(encoder, pd.Series(dates))[:, 0]
    return max(
        "mdy", "dmy", "ymd", key=np.array(orders)[are_read].tolist().count
    ), is_shown


@pytest.mark.parametrize(
    ("texts", "order", "is_shown"),
    [
        (["05/03/2019", "13/03/2019", "01/02/2019"], "dmy", True),
        (["05/03/2019", "03/13/2019", "01/02/2019"], "mdy", True),
        (["05/03/2019"], "mdy", False),
        (["05-03-2019"], "dmy", False),
        (["10:30 05/03/2019", "10:30 13/03/2019"], "dmy", True),
        (["05.03.2019"], "dmy", True),
        (["05/03/2019", "06/03/2019", "31.12.2020"], "mdy", False),
        (["24.03.05"], "dmy", True),
        (["2019-03-05", "5 March 2019"], "", True),
        ([f"01/{month:02}/2019" for month in (1, 4, 7, 10)], "dmy", True),
        (["01/01/2019", "02/01/2019", "03/01/2019", "04/01/2019"], "mdy", False),
        (_written("%d/%m/%Y", "2024-01-02", 9), "mdy", False),
        (_written("%m/%d/%Y", "2024-01-02", 9), "dmy", False),
        (["24-01-01", "24-04-01", "24-07-01", "23-10-01"], "ymd", True),
        (["13/01/2019", "02/13/2019", "02/14/2019"], "mdy", True),
        (["24-03-05", "98-03-05"], "ymd", True),
        (["05-03-24", "05-03-98"], "dmy", False),
        (["24-03-05", "24-03-98"], "dmy", True),
        (["00-03-05", "05-03-24"], "ymd", True),
        (["24-03-05"], "dmy", False),
        (["24-03-05", "24-03-12"], "ymd", False),
        (["05/03/24", "07/03/24"], "mdy", False),
        (_written("%y-%m-%d"), "ymd", True),
        (_written("%y/%m/%d", "2001-01-01", 300), "ymd", True),
        (_written("%y-%m-%d", "2008-01-01", 90, 17), "ymd", True),
        (_written("%d-%m-%y"), "dmy", True),
        (_written("%d/%m/%y", "2001-01-01", 300, 29), "dmy", True),
        (_written("%d/%m/%y", "1970-01-01", 300, 50), "dmy", True),
        (_written("%m/%d/%y"), "mdy", True),
        (_written("%d.%m.%Y", "2024-01-02", 9), "dmy", True),
        (_written("%y.%m.%d", "2024-01-02", 9), "dmy", False),
        (_written("%d-%m-%Y", "2024-01-02", 9), "dmy", False),
        ([*_written("%m/%d/%Y", n=9), "05.03.2024"], "mdy", True),
        ([*_written("%m/%d/%Y", "2024-02-02", 9), "05.03.2024"], "mdy", False),
        ([*_written("%d/%m/%Y", "2024-01-02", n=11), "13/01/2024"], "dmy", True),
    ],
)
def test_order_of_a_column(texts, order, is_shown):
    assert order_of(texts) == (order, is_shown)


@pytest.mark.parametrize("form", ["%d/%m/%y", "%m/%d/%y", "%y-%m-%d"])
def test_one_odd_cell_does_not_change_the_order_of_a_column(form):
    expected = "".join(part for part in form.casefold() if part in "dmy")
    for odd in ("31/12/2020", "12/31/2020", "31.12.20", "05.03.2024", "99-12-31"):
        assert order_of([*_written(form, n=100), odd]) == (expected, True)


@pytest.mark.parametrize("day", [1, 5])
@pytest.mark.parametrize("months", [1, 3])
@pytest.mark.parametrize("form", ["%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y"])
def test_one_day_of_the_months_of_several_years_shows_the_order(day, months, form):
    days = [date(2000 + i // 12, i % 12 + 1, day) for i in range(0, 120, months)]
    texts = [f"{each:{form}}" for each in days]
    expected = "".join(part for part in form.casefold() if part in "dmy")
    for odd in ([], ["31/12/2020"], ["12-31-2020"], ["unknown"]):
        assert order_of(texts + odd) == (expected, True)


def test_points_have_the_day_first_in_a_column_with_the_month_first():
    texts = ["05/03/2024", "05.03.2024", "5.3.24"]
    check_read_as(texts, ["2024-05-03", "2024-03-05", "2024-03-05"])


def test_day_first():
    texts = ["05.03.2019", "5/3/19", "2019-03-05", "31.12.1999"]
    check_read_as(texts, ["2019-03-05"] * 3 + ["1999-12-31"], "%d/%m/%Y %H:%M")
    # In columns where the month has a name, no order is needed.
    check_read_as(
        ["05.03.2019", "05-03-2019", "3/5/2019"], ["2019-03-05"] * 3, "%d %b %Y"
    )


def test_year_first():
    texts = ["19-03-05", "98/3/05", "2019-03-05", "10:30 19-03-05", "5 March 2019"]
    dates = ["2019-03-05", "1998-03-05", "2019-03-05", "2019-03-05T10:30", "2019-03-05"]
    form = "%y-%m-%d"
    with warnings.catch_warnings(action="ignore"):
        check_read_as([*texts, "5-3-19", "19-13-05"], [*dates, None, None], form)
    texts = ["05.03.2019", "05-03-2019", "03/05/2019"]
    check_read_as(texts, ["2019-03-05"] * 3, form)


def test_parts():
    frame = as_frame([datetime(1970, 1, 2, 6, 30), None, datetime(1960, 12, 31)])
    encoder = TableEncoder().set_output(transform="pandas").fit(frame)
    parts = encoder.transform(frame)
    names = ["days", "year", "month", "day", "weekday", "hour"]
    assert parts.columns.tolist() == [f"x__{name}" for name in names]
    np.testing.assert_allclose(parts.iloc[0], [1 + 6.5 / 24, 1970, 1, 2, 4, 6.5])
    assert parts.iloc[1].isna().all()
    np.testing.assert_allclose(parts.iloc[2], [-3288, 1960, 12, 31, 5, 0])
    year_end = as_frame([datetime(9999, 12, 31), datetime(9999, 12, 30)])
    names = encoder.fit(year_end).get_feature_names_out().tolist()
    assert names == ["x__days", "x__day", "x__weekday"]
