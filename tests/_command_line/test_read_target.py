"""Targets of tables: classes or numbers, as people write them."""

import numpy as np
import pandas as pd
import pytest

from sk_metaembed._command_line import _commands
from sk_metaembed._command_line._read_table import read_target

from .command import main, quick_pipeline


def target(values):
    return pd.Series(values, name="price", index=range(1, len(values) + 1))


@pytest.mark.parametrize(
    ("values", "numbers"),
    [
        (["12,5", "13,0"], [12.5, 13]),
        (["1.234,50", "2,75"], [1234.5, 2.75]),
        ([1.5, 2], [1.5, 2]),
        ([f"{i:,}" for i in range(1000, 1030)], range(1000, 1030)),
        (range(30), range(30)),
        (range(10**17, 10**17 + 21), np.arange(10**17, 10**17 + 21) * 1.0),
    ],
)
def test_numbers(values, numbers):
    task, y = read_target(target([*values] * 5), "auto")
    assert task == "regressor"
    assert y.dtype == np.float64
    assert y.tolist() == [*numbers] * 5


@pytest.mark.parametrize(
    ("values", "classes"),
    [
        (["a", "b"], ["a", "b"]),
        ([True, False], [False, True]),
        ([1.0, 0.0], [0, 1]),
        (["yes ", "no", "yes"], ["no", "yes"]),
        # Whole numbers are classes under the names that they have in the file.
        (["5%", "6%"], ["5%", "6%"]),
        (["yes", "no"], ["no", "yes"]),
        (pd.to_datetime(["2020-01-01", "2020-01-02"]), ["2020-01-01", "2020-01-02"]),
    ],
)
def test_classes(values, classes):
    task, y = read_target(target([*values] * 5), "auto")
    assert task == "classifier"
    assert np.unique(y).tolist() == classes


@pytest.mark.parametrize("values", [["5%", "6%"], [1, 2], [True, False], ["1", "2"]])
def test_any_numbers_can_be_amounts(values):
    task, y = read_target(target(values * 5), "regressor")
    assert task == "regressor"
    assert y.dtype == np.float64


PRICES = [f"{i},5" for i in range(30)]


@pytest.mark.parametrize(
    ("values", "task", "message"),
    [
        ([*PRICES, "1O,5"], "auto", "'price' has '1O,5' in row 32, .* 1 of 31 values"),
        ([0.5, np.inf], "auto", "has inf in row 3, which is not a finite number"),
        (["a", "b"], "regressor", "has 'a' in row 2, .*--task classifier if"),
        (["a", "a"], "auto", "column 'price' has only one value"),
        ([["a"], ["a", "b"]], "auto", "column 'price' has lists"),
        ([{"a": 1}, {"a": 2}], "auto", "the column 'price' is {'a': 1}"),
    ],
)
def test_invalid_targets_are_refused(values, task, message):
    with pytest.raises((TypeError, ValueError), match=message):
        read_target(target(values), task)


def test_decimal_commas_are_numbers_in_features_and_target(
    tmp_path, monkeypatch, capsys
):
    """A file with commas gives the predictions of the same file with points."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_commands, "make_table_pipeline", quick_pipeline)
    values = np.random.default_rng(0).normal(size=60)
    table = pd.DataFrame({"Länge, mm": values, "Preis": 3 * values + 1})
    predictions = []
    for decimal in ",.":
        table.to_csv("t.csv", index=False, sep=";", decimal=decimal)
        assert main(["describe", "t.csv"]) == 0
        assert capsys.readouterr().out.count(" number ") == 2
        assert main(["fit", "t.csv", "--target", "Preis"]) == 0
        assert main(["predict", "t.skm", "t.csv"]) == 0
        predictions.append(pd.read_csv("t.predictions.csv")["prediction"])
    np.testing.assert_array_equal(*predictions)
    assert np.corrcoef(predictions[0], table["Preis"])[0, 1] > 0.8
