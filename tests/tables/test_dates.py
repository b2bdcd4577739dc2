"""Dates in usual formats."""

from datetime import date

import numpy as np
import pytest

from sk_metaembed.tables._date_order import choose_order
from sk_metaembed.tables._dates import PARTS, date_parts, parse_dates, varying_parts

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
    ("0001-01-01T00:00:00+02:00", None),
    ("March 5", None),
    ("Summer 2019", None),
    ("Marketing 2019", None),
    ("1.2.3", None),
    ("12.5", None),
    ("3", None),
    ("", None),
    ("N/A", None),
]


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
