"""Tables in files, and targets."""

from functools import partial

import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier, DummyRegressor

from sk_metaembed import make_table_pipeline

from .command import main

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
        ("index.parquet", TABLE.set_index("a").to_parquet),
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


@pytest.mark.parametrize(
    ("path", "output"),
    [
        ("reports.2024.JSON.GZ", "reports.2024.skm"),
    ],
)
def test_only_the_suffix_of_a_table_is_replaced(
    path, output, constant_pipeline, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    table = pd.DataFrame({"a": range(6), "b": ["x", "y"] * 3})
    write = partial(table.to_csv, index=False) if "csv" in path else table.to_json
    write(path)
    assert main(["fit", path, "--target", "b"]) == 0
    assert (tmp_path / output).exists()
