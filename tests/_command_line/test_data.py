"""Tables in files, and targets."""

import numpy as np
import pandas as pd
import pytest

from sk_metaembed._command_line._data import (
    choose_task,
    read_table,
    shorten,
    split_suffix,
    target_values,
)

TABLE = pd.DataFrame({"a": ["x, y", "z; w", None], "b": [1.5, 2.0, -1.0]})


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("name", ["t.csv", "t.TSV", "t.csv.gz"])
def test_separators_are_detected(name, separator, tmp_path):
    path = tmp_path / name
    TABLE.to_csv(path, index=False, sep=separator)
    pd.testing.assert_frame_equal(read_table(path), pd.read_csv(path, sep=separator))
    assert read_table(str(path))["b"].tolist() == TABLE["b"].tolist()


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path):
    TABLE.to_csv(tmp_path / "t.csv", index=False, encoding="utf-8-sig")
    assert list(read_table(tmp_path / "t.csv")) == ["a", "b"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a/reports.2023.csv", ("reports.2023", ".csv")),
        ("reports.2024.JSON.GZ", ("reports.2024", ".json")),
        ("reports.csv.skm", ("reports.csv", ".skm")),
        ("reports", ("reports", "")),
    ],
)
def test_only_the_suffix_of_a_table_is_replaced(path, expected):
    assert split_suffix(path) == expected


@pytest.mark.parametrize("name", ["t.parquet", "t.json", "t.jsonl"])
def test_other_formats(name, tmp_path):
    path = tmp_path / name
    if name == "t.parquet":
        TABLE.to_parquet(path)
    else:
        TABLE.to_json(path, orient="records", lines=name == "t.jsonl")
    result = read_table(path)
    assert result["a"].tolist()[:2] == TABLE["a"].tolist()[:2]
    assert result["a"].isna().tolist() == [False, False, True]
    assert result["b"].tolist() == TABLE["b"].tolist()


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (["a", "b"], "classifier"),
        ([True, False], "classifier"),
        ([0, 1, 1], "classifier"),
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


def test_shorten():
    assert shorten("a\n b") == "a b"
    assert shorten("abcdef", 4) == "abc…"
    assert shorten(2.5) == "2.5"
