"""Random tables and targets of every kind: names, types, missing and odd values."""

import datetime
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

WORDS = np.array(
    ["bird", "engine", "wing", "damaged", "returned", "climb", "taxi", "münchen"]
    + ["东京", "Ω", "🎉"]
)
MISSING = ["N/A", "-", "?", "nan"]
LONGEST = 40  # rows of most tables; some have 200


@dataclass
class Case:
    """A table, a target, and rows to predict.

    Attributes
    ----------
    seed : int
    task : {"classifier", "regressor"}
    X, y : table and target for `fit`
    new : rows for `predict`, with the columns of X
    is_ordinary : bool
        Whether everything is as people have it, so that `fit` must accept it.
    parts : list of str
        The kinds of columns, names, containers and targets, to describe the case.
    """

    seed: int
    task: str
    X: Any = None
    y: Any = None
    new: Any = None
    is_ordinary: bool = True
    parts: list = field(default_factory=list)


def random_case(seed, only_pandas=False):
    """Return a reproducible `Case`; its tables are DataFrames if `only_pandas`."""
    rng = np.random.default_rng(seed)
    case = Case(seed, str(rng.choice(["classifier", "regressor"])))
    n_rows = int(rng.integers(1, 200 if rng.random() < 0.1 else LONGEST))
    frame = _frame(rng, case, n_rows)
    case.y = _target(rng, case, n_rows)
    _contain(rng, case, frame, only_pandas)
    case.is_ordinary &= n_rows >= 4
    return case


# Columns. Each function returns n values of one kind; those in ODD may be refused.


def _texts(rng, n, longest=8):
    return [" ".join(rng.choice(WORDS, rng.integers(0, longest))) for _ in range(n)]


def _objects(values):
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def _dates(rng, n):
    days = rng.integers(0, 9000, n).astype("timedelta64[D]")
    return np.datetime64("2000-01-01", "us") + days


def _of(*values):
    """Return a kind of column that draws from a few values."""
    choices = _objects([*values])
    return lambda rng, n: rng.choice(choices, n).tolist()


ORDINARY = {
    "floats": lambda rng, n: rng.normal(size=n) * 10.0 ** rng.integers(-3, 6),
    "integers": lambda rng, n: rng.integers(-5, 1000, n),
    "small integers": lambda rng, n: rng.integers(0, 4, n).astype(np.uint8),
    "counter": lambda rng, n: np.arange(n),
    "bools": lambda rng, n: rng.random(n) < 0.5,
    "constant": _of(3.5),
    "all missing": _of(None),
    "categories": _of("climb", "taxi", "approach"),
    "pandas categories": lambda rng, n: pd.Categorical(rng.choice(WORDS[:4], n)),
    "number categories": lambda rng, n: pd.Categorical(rng.integers(0, 4, n)),
    "texts": _texts,
    "long texts": lambda rng, n: _texts(rng, n, 60),
    "keys": lambda rng, n: [f"K{i:05d}" for i in rng.permutation(n)],
    "empty strings": _of("", " ", "\t"),
    "money": lambda rng, n: [f"${value:,.2f}" for value in rng.random(n) * 1e5],
    "decimal commas": lambda rng, n: [
        f"{v:.2f}".replace(".", ",") for v in rng.random(n)
    ],
    "units": lambda rng, n: [f"{value} GB" for value in rng.integers(1, 64, n)],
    "codes": lambda rng, n: [f"Core i{v} 2.{v}GHz" for v in rng.integers(3, 10, n)],
    "percent": lambda rng, n: [f"{value}%" for value in rng.integers(0, 100, n)],
    "missing by name": _of(*MISSING, "12", "13"),
    "dates": _dates,
    "dates of one day": lambda rng, n: np.repeat(np.datetime64("2020-02-29", "s"), n),
    "dates with zone": lambda rng, n: pd.Series(_dates(rng, n)).dt.tz_localize("UTC"),
    "date strings": lambda rng, n: np.datetime_as_string(_dates(rng, n), "D").tolist(),
    "german dates": lambda rng, n: [f"{d:02d}.01.2020" for d in rng.integers(1, 29, n)],
    "date objects": lambda rng, n: _objects(_dates(rng, n).astype("M8[D]").tolist()),
    "durations": lambda rng, n: rng.integers(0, 9000, n).astype("timedelta64[s]"),
    "nullable integers": lambda rng, n: pd.array(rng.integers(0, 9, n), "Int64"),
    "nullable floats": lambda rng, n: pd.array(rng.normal(size=n), "Float64"),
    "nullable bools": lambda rng, n: pd.array(rng.random(n) < 0.5, "boolean"),
    "nullable strings": lambda rng, n: pd.array(rng.choice(WORDS, n), "string"),
    "decimals": lambda rng, n: [Decimal(str(v)) for v in rng.integers(0, 99, n) / 4],
    "lists of words": lambda rng, n: [list(rng.choice(WORDS, 2)) for _ in range(n)],
    "numbers and texts": _of(3, 2.5, "three", None),
    "numbers as texts": lambda rng, n: rng.integers(0, 99, n).astype(str).tolist(),
    "urls": lambda rng, n: [f"https://a.org/{w}?q={w}" for w in rng.choice(WORDS, n)],
    "odd characters": _of(
        "a\0b", "\u202e", "e\u0301", "\ufeff", "<b>", "%s", "{0}", "\n"
    ),
}
ODD = {
    "infinite": _of(1.0, np.inf, -np.inf),
    "huge": _of(1e300, -1e300, 1e-300, 1e39),
    "huge integers": _of(2**70, 1),
    "lone surrogates": lambda rng, n: _objects(["a\ud800", "b"] * n)[:n],
    "arrays": lambda rng, n: _objects([rng.random(2) for _ in range(n)]),
    "matrices": lambda rng, n: _objects([np.eye(2) for _ in range(n)]),
    "one array": lambda rng, n: _objects([*["a"] * (n - 1), np.arange(3)]),
    "lists of numbers": lambda rng, n: _objects([[1, 2]] * n),
    "dicts": lambda rng, n: _objects([{"a": 1}] * n),
    "sets": lambda rng, n: _objects([{"a"}] * n),
    "frames": lambda rng, n: _objects([pd.DataFrame({"a": [1]})] * n),
    "bytes": _of(b"a", b"b"),
    "complex": lambda rng, n: rng.random(n) * 1j,
    "functions": _of(len, max),
    "fractions": _of(Fraction(1, 3), Fraction(2, 3)),
    "periods": lambda rng, n: pd.period_range("2020", periods=n, freq="D"),
    "intervals": lambda rng, n: pd.interval_range(0, n),
    "sparse": lambda rng, n: pd.arrays.SparseArray(rng.integers(0, 2, n)),
    "dates and texts": _of(datetime.date(2020, 1, 1), "soon", None),
    "far dates": _of(datetime.date(1, 1, 1), datetime.date(9999, 12, 31)),
    "bools and texts": _of(True, False, "maybe"),
    "texts and lists": _of("a", ("b", "c")),
    "times": _of(datetime.time(1), datetime.time(23, 59)),
}


