"""Notes about leaks and identifiers, and the reliability in the report."""

import re

import numpy as np
import pandas as pd
import pytest

from sk_metaembed import make_table_pipeline

from .command import main

N_ROWS = 120
RNG = np.random.default_rng(0)
X = pd.DataFrame({"noise": RNG.normal(size=N_ROWS), "wave": RNG.normal(size=N_ROWS)})
CLASSES = np.array(["no", "maybe", "yes"])[np.digitize(X["wave"], [-0.5, 0.5])]
TARGETS = {
    "classifier": np.where(RNG.random(N_ROWS) < 0.2, "no", CLASSES),
    "regressor": X["wave"].to_numpy() + RNG.normal(size=N_ROWS),
}


@pytest.fixture(name="fit")
def fit_in_folder(tmp_path, monkeypatch, capsys):
    """Return a function that fits a table; it returns the notes."""

    def quick_pipeline(task, *_, **options):
        learners = ["linear"] if task == "regressor" else ["trees"]
        return make_table_pipeline(task, learners=learners, random_state=0)

    def fit(frame, task, *options):
        frame.assign(y=TARGETS[task]).to_csv("t.csv", index=False)
        assert main(["fit", "t.csv", "--target", "y", *options]) == 0
        return re.findall("note: (.*)", capsys.readouterr().err)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "sk_metaembed._command_line._commands.make_table_pipeline", quick_pipeline
    )
    return fit


@pytest.mark.parametrize("task", TARGETS)
def test_a_table_without_leaks_has_no_notes(task, fit):
    frame = X if task == "regressor" else X.assign(wave=RNG.normal(size=N_ROWS))
    assert fit(frame.assign(same=1, again=frame["noise"]), task) == []


@pytest.mark.parametrize("task", TARGETS)
def test_a_column_with_the_target_is_named(task, fit):
    y = TARGETS[task]
    codes = np.unique(y, return_inverse=True)[1] if task == "classifier" else 3 * y
    (note,) = fit(X.assign(**{"<leak>": codes}), task)
    assert note.startswith("Column '<leak>' alone predicts about as well as all colum")
    assert "Leave it out by --drop if it is unknown" in note


def test_identifiers_are_named(fit):
    (note,) = fit(X.assign(number=range(1, N_ROWS + 1)), "regressor")
    assert note.startswith("Column 'number' has another value in each row, as an ident")


@pytest.mark.parametrize("task", TARGETS)
def test_the_report_compares_predictions_with_what_occurred(task, fit):
    fit(X, task, "--report", "r.html", "--folds", "2")
    with open("r.html", encoding="utf-8") as file:
        page = file.read().partition("agree with what occurred?")[2]
    cells = re.findall(r"<td>([-\d.]+)</td>", page.partition("</table>")[0])
    rows = np.array(cells, dtype=float).reshape(5, 5)
    n_rows, low, high, predicted, actual = rows.T
    assert n_rows.tolist() == [24] * 5
    assert (low <= predicted).all() and (predicted <= high).all()
    assert (high[:-1] <= low[1:]).all()
    y = TARGETS[task]
    if task == "regressor":
        assert actual.mean() == pytest.approx(y.mean(), abs=1e-4)
        assert np.corrcoef(predicted, actual)[0, 1] > 0.8
    else:
        assert ((actual >= 0) & (actual <= 1)).all() and actual[-1] > actual[0]
