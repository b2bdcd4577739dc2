"""CoNLL files: content, and errors that name the line."""

import gzip
import os

import pytest

from sk_metaembed.datasets import fetch_wnut17, load_conll
from sk_metaembed.sequences import convert_tags

TWO = "To\tO\nRome\tB-place\n\nAda\tB-person\n"


@pytest.fixture
def write(tmp_path):
    def write(content, name="some.conll"):
        path = tmp_path / name
        if isinstance(content, str):
            content = content.encode()
        path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
        return path

    return write


@pytest.mark.parametrize(
    "content",
    [
        TWO,
        TWO.rstrip("\n"),
        TWO.replace("\t", " "),
        TWO.replace("\t", "   "),
        TWO.replace("\n", "\r\n"),
        TWO.replace("\n\n", "\n\t\n\n \n"),
        "\ufeff\n" + TWO,
        TWO.replace("\t", " ").replace("\n\n", "\n\t\n"),
    ],
    ids=[
        *("tabs", "no end", "space", "spaces", "CRLF", "blank", "mark"),
        "space, a tab in a blank line",
    ],
)
def test_variants_of_equal_content(write, content):
    bunch = load_conll(write(content))
    assert bunch.data.to_list() == [["To", "Rome"], ["Ada"]]
    assert bunch.target.tolist() == [["O", "B-place"], ["B-person"]]
    assert bunch.groups.tolist() == [0, 0]


def test_encodings(write):
    path = write("Citroën\tB-x\n".encode("latin-1"))
    assert load_conll(path, encoding="latin-1").data[0] == ["Citroën"]
    with pytest.raises(ValueError, match="some.conll, line 1: byte 0xeb is not utf-8"):
        load_conll(path)


def test_words_of_conllu(write):
    lines = ["1-2 du _", "1 de ADP", "2 le DET", "2.1 x X", "3 pain NOUN"]
    lines = ["\t".join([*line.split(), *"_______"]) for line in lines]
    path = write("\n".join(["# text = du pain", *lines]))
    bunch = load_conll(path, {"tokens": 1, "tags": 2}, comment="#")
    assert bunch.data.to_list() == [["de", "le", "pain"]]
    assert load_conll(path, {"tokens": 0}, comment="#").data[0][0] == "1-2"


def test_columns_by_index(write):
    path = write(
        "-DOCSTART- -X- -X- O\n\nEU NNP B-NP B-ORG\n\n\n"
        "-DOCSTART- -X- -X- O\n\nit PRP B-NP O\nis VBZ B-VP O\n"
    )
    bunch = load_conll(path, {"tokens": 0, "tags": -1, "pos": 1})
    assert sorted(bunch) == ["data", "groups", "pos", "target"]
    assert bunch.pos.tolist() == [["NNP"], ["PRP", "VBZ"]]
    assert bunch.groups.tolist() == [0, 1]
    assert bunch.target.tolist() == [["B-ORG"], ["O", "O"]]
    assert load_conll(path, {"tokens": 0}).data == bunch.data


def test_comments_are_skipped_on_request(write):
    path = write("# id 1\n#\tO\nRome\tB-place\n")
    assert load_conll(path, comment="# ").data[0] == ["#", "Rome"]
    with pytest.raises(ValueError, match="line 1: expected 2 columns, a token and"):
        load_conll(path)


def test_tokens_with_unicode_separators(write):
    strange = ["a\xa0b", "\u2028", "\x85", "New York"]
    bunch = load_conll(write("".join(f"{token}\tO\n" for token in strange)))
    assert bunch.data.to_list() == [strange]
    bunch = load_conll(write("".join(f"{token} O\n" for token in strange[:3])))
    assert bunch.data.to_list() == [strange[:3]]


def test_data_and_target_alone(write):
    X, y = load_conll(write(TWO), return_X_y=True)
    assert X.to_list() == [["To", "Rome"], ["Ada"]]
    assert y.tolist() == [["O", "B-place"], ["B-person"]]
    with pytest.raises(ValueError, match=r"needs a column \"tags\"; got \['tokens'\]"):
        load_conll(write(TWO), {"tokens": 0}, return_X_y=True)


def test_a_compressed_file_is_refused(write, tmp_path):
    with pytest.raises(ValueError, match=r"conll\.gz is compressed \(gz\). Unpack"):
        load_conll(write(TWO, "two.conll.gz"))
    with pytest.raises(FileNotFoundError):
        load_conll(tmp_path / "none.conll")


@pytest.mark.parametrize(
    ("content", "columns", "message"),
    [
        ("a O\nb\n", None, "line 2: expected 2 columns, a token and .* got 'b'"),
        ("1\tTo\tto\t_\n", None, "line 1: expected 2 columns, .* pass columns"),
        ("a\tO\n\n\tO\n", None, "line 3: expected 2 columns"),
        ("a O x\nb O\n", {"tokens": 0}, "line 2: expected 3 columns, as"),
        ("a O\n", {"tokens": 0, "tags": 3}, "line 1: has 2 columns, but .*3"),
        ("a O\n", {"token": 0}, 'must include "tokens"'),
        ("a O\n", {"tokens": 0, "target": 1}, "none of .*'data', 'target', 'groups'"),
        ("\n\n", None, "some.conll contains no sentence"),
    ],
)
def test_invalid_line_or_argument_is_named(write, content, columns, message):
    with pytest.raises(ValueError, match=message):
        load_conll(write(content), columns)


@pytest.mark.skipif(
    "SK_METAEMBED_DATA" not in os.environ, reason="needs SK_METAEMBED_DATA"
)
def test_the_shared_tasks_files_are_read_in_full():
    sizes = {"train": (3394, 62730), "dev": (1009, 15733), "test": (1287, 23394)}
    for split, expected in sizes.items():
        X, y = fetch_wnut17(split, return_X_y=True)
        assert (len(X), X.n_tokens) == expected
        assert convert_tags(y, to="IOB2").tolist() == y.tolist()
        assert len({tag for row in y for tag in row}) == 13
