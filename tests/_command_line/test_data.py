"""Tables in files, and targets."""

from functools import partial

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from sklearn.dummy import DummyClassifier, DummyRegressor

from sk_metaembed import load, make_table_pipeline

from .command import main, quick_pipeline

TABLE = pd.DataFrame({"a": ["x, y", "z; w", None], "b": [1.5, 2.0, -1.0]})


SHOWN = """\
3 rows, 2 columns
column  kind    missing  distinct  most frequent
a       name    33.3%    2         x, y | z; w
b       number  0.0%     3         1.5 | 2.0 | -1.0
"""


def write_json(path, **options):
    TABLE.to_json(path, orient="records", **options)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("t.csv", partial(TABLE.to_csv, index=False)),
        ("semicolons.csv.gz", partial(TABLE.to_csv, index=False, sep=";")),
        (
            "byte_order_mark.csv",
            partial(TABLE.to_csv, index=False, sep="|", encoding="utf-8-sig"),
        ),
        ("t.parquet", TABLE.to_parquet),
        ("index.parquet", TABLE.set_index("b").to_parquet),
        ("t.json", write_json),
        ("t.jsonl", partial(write_json, lines=True)),
    ],
)
def test_formats(name, write, tmp_path, capsys):
    write(tmp_path / name)
    assert main(["describe", str(tmp_path / name)]) == 0
    assert capsys.readouterr().out == SHOWN


@pytest.fixture
def constant_pipeline(monkeypatch):
    """Let the command fit a pipeline that reads nothing but the target."""
    models = {"classifier": DummyClassifier(), "regressor": DummyRegressor()}
    monkeypatch.setattr(
        "sk_metaembed._command_line._commands._pipeline",
        lambda sources, options: make_table_pipeline(
            options.task, learners=[("constant", models[options.task])]
        ),
    )


def test_only_the_suffix_of_a_table_is_replaced(
    constant_pipeline, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame({"a": range(6), "b": ["x", "y"] * 3})
    table.to_json("reports.2024.JSON.GZ")
    assert main(["fit", "reports.2024.JSON.GZ", "--target", "b"]) == 0
    assert (tmp_path / "reports.2024.skm").exists()


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_classes_beside_missing_ones_keep_their_digits(
    suffix, constant_pipeline, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    path, classes = f"t.{suffix}", [2**60, 2**60 + 1]
    columns = {"a": range(13), "y": [None, *classes * 6]}
    frame = pd.DataFrame(columns, dtype=object)
    if suffix == "csv":
        frame.to_csv(path, index=False)
    elif suffix == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        parquet.write_table(pa.table(columns), path)
    assert main(["fit", path, "--target", "y"]) == 0
    assert load("t.skm").classes_.tolist() == classes


@pytest.mark.parametrize("suffix", ["csv", "json", "jsonl"])
def test_codes_and_identifiers_stay_as_they_are_written(suffix, tmp_path, monkeypatch):
    """In a file without other codes, pandas would read 7, and write it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "sk_metaembed._command_line._commands.make_table_pipeline", quick_pipeline
    )
    codes = ["007", "A1", "B2", "C3"] * 12
    y = ["01" if code == "007" else "02" for code in codes]
    table = pd.DataFrame({"code": codes, "y": y})
    ids = ["00123", "NA", "1e5", ""] if suffix == "csv" else [123, None, 2, 4]
    new = pd.DataFrame({"key": ids, "code": ["007"] * 4}, dtype=object)
    for name, frame in (("t", table), ("new", new)):
        if suffix == "csv":
            frame.to_csv(f"{name}.csv", index=False)
        else:
            options = {"orient": "records", "lines": suffix == "jsonl"}
            frame.to_json(f"{name}.{suffix}", **options)
    assert main(["fit", f"t.{suffix}", "--target", "y"]) == 0
    assert main(["predict", "t.skm", f"new.{suffix}", "--id", "key"]) == 0
    lines = (tmp_path / "new.predictions.csv").read_text().splitlines()[1:]
    written = ["" if i is None else str(i) for i in ids]
    assert [line.partition(",")[0].strip('"') for line in lines] == written
    assert [line.split(",")[1] for line in lines] == ["01"] * 4
