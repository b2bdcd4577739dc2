import struct

import numpy as np
import pytest

from sk_metaembed import WordVectors

TABLE = np.arange(97 * 2, dtype=np.float32).reshape(97, 2) ** 2 / 100
# Rows that floret 0.10.5 selects, by n-gram sizes and number of hashes.
ROWS = {
    (3, 4, 2): {
        "tea": [79, 66, 72, 68, 45, 33, 94, 84, 30, 41, 4, 57],
        "日本語": [24, 45, 55, 66, 92, 20, 68, 79, 8, 77, 21, 6],
        "zz": [30, 5, 48, 90, 30, 5, 26, 38],
        "a": [12, 67, 12, 67],
    },
    (1, 4, 3): {
        "zz": [30, 5, 71, 96, 84, 63, 48, 90, 95, 30, 5, 71, 49, 71, 84, 12, 5, 73, 26]
        + [38, 95, 49, 71, 84, 39, 26, 65],
        "a": [12, 67, 40, 58, 52, 91, 12, 67, 40, 42, 51, 43, 0, 78, 28],
    },
}


def text(min_n, max_n, hash_count, table=TABLE):
    head = f"{len(table)} 2 {min_n} {max_n} {hash_count} 2166136261 < >\n"
    return head + "".join(f"{i} {a} {b} \n" for i, (a, b) in enumerate(table))


def binary(words, own, min_n, max_n, hash_count, mode=2):
    """Return a .bin of floret, whose header is longer than fastText's."""
    sizes = 793712314, 12, 2, *[1] * 7, len(TABLE), min_n, max_n
    data = struct.pack("<13i", *sizes) + struct.pack(
        "<3id", mode, hash_count, 100, 1e-4
    )
    data += struct.pack("<3iqq", len(words), len(words), 0, 9, -1)
    data += b"".join(word.encode() + b"\0" + bytes(9) for word in words)
    matrix = np.concatenate([own, TABLE]).astype("<f4")
    return data + b"\0" + struct.pack("<2q", *matrix.shape) + matrix.tobytes()


@pytest.mark.parametrize("sizes", ROWS)
@pytest.mark.parametrize("kind", ["text", "binary"])
def test_words_are_means_of_the_rows_of_floret(write, sizes, kind):
    content = text(*sizes)
    if kind == "binary":
        content = binary(["first", "</s>", "tea"], np.zeros((3, 2)), *sizes)
    wv = WordVectors.open(write("x", content))
    for word, rows in ROWS[sizes].items():
        np.testing.assert_allclose(wv[word], TABLE[rows].mean(axis=0), rtol=1e-5)
    assert wv.has_subwords and "unheard" in wv


def test_first_word_and_end_of_sentence_of_a_model(write):
    own = np.array([[5, 7], [1, 1], [2, 2]])
    sizes = (3, 4, 2)
    wv = WordVectors.open(write("x.bin", binary(["tea", "</s>", "zz"], own, *sizes)))
    rows = TABLE[ROWS[sizes]["tea"]]
    expected = (rows.sum(axis=0) + own[0]) / (1 + len(rows))
    np.testing.assert_allclose(wv["tea"], expected, rtol=1e-5)
    np.testing.assert_allclose(wv["zz"], TABLE[ROWS[sizes]["zz"]].mean(axis=0))
    assert not wv.vectors_for(["</s>"])[0].any()
    wv = WordVectors.open(write("y.bin", binary(["</s>", "tea"], own[:2], *sizes)))
    np.testing.assert_array_equal(wv.vectors_for(["</s>"])[0], own[:1])
    np.testing.assert_allclose(wv["tea"], rows.mean(axis=0), rtol=1e-5)


def test_fasttext_mode_of_floret_is_read_as_fasttext(write):
    own = np.array([[5, 7], [1, 1]])
    data = binary(["tea", "a"], own, 3, 6, 1, mode=1)
    as_fasttext = data[:52] + data[60:]  # without the two fields
    wv = WordVectors.open(write("x.bin", data))
    assert wv.words.tolist() == ["tea", "a"]
    assert wv == WordVectors.open(write("y.bin", as_fasttext))


CORRUPT = {
    "fewer rows": (text(3, 4, 2)[:-100], "is truncated|expected a word and 2"),
    "numbers of rows": (
        text(3, 4, 2).replace("\n5 ", "\n6 "),
        "line 7: expected row 5",
    ),
    "sizes": (text(4, 3, 2), "header of the floret table is corrupt"),
    "large n-grams": (text(3, 10**8, 2), "header of the floret table is corrupt"),
    "many rows": ("999999999 300 3 4 2 7 < >\n0 1 2\n", "999,999,999 rows"),
}


@pytest.mark.parametrize("name", CORRUPT)
def test_corrupt_tables_are_named(write, name):
    content, match = CORRUPT[name]
    with pytest.raises(ValueError, match=match):
        WordVectors.open(write("x.floret", content))
