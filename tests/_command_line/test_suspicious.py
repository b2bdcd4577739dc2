"""Notes about leaks, keys and copies in a table, and tables about its model."""

import numpy as np
import pandas as pd
import pytest

from sk_metaembed import make_table_pipeline
from sk_metaembed._command_line._summaries import reliability_frame
from sk_metaembed._command_line._suspicious import find_suspicious

N_ROWS = 120
RNG = np.random.default_rng(0)
X = pd.DataFrame({"noise": RNG.normal(size=N_ROWS), "wave": RNG.normal(size=N_ROWS)})
CLASSES = np.array(["no", "maybe", "yes"])[np.digitize(X["wave"], [-0.5, 0.5])]
TARGETS = {
    "classifier": np.where(RNG.random(N_ROWS) < 0.2, "no", CLASSES),
    "regressor": X["wave"].to_numpy() + RNG.normal(size=N_ROWS),
}


def notes(frame, task):
    learners = ["linear"] if task == "regressor" else ["trees"]
    pipeline = make_table_pipeline(task, learners=learners, random_state=0)
    y = TARGETS[task][: len(frame)]
    return find_suspicious(pipeline.fit(frame, y), frame, y)


@pytest.mark.parametrize("task", TARGETS)
def test_a_table_without_leaks_has_no_notes(task):
    frame = X if task == "regressor" else X.assign(wave=RNG.normal(size=N_ROWS))
    assert notes(frame, task) == []


@pytest.mark.parametrize("task", TARGETS)
def test_a_column_with_the_target_is_named(task):
    y = TARGETS[task]
    codes = np.unique(y, return_inverse=True)[1] if task == "classifier" else 3 * y
    (note,) = notes(X.assign(**{"<leak>": codes}), task)
    assert note.startswith(
        "Column '<leak>' alone predicts about as well as all columns"
    )
    assert "Leave it out by --drop if it is not known" in note


def test_columns_without_information_are_named():
    frame = X.assign(
        number=range(1, N_ROWS + 1), same=1, none=None, again=X["noise"], wave=0.5
    )
    kinds = [note.split(".")[0] for note in notes(frame, "regressor")]
    assert kinds == [
        "Column 'wave' has one value, and is not used",
        "Column 'number' has another value in each row, as an identifier",
        "Column 'same' has one value, and is not used",
        "Column 'none' has no values, and is not used",
        "Column 'again' equals an earlier column, and is not used",
    ]


def test_copies_of_rows_are_counted():
    frame = pd.concat([X[:-20], X[:20]], ignore_index=True)
    (note,) = notes(frame, "regressor")
    assert note.startswith(
        "40 rows of 120 have the same values as another, 40 of them with other targets"
    )
    y = np.concatenate([TARGETS["regressor"][:-20], TARGETS["regressor"][:20]])
    pipeline = make_table_pipeline("regressor", learners=["linear"], random_state=0)
    (note,) = find_suspicious(pipeline.fit(frame, y), frame, y)
    assert note.startswith("40 rows of 120 have the same values as another. If they")


def test_predictions_are_compared_with_what_occurred():
    y = np.array(["a", "b"] * 50)
    second = np.linspace(0, 1, 100)
    probabilities = np.stack([1 - second, second], axis=1)
    table = reliability_frame(y, y, probabilities, np.unique(y))
    assert table["rows"].tolist() == [20] * 5
    np.testing.assert_allclose(table["actual"], 0.5)
    np.testing.assert_allclose(table["predicted"].mean(), 0.5)
    assert (table["from"] <= table["predicted"]).all()
    three = np.eye(3)[np.arange(100) % 3] * 0.4 + 0.2
    labels = np.array(["a", "b", "c"])[np.arange(100) % 3]
    table = reliability_frame(labels, labels, three, np.unique(labels))
    np.testing.assert_allclose(table["predicted"], 0.6)
    np.testing.assert_allclose(table["actual"], 1)
    numbers = np.arange(10.0)
    table = reliability_frame(numbers + 1, numbers, None, None)
    np.testing.assert_allclose(table["actual"] - table["predicted"], 1)
    assert table["from"].tolist() == [0, 2, 4, 6, 8]
