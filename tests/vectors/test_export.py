"""Exported files, read by this package and by gensim."""

import os
import warnings

import numpy as np
import pytest
from gensim.models import KeyedVectors
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.pipeline import make_pipeline

from sk_metaembed import (
    ConcatMetaEmbedding,
    EmbeddingUnion,
    FunctionEmbedding,
    PretrainedEmbedding,
    WordVectors,
    export_vectors,
)

FORMATS = {
    "word2vec-text": "a.vec",
    "word2vec-binary": "a.bin",
    "glove": "a.glove",
    "store": "a.store",
}
GENSIM = {
    "word2vec-text": KeyedVectors.load_word2vec_format,
    "word2vec-binary": lambda p: KeyedVectors.load_word2vec_format(p, binary=True),
    "glove": lambda p: KeyedVectors.load_word2vec_format(p, no_header=True),
}
RNG = np.random.default_rng(0)
WORDS = ["tea", "naïve", "日本", "5", "...", "né\u00a0e", "nan", "-1e3"]
TABLE = dict(zip(WORDS, RNG.normal(size=(8, 7)).astype(np.float32), strict=True))


def read(path):
    wv = WordVectors.open(path)
    return dict(zip(wv.words, np.array(wv.vectors), strict=True))


def assert_same(result, expected):
    assert list(result) == list(expected)
    for word, vector in expected.items():
        assert result[word].tobytes() == np.float32(vector).tobytes(), word


@pytest.mark.parametrize("fmt", FORMATS)
def test_round_trip(fmt, tmp_path):
    path = tmp_path / FORMATS[fmt]
    report = export_vectors(TABLE, WORDS, path)
    assert (report.path, report.format) == (str(path), fmt)
    assert (report.n_words, report.dim) == (8, 7)
    assert_same(read(path), TABLE)
    # No other file is left.
    assert set(os.listdir(tmp_path)) <= {path.name, "cache"}


floats = st.floats(width=32, allow_nan=False, allow_infinity=False)
odd_words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
tables = st.lists(odd_words, min_size=1, max_size=5, unique=True).flatmap(
    lambda words: st.integers(1, 4).flatmap(
        lambda dim: arrays(np.float32, (len(words), dim), elements=floats).map(
            lambda matrix: dict(zip(words, matrix, strict=True))
        )
    )
)


@pytest.mark.parametrize("fmt", GENSIM)
def test_unusual_words_and_values_round_trip_or_raise(fmt, tmp_path):
    path = tmp_path / "any"

    @given(tables)
    def check(table):
        try:
            export_vectors(table, table, path, format=fmt, overwrite=True)
        except ValueError as error:
            assert "cannot represent" in str(error) or "begins the file" in str(error)
            return
        kv = GENSIM[fmt](str(path))
        assert_same({word: kv[word] for word in kv.index_to_key}, table)
        if fmt != "word2vec-binary":  # may look like text where it is this short
            assert_same(read(path), table)

    check()


def test_unknown_words_are_reported(tmp_path):
    words = ["tea", "milk", "日本", "rain"]
    with pytest.warns(UserWarning, match="2 of 4 words: 'milk', 'rain'"):
        report = export_vectors(TABLE, words, tmp_path / "a.vec")
    assert report.unknown == ("milk", "rain")
    assert report.n_words == 2
    assert list(read(tmp_path / "a.vec")) == ["tea", "日本"]
    with warnings.catch_warnings(action="error"):
        skipped = export_vectors(TABLE, words, tmp_path / "b.vec", unknown="skip")
        selected = export_vectors(TABLE, words, tmp_path / "c.vec", unknown="keep")
    assert skipped.unknown == selected.unknown == ("milk", "rain")
    assert (skipped.n_words, selected.n_words) == (2, 4)
    assert not read(tmp_path / "c.vec")["rain"].any()
    with pytest.raises(ValueError, match="'milk', 'rain'.*skip.* drops them"):
        export_vectors(TABLE, words, tmp_path / "d.vec", unknown="raise")
    with pytest.raises(ValueError, match="2 of 2 words: .* Nothing is left to write"):
        export_vectors(TABLE, ["milk", "rain"], tmp_path / "d.vec")
    assert not (tmp_path / "d.vec").exists()


