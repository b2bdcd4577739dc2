"""Files of tables: separators, encodings, names of columns, rows of other lengths."""

import csv
import gzip
import json

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sk_metaembed import TableEncoder

from .command import main


@pytest.fixture(name="describe")
def describe_files(capsys):
    """Return a function that describes a file; it returns the lines of its columns."""

    def describe(path, *options):
        assert main(["describe", str(path), *options]) == 0
        return capsys.readouterr().out.splitlines()[2:]

    return describe


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a,b\nx,1\n", "a b"),
        ("a;b\nx;1\n", "a b"),
        ("a\tb\nx, y\t1\n", "a b"),
        # The rows decide, not the header.
        ("text, kurz;klasse\nguter Tag;1\nschlechter;0\n", "text,  klasse"),
        ("name;alias,kind\nx,1\ny,2\nz,3\n", "name;alias kind"),
        ("a,b\nx; y,1\nz; w,2\n", "a b"),
        # Quotes are respected.
        ('a,b\n"x;y;z",1\n"x, y",2\n', "a b"),
        ('a;b\n"line\nbreak, and another\n";1\nx;2\n', "a b"),
        # One column.
        ("text\nHello, you\nBye, all\n", "text"),
        ("text, in short\nHello\nBye\n", "text,"),
    ],
)
def test_rows_decide_the_separator(text, names, tmp_path, describe):
    (tmp_path / "t.csv").write_text(text)
    lines = describe(tmp_path / "t.csv")
    assert [line.split(" ")[0] for line in lines] == names.split()


def test_a_few_broken_rows_do_not_decide_the_separator(tmp_path, capsys):
    (tmp_path / "t.csv").write_text("a,b\n" + "x,1\n" * 9 + "x,y,1\n")
    assert main(["describe", str(tmp_path / "t.csv")]) == 2
    assert "has 3 fields, but the header has 2 with the sep" in capsys.readouterr().err


def test_long_fields_and_the_limit_of_csv(tmp_path, describe):
    before = csv.field_size_limit()
    (tmp_path / "t.csv").write_text(f"a,b\n{'x' * (before + 1)},1\n")
    assert len(describe(tmp_path / "t.csv")) == 2
    assert csv.field_size_limit() == before


TABLE = pd.DataFrame({"größe": ["1,5", "2,5"], "klasse": ["a", "b"]})


@pytest.mark.parametrize(
    ("encoding", "name"), [("utf-8-sig", "t.CSV.GZ"), ("utf-16", "t.csv")]
)
def test_encodings(encoding, name, tmp_path, describe):
    data = TABLE.to_csv(index=False, sep=";").encode(encoding)
    (tmp_path / name).write_bytes(gzip.compress(data) if "GZ" in name else data)
    lines = [line.split() for line in describe(tmp_path / name)]
    assert [line[0] for line in lines] == ["größe", "klasse"]
    assert lines[0][-3:] == ["1,5", "|", "2,5"]


def test_spaces_after_separators_and_names_that_are_empty(tmp_path, describe):
    (tmp_path / "t.csv").write_text(', a, b\n0, x, "y, z"\n1, w, NA\n')
    first, a, b = describe(tmp_path / "t.csv")
    assert first.startswith("Unnamed: 0 ") and a.startswith("a ")
    assert b.split() == ["b", "name", "50.0%", "1", "y,", "z"]


@pytest.mark.filterwarnings("default:.* the first in line")
def test_shorter_rows_and_blank_lines_are_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("\na,b\nx,1\ny\n\nz,3\nw\n\n")
    assert main(["describe", "t.csv"]) == 0
    shown = capsys.readouterr()
    assert "warning: 2 rows, the first in line 4, have fewer" in shown.err
    assert "warning: 1 blank line, the first in line 5, are skipped" in shown.err
    assert shown.out.splitlines()[-1].split()[2:4] == ["50.0%", "2"]


def test_the_separator_is_an_option(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("a,b|c\nx,1|y\n")
    assert main(["describe", "t.csv"]) == 0
    assert "1 rows, 2 columns" in capsys.readouterr().out
    assert main(["describe", "t.csv", "--separator", "pipe"]) == 0
    assert "\na,b " in capsys.readouterr().out


IDS = [1234567890123456701, None, 1234567890123456702, -1234567890123456701]
_FILES = {
    "t.csv": lambda path: path.write_text(
        "id,long,mixed\n"
        + "".join(f"{'' if i is None else i},{i or 2**70},{i}.5\n" for i in IDS)
    ),
    "t.jsonl": lambda path: path.write_text(
        "".join(json.dumps({"id": i, "long": i or 2**70, "x": 0.5}) + "\n" for i in IDS)
    ),
    "t.parquet": lambda path: pq.write_table(pa.table({"id": IDS}), path),
    "index.parquet": lambda path: (
        pd.DataFrame({"x": 1.0}, pd.Index(pd.array(IDS, "Int64"), name="id"))
    ).to_parquet(path),
}


@pytest.mark.parametrize("name", _FILES)
def test_integers_are_exact_beside_missing_values(name, tmp_path, describe):
    _FILES[name](tmp_path / name)
    lines = {line.split()[0]: line for line in describe(tmp_path / name)}
    expected = TableEncoder().fit(pa.table({"id": IDS, "x": range(4)})).columns_[0]
    assert lines["id"].split()[1:4] == [expected.kind, "25.0%", "3"]
    shown = {*lines["id"].split()[4:]} - {"|"}
    assert shown == {str(i) for i in IDS if i}
    if "long" in lines:
        long = {*lines["long"].split()[4:]} - {"|"}
        assert len(long) == 3 and long <= {str(i or 2**70) for i in IDS}
