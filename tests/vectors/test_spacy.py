"""spaCy's vectors, in files that are written without spaCy."""

import json
import pickle
import shutil

import numpy as np
import pytest

from sk_metaembed import PretrainedEmbedding, WordVectors, make_embedding

VECTORS = np.arange(15.0, dtype=np.float32).reshape(5, 3)
ROWS = {"tea": 4, "X": 0, "det": 2, "new york": 4, "日本語": 1, "coffee": 3}
TABLE = np.arange(30.0, dtype=np.float32).reshape(10, 3) ** 2


# As spaCy hashes them, except its symbols, which are in no list of strings.
KEYS = {
    "tea": 6041671307218480733,
    "coffee": 3197928453018144401,
    "new york": 14953487944833841589,
    "日本語": 1998301522555383300,
    "internationalisation": 8729853314229540275,
    "X": 101,
    "det": 415,
}
SYMBOLS = ("X", "det")


def _packed(number):
    if number < 128:
        return bytes([number])
    if number < 2**16:
        return b"\xcd" + number.to_bytes(2, "big")
    return b"\xcf" + number.to_bytes(8, "big")


def write_pipeline(folder, vectors, rows):
    """Write a pipeline whose words, the keys of `rows`, have these rows of vectors."""
    vocab = folder / "vocab"
    vocab.mkdir(parents=True)
    meta = {"lang": "en", "name": "test", "version": "1.0", "spacy_version": ">=3.8"}
    (folder / "meta.json").write_text(json.dumps(meta))
    (folder / "config.cfg").write_text("[nlp]\n")
    with open(vocab / "vectors", "wb") as file:
        np.save(file, np.asarray(vectors, np.float32))
    pairs = [_packed(KEYS[word]) + _packed(row) for word, row in rows.items()]
    header = b"\xde" + len(rows).to_bytes(2, "big")
    (vocab / "key2row").write_bytes(header + b"".join(pairs))
    strings = sorted({"other", *rows} - set(SYMBOLS))
    (vocab / "strings.json").write_text(json.dumps(strings))
    (vocab / "vectors.cfg").write_text('{"mode": "default"}')
    return folder


def write_floret(folder, table, **settings):
    """Write a pipeline with a table of floret."""
    write_pipeline(folder, table, {})
    config = {"mode": "floret", "minn": 2, "maxn": 3, "hash_count": 2, "attr": 65}
    config |= {"hash_seed": 2166136261, "bow": "<", "eow": ">", **settings}
    (folder / "vocab" / "vectors.cfg").write_text(json.dumps(config))
    return folder


@pytest.fixture
def pipeline(tmp_path):
    return write_pipeline(tmp_path / "en_test", VECTORS, ROWS)


@pytest.mark.parametrize("place", [".", "vocab", "vocab/vectors"])
def test_words_have_the_rows_of_their_hashes(pipeline, place):
    wv = WordVectors.open(pipeline / place)
    assert wv.words.tolist() == list(ROWS)
    np.testing.assert_array_equal(wv.vectors, VECTORS[list(ROWS.values())])
    assert wv.repairs == {} and "other" not in wv and "Tea" not in wv
    assert WordVectors.open(pipeline / place, limit=2).words.tolist() == ["tea", "X"]


def test_folder_that_vectors_wrote_and_installed_package(pipeline, tmp_path):
    wv = WordVectors.open(pipeline)
    shutil.copytree(pipeline / "vocab", tmp_path / "vectors_alone")
    assert WordVectors.open(tmp_path / "vectors_alone") == wv
    package = tmp_path / "package"
    package.mkdir()
    shutil.copy(pipeline / "meta.json", package)
    shutil.copytree(pipeline, package / "en_test-1.0")
    assert WordVectors.open(package) == wv


def test_source_of_a_pipeline(pipeline):
    source = make_embedding(pipeline, case_fallback=False)
    assert isinstance(source, PretrainedEmbedding)
    out = source.fit_transform([["tea", "Tea", "new york", "unknown"]])
    np.testing.assert_array_equal(out[0], [VECTORS[4], [0] * 3, VECTORS[4], [0] * 3])
    assert source.coverage_["tokens"] == 0.5


def test_changed_files_are_read_again(pipeline):
    before = WordVectors.open(pipeline)
    with open(pipeline / "vocab" / "vectors", "wb") as file:
        np.save(file, VECTORS + 1)
    np.testing.assert_array_equal(WordVectors.open(pipeline)["tea"], before["tea"] + 1)


