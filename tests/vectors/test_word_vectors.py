import copy
import pickle
import shutil

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

from sk_metaembed import WordVectors

from ..handles import clear_handles


@pytest.fixture
def wv(tmp_path):
    matrix = np.arange(6.0).reshape(3, 2)
    return WordVectors.from_arrays(["a", "b", "c"], matrix, path=tmp_path / "abc")


class Holder(BaseEstimator):
    def __init__(self, vectors=None):
        self.vectors = vectors


def test_copies_are_the_handle(wv):
    assert copy.copy(wv) is wv and copy.deepcopy(wv) is wv
    assert copy.deepcopy({"x": [wv]})["x"][0] is wv
    assert clone(Holder(wv)).vectors is wv
    assert clone(Holder([wv])).vectors[0] is wv
    assert pickle.loads(pickle.dumps(wv)) is wv


def test_one_map_per_process(wv):
    data = pickle.dumps(wv)
    clear_handles()
    one, two = pickle.loads(data), pickle.loads(data)
    assert one is two and one is not wv
    assert WordVectors.open(wv.path) is one
    assert one == wv and hash(one) == hash(wv)


def test_state_cannot_be_set_again(wv):
    with pytest.raises(AttributeError, match="immutable"):
        wv.__setstate__(wv.__getstate__())


def test_error_of_missing_store_says_what_to_do(wv):
    data = pickle.dumps(wv)
    clear_handles()
    shutil.rmtree(wv.path)
    with pytest.raises(FileNotFoundError, match=r"Restore it") as caught:
        pickle.loads(data)
    assert wv.path in str(caught.value) and wv.fingerprint in str(caught.value)


def test_other_store_in_its_place_is_refused(wv, tmp_path):
    data = pickle.dumps(wv)
    clear_handles()
    shutil.rmtree(wv.path)
    WordVectors.from_arrays(["a"], np.ones((1, 2)), path=wv.path)
    with pytest.raises(ValueError, match="have .*: they changed") as caught:
        pickle.loads(data)
    assert wv.fingerprint in str(caught.value)


def test_store_copied_into_the_cache_is_found(wv, cache):
    data = pickle.dumps(wv)
    clear_handles()
    cache.mkdir(parents=True)
    shutil.move(wv.path, cache / "abc")
    result = pickle.loads(data)
    assert result == wv and result.path == str(cache / "abc")


def test_equality_and_hash_are_by_content(tmp_path):
    words, matrix = ["a", "b"], np.eye(2)
    one = WordVectors.from_arrays(words, matrix, path=tmp_path / "one")
    two = WordVectors.from_arrays(words, matrix, path=tmp_path / "two")
    assert one is not two and one == two and hash(one) == hash(two)
    assert one != WordVectors.from_arrays(words, 2 * matrix)
    assert one != WordVectors.from_arrays(["a", "c"], matrix)
    assert one != WordVectors.from_arrays(words, matrix, dtype="float16")
    assert one != "one"


def test_same_arrays_are_one_store(cache):
    one = WordVectors.from_arrays(["a", "b"], np.eye(2))
    assert WordVectors.from_arrays(["a", "b"], np.eye(2)) is one
    assert len([path for path in cache.iterdir() if path.is_dir()]) == 1


def test_joblib_hash_reads_no_vectors(wv, monkeypatch):
    before = joblib.hash(Holder(wv))
    unreadable = property(lambda self: 1 / 0, lambda self, vectors: None)
    monkeypatch.setattr(type(wv), "vectors", unreadable)
    assert joblib.hash(Holder(wv)) == before
    clear_handles()
    assert joblib.hash(Holder(WordVectors.open(wv.path))) == before


def test_handle_is_immutable(wv):
    for name in ("dim", "other"):
        with pytest.raises(AttributeError, match=name):
            setattr(wv, name, 3)
    with pytest.raises(ValueError, match="read-only"):
        wv.vectors[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        wv.words[0] = "x"
    wv.repairs["x"] = 1
    assert wv.repairs == {}


def test_repr_is_short(wv):
    assert repr(wv) == f"WordVectors(3 words, dim=2, float32, {wv.path!r})"
    assert "Holder(vectors=WordVectors(" in repr(Holder(wv))
