"""Words that contain spaces, in files whose format separates fields by spaces."""

import numpy as np
import pytest
from gensim.models import KeyedVectors

from sk_metaembed import WordVectors

WORDS = [
    "tea",
    "new york",
    "user 1",
    "a b c",
    "日本語 テスト",
    "Zürich",
    "2012",
    "I B M ",
]


def matrix(n, dim, seed=0):
    return np.random.default_rng(seed).normal(size=(n, dim)).astype(np.float32)


def same(wv, words, vectors):
    assert wv.words.tolist() == list(words)
    np.testing.assert_array_equal(wv.vectors, vectors)


@pytest.mark.parametrize("dim", [4, 50])
@pytest.mark.parametrize("newline", [b"", b"\n"])
def test_words_of_binary_files_keep_their_spaces(write, dim, newline):
    vectors = matrix(len(WORDS), dim)
    rows = [
        word.encode() + b" " + row.tobytes() + newline
        for word, row in zip(WORDS, vectors, strict=True)
    ]
    path = write("x.bin", b"%d %d\n" % vectors.shape + b"".join(rows))
    same(WordVectors.open(path), WORDS, vectors)
    same(WordVectors.open(path, limit=3), WORDS[:3], vectors[:3])


def test_words_of_many_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("sk_metaembed.vectors._read_word2vec._BLOCK", 5000)
    words = [f"word {i}" if i % 7 == 0 else f"w{i}" for i in range(3000)]
    kv = KeyedVectors(12)
    kv.add_vectors(words, matrix(3000, 12))
    kv.save_word2vec_format(tmp_path / "x.bin", binary=True)
    same(WordVectors.open(tmp_path / "x.bin"), words, kv.vectors)


@pytest.mark.parametrize("scale", [1e-30, 1e30, 0])
def test_unusual_numbers_are_read(write, scale):
    vectors = matrix(4, 3) * np.float32(scale)
    rows = [b"w%d " % i + row.tobytes() for i, row in enumerate(vectors)]
    same(
        WordVectors.open(write("x.bin", b"4 3\n" + b"".join(rows))),
        ["w0", "w1", "w2", "w3"],
        vectors,
    )


def test_words_in_another_encoding_keep_their_rows(write):
    words = [b"caf\xe9", b"tea", b"\xe9t\xe9 chaud", b"na\xefve"]
    vectors = matrix(4, 8)
    rows = [
        word + b" " + row.tobytes() for word, row in zip(words, vectors, strict=True)
    ]
    wv = WordVectors.open(write("x.bin", b"4 8\n" + b"".join(rows)))
    same(wv, [word.decode("utf-8", "backslashreplace") for word in words], vectors)


def test_rows_out_of_step_are_named(write):
    rows = [b"w%d " % i + row.tobytes() for i, row in enumerate(matrix(6, 8))]
    rows[2] = rows[2][:-3]
    with pytest.raises(ValueError, match=r"word 2 \('w2'\) are not a vector .*as text"):
        WordVectors.open(write("x.bin", b"6 8\n" + b"".join(rows) + bytes(3)))


LINES = {
    "tabs": "user 1\t.1\t.2\nuser 2\t.3\t.4\nnew york\t.5\t.6\n",
    "tab after the word": "user 1\t.1 .2\nuser 2\t.3 .4\nnew york\t.5 .6\n",
    "header": "3 2\nuser 1 .1 .2\nuser 2 .3 .4\nnew york .5 .6\n",
    "header and tabs": "3\t2\nuser 1\t.1\t.2\nuser 2\t.3\t.4\nnew york\t.5\t.6\n",
}


@pytest.mark.parametrize("name", LINES)
def test_words_of_text_files_keep_their_spaces(write, name):
    wv = WordVectors.open(write("x.txt", LINES[name]))
    same(
        wv,
        ["user 1", "user 2", "new york"],
        np.float32([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]),
    )


def test_tabs_between_numbers_do_not_move_them_into_words(write):
    wv = WordVectors.open(write("x.txt", "tea 0.5\t1.5\t-2.5\nmilk 2.0\t-1.5\t3.25\n"))
    same(wv, ["tea", "milk"], [[0.5, 1.5, -2.5], [2, -1.5, 3.25]])


REFUSED = {
    "2 2\na 1 2 3\nb 4 5 6\n": r"states 2 dimensions, but .* a word and 3 numbers",
    "a .1 .2\nb 1 .1 .2\nc .1 .2\n": r"line 2: .* got 4 columns .* only if a tab",
    "0.1\t0.2\t0.3\n-0.4\t0.5\t0.6\n": r"numbers only, .*projector.*from_arrays",
    "a\t1\t2\nb\t1\nc\t1\t2\n": r"line 2: expected a word and 2 numbers",
    "a\t1\t2\nb\t1\tx\nc\t1\t2\n": r"line 2: 'x' in column 3 is not a number",
}


@pytest.mark.parametrize("content", REFUSED)
def test_lines_that_are_refused(write, content):
    with pytest.raises(ValueError, match=REFUSED[content]):
        WordVectors.open(write("x.txt", content))