def test_words_without_text_are_named(pipeline):
    strings = [word for word in KEYS if word != "coffee"]
    (pipeline / "vocab" / "strings.json").write_text(json.dumps(strings))
    with pytest.warns(UserWarning, match="1 vectors belong to words that are not in"):
        wv = WordVectors.open(pipeline)
    assert wv.repairs == {"words_without_text": 1}
    assert wv["tea"].tolist() == VECTORS[4].tolist()


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        # Vectors.get_batch of spaCy 3.8.18
        (
            {},
            [[185.0625, 208.1875, 233.3125], [184.5, 209.5, 236.5]]
            + [[273.8572, 303.4285, 335.0001]],
        ),
        (  # spaCy also counts n-grams of no character, and marks alone
            {"minn": 0, "maxn": 1, "hash_count": 1, "hash_seed": 7},
            [[187.5, 212.5, 239.5], [226.125, 253.375, 282.625]]
            + [[207.3913, 234.2174, 263.0434]],
        ),
        (
            {"minn": 1, "maxn": 4, "hash_count": 4, "hash_seed": 0},
            [[278.1, 307.9, 339.7], [264.2143, 292.2143, 322.2143]]
            + [[253.4366, 280.804, 310.172]],
        ),
    ],
)
def test_floret_composes_all_words(tmp_path, settings, expected):
    folder = write_floret(tmp_path / "floret", TABLE, **settings)
    words = ["tea", "a", "internationalisation"]
    wv = WordVectors.open(folder)
    values, known = wv.vectors_for(words)
    np.testing.assert_allclose(values, expected, rtol=1e-6)
    assert known.all() and wv.has_subwords and "anything" in wv and "" not in wv
    np.testing.assert_array_equal(wv["tea"], values[0])
    assert "all words by 10 rows of n-grams" in repr(wv)
    upper = wv.vectors_for(["TEA"])[0]
    lower = write_floret(tmp_path / "lower", TABLE, **settings, attr=66)
    lower = WordVectors.open(lower)
    np.testing.assert_array_equal(lower["TEA"], wv["tea"])
    assert not np.allclose(upper, wv["tea"])
    half = WordVectors.open(folder, dtype="float16")
    np.testing.assert_allclose(half["tea"], wv["tea"], rtol=1e-2)


@pytest.mark.parametrize("oov", ["zero", "error"])
def test_source_of_floret_knows_all_words(tmp_path, oov):
    folder = write_floret(tmp_path / "floret", TABLE)
    texts = [["tea", "unheard"], ["of", "日本語"]]
    source = make_embedding(folder, oov=oov, limit=3).fit(texts)
    assert source.coverage_ == {"types": 1.0, "tokens": 1.0}
    out = source.transform([["tea", "new"]])
    expected = WordVectors.open(folder).vectors_for(["tea", "new"])[0]
    np.testing.assert_array_equal(out[0], expected)


def test_preprocessing_of_floret_is_learned_from_the_training_data(tmp_path):
    folder = write_floret(tmp_path / "floret", TABLE)
    words = ["tea", "coffee", "日本語"]
    source = PretrainedEmbedding(folder, preprocess="center").fit([words])
    vectors = WordVectors.open(folder).vectors_for(words)[0]
    out = source.transform([words])[0]
    np.testing.assert_allclose(out, vectors - vectors.mean(axis=0), atol=1e-4)


def test_floret_is_copied_and_pickled(tmp_path):
    wv = WordVectors.open(write_floret(tmp_path / "floret", TABLE))
    copy = WordVectors.convert(wv.path, tmp_path / "store")
    assert copy == wv and pickle.loads(pickle.dumps(copy)) is copy
    np.testing.assert_array_equal(copy.verify()["tea"], wv["tea"])


def test_pipeline_without_vectors_is_named(tmp_path):
    folder = write_pipeline(tmp_path / "en_sm", np.zeros((0, 0)), {})
    for open_it in (
        WordVectors.open,
        lambda folder: make_embedding(folder).fit([["tea"]]),
    ):
        with pytest.raises(
            ValueError, match="spaCy pipeline without word vectors.*_md"
        ):
            open_it(folder)
    shutil.rmtree(folder / "vocab")
    with pytest.raises(ValueError, match="spaCy pipeline without word vectors"):
        WordVectors.open(folder)


CORRUPT = {
    "vectors": [b"", b"\x93NUMPY\x01\x00", pickle.dumps({})],
    "key2row": [
        b"",
        b"\xdf\xff\xff\xff\xff",
        b"\x81\xa1a\x00",
        b"\x81\x01\x7f",
        b"\x81\xcf",
    ],
    "strings.json": [b"{}", b"[1]", b"[", b"\xff"],
    "vectors.cfg": [
        b"[]",
        b"{",
        b'{"mode": "floret"}',
        b'{"mode": "floret", "minn": 1}',
    ],
}


@pytest.mark.parametrize("name", CORRUPT)
def test_corrupt_files_are_named(pipeline, name):
    for content in CORRUPT[name]:
        (pipeline / "vocab" / name).write_bytes(content)
        with pytest.raises(ValueError, match=f"{name}: the spaCy file cannot be read"):
            WordVectors.open(pipeline)


@pytest.mark.parametrize(
    "settings",
    [{"hash_count": 5}, {"hash_seed": -1}, {"maxn": 10**9}, {"minn": 4}, {"bow": None}]
    + [{"attr": 67}, {"minn": True}],
)
def test_settings_of_floret_are_checked(tmp_path, settings):
    folder = write_floret(tmp_path / "floret", TABLE, **settings)
    with pytest.raises(ValueError, match=r"invalid settings|attribute 67 of a token"):
        WordVectors.open(folder)
