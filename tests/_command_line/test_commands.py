"""fit, predict and describe, from a file to files."""

from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from pytest import approx
from sklearn.compose import TransformedTargetRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

from sk_metaembed import Tokenizer, WordVectors, load, save

from ..processes import run_script
from ..tiny_bert import folder as tiny_bert
from .command import main, quick_pipeline

COMMANDS = "sk_metaembed._command_line._commands"
N_ROWS = 90
HOSTILE = "<script>alert('x')</script> & </td>"


@pytest.fixture(autouse=True, scope="module")
def _quick():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"{COMMANDS}.make_table_pipeline", quick_pipeline)
        yield


def table():
    rng = np.random.default_rng(0)
    good = rng.random(N_ROWS) < 0.5
    fillers, marks = np.array(["film", "plot", "scene"]), {True: "fine", False: "dull"}
    texts = [
        f"{marks[is_good]} {' '.join(rng.choice(fillers, 2))} number {i % 60}"
        for i, is_good in enumerate(good)
    ]
    texts[3], texts[4] = f"dull {HOSTILE}", None
    frame = pd.DataFrame(
        {
            "key": [f"k{i}" for i in range(N_ROWS)],
            "remarks": texts,
            "phase <b>": (phases := rng.choice(["climb", "taxi"], N_ROWS)),
            "copy <b>": phases,
            "day": pd.date_range("2020-01-01", periods=N_ROWS).strftime("%Y-%m-%d"),
            "height": np.where(np.arange(N_ROWS) % 9, rng.normal(size=N_ROWS), np.nan),
            "grade": np.where(good, "A<i>", "B"),
            "amount": good * 2.5 + rng.normal(size=N_ROWS),
        }
    )
    frame.loc[3, "grade"] = "A<i>"  # unlike its text: a wrong prediction
    frame.loc[7, ["grade", "amount"]] = None
    return frame


