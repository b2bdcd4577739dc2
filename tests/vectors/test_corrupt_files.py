import struct

import numpy as np
import pytest

from sk_metaembed import WordVectors


def binary_rows(n, dim=2):
    return b"".join(
        b"w%d " % i + np.full(dim, i, "<f4").tobytes() + b"\n" for i in range(n)
    )


ERRORS = {
    "extra column": ("a 1 2\nb 1 2 3\nc 1 2\n", r"line 2: .* got 4 columns"),
    "no number": ("a 1 2\nb x 2\nc 1 2\n", r"line 2: 'x' in column 2 is not a number"),
    "bad number": ("3 2\na 1 2\nb 1 2x\nc 1 2\n", r"line 3.*'2x' in column 3"),
    "fewer rows": (
        "3 2\na 1.25 2.75\nb 3.5 4.125\n",
        r"states 3 rows.*after 2.*limit=2",
    ),
    "header dim": ("2 3\na 1 2\nb 3 4\n", r"line 2: expected a word and 3 numbers"),
    "zero words": ("0 300\n", "states 0 words"),
    "huge dim": ("3 99999999999\na 1\n", "dimensions; got 99999999999"),
    "empty": ("", "empty"),
    "prose": (
        "It was the best of times,\nit was the worst\n",
        "Supported formats: word2vec",
    ),
    "web page": (b"<!DOCTYPE html><html>Not found</html>", "looks like a web page"),
    "all nan": ("a nan 1\nb 1 inf\n", "none with a finite"),
    "cut binary": (b"3 2\n" + binary_rows(3)[:-4], "within word 2 .'w2'.*limit=2"),
    "short binary": (b"4 2\n" + binary_rows(3) + bytes(9), "within word 3|states 4"),
    "damaged gz": (b"\x1f\x8b\x08" + bytes(50), "is truncated or corrupt"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_corrupt_file_is_named(write, cache, name):
    content, message = ERRORS[name]
    path = write("source.txt", content)
    with pytest.raises(ValueError, match=message) as caught:
        WordVectors.open(path)
    assert str(path) in str(caught.value)
    assert not [p for p in cache.glob("*") if p.is_dir() and p.name != "sources"]
    assert not list(cache.glob(".*"))


def test_line_numbers_across_blocks(write, monkeypatch):
    monkeypatch.setattr("sk_metaembed.vectors._read_word2vec._BLOCK", 50)
    lines = [f"w{i} {i} {i}" for i in range(100)]
    lines[73] = "bad 1"
    path = write("x.txt", "100 2\n" + "\n".join(lines))
    with pytest.raises(ValueError, match="line 75: expected a word and 2"):
        WordVectors.open(path)
    assert len(WordVectors.open(path, limit=73)) == 73


REPAIRS = {
    "duplicate": ("a 1 2\nb 3 4\na 5 6\nb 7 8\nc 9 9\n", {"duplicate_words": 2}),
    "bytes": (b"a 1 2\ncaf\xe9 3 4\nc 9 9\n", {"undecodable_words": 1}),
    "more rows": ("1 2\na 1 2\nb 3 4\nc 9 9\n", {"rows_beyond_header": 2}),
    "more binary": (b"1 2\n" + binary_rows(3), {"rows_beyond_header": 2}),
    "blank lines": ("a 1 2\n\nb 3 4\n \nc 9 9\n", {"blank_lines": 2}),
}


@pytest.mark.parametrize("name", REPAIRS)
def test_repair_is_counted(write, name):
    content, repairs = REPAIRS[name]
    wv = WordVectors.open(write("source.txt", content))
    assert wv.repairs == repairs
    assert len(wv) == 3


def test_many_duplicates_are_compacted_in_chunks(monkeypatch):
    monkeypatch.setattr("sk_metaembed.vectors._store._CHUNK_BYTES", 64)
    words = [f"w{i % 70}" for i in range(200)]
    matrix = np.arange(400.0).reshape(200, 2)
    wv = WordVectors.from_arrays(words, matrix)
    np.testing.assert_array_equal(wv.vectors, matrix[:70])
    assert wv.repairs == {"duplicate_words": 130}


def test_undecodable_bytes_are_escaped(write):
    wv = WordVectors.open(write("x.txt", REPAIRS["bytes"][0]))
    assert wv.words.tolist() == ["a", "caf\\xe9", "c"]
    np.testing.assert_array_equal(wv["caf\\xe9"], [3, 4])
    latin = "".join(f"{letter} 1\n" for letter in "abcäöüéèêàâçñßô").encode("latin-1")
    with pytest.warns(UserWarning, match="12 of 15 words are not UTF-8.*encoding"):
        WordVectors.open(write("latin.txt", latin))


def test_characters_split_between_words_are_undecodable(write):
    # the two halves of one character, at the end of one word and the start of the next
    data = b"2 1\nx\xc3 " + struct.pack("<f", 1) + b"\xa9y " + struct.pack("<f", 2)
    wv = WordVectors.open(write("x.bin", data))
    assert wv.repairs == {"undecodable_words": 2}
    assert wv.words.tolist() == ["x\\xc3", "\\xa9y"]


def test_rows_that_are_not_finite_are_dropped_with_a_warning(write):
    path = write("x.txt", "a 1 2\nb nan 1\nc 1e39 0\nd -Infinity 1\ne 3 4\n")
    with pytest.warns(UserWarning, match="3 words .*'b', 'c', 'd'"):
        wv = WordVectors.open(path)
    assert wv.words.tolist() == ["a", "e"]
    assert wv.repairs == {"not_finite_rows": 3}
    np.testing.assert_array_equal(wv.vectors_for(["b"])[0], [[0, 0]])


@pytest.mark.parametrize("number", ["70000", "1e-09"])
def test_numbers_out_of_the_range_of_float16_are_an_error(number, write):
    path = write("x.txt", f"a 1 2\nb {number} 0\n")
    with pytest.raises(ValueError, match=f"'b', {number}, is out of the .* float16"):
        WordVectors.open(path, dtype="float16")


@pytest.mark.parametrize(("kind", "pruned"), [("pruned", 5), ("quantized", -1)])
def test_compressed_fasttext_is_refused(write, kind, pruned):
    args = struct.pack("<2i12id", 793712314, 12, 2, *[1] * 7, 0, 0, 0, 1, 1e-4)
    dictionary = struct.pack("<3iqq", 1, 1, 0, 1, pruned) + b"a\0" + bytes(9)
    path = write("x.ftz", args + dictionary + b"\x01" + bytes(40))
    with pytest.raises(ValueError, match=f"{kind} fastText models.*from_arrays"):
        WordVectors.open(path)


def test_missing_and_foreign_paths(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        WordVectors.open(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="is a directory but neither"):
        WordVectors.open(tmp_path)
    with pytest.raises(TypeError, match="from_arrays"):
        WordVectors.open({"a": [1, 2]})


@pytest.mark.parametrize(
    ("kwargs", "error", "message"),
    [
        ({"limit": 0}, ValueError, "at least 1"),
        ({"limit": 1.5}, TypeError, "limit must be an int"),
        ({"dtype": "int8"}, ValueError, "float32.*float16.*int8"),
    ],
)
def test_arguments_are_checked(write, kwargs, error, message):
    with pytest.raises(error, match=message):
        WordVectors.open(write("x.txt", "a 1 2\n"), **kwargs)


@pytest.mark.parametrize(
    ("words", "matrix", "error", "message"),
    [
        (["a", 2], np.eye(2), TypeError, "element 1 is 2 of type int"),
        ("ab", np.eye(2), TypeError, "single str"),
        (["a"], np.eye(2), ValueError, "1 words and 2 rows"),
        (["a"], np.ones(1), ValueError, "one row per word"),
        ([], np.ones((0, 3)), ValueError, "no words"),
        (["a"], np.ma.masked_equal([[1.0]], 1), ValueError, "none with a finite"),
        (["a"], np.array([[1j]]), TypeError, "real numbers"),
    ],
)
def test_arrays_are_checked(words, matrix, error, message):
    with pytest.raises(error, match=message):
        WordVectors.from_arrays(words, matrix)
