"""Malicious files: forged headers, decompression bombs, random bytes."""

import gzip
import json
import lzma
import struct
import tracemalloc
import warnings

import numpy as np
import pytest
from gensim.test.utils import datapath
from hypothesis import given
from hypothesis import strategies as st

from sk_metaembed import WordVectors

MIB = 1 << 20


def refused(path, match, most=40 * MIB):
    """Check that a file raises an error before much memory is used."""
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=match):
            WordVectors.open(path)
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()


def fasttext(dim=2, bucket=1, n=(1, 2), size=1, words=b"a\0" + bytes(9), rows=(2, 2)):
    head = struct.pack("<2i12id", 793712314, 12, dim, *[1] * 7, bucket, *n, 1, 1e-4)
    dictionary = struct.pack("<3iqq", size, size, 0, 1, -1) + words
    return head + dictionary + b"\0" + struct.pack("<2q", *rows) + bytes(64)


FORGED = {
    "rows": (b"1000000000000 300\na 1 2\n", "1,000,000,000,000 rows"),
    "digits": (b"9" * 9000 + b" 300\na 1 2\n", "unknown format|numbers"),
    "dimension": (b"1 90000\n" + b"\n" * 200_000, "ends after 0"),
    "lines": (b"1 90000\n" + b"a 1\n" * 50_000, "line 2: expected a word"),
    "fastText entries": (fasttext(size=2**31 - 1), "the 2,147,483,647 entries"),
    "fastText rows": (fasttext(rows=(10**12, 2)), "the file is corrupt"),
    "fastText dim": (fasttext(dim=2**31 - 1, rows=(2, 2**31 - 1)), "header is corrupt"),
    "fastText buckets": (fasttext(bucket=2**31 - 2, rows=(2**31 - 1, 2)), "truncated"),
}


@pytest.mark.parametrize(
    ("name", "pack"),
    [*((name, bytes) for name in FORGED), ("fastText rows", gzip.compress)],
)
def test_sizes_in_headers_are_checked(name, pack, write):
    content, match = FORGED[name]
    if pack is not bytes:
        match += "|is truncated|within word|ends after|line 2"
    refused(write("x", pack(content)), match)


BOMBS = {
    "text": b"a 1 2\n" * 20_000,
    "one line": b"3 2\na 1 2\n" + b"a" * (MIB // 4),
    "binary": b"3 2\n" + struct.pack("<2s2f", b"a ", 1, 2) * 2 + b"\x01" * (MIB // 4),
    "fastText": fasttext(size=3, words=b"a" * (MIB // 4)),
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_bounded(name, write, monkeypatch, cache, limit_of_bombs):
    limit_of_bombs(MIB // 16)
    monkeypatch.setattr("sk_metaembed.vectors._read_word2vec._BLOCK", MIB // 64)
    refused(write("x", lzma.compress(BOMBS[name])), "times its size|has over")
    assert not [p for p in cache.glob("*") if p.name != "sources"]


def test_an_array_of_a_pickle_shorter_than_declared_is_refused(write):
    size = struct.pack("<Q", 8)
    refused(write("x.kv", b"\x80\x05\x96" + size + b"abc."), "x.kv is a pickle")


META = {
    "escape": {"files": {"../../etc/passwd": 1}},
    "count": {"count": 10**12},
    "dim": {"dim": 10**9},
    "dtype": {"dtype": "object"},
    "subwords": {"subwords": {"min_n": 1, "max_n": 10**9}},
    "repairs": {"repairs": None},
    "version": {"version": 99},
    "missing": {"files": {"vectors.npy": 136, "more.npy": 9}},
    "size": {"files": {"vectors.npy": 9}},
}


@pytest.mark.parametrize("name", META)
def test_forged_meta_data(name, tmp_path):
    WordVectors.from_arrays(["a", "b"], np.eye(2), path=tmp_path / "s")
    file = tmp_path / "s" / "meta.json"
    meta = json.loads(file.read_text()) | {"fingerprint": name} | META[name]
    file.write_text(json.dumps(meta))
    with pytest.raises(ValueError, match="Convert the source again"):
        WordVectors.open(tmp_path / "s")


@pytest.mark.parametrize("limit", [None, 1])
@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("offsets", np.array([0, 2**40, 4])),
        ("offsets", np.array([0, -(2**40), 4])),
        ("index", np.full((8, 2), 2**64 - 1, np.uint64)),
        ("index", np.zeros((0, 2), np.uint64)),
        ("index", np.zeros((7, 2), np.uint64)),
        ("vectors", np.array([["a", {}]], object)),
        ("vectors", np.asfortranarray(np.eye(2, dtype=np.float32))),
        ("words", np.zeros(2, np.uint8)),
    ],
)
def test_forged_arrays(name, array, limit, tmp_path):
    """Compiled code relies on these numbers and must stay within the arrays."""
    store = tmp_path / "s"
    rng = np.random.default_rng()
    WordVectors.from_arrays(["a", "b"], rng.random((2, 2)), path=store)
    np.save(store / f"{name}.npy", array, allow_pickle=True)
    meta = json.loads((store / "meta.json").read_text())
    meta["files"][f"{name}.npy"] = (store / f"{name}.npy").stat().st_size
    (store / "meta.json").write_text(json.dumps(meta))
    with pytest.raises(ValueError, match="corrupt"):
        WordVectors.open(store, limit=limit).lookup(["a", "b", "c"])
        WordVectors.open(store).verify()


def opened_or_refused(path):
    """Check that any bytes give a store or a ValueError."""
    with warnings.catch_warnings(action="ignore"):
        try:
            wv = WordVectors.open(path)
        except ValueError as error:
            assert str(path) in str(error) and len(str(error)) < 1000
            return
    wv.verify()
    assert np.isfinite(wv.vectors_for([*wv.words[:3], "nowhere"])[0]).all()


PARTS = st.sampled_from(
    [b" ", b"\n", b"\t", b"\r", b"0", b"1", b"-", b".", b"e9", b"nan", b"inf", b"a"]
    + [b"\xff", b"\0", b"\xc3\xa9", b"3 2\n", b"a 1 2\n", b"b 3 4\n", b"1e400", b"_"]
    + [b"\xef\xbb\xbf", b"9" * 30]
)


@given(st.lists(PARTS, max_size=40).map(b"".join))
def test_any_text(write, data):
    opened_or_refused(write("any.txt", data))


def binary(n=4):
    rows = [b"w%d " % i + np.full(2, i + 0.5, "<f4").tobytes() for i in range(n)]
    return b"%d 2\n" % n + b"\n".join(rows)


with open(datapath("lee_fasttext_new.bin"), "rb") as _file:
    SEEDS = {"binary": binary(), "fastText": fasttext(), "gensim": _file.read()}


@pytest.mark.parametrize("name", SEEDS)
@given(
    changes=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), max_size=6),
    cut=st.floats(0.5, 1.2),
)
def test_corrupt_binaries(name, write, changes, cut):
    data = bytearray(SEEDS[name])
    head = min(len(data), 4000)  # what follows are numbers alone
    for place, value in changes:
        data[int(place * (head - 1))] = value
    opened_or_refused(write(name, bytes(data[: int(cut * len(data))])))