@pytest.fixture(scope="module", params=["grade", "amount"])
def fitted(request, tmp_path_factory):
    """Return (target, folder) with the files of a fit, with a report on the grade."""
    folder = tmp_path_factory.mktemp("fit")
    table().to_csv(folder / "t.csv", index=False)
    target = request.param
    other = {"grade": "amount", "amount": "grade"}[target]
    arguments = ["fit", "t.csv", "--target", target, "--drop", other, "--id", "key"]
    if target == "grade":
        arguments += ["--report", "r.html", "--folds", "2"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(arguments) == 0
    return target, folder


class Checker(HTMLParser):
    """Collects the tags and the text of a page, and checks that tags are closed."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.text = [], set(), []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        assert not {name for name, _ in attributes} & {"src", "href", "onload"}
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_startendtag(self, tag, attributes):
        self.tags.add(tag)

    def handle_data(self, data):
        self.text.append(data)


@pytest.mark.parametrize("fitted", ["grade"], indirect=True)
def test_report_compares_sources_and_escapes_the_data(fitted):
    page = Checker((fitted[1] / "r.html").read_text("utf-8"))
    assert not page.open
    assert not page.tags & {"script", "b", "i", "link", "img"}
    text = "\n".join(page.text)
    for name in [
        *("without strings", "everything", "decrease when shuffled"),
        *("phase <b>", "remarks", "height", "A<i>", "Area under the ROC curve"),
        *("linear", "tree", "sum", "accuracy on rows that were not used for fitting"),
        *("predicted probability of 'B'", "ngrams, predictions", "indicators"),
        *("duplicate", "not used"),
    ]:
        assert name in text, name
    assert HOSTILE in text


@pytest.mark.filterwarnings("always:.* blank lines")
def test_predict_writes_what_the_pipeline_predicts(
    fitted, tmp_path, monkeypatch, capsys
):
    target, folder = fitted
    monkeypatch.setattr(f"{COMMANDS}._PREDICT_ROWS", 40)
    new = table().drop(columns=["amount", "grade"])
    X = new.drop(columns="key")
    new.to_csv(tmp_path / "new.csv", index=False, sep=";", lineterminator="\n\n")
    monkeypatch.chdir(tmp_path)
    model = str(folder / "t.skm")
    assert main(["predict", model, "new.csv", "--id", "key", "height"]) == 0
    assert capsys.readouterr().err.count("warning") == 1  # of blank lines
    result = pd.read_csv("new.predictions.csv")
    pipe = load(model)
    assert result["key"].equals(new["key"])
    np.testing.assert_allclose(result["height"], new["height"])
    if target == "amount":
        assert list(result) == ["key", "height", "prediction"]
        np.testing.assert_allclose(result["prediction"], pipe.predict(X))
    else:
        probabilities = ["probability_A<i>", "probability_B"]
        assert list(result) == ["key", "height", "prediction", *probabilities]
        assert result["prediction"].tolist() == pipe.predict(X).tolist()
        expected = pipe.predict_proba(X)
        np.testing.assert_allclose(result[probabilities], expected, atol=1e-6)


@pytest.mark.filterwarnings("default:column")
def test_values_that_do_not_fit_their_column_are_named(
    fitted, tmp_path, monkeypatch, capsys
):
    new = table().astype({"height": object})
    new.loc[1:2, "height"] = ["tall", "<low>"]
    new["day"] = ["soon", None] * (N_ROWS // 2)
    new.to_csv(tmp_path / "new.csv", index=False)
    arguments = [str(tmp_path / "new.csv"), "--output", str(tmp_path / "p.csv")]
    assert main(["predict", str(fitted[1] / "t.skm"), *arguments]) == 0
    shown = capsys.readouterr().err
    for text, values in (
        ("column 'height' was a number in fit; 2", "'tall', '<low>'"),
        ("column 'day' was a date in fit; 45", "'soon'"),
    ):
        text = f"{text} of 90 values are not, and count as missing: {values}.\n"
        assert shown.count(f"warning: {text}") == 1
    assert shown.count("warning: ") == 2


def test_describe(fitted, capsys):
    target, folder = fitted
    assert main(["describe", str(folder / "t.skm")]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(
        {"grade": "predicts: A<i>, B\n", "amount": "predicts: a number\n"}[target]
    )
    lines = {line.split("  ")[0]: line.split() for line in shown.splitlines()}
    assert lines["remarks"][1:5] == ["code", "numbers,", "ngrams,", "predictions"]
    assert lines["day"][1] == "date"
    model = load(folder / "t.skm")["model"]
    for name, weight in model.weights_.items():
        assert float(lines[name][1]) == approx(weight, abs=0.001)
    assert float(lines["sum"][-1]) == approx(model.scores_["sum"], abs=0.001)
    kind = {"grade": "accuracy", "amount": "R²"}[target]
    assert f"score: {kind} on rows that were not used for fitting\n" in shown
    assert main(["describe", str(folder / "t.csv")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "90 rows, 8 columns"
    cells = {line.split("  ")[0]: line.split() for line in lines[2:]}
    distinct = str(table()["remarks"].nunique())
    assert cells["remarks"][1:4] == ["code", "1.1%", distinct]
    assert cells["phase <b>"][2:5] == ["category", "0.0%", "2"]
    assert cells["day"][1] == "date" and cells["height"][1] == "number"


@pytest.mark.filterwarnings("default:column")
def test_a_model_inside_a_search_or_another_wrapper(
    fitted, tmp_path, monkeypatch, capsys
):
    target, folder = fitted
    monkeypatch.chdir(tmp_path)
    table().assign(height="tall").to_csv("new.csv", index=False)
    rows = table().dropna(subset=[target])
    model = load(folder / "t.skm")
    model = {
        "grade": GridSearchCV(model, {}, cv=2),
        "amount": TransformedTargetRegressor(Pipeline([("inner", model)])),
    }[target].fit(rows[model.feature_names_in_], rows[target])
    save(model, "m.skm")
    assert main(["predict", "m.skm", "new.csv"]) == 0
    assert "column 'height' was a number in fit; 90" in capsys.readouterr().err
    assert main(["describe", "m.skm"]) == 0
    shown = capsys.readouterr().out
    lines = {line.split("  ")[0]: line.split() for line in shown.splitlines()}
    assert lines["day"][1] == "date" and float(lines["sum"][-1]) <= 1


def test_sources(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table().to_csv("t.csv", index=False)
    words = ["fine", "dull", "climb", "taxi"]
    WordVectors.from_arrays(words, np.eye(4), path="my vectors.store")
    arguments = ["fit", "t.csv", "--target", "grade", "--drop", "key", "amount"]
    arguments += ["--output", "m.skm", "--bundle", "--jobs", "1", "--seed", "3"]
    assert main([*arguments, "--sources", "my vectors.store", tiny_bert()]) == 0
    pipe = load("m.skm")
    encoder = pipe["table"]
    assert encoder.n_jobs == pipe["model"].n_jobs == 1
    assert encoder.random_state == pipe["model"].random_state == 3
    assert encoder.source_names == ["ngrams", "my_vectors", "tiny_bert"]
    assert dict(encoder.sources)["tiny_bert"].cache is None  # the folder is gone
    names = encoder.get_feature_names_out().tolist()
    assert any("my_vectors" in name for name in names)
    encodings = {column.name: column.encodings for column in encoder.columns_}
    assert "sources" in encodings["remarks"]
    assert encodings["phase <b>"] == ("indicators",)
    # No text at all, as of rows that are not filled in yet.
    empty = table().drop(columns="grade").assign(**{"remarks": None, "phase <b>": ""})
    empty.to_csv("new.csv", index=False)
    assert main(["predict", "m.skm", "new.csv"]) == 0
    assert len(pd.read_csv("new.predictions.csv")) == N_ROWS


ERRORS = {
    "fit t.csv --target gade": "no column 'gade'. Its columns are 'key', 'remarks'",
    "fit t.csv --target key --task regressor": "has 'k0' in row 1, which is",
    "fit t.csv --target grade --sources glowe": "'glowe' is not minilm, mpnet",
    "fit t.csv --target grade --metric best": "'best' is not a valid scoring value",
    "fit t.csv --target grade --folds 1": "--folds must be at least 2, got 1",
    "fit one.csv --target b": "only one value.\n",
    "fit na.csv --target b": "without a target (empty, NA, None, null or nan): 2 rows",
    "fit alone.csv --target b": "No columns are left",
    "fit inf.csv --target b": "column 'b' has inf in row 3, which is not a fin",
    "predict t.csv t.csv": "was not written by sk_metaembed.save",
    "describe no_rows.csv": "has no rows",
    "fit a.xlsx --target b": ".jsonl. Save Excel sheets as CSV UTF-8",
    "describe bytes.csv": ": invalid start byte. Save it as UTF-8",
    "describe bad.json": "cannot be read",
    "describe wide.csv": "line 2 has 3 fields, but the header has 2 with the sep",
    "describe later.csv": "line 4 has 3 fields, but the header has 2",
    "describe twice.csv": "several columns are named 'b'. Rename all but one",
    "describe empty.csv": "'empty.csv' cannot be read: it is empty",
    "describe quote.csv": "cannot be read",
    "describe t.csv --separator ab": "must be one character, or one of tab, ",
    "describe good.json --separator tab": "--separator is for CSV files",
    "fit no_rows.csv --target b": "has no rows",
    "describe one.json": "it has no records, such as",
    "describe cut.jsonl": "line 2 column",
}


@pytest.mark.parametrize("command", ERRORS)
def test_errors_are_messages(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table().to_csv("t.csv", index=False)
    for name, text in {
        "one.csv": "a,b\n1,x\n2,x\n",
        "na.csv": "a,b\n1,NA\n2,x\n3,NA\n",
        "alone.csv": "b\nx\ny\n",
        "inf.csv": "a,b\n1,0.5\n2,\n3,inf\n",
        "no_rows.csv": "a,b\n",
        "bad.json": "{",
        "wide.csv": "a,b\nx,1,\ny,2,\n",
        "later.csv": "a,b\nx,1\ny,2\nz,3,4\n",
        "twice.csv": "a,b,b\nx,1,1\n",
        "empty.csv": "",
        "quote.csv": 'a,b\n"x,1\ny,2\n',
        "good.json": '[{"a": 1}]',
        "one.json": '{"a": 1}',
        "cut.jsonl": '{"a": 1}\n{"a": 2,,}\n',
    }.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "bytes.csv").write_bytes(b"a,b\n\xff\xfe,1\n")
    assert main(command.split()) == 2
    shown = capsys.readouterr().err
    assert "error: " in shown and ERRORS[command] in shown
    assert "Traceback" not in shown


def test_columns_of_a_model_are_required(fitted, tmp_path, capsys):
    (tmp_path / "new.csv").write_text("remarks\nfine\n")
    assert main(["predict", str(fitted[1] / "t.skm"), str(tmp_path / "new.csv")]) == 2
    missing = "'phase <b>', 'copy <b>', 'day', 'height'"
    assert f"has no column {missing}" in capsys.readouterr().err


def test_no_rows_have_no_predictions(fitted, tmp_path):
    table()[:0].to_csv(tmp_path / "new.csv", index=False)
    arguments = ["predict", str(fitted[1] / "t.skm"), str(tmp_path / "new.csv")]
    assert main([*arguments, "--output", str(tmp_path / "p.csv"), "--id", "key"]) == 0
    result = pd.read_csv(tmp_path / "p.csv")
    assert list(result)[:2] == ["key", "prediction"]
    assert not len(result)


@pytest.mark.parametrize("command", ["predict", "describe"])
def test_files_that_need_trust_are_refused(command, fitted, tmp_path, capsys):
    model = Pipeline([("tokens", Tokenizer(tokenizer=str.split))])
    with pytest.warns(UserWarning, match="requires explicit trust"):
        path = save(model, tmp_path / "own.skm")
    data = [str(tmp_path / "new.csv")] if command == "predict" else []
    assert main([command, str(path), *data]) == 2
    shown = capsys.readouterr().err
    assert "error: The file contains functions" in shown
    assert "to sk_metaembed.load" in shown


def test_a_model_is_there_if_the_report_is_interrupted(tmp_path, monkeypatch, capsys):
    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(f"{COMMANDS}.compare_sources", interrupt)
    table()[["remarks", "grade"]].to_csv("t.csv", index=False)
    assert main(["fit", "t.csv", "--target", "grade", "--report", "r.html"]) == 130
    shown = capsys.readouterr().err
    assert "Wrote t.skm\n" in shown and shown.endswith("interrupted\n")
    assert main(["describe", "t.skm"]) == 0


def test_the_module_runs_and_its_help_loads_next_to_nothing():
    code = (
        "import runpy, sys; sys.argv[1:] = ['fit', '--help']\n"
        "try: runpy.run_module('sk_metaembed', run_name='__main__', alter_sys=True)\n"
        "except SystemExit as error: print(error.code, 'numpy' in sys.modules)"
    )
    shown = run_script(code)
    assert "--target COLUMN" in shown
    assert shown.endswith("0 False\n"), shown


def test_rows_of_a_group_are_held_out_together(tmp_path, capsys):
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(40), 4)
    frame = pd.DataFrame(rng.normal(size=(40, 3))[who], columns=[*"abc"])
    frame["a"] += 0.1 * rng.normal(size=160)
    frame["who"] = np.where(who, who, np.nan)
    frame["y"] = np.where(rng.random(40) < 0.5, "no", "yes")[who]
    frame.to_csv(path := tmp_path / "rows.csv", index=False)
    for options in (["--groups", "who"], ["--drop", "who"]):
        saved = str(tmp_path / "model.skm")
        arguments = ["--target", "y", "--output", saved, *options]
        assert main(["fit", str(path), *arguments]) == 0
        model = load(saved)
        assert [*model.feature_names_in_] == [*"abc"]
        assert max(model["model"].scores_.values()) < 0.65
        is_known = "Column 'b' alone predicts" in capsys.readouterr().err
        assert is_known == (options[0] == "--drop")


def test_groups_must_be_a_column(tmp_path, capsys):
    path = tmp_path / "rows.csv"
    path.write_text("a,y\n1,2\n", encoding="utf-8")
    assert main(["fit", str(path), "--target", "y", "--groups", "who"]) == 2
    assert "--groups: the table has no column 'who'" in capsys.readouterr().err