def _frame(rng, case, n_rows):
    """Return a DataFrame with columns of random kinds, some values missing."""
    n_columns = (
        int(rng.integers(0, 6)) if rng.random() < 0.1 else int(rng.integers(1, 5))
    )
    columns = []
    for _ in range(n_columns):
        kinds = ODD if rng.random() < 0.08 else ORDINARY
        kind = str(rng.choice([*kinds]))
        case.parts.append(kind)
        case.is_ordinary &= kinds is ORDINARY
        values = kinds[kind](rng, n_rows)
        dtype = object if getattr(values, "dtype", "") == np.dtype(object) else None
        column = pd.Series(values, dtype=dtype)
        if rng.random() < 0.3:
            column = column.mask(rng.random(n_rows) < rng.choice([0.1, 0.5, 0.95]))
        columns.append(column.reset_index(drop=True))
    frame = pd.concat(columns, axis=1) if columns else pd.DataFrame(index=range(n_rows))
    # Keys tell nothing of other rows.
    case.is_ordinary &= any(
        len({str(value).strip() for value in column.dropna()} - {*MISSING}) > 1
        for kind, column in zip(case.parts[-n_columns:], columns, strict=False)
        if kind != "keys"
    )
    frame.columns = _names(rng, case, n_columns)
    if rng.random() < 0.2:
        frame.index = rng.permutation(n_rows) // 2
    return frame


def _names(rng, case, n):
    kinds = {
        "strings": [f"c{j}" for j in range(n)],
        "numbers": list(range(n)),
        "words": [f"a__{'b' * j} <é>\n" for j in range(n)],
        "mixed names": [j if j % 2 else f"c{j}" for j in range(n)],
        "dates as names": list(pd.date_range("2020-01-01", periods=n)),
        "tuples": [("a", j) for j in range(n)],
        "equal names": ["a"] * n,
        "no names": [None] * n,
        "empty name": ["", *(f"c{j}" for j in range(1, n))][:n],
        "equal as text": [1, "1", 1.0, "a", "b", "c"][:n],
    }
    kind = str(rng.choice([*kinds])) if rng.random() < 0.25 else "strings"
    case.parts.append(kind)
    case.is_ordinary &= kind in ("strings", "numbers", "words")
    return kinds[kind]


