"""Targets of tables: classes or numbers, as people write them."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier, DummyRegressor

from sk_metaembed import load, make_table_pipeline

from .command import main, quick_pipeline

COMMANDS = "sk_metaembed._command_line._commands"


@pytest.fixture(name="fit")
def fit_constants(tmp_path, monkeypatch, capsys):
    """Return a function that fits a target; it returns the task and the model."""
    models = {"classifier": DummyClassifier(), "regressor": DummyRegressor()}

    def constants(task, *_, **options):
        return make_table_pipeline(task, learners=[("constant", models[task])])

    def fit(values, task="auto"):
        table = pd.DataFrame({"a": range(len(values)), "price": values}, dtype=object)
        table["a"] = table["a"] % 7 / 7
        table.to_json("t.jsonl", orient="records", lines=True, date_format="iso")
        status = main(["fit", "t.jsonl", "--target", "price", "--task", task])
        shown = capsys.readouterr().err
        if status:
            return shown, None
        model = load("t.skm")
        return re.search(r"columns; (\w+) of 'price'", shown)[1], model

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(f"{COMMANDS}.make_table_pipeline", constants)
    return fit


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
def test_numbers(values, numbers, fit):
    task, model = fit([*values] * 5)
    assert task == "regressor"
    mean = model.predict(pd.DataFrame({"a": [0.0]}))
    np.testing.assert_allclose(mean, np.mean([*numbers]), rtol=1e-9)


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
        (["2020-01-01", "2020-01-02"], ["2020-01-01", "2020-01-02"]),
    ],
)
def test_classes(values, classes, fit):
    task, model = fit([*values] * 5)
    assert task == "classifier"
    assert model.classes_.tolist() == classes


@pytest.mark.parametrize("values", [["5%", "6%"], [1, 2], [True, False], ["1", "2"]])
def test_any_numbers_can_be_amounts(values, fit):
    task, model = fit(values * 5, "regressor")
    assert task == "regressor"
    assert not hasattr(model, "classes_")


PRICES = [f"{i},5" for i in range(30)]


@pytest.mark.parametrize(
    ("values", "task", "message"),
    [
        ([*PRICES, "1O,5"], "auto", "'price' has '1O,5' in row 31, .* 1 of 31 values"),
        (["a", "b"], "regressor", "has 'a' in row 1, .*--task classifier if"),
        (["a", "a"], "auto", "column 'price' has only one value"),
        ([["a"], ["a", "b"]], "auto", "column 'price' has lists"),
        ([{"a": 1}, {"a": 2}], "auto", "the column 'price' is {'a': 1}"),
    ],
)
def test_invalid_targets_are_refused(values, task, message, fit):
    shown, _ = fit(values, task)
    assert re.search(message, shown)


def test_decimal_commas_are_numbers_in_features_and_target(
    tmp_path, monkeypatch, capsys
):
    """A file with commas gives the predictions of the same file with points."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(f"{COMMANDS}.make_table_pipeline", quick_pipeline)
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
