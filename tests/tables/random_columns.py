"""Random columns of all kinds, as Arrow arrays."""

import datetime
import decimal

import numpy as np
import pyarrow as pa

_WORDS = [
    "red",
    "Straße",
    "naïve",
    "O'Neil",
    "a,b",
    'say "no"',
    "x;y",
    "no 5",
    "été",
    "東京",
]
_EPOCH = datetime.datetime(1999, 12, 31, 22, 15)
_ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"]


def _pick(rng, values):
    return values[int(rng.integers(len(values)))]


def _draws(rng, n):
    """Return numbers of values: few that repeat, or mostly distinct ones."""
    return rng.integers(0, _pick(rng, [2, 5, 30, 10**6]), n).tolist()


def _words(rng, n_words):
    return " ".join(_WORDS[j] for j in rng.integers(0, len(_WORDS), n_words))


def integers(rng, n):
    """Return integers of any size, also negative ones and long ids."""
    start = _pick(rng, [0, -20, 1000, 2**31, 1234567890123456789])
    kind = pa.int64() if start < 0 else _pick(rng, [pa.int64(), pa.uint64()])
    values = [start + i % 1000 for i in _draws(rng, n)]
    small = max(map(abs, values)) < 2**15
    return values, _pick(rng, [pa.int16(), pa.float32()]) if small else kind


def floats(rng, n):
    """Return decimals, exactly, in float32 or as Decimal; also tiny and huge ones."""
    digits = int(rng.integers(0, 4))
    scale = _pick(rng, [1, 1, 1, 1e-9, 1e12])
    values = [round(i / 7, digits) * scale for i in _draws(rng, n)]
    kind = _pick(rng, [pa.float64(), pa.float32(), pa.decimal128(18, 4)])
    if pa.types.is_decimal(kind):
        values = [decimal.Decimal(f"{i / 7:.{digits}f}") for i in _draws(rng, n)]
    return values, kind


def booleans(rng, n):
    """Return bools."""
    return [i % 2 == 0 for i in _draws(rng, n)], pa.bool_()


def categories(rng, n):
    """Return words, as a dictionary or in a form of Arrow's strings."""
    values = [_WORDS[i % len(_WORDS)] for i in _draws(rng, n)]
    return values, _pick(rng, [pa.string(), pa.large_string()])


def texts(rng, n):
    """Return short or long texts with commas, quotes and line breaks."""
    size, mark = int(rng.integers(2, 20)), _pick(rng, ["", ",", "\n", "\t", " - "])
    return [
        mark.join([_words(rng, size), _words(rng, 2)]) for _ in range(n)
    ], pa.string()


def codes(rng, n):
    """Return digits with zeros in front, or letters and digits."""
    form = _pick(rng, ["{:05d}", "{:03d}", "A{:d}", "{:d}-{:d}"])
    return [form.format(i % 900, i % 7) for i in _draws(rng, n)], pa.string()


def amounts(rng, n):
    """Return numbers with a unit, a sign of currency or thousands."""
    form = _pick(rng, ["${:,.2f}", "{:.1f}%", "{:.0f} kg", "{:,.0f}", "€ {:.2f}"])
    return [form.format(i / 3) for i in _draws(rng, n)], pa.string()


def dates(rng, n):
    """Return dates, datetimes, or datetimes with a zone."""
    seconds = _pick(rng, [86400, 3600, 1])
    values = [
        _EPOCH + datetime.timedelta(0, (i % 9999) * seconds) for i in _draws(rng, n)
    ]
    zone = _pick(rng, _ZONES)
    kinds = [pa.date32(), pa.timestamp("s"), pa.timestamp("us"), pa.timestamp("ns")]
    kind = _pick(rng, [*kinds, pa.timestamp("us", zone)])
    if kind == pa.date32():
        return [value.date() for value in values], kind
    is_zoned = kind.tz is not None
    return [v.replace(tzinfo=datetime.UTC) if is_zoned else v for v in values], kind


def times(rng, n):
    """Return clock times or durations."""
    seconds = [i % 86400 for i in _draws(rng, n)]
    if rng.random() < 0.5:
        return [(_EPOCH + datetime.timedelta(0, s)).time() for s in seconds], pa.time64(
            "us"
        )
    return [datetime.timedelta(int(s % 3), s) for s in seconds], pa.duration("us")


def lists(rng, n):
    """Return lists of words."""
    sizes = rng.integers(1, 4, n)
    values = [
        [_WORDS[j] for j in rng.choice(len(_WORDS), size, replace=False)]
        for size in sizes
    ]
    return values, pa.list_(pa.string())


KINDS = (
    *(integers, floats, booleans, categories, texts),
    *(codes, amounts, dates, times, lists),
)


def random_table(seed, n_rows=30, n_columns=3):
    """Return an Arrow table of random columns, some with missing values."""
    rng = np.random.default_rng(seed)
    columns = {}
    for number in range(n_columns):
        make = _pick(rng, KINDS)
        values, kind = make(rng, n_rows)
        missing = rng.random(n_rows) < _pick(rng, [0, 0, 0.2])
        values = [None if m else v for m, v in zip(missing, values, strict=True)]
        columns[f"{make.__name__}_{number}"] = pa.array(values, kind)
    return pa.table(columns)
