"""Numbers as people write them."""

import numpy as np
import pytest

from .one_column import encode, fit

nan = float("nan")
# Each column is read by the format that it chooses.
COLUMNS = {
    "plain": (["3", "-4.5", "+3", ".5"], [3, -4.5, 3, 0.5]),
    "exponents": (["1e-3", "2.5E+2", "1.5e2 kg"], [1e-3, 250, 150]),
    "thousands": (["1,299", "12.5", "1,234,567.25"], [1299, 12.5, 1234567.25]),
    "decimal comma": (["1,299", "12,5", "0,125"], [1.299, 12.5, 0.125]),
    "only ambiguous commas": (["1,299", "2,000"], [1299, 2000]),
    "only ambiguous points": (["1.299", "2.000"], [1.299, 2.0]),
    "points and whole": (["1.299", "2.450", "12.500", "850"], [1299, 2450, 12500, 850]),
    "German": (["1.234,50", "1.299", "1.234.567"], [1234.5, 1299, 1234567]),
    "French": (["1 234,50", "1\u202f299", "7,5"], [1234.5, 1299, 7.5]),
    "Swiss": (["1'234.5", "1’299"], [1234.5, 1299]),
    "Indian": (["₹1,299", "₹12,34,567.5"], [1299, 1234567.5]),
    "odd decimal comma": (["1.5", "2.5", "12,5"], [1.5, 2.5, 12.5]),
    "accounting": (["(1,200)", "30", "($5)"], [-1200, 30, -5]),
    "minus": (["−5", "-$5", "$-6", "$ 12.50"], [-5, -5, -6, 12.5]),
    "currency code": (["USD 12", "USD7", "Rs. 1,200/-"], [12, 7, nan]),
    "currency behind": (["12 €", "1.5€"], [12, 1.5]),
    "rupees": (["Rs. 1,200/-", "Rs.70/-"], [1200, 70]),
    "percent": (["12%", "7.5 %"], [12, 7.5]),
    "percent and shares": (["12%", "3%", "0.25", "1", "1,5 %"], [12, 3, 25, 100, 1.5]),
    "percent and plain": (["12%", "3%", "0.25", "41"], [12, 3, 0.25, 41]),
    "percent and zero": (["12%", "3%", "0", "1"], [12, 3, 0, 1]),
    "small percent": (["0.2%", "0.9%", "0.5"], [0.2, 0.9, 0.5]),
    "scales": (["1.2M", "201k", "19M", "3 million"], [1.2e6, 2.01e5, 1.9e7, 3e6]),
    "scaled currency": (["$1.2M", "$201k", "$1 million"], [1.2e6, 2.01e5, 1e6]),
    "small m": (["1.2m", "201k"], [1.2e6, 2.01e5]),
    "bounds": (["1,000+", "<5", "~30", ">= 7", "10+"], [1000, 5, 30, 7, 10]),
    "about": (["ca. 30", "approx 7", "over 9 km"], [30, 7, 9]),
    "no unit": (["1", "2", "2 |;", "Windows 7"], [1, 2, nan, nan]),
    "ordinals": (["1st", "2nd", "23rd"], [1, 2, 23]),
    "minus behind": (["1,200.50-", "7"], [-1200.5, 7]),
    "per cent": (["5 percent", "7%", "8pct"], [5, 7, 8]),
    "full width": (["１２３", "４．５"], [123, 4.5]),
    "Arabic-Indic": (["١٢٣", "٤٫٥"], [123, 4.5]),
    "unit": (["23.4 kmpl", "19 kmpl", "7"], [23.4, 19, 7]),
    "attached unit": (["8GB", "16GB", "1TB"], [8, 16, 1000]),
    "other family": (["8GB", "16GB", "3 kg"], [8, 16, nan]),
    "singular": (["1 Season", "2 Seasons"], [1, 2]),
    "pounds": (["2 lbs", " 1 lb. 8 oz.", "8 oz"], [2, 1.5, 0.5]),
    "feet": (["5' 6\"", "6'", "5'11\""], [5.5, 6, 5 + 11 / 12]),
    "hours": (["1h 30m", "2h", "45m", "3 h", "1"], [5400, 7200, 2700, 10800, 3600]),
    "minutes": (["90 min", "1 h 30 min", "85 min", "5"], [5400, 5400, 5100, 300]),
    "days": (["2 days", "1 day 02:03:04", "P1W"], [172800, 93784, 604800]),
    "clock": (["01:30:00", "2:30", "1:02:03.5"], [5400, 150, 3723.5]),
    "times of day": (["2:30 PM", "12:05:10 am"], [52200, 310]),
    "ISO durations": (["PT1H30M", "PT5M2.5S", "P1DT2H"], [5400, 302.5, 93600]),
    "per hour": (["$12.50/h", "$7/h"], [12.5, 7]),
    "metres": (["5 m", "80 cm", "1.2m"], [5, 0.8, 1.2]),
    "shared prefix": (["No. 12", "No. 7"], [12, 7]),
    "fraction": (["5 1/2", "5½", "1/2", "5/2.5"], [5.5, 5.5, nan, nan]),
    "booleans": (["Yes", "no", "YES "], [1, 0, 1]),
    "missing": (["1", "", " ", "N/A", "nan", "-", "?", "null"], [1] + [nan] * 7),
    "no numbers": (["1", "2", "3-5 years", "Intel i5", "1.2.3"], [1, 2, nan, nan, nan]),
    "names of numbers": (["1", "2", "inf", "1_000", "0x1F"], [1, 2, nan, nan, nan]),
}