def _target(rng, case, n):
    """Return a target of a random kind."""
    classes = {
        "two classes": rng.integers(0, 2, n),
        "strings": rng.choice(WORDS[:3], n).astype(object),
        "many classes": rng.integers(0, 12, n),
        "bools": rng.random(n) < 0.5,
        "whole floats": rng.integers(0, 3, n).astype(float),
        "rare class": np.where(np.arange(n) == 0, "In", rng.choice(["in", "out"], n)),
        "categories": pd.Categorical(rng.choice(WORDS[:3], n)),
        "labels": rng.integers(0, 2, (n, 3)),
    }
    numbers = {
        "floats": rng.normal(size=n),
        "integers": rng.integers(0, 1000, n),
        "huge floats": rng.normal(size=n) * 1e30,
        "constant": np.full(n, 2.5),
        "one outlier": np.where(np.arange(n) == 0, 1e9, rng.normal(size=n)),
        "columns": rng.normal(size=(n, 2)),
        "decimals": _objects([Decimal(int(v)) for v in rng.integers(0, 99, n)]),
        "bools": rng.random(n) < 0.5,
    }
    odd = {
        "none": None,
        "one class": np.zeros(n, dtype=int),
        "all different": [f"k{i}" for i in range(n)],
        "missing": _objects([None, *["a"] * (n - 1)]),
        "nan among strings": ["a", "b"] * n + [float("nan")],
        "infinite": np.full(n, np.inf),
        "too short": [0, 1] * (n // 2 + 1) + [1],
        "mixed types": _objects(["a", 1] * n)[:n],
        "dates": _dates(rng, n),
        "sets": [{"a"}, {"b", "c"}] * n,
        "lists": [["a"], ["b", "c"]] * n,
        "columns of classes": rng.choice(WORDS[:3], (n, 2)),
        "empty labels": np.zeros((n, 0)),
        "unused labels": np.zeros((n, 2), dtype=int),
        "three dimensions": np.zeros((n, 2, 2)),
        "scalar": 3,
        "text numbers": rng.integers(0, 9, n).astype(str),
        "comma numbers": _objects(["1,5", "2,5"] * n)[:n],
        "complex": np.ones(n) * 1j,
        "floats": rng.normal(size=n),
        "strings": rng.choice(WORDS[:3], n),
    }
    own = classes if case.task == "classifier" else numbers
    kinds = odd if rng.random() < 0.2 else own
    kind = str(rng.choice([*kinds]))
    y = kinds[kind]
    case.is_ordinary &= kinds is own
    if own is classes and kinds is own and np.ndim(y) == 1:
        case.is_ordinary &= len(set(y)) > 1
    if kinds is own and rng.random() < 0.4:
        containers = {
            "list": lambda y: np.asarray(y).tolist(),
            "Series": lambda y: pd.Series(y, index=range(n, 2 * n)),
            "frame": pd.DataFrame,
            "objects": lambda y: np.asarray(y).astype(object),
            "nullable Series": lambda y: pd.Series(y).convert_dtypes(),
            "polars Series": lambda y: _library("polars").Series(
                np.asarray(y).tolist()
            ),
            "arrow array": lambda y: _library("pyarrow").array(np.asarray(y).tolist()),
        }
        container = str(rng.choice([*containers]))
        if container in ("list", "frame", "objects") or np.ndim(y) == 1:
            y = containers[container](y)
            kind += f" as {container}"
    case.parts.append(f"y: {kind}")
    return y


def _contain(rng, case, frame, only_pandas):
    """Set X and the rows to predict, in one of the types of tables."""
    n_rows = len(frame)
    rows = {
        "all rows": np.arange(n_rows),
        "no rows": np.arange(0),
        "one row": np.array([n_rows - 1]),
        "some rows": rng.integers(0, n_rows, 5),
    }
    chosen = str(rng.choice([*rows]))
    new = frame.iloc[rows[chosen]]
    if rng.random() < 0.3 and frame.columns.is_unique:
        new = new.iloc[:, rng.permutation(frame.shape[1])]
    if rng.random() < 0.2 and frame.columns.is_unique and frame.shape[1]:
        # Values that fit has not seen, of another type.
        other = new.copy()
        other[frame.columns[0]] = _objects(["unseen", None, 3.5, ""] * len(new))[
            : len(new)
        ]
        chosen, new = f"{chosen} with other values", other
    container = "pandas"
    if rng.random() < 0.25 and not only_pandas:
        container = str(rng.choice(["polars", "arrow", "array", "rows"]))
    try:
        case.X, case.new = (_as(container, table) for table in (frame, new))
    except Exception:  # the other library does not take such a table
        container, case.X, case.new = "pandas", frame, new
    if container in ("array", "rows"):  # columns are found by their order
        case.new = _as(container, frame.iloc[rows[chosen.partition(" with")[0]]])
    case.parts += [container, chosen]


def _as(container, frame):
    if container == "polars":
        return _library("polars").from_pandas(frame)
    if container == "arrow":
        return _library("pyarrow").Table.from_pandas(frame, preserve_index=False)
    if container == "array":
        return frame.to_numpy()
    if container == "rows":
        return frame.astype(object).to_numpy().tolist()
    return frame


def _library(name):
    return pytest.importorskip(name)
