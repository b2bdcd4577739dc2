import pickle

import numpy as np
import pytest
from sklearn.base import clone

from sk_metaembed import PretrainedEmbedding, WordVectors

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