def fit_numbers(texts, numbers=None):
    """Return an encoder of a column with the texts that are numbers."""
    numbers = [1.0] * len(texts) if numbers is None else numbers
    return fit([t for t, n in zip(texts, numbers, strict=True) if n == n] * 4 + [None])


@pytest.mark.parametrize("name", COLUMNS)
def test_columns(name):
    texts, expected = COLUMNS[name]
    encoder = fit_numbers(texts, expected)
    assert encoder.columns_[0].kind in ("number", "binary")
    values = encode(encoder, texts)[:, 0]
    np.testing.assert_allclose(values, expected, rtol=1e-6)
    alone = [encode(encoder, [text])[0, 0] for text in texts]
    np.testing.assert_array_equal(values, alone)


def test_the_format_counts_rows():
    for counts, number in (((3, 1, 1), 1500), ((1, 3, 1), 1.5)):
        texts = np.repeat(["1,25", "3.75", "1.500"], counts)
        assert encode(fit_numbers([*texts]), ["1.500"])[0, 0] == number
    encoder = fit_numbers(["4 kg"] * 25 + ["5 kg"] * 25 + ["3 km"])
    assert np.isnan(encode(encoder, ["4 kg", "500 g", "3 km"])[:, 0]).tolist() == [
        False,
        False,
        True,
    ]


INSIDE = {
    "cpu": (
        ["Intel Core i5 7200U 2.5GHz", "Intel Core i7 8550U 1.8GHz", "AMD E2 3GHz"],
        {"number": [5, 7, 2], "u": [7200, 8550, nan], "ghz": [2.5, 1.8, 3]},
    ),
    "disks": (
        ["256GB SSD + 1TB HDD", "512GB SSD", "128GB SSD + 2TB HDD"],
        {"gb": [256, 512, 128], "gb 2": [1000, nan, 2000]},
    ),
    "ranges": (
        ["3-5 years", "1-2 years", "10 years"],
        {"number": [3, 1, nan], "y": [5, 2, 10]},
    ),
    "torque": (
        ["190Nm@ 2000rpm", "90Nm@ 3500rpm", "1,200 Nm @ 1750 rpm"],
        {"nm": [190, 90, 1200], "rpm": [2000, 3500, 1750]},
    ),
    "dimensions": (
        ["4.5 x 3 in", "10 x 8 in", "2x2 in"],
        {"x": [4.5, 10, 2], "in": [3, 8, 2]},
    ),
    "screen": (
        ["IPS 1920x1080", "Touch 3840x2160", "1366x768"],
        {"x": [1920, 3840, 1366], "number": [1080, 2160, 768]},
    ),
    "versions": (["4.0.3 and up", "2.3 and up", "Varies"], {"and": [4, 2.3, nan]}),
    "order": (["1 2", "3 4", "5"], {"number": [1, 3, 5], "number 2": [2, 4, nan]}),
    "downloads": (["or 1.5M: many", "201k: few"], {"number": [1.5e6, 2.01e5]}),
    "signs": (["from -3 to 4", "A-9 to 5"], {"number": [4, 5], "to": [-3, 9]}),
}


@pytest.mark.parametrize("name", INSIDE)
def test_numbers_inside(name):
    texts, expected = INSIDE[name]
    encoder = fit(texts * 4).set_output(transform="pandas")
    found = encode(encoder, texts)
    own = {f"x__{name}": values for name, values in expected.items()}
    others = {f"x__{text}" for text in texts}
    assert {*found} - others == {*own}
    for column, values in own.items():
        np.testing.assert_allclose(found[column], values, rtol=1e-6)
    for i, text in enumerate(texts):
        np.testing.assert_array_equal(encode(encoder, [text]), found[i : i + 1])


def test_slots_are_frequent_few_and_vary():
    def slots(texts):
        names = fit(texts).get_feature_names_out().tolist()
        return [name for name in names if "number" in name]

    builds = [f"Windows 10 build {i}" for i in range(250)] + ["9 lives of 2 cats"]
    assert slots(builds) == ["x__number"]
    assert slots([f"no digits {'ab'[i % 2]}" for i in range(9)]) == []
    many = [f"of {'+'.join(str(i + j) for j in range(20))}" for i in range(60)]
    assert len(slots(many)) == 8


def test_huge_numbers_stay_finite():
    texts = ["a 1", "a 2", "a 1e99"] * 5
    found = encode(fit(texts), ["a 1e99", "a " + "9" * 400])
    assert np.isfinite(found[:, 0]).all()
