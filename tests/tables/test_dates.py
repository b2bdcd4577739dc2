"""Dates in usual formats."""

from datetime import date

import numpy as np
import pytest

from sk_metaembed.tables._date_order import choose_order
from sk_metaembed.tables._date_parts import PARTS, date_parts, varying_parts
from sk_metaembed.tables._dates import dates_and_forms, parse_dates

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
    order = "dmy" if text.startswith("13/8") else "mdy"
    assert parse_dates([text], order)[0] == MOMENT


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "PST", "PT", "AEST", "AKST", "IST"])
def test_names_of_zones_are_not_the_half_of_a_day(zone):
    early, late = parse_dates([f"2024-08-13 0{h}:15 {zone}" for h in (6, 7)], "mdy")
    assert late - early == np.timedelta64(1, "h")
    evening = parse_dates([f"2024-08-13 19:15 {zone}"], "mdy")[0]
    assert evening - late == np.timedelta64(12, "h")


@pytest.mark.parametrize(
    ("text", "hour"),
    [
        ("12:00 AM", 0), ("12:30 a.m.", 0.5), ("12:00 PM", 12), ("1:00 P", 13),
        ("AM 9:00", 9), ("11:00 p. m.", 23), ("13:00 PM", 13), ("24:00", 24),
    ],
)  # fmt: skip
def test_half_of_the_day(text, hour):
    (date,) = parse_dates([f"2024-08-13 {text}"], "mdy")
    assert date - np.datetime64("2024-08-13") == np.timedelta64(int(60 * hour), "m")


@pytest.mark.parametrize("text", ["13:00 AM", "24:01", "25:00", "10:61", "AM 1:00 PM"])
def test_times_that_do_not_exist(text):
    assert np.isnat(parse_dates([f"2024-08-13 {text}"], "mdy")[0])


def test_when_summer_time_begins_and_ends():
    texts = [f"2024-{day} 02:30 Europe/Paris" for day in ("03-31", "10-27")]
    found = parse_dates(texts, "mdy").astype("datetime64[m]").astype(str).tolist()
    # Clocks skip the first, which is read by winter time; the second occurs twice.
    assert found == ["2024-03-31T01:30", "2024-10-27T00:30"]


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("2024-08-13 17:04", "date"),
        ("2024-08-13", "date"),
        ("2024", "year"),
        ("2024-08-13T17:04:13-05:00", "zoned date"),
        ("20240813T170413Z", "zoned date"),
        ("2024-08-13 17:04 IST", "date in IST"),
        ("2024-08-13 17:04 Mars/Olympus", "date in Mars/Olympus"),
        ("Tue Aug 13 17:04:13 CEST 2024", "zoned date"),
        ("17:04 AUG 13 2024", "date"),
        ("5 Mar 2019 10:30 PM", "date"),
        ("soon", ""),
    ],
)
def test_form_of_a_date(text, form):
    assert dates_and_forms([text], "mdy")[1] == [form]


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
    date = parse_dates([text], "mdy").astype("datetime64[D]")[0]
    assert str(date) == (expected or "NaT")


def test_formats():
    dates = parse_dates([text for text, _ in DATES], "mdy")
    expected = np.array([date or "NaT" for _, date in DATES], "datetime64[us]")
    np.testing.assert_array_equal(dates, expected)


def _written(form, start="2023-11-20", n=60, step=1):
    days = np.datetime64(start) + step * np.arange(n)
    return [f"{day:{form}}" for day in days.astype(object)]


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
    assert choose_order(texts, [1] * len(texts)) == (order, is_shown)


@pytest.mark.parametrize("form", ["%d/%m/%y", "%m/%d/%y", "%y-%m-%d"])
@pytest.mark.parametrize(
    "odd", ["31/12/2020", "12/31/2020", "31.12.20", "05.03.2024", "99-12-31"]
)
def test_one_odd_cell_does_not_change_the_order_of_a_column(form, odd):
    texts = [*_written(form, n=300), odd]
    expected = "".join(part for part in form.casefold() if part in "dmy")
    assert choose_order(texts, [1] * len(texts)) == (expected, True)


@pytest.mark.parametrize("day", [1, 5])
@pytest.mark.parametrize("months", [1, 3])
@pytest.mark.parametrize("form", ["%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y"])
@pytest.mark.parametrize("odd", [[], ["31/12/2020"], ["12-31-2020"], ["unknown"]])
def test_one_day_of_the_months_of_several_years_shows_the_order(day, months, form, odd):
    days = [date(2000 + i // 12, i % 12 + 1, day) for i in range(0, 240, months)]
    texts = [f"{each:{form}}" for each in days] + odd
    expected = "".join(part for part in form.casefold() if part in "dmy")
    assert choose_order(texts, [1] * len(texts)) == (expected, True)


def test_day_first():
    dates = parse_dates(["05.03.2019", "05-03-2019", "3/5/2019"], "")
    assert (dates == np.datetime64("2019-03-05")).all()
    dates = parse_dates(["05.03.2019", "5/3/19", "2019-03-05", "31.12.1999"], "dmy")
    assert (dates[:3] == np.datetime64("2019-03-05")).all()
    assert dates[3] == np.datetime64("1999-12-31")


def test_points_have_the_day_first_in_a_column_with_the_month_first():
    found = parse_dates(["05/03/2024", "05.03.2024", "5.3.24"], "mdy")
    days = [f"2024-{day}T00" for day in ("05-03", "03-05", "03-05")]
    assert found.astype("datetime64[h]").astype(str).tolist() == days


def test_year_first():
    texts = ["19-03-05", "98/3/05", "2019-03-05", "10:30 19-03-05", "5 March 2019"]
    dates = parse_dates([*texts, "5-3-19", "19-13-05"], "ymd").astype("datetime64[D]")
    assert np.isnat(dates[-2:]).all()
    assert dates[1] == np.datetime64("1998-03-05")
    assert {*dates[:-2].tolist()} - {dates[1].item()} == {dates[0].item()}
    assert dates[0] == np.datetime64("2019-03-05")
    days = parse_dates(["05.03.2019", "05-03-2019", "03/05/2019"], "ymd")
    assert (days == np.datetime64("2019-03-05")).all()


def test_parts():
    dates = np.array(["1970-01-02T06:30", "NaT", "0001-01-01"], "datetime64[us]")
    parts = date_parts(dates, PARTS)
    np.testing.assert_allclose(parts[0], [1 + 6.5 / 24, 1970, 1, 2, 4, 6.5])
    assert np.isnan(parts[1]).all()
    np.testing.assert_allclose(parts[2], [-719162, 1, 1, 1, 0, 0])
    assert varying_parts(dates[:2]) == ("days",)
    year_end = np.array(["9999-12-31", "9999-12-30"], "datetime64[us]")
    assert varying_parts(year_end) == ("days", "day", "weekday")
