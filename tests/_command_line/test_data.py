"""Tables in files, and targets."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from sk_metaembed._command_line import main
from sk_metaembed._command_line._data import (
    choose_task,
    split_suffix,
    target_values,
)

pytest.importorskip("skrub")
TABLE = pd.DataFrame({"a": ["x, y", "z; w", None], "b": [1.5, 2.0, -1.0]})


SHOWN = """\
3 rows, 2 columns
column  kind      missing  distinct  most frequent
a       category  33.3%    2         x, y | z; w
b       number    0.0%     3         1.5 | 2.0 | -1.0
"""


def write_json(path, **options):
    TABLE.to_json(path, orient="records", **options)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("t.csv", partial(TABLE.to_csv, index=False)),
        ("t.TSV", partial(TABLE.to_csv, index=False, sep="\t")),
        ("semicolons.csv.gz", partial(TABLE.to_csv, index=False, sep=";")),
        (
            "byte_order_mark.csv",
            partial(TABLE.to_csv, index=False, sep="|", encoding="utf-8-sig"),
        ),
        ("t.parquet", TABLE.to_parquet),
        ("t.json", write_json),
        ("t.jsonl", partial(write_json, lines=True)),
    ],
)
def test_formats(name, write, tmp_path, capsys):
    write(tmp_path / name)
    assert main(["describe", str(tmp_path / name)]) == 0
    assert capsys.readouterr().out == SHOWN


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a/reports.2023.csv", ("reports.2023", ".csv")),
        ("reports.2024.JSON.GZ", ("reports.2024", ".json")),
        ("reports", ("reports", "")),
    ],
)
def test_only_the_suffix_of_a_table_is_replaced(path, expected):
    assert split_suffix(path) == expected


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (["a", "b"], "classifier"),
        ([True, False], "classifier"),
        ([0.0, 1.0], "classifier"),
        ([0.5, 1.0], "regressor"),
        (range(20), "classifier"),
        (range(21), "regressor"),
    ],
)
def test_task(values, task):
    assert choose_task(pd.Series(values)) == task


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([True, False], [True, False]),
        ([1.0, 0.0], [1, 0]),
        (pd.Categorical(["b", "a"]), ["b", "a"]),
        (np.array([True, "x"], dtype=object), ["True", "x"]),
    ],
)
def test_classes(values, expected):
    result = target_values(pd.Series(values), "classifier", 1).tolist()
    assert result == expected
    assert [type(value) for value in result] == [type(value) for value in expected]
