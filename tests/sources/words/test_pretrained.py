"""PretrainedEmbedding: kinds of vectors, names, unknown words and their policies."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone

from sk_metaembed import (
    AverageMetaEmbedding,
    Pooling,
    PretrainedEmbedding,
    Word2VecEmbedding,
    WordVectors,
)

TEXT = "the 1 2 3\ncat 4 5 6\nParis 7 8 9\n"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text(TEXT)
    return path


@pytest.fixture
def keyed_vectors():
    from gensim.models import KeyedVectors

    kv = KeyedVectors(3)
    kv.add_vectors(["the", "cat", "Paris"], np.arange(1, 10).reshape(3, 3))
    return kv


def test_every_kind_of_vectors_gives_the_same(file, keyed_vectors, tmp_path):
    store = WordVectors.open(file, cache_dir=tmp_path)
    rows = [["the", "paris", "cat"], ["Paris"]]
    results = [
        PretrainedEmbedding(vectors, cache_dir=tmp_path).fit_transform(rows)
        for vectors in (str(file), file, store, store.path, keyed_vectors)
    ]
    assert results[0].names == ("pretrained",)
    assert results[0][0].tolist() == [[1, 2, 3], [0, 0, 0], [4, 5, 6]]
    assert all(result == results[0] for result in results)


def test_case_falls_back_to_lower_only(store):
    rows = [["The", "CAT", "paris", "Paris"]]
    known = PretrainedEmbedding(store).fit_transform(rows).blocks[0].known
    assert known.tolist() == [True, True, False, True]
    exact = PretrainedEmbedding(store, case_fallback=False).fit_transform(rows)
    assert exact.blocks[0].known.tolist() == [False, False, False, True]


@pytest.mark.parametrize("kind", ["file", "store", "keyed"])
def test_limit(kind, file, keyed_vectors, tmp_path):
    store = WordVectors.open(file, cache_dir=tmp_path)
    vectors = {"file": file, "store": store, "keyed": keyed_vectors}[kind]
    source = PretrainedEmbedding(vectors, limit=2, cache_dir=tmp_path)
    assert len(source.fit([["the"]]).vectors_) == 2


def test_clone_and_pickle_go_by_reference(store, texts):
    source = PretrainedEmbedding(store, oov="mean").fit(texts)
    assert clone(source).vectors is store
    data = pickle.dumps(source)
    assert len(data) < 2000
    assert pickle.loads(data).transform(texts) == source.transform(texts)


def test_subwords_of_a_fasttext_model(tmp_path):
    from gensim.models import FastText

    model = FastText(
        [["walking", "talking"]] * 9, vector_size=4, min_count=1, bucket=50
    )
    source = PretrainedEmbedding(model.wv, oov="subword", cache_dir=tmp_path)
    embedded = source.fit_transform([["walking", "walked", ""]])
    expected = [model.wv["walking"], model.wv["walked"], np.zeros(4)]
    np.testing.assert_allclose(embedded[0], expected, rtol=1e-5)
    assert embedded.blocks[0].known.tolist() == [True, True, False]


@pytest.mark.parametrize("vectors", [None, 3, {"the": [1]}, np.eye(2)])
def test_objects_other_than_vectors_are_refused(vectors):
    with pytest.raises(TypeError, match="WordVectors.from_arrays"):
        PretrainedEmbedding(vectors).fit([["the"]])


def test_name_is_taken_from_the_downloader_directory(tmp_path, monkeypatch):
    import gzip

    from gensim import downloader

    monkeypatch.setattr(downloader, "BASE_DIR", str(tmp_path))
    folder = tmp_path / "glove-tiny"
    folder.mkdir()
    with gzip.open(folder / "glove-tiny.gz", "wt") as file:
        file.write(TEXT)
    source = PretrainedEmbedding("glove-tiny", cache_dir=tmp_path / "cache")
    assert source.fit_transform([["cat"]])[0].tolist() == [[4, 5, 6]]


def test_name_is_downloaded(tmp_path, monkeypatch, file):
    from gensim import downloader

    monkeypatch.setattr(downloader, "BASE_DIR", str(tmp_path))
    monkeypatch.setattr(downloader, "load", lambda name, return_path: str(file))
    source = PretrainedEmbedding("glove-tiny", cache_dir=tmp_path)
    assert source.fit_transform([["cat"]])[0].tolist() == [[4, 5, 6]]


def test_error_without_network_names_the_file_to_provide(tmp_path, monkeypatch):
    from gensim import downloader

    def offline(*args, **kwargs):
        raise OSError("Name or service not known")

    monkeypatch.setattr(downloader, "BASE_DIR", str(tmp_path))
    monkeypatch.setattr(downloader, "urlopen", offline)
    message = (
        r"(?s)cannot be reached.*network.*glove-wiki-gigaword-50\.gz.*pass its path"
    )
    with pytest.raises(FileNotFoundError, match=message):
        PretrainedEmbedding("glove-wiki-gigaword-50").fit([["cat"]])


def test_a_path_is_never_taken_for_a_name():
    for path in ("no/such/file", "missing.bin"):
        with pytest.raises(FileNotFoundError, match="No such file"):
            PretrainedEmbedding(path).fit([["cat"]])


UNKNOWN = [["the", "zork"], ["blorb", "zork"]]


def source(store, **options):
    return PretrainedEmbedding(store, **options).fit([["the"]])


def test_the_mean_takes_part_like_any_other_vector(store):
    fitted = PretrainedEmbedding(store, oov="mean").fit(UNKNOWN)
    assert fitted.coverage_["types"] == pytest.approx(1 / 3)
    embedded = fitted.transform(UNKNOWN)
    means = [row.mean(axis=0) for row in embedded.to_list()]
    np.testing.assert_allclose(Pooling().fit_transform(embedded), means, atol=1e-6)
    average = AverageMetaEmbedding(normalize=False).fit_transform(embedded)
    assert np.array_equal(average.blocks[0].values, embedded.blocks[0].values)


def test_error_names_words_and_places(store):
    fitted = source(store, oov="error")
    assert fitted.transform([["the", "Cat"]]).blocks[0].known.all()
    message = (
        r"2 of 3 distinct tokens: 'zork' \(row 0, token 1\), 'blorb' \(row 1, token 0\)"
    )
    with pytest.raises(ValueError, match=message):
        fitted.transform(UNKNOWN)


def test_subword_needs_subwords(store, texts):
    for refusing in (
        PretrainedEmbedding(store, oov="subword"),
        Word2VecEmbedding(min_count=1, oov="subword"),
    ):
        with pytest.raises(ValueError, match="requires subword vectors"):
            refusing.fit(texts)


@pytest.mark.parametrize("policy", ["zero", "mean"])
@pytest.mark.parametrize("preprocess", [None, "unit", "center", "all-but-the-top"])
def test_policies_fill_after_preprocessing(store, policy, preprocess):
    fitted = source(store, oov=policy, preprocess=preprocess)
    every = fitted.transform([store.words.tolist()]).blocks[0].values
    unknown = fitted.transform([["zork"]]).blocks[0].values
    if policy == "zero":
        assert not unknown.any()
    else:
        np.testing.assert_allclose(unknown[0], every.mean(axis=0), atol=1e-6)


ENGLISH = ["the", "of", "and", "to", "in", "film", "good", "bad", "plot", "was", "very"]
GERMAN = ["der", "die", "und", "das", "nicht", "von", "sie", "ist", "des", "auf"]
TEXTS = ["The plot of the plot", "and to in very good film", "the bad film was"]


def store_of(words, cache_dir):
    vectors = np.random.default_rng(0).normal(size=(len(words), 4))
    return WordVectors.from_arrays(words, vectors, cache_dir=cache_dir)


@pytest.mark.parametrize("words", [GERMAN, [f"/c/en/{w}" for w in ENGLISH]])
def test_words_of_both_are_shown(words, tmp_path):
    source = PretrainedEmbedding(store_of(words, tmp_path))
    message = rf"only 0.0% of the 15 .*such as \['{words[0]}.* such as \['the', 'plot'"
    with pytest.warns(UserWarning, match=message):
        source.fit(TEXTS)


def test_texts_given_as_single_tokens(tmp_path):
    source = PretrainedEmbedding(store_of(ENGLISH, tmp_path))
    with pytest.warns(UserWarning, match="contain spaces: they are texts, not"):
        source.fit([[text] for text in TEXTS])


def test_the_bound_is_one_in_twenty_and_only_fit_warns(tmp_path):
    source = PretrainedEmbedding(store_of(ENGLISH, tmp_path))
    with warnings.catch_warnings(action="error"):
        source.fit([["the", *GERMAN, *GERMAN[:9]]])
        assert source.coverage_["tokens"] == 1 / 20
        source.transform([GERMAN])
        source.fit([[], []])
    with pytest.warns(UserWarning, match=r"only 4.8% of the 21 training tokens"):
        source.fit([["the", *GERMAN, *GERMAN]])