def test_duplicates_are_written_once(tmp_path):
    report = export_vectors(TABLE, ["5", "tea", "5"], tmp_path / "a.bin")
    assert report.n_words == 2
    assert list(read(tmp_path / "a.bin")) == ["5", "tea"]


@pytest.mark.parametrize(
    ("fmt", "word"),
    [
        *((fmt, w) for fmt in FORMATS for w in ["a b", "", "\ud800"]),
        ("glove", "\ufefftea"),
    ],
)
def test_unsupported_word_is_named(fmt, word, tmp_path):
    if fmt == "store" and word in ["a b", ""]:
        export_vectors({word: [1.0, 2.0]}, [word], tmp_path / "x", format=fmt)
        assert list(read(tmp_path / "x")) == [word]
        return
    with pytest.raises(ValueError) as caught:
        export_vectors({word: [1.0, 2.0]}, [word], tmp_path / "x", format=fmt)
    assert repr(word) in str(caught.value)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("fmt", ["word2vec-text", "store"])
def test_overwrite(fmt, tmp_path):
    path = tmp_path / "any"
    export_vectors(TABLE, WORDS, path, format=fmt)
    with pytest.raises(FileExistsError, match="overwrite=True"):
        export_vectors(TABLE, ["tea"], path, format=fmt)
    old = WordVectors.open(path) if fmt == "store" else None
    export_vectors(TABLE, ["tea"], path, format=fmt, overwrite=True)
    assert list(read(path)) == ["tea"]
    if old is not None:  # mapped already, it stays as it was
        np.testing.assert_array_equal(old["日本"], TABLE["日本"])
    other = tmp_path / "folder"
    other.mkdir()
    with pytest.raises(FileExistsError, match="Pass another path"):
        export_vectors(TABLE, WORDS, other, format=fmt, overwrite=True)


def test_failed_export_leaves_nothing(tmp_path):
    class Broken:
        def transform(self, tokens):
            return 1 + np.log([[len(word) - 1] for (word,) in tokens])

    path = tmp_path / "a.bin"
    path.write_text("old")
    with (
        np.errstate(divide="ignore"),
        pytest.raises(ValueError, match="'b' holds NaN"),
    ):
        export_vectors(Broken(), ["aa", "b"], path, overwrite=True)
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["a.bin"]


def test_store_is_restored_if_replacing_it_fails(tmp_path, monkeypatch):
    path = tmp_path / "a.store"
    export_vectors(TABLE, WORDS, path)
    replace = os.replace

    def fail(source, target):
        if str(source).endswith(".part"):
            raise OSError("no such luck")
        replace(source, target)

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no such luck"):
        export_vectors(TABLE, ["tea"], path, overwrite=True)
    assert os.listdir(tmp_path) == ["a.store"]
    assert_same(read(path), TABLE)


@pytest.mark.parametrize(
    ("more", "error", "match"),
    [
        ({"path": "a.txt"}, ValueError, 'a .txt file with .* "word2vec-text"'),
        ({"format": "csv"}, ValueError, "format must be one of"),
        ({"unknown": "ignore"}, ValueError, "unknown must be one of"),
        ({"words": []}, ValueError, "words is empty"),
        ({"words": ["tea", 3]}, TypeError, "element 1 is 3"),
        ({"embedding": [1.0]}, TypeError, "fitted estimator"),
    ],
)
def test_invalid_arguments(more, error, match, tmp_path):
    call = {"embedding": TABLE, "words": WORDS, "path": "a.vec", **more}
    if isinstance(call["path"], str):
        call["path"] = tmp_path / call["path"]
    with pytest.raises(error, match=match):
        export_vectors(**call)
    assert os.listdir(tmp_path) == []


def test_export_of_a_pipeline(tmp_path):
    sources = [
        (
            "table",
            PretrainedEmbedding(
                WordVectors.from_arrays(WORDS, RNG.normal(size=(8, 3)))
            ),
        ),
        ("length", FunctionEmbedding(lambda words: [[len(w), 1] for w in words])),
    ]
    pipe = make_pipeline(EmbeddingUnion(sources), ConcatMetaEmbedding())
    pipe.fit([WORDS])
    path = tmp_path / "meta.bin"
    export_vectors(pipe, [*WORDS, "unseen"], path)
    result = read(path)
    for word, row in result.items():
        np.testing.assert_array_equal(row, pipe.transform([[word]])[0][0])
    assert list(result) == [*WORDS, "unseen"]
