"""Random tables on two random ways: equal features, or a warning."""

import csv
import warnings
from functools import partial

import numpy as np
import pytest

from . import tools
from .compare_ways import Form, cells_key, n_rows, select
from .random_columns import random_table

# Writers with settings that users change: missing values, dates, quotes.
_CSV = partial(tools.by_pandas, "to_csv", index=False)
_CSV_BY_POLARS = partial(tools.by_polars, "write_csv")
_ZONES = "%Y-%m-%d %H:%M:%S%.6f %:z"
_WRITERS = {
    "csv": {
        **{
            f"pandas, {word}": partial(_CSV, na_rep=word)
            for word in ("NA", "NULL", "#N/A", "(null)", "n/a", "#DIV/0!")
        },
        **{
            f"pandas, {form}": partial(_CSV, date_format=form)
            for form in ("%d/%m/%Y %H:%M:%S", "%Y%m%dT%H%M%S%z", "%b %d %Y %I:%M:%S %p")
        },
        "pandas, quoted": partial(_CSV, quoting=csv.QUOTE_ALL),
        "polars, None": partial(_CSV_BY_POLARS, null_value="None"),
        "polars, zones": partial(_CSV_BY_POLARS, datetime_format=_ZONES),
    },
    "jsonl": {
        "pandas, epoch": partial(
            tools.by_pandas, "to_json", **tools.JSON_LINES, date_format="epoch"
        )
    },
}

_FORMATS = [name for name in tools.FILES if name != "orc"]  # it takes few types


def _random_way(rng, table, folder):
    """Return the name of a way and the container that it hands over."""
    suffix = _FORMATS[rng.integers(len(_FORMATS))]
    writers, readers = tools.FILES[suffix]
    writers = writers | _WRITERS.get(suffix, {})
    writer = list(writers)[rng.integers(len(writers))]
    reader = list(readers)[rng.integers(len(readers))]
    files = {suffix: ({writer: writers[writer]}, {reader: readers[reader]})}
    containers = {}
    if rng.random() < 0.1:
        name = list(tools.CONTAINERS)[rng.integers(len(tools.CONTAINERS))]
        files, containers = {}, {name: tools.CONTAINERS[name]}
    (way,) = tools.hand_over(table, folder, files, containers)
    return way


def _differences(seed, folder):
    """Return how a table differs silently between two ways."""
    rng, table = np.random.default_rng(seed), random_table(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of tools
        ways = [_random_way(rng, table, folder) for _ in range(2)]
    y = rng.normal(size=len(table))
    found = []
    for name in table.column_names:
        columns = [select(container, [name]) for _, container in ways]
        if any(column is None for column in columns):
            continue
        if any(n_rows(column) != len(table) for column in columns):
            continue  # blank lines of a CSV file of one column, which readers skip
        keys = [cells_key(column) for column in columns]
        if keys[0] != keys[1]:
            forms = [Form(column, y) for column in columns]
            difference = forms[0].silent_difference(forms[1])
            if difference:
                found.append((seed, name, *(way for way, _ in ways), difference))
    return found


@pytest.mark.parametrize("block", range(3))
def test_tables_on_two_ways(block, tmp_path):
    found = [
        _differences(seed, tmp_path) for seed in range(20 * block, 20 * block + 20)
    ]
    assert not [each for some in found for each in some]


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_more_tables_on_two_ways(block, tmp_path):
    start = 1000 + 100 * block
    found = [_differences(seed, tmp_path) for seed in range(start, start + 100)]
    assert not [each for some in found for each in some]
