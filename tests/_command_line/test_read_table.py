"""Files of tables: separators, encodings, names of columns, rows of other lengths."""

import csv
import gzip
import json

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sk_metaembed import TableEncoder
from sk_metaembed._command_line._read_table import find_separator, read_table

from .command import main


@pytest.mark.parametrize(
    ("text", "separator"),
    [
        ("a,b\nx,1\n", ","),
        ("a;b\nx;1\n", ";"),
        ("a\tb\nx, y\t1\n", "\t"),
        # The rows decide, not the header.
        ("text, kurz;klasse\nguter Tag;1\nschlechter;0\n", ";"),
        ("name;alias,kind\nx,1\ny,2\nz,3\n", ","),
        ("a,b\nx; y,1\nz; w,2\n", ","),
        # Quotes are respected.
        ('a,b\n"x;y;z",1\n"x, y",2\n', ","),
        ('a;b\n"line\nbreak, and another\n";1\nx;2\n', ";"),
        # A few broken rows do not decide.
        ("a,b\n" + "x,1\n" * 9 + "x,y,1\n", ","),
        # One column.
        ("text\nHello, you\nBye, all\n", "\0"),
        ("a,b\nx,1,\ny,2,\n", ","),
        ("text, in short\nHello\nBye\n", "\0"),
        ("a,b\n", ","),
        ("", "\0"),
    ],
)
def test_the_separator_is_the_one_by_which_rows_agree(text, separator):
    assert find_separator(text.splitlines(keepends=True)) == separator


def test_long_fields_and_the_limit_of_csv():
    before = csv.field_size_limit()
    assert find_separator(["a,b\n", f"{'x' * (before + 1)},1\n"]) == ","
    assert csv.field_size_limit() == before


TABLE = pd.DataFrame({"größe": ["1,5", "2,5"], "klasse": ["a", "b"]})


@pytest.mark.parametrize(
    ("encoding", "name"), [("utf-8-sig", "t.CSV.GZ"), ("utf-16", "t.csv")]
)
def test_encodings(encoding, name, tmp_path):
    data = TABLE.to_csv(index=False, sep=";").encode(encoding)
    (tmp_path / name).write_bytes(gzip.compress(data) if "GZ" in name else data)
    pd.testing.assert_frame_equal(read_table(tmp_path / name), TABLE)


def test_spaces_after_separators_and_names_that_are_empty(tmp_path):
    (tmp_path / "t.csv").write_text(', a, b\n0, x, "y, z"\n1, w, NA\n')
    table = read_table(tmp_path / "t.csv")
    assert list(table) == ["Unnamed: 0", "a", "b"]
    assert table["b"].iloc[0] == "y, z"
    assert table["b"].isna().iloc[1]


@pytest.mark.filterwarnings("default:.* the first in line")
def test_shorter_rows_and_blank_lines_are_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("\na,b\nx,1\ny\n\nz,3\nw\n\n")
    with pytest.warns(UserWarning, match="2 rows, the first in line 4, have fewer"):
        table = read_table("t.csv")
    assert table["b"].isna().tolist() == [False, True, False, True]
    assert main(["describe", "t.csv"]) == 0
    shown = capsys.readouterr().err
    assert "warning: 2 rows, the first in line 4" in shown
    assert "warning: 1 blank line, the first in line 5, are skipped" in shown


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
def test_integers_are_exact_beside_missing_values(name, tmp_path):
    _FILES[name](tmp_path / name)
    table = read_table(tmp_path / name)
    ids = table["id"].tolist()
    assert [i for i in ids if pd.notna(i)] == [i for i in IDS if i]
    assert pd.isna(ids[1])
    if "long" in table:
        assert table["long"].tolist() == [i or 2**70 for i in IDS]
    expected = TableEncoder().fit(pa.table({"id": IDS * 5})).columns_[0].kind
    assert (
        TableEncoder().fit(pd.concat([table[["id"]]] * 5)).columns_[0].kind == expected
    )
