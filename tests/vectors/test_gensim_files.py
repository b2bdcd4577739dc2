"""Files of gensim's save, which are read without unpickling."""

import contextlib
import pickle

import numpy as np
import pytest
from gensim.models import Doc2Vec, FastText, KeyedVectors, Word2Vec
from gensim.models.doc2vec import TaggedDocument
from gensim.test.utils import common_texts
from hypothesis import given
from hypothesis import strategies as st

from sk_metaembed import PretrainedEmbedding, WordVectors, make_embedding

UNSEEN = ["humane", "zzz", "日本語", "été"]
OPTIONS = {"vector_size": 6, "min_count": 1, "workers": 1, "seed": 1, "epochs": 1}


def _doc2vec():
    documents = [TaggedDocument(words, [i]) for i, words in enumerate(common_texts)]
    return Doc2Vec(documents, **OPTIONS)


MODELS = {
    "FastText": lambda: FastText(common_texts, bucket=50, **OPTIONS),
    "Word2Vec": lambda: Word2Vec(common_texts, **OPTIONS),
    "Doc2Vec": _doc2vec,
}


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    return MODELS[request.param]()


@pytest.mark.parametrize("limit", [10**7, 0])  # 0: arrays in files of their own
@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("part", ["model", "kv"])
def test_equal_to_what_gensim_loads(model, part, suffix, limit, tmp_path):
    path = tmp_path / f"saved.{part}{suffix}"
    saved = model if part == "model" else model.wv
    saved.save(str(path), sep_limit=limit)
    kv = type(saved).load(str(path))
    kv = kv.wv if part == "model" else kv
    wv = WordVectors.open(path)
    assert wv.words.tolist() == kv.index_to_key
    np.testing.assert_array_equal(wv.vectors, kv.vectors)
    assert wv.has_subwords == isinstance(model, FastText)
    if wv.has_subwords:
        expected = np.stack([kv[word] for word in UNSEEN])
        np.testing.assert_array_equal(wv.subword_vectors(UNSEEN), expected)
    assert WordVectors.open(path, limit=2).words.tolist() == kv.index_to_key[:2]


def test_rows_without_words_and_spaces_in_words(tmp_path):
    kv = KeyedVectors(2, count=4)
    kv.add_vectors(["new york", "a\nb", "tea"], np.arange(6).reshape(3, 2))
    kv.save(str(tmp_path / "x.kv"))
    wv = WordVectors.open(tmp_path / "x.kv")
    assert wv.words.tolist() == ["new york", "a\nb", "tea"]
    np.testing.assert_array_equal(wv.vectors, kv[wv.words.tolist()])
    assert wv.repairs == {"rows_without_word": kv.index_to_key.count(None)}
    source = make_embedding(tmp_path / "x.kv")
    assert isinstance(source, PretrainedEmbedding)
    assert source.fit_transform([["tea"]])[0].tolist() == [[4, 5]]


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", ">f4"])
def test_protocols_and_dtypes(protocol, dtype, tmp_path):
    kv = KeyedVectors(3, dtype=np.float64)
    kv.add_vectors(["a", "b"], np.arange(6.0).reshape(2, 3))
    kv.vectors = np.asfortranarray(kv.vectors.astype(dtype))
    path = tmp_path / "x.kv"
    path.write_bytes(pickle.dumps(kv, protocol))
    np.testing.assert_array_equal(
        WordVectors.open(path).vectors, [[0, 1, 2], [3, 4, 5]]
    )


def test_missing_and_changed_arrays(tmp_path):
    kv = KeyedVectors(2)
    kv.add_vectors(["a", "b"], np.eye(2))
    path, array = tmp_path / "x.kv", tmp_path / "x.kv.vectors.npy"
    kv.save(str(path), separately=["vectors"])
    assert WordVectors.open(path)["b"].tolist() == [0, 1]
    np.save(array, np.eye(2, dtype=np.float32) * 3)
    assert WordVectors.open(path)["b"].tolist() == [0, 3]
    np.save(array, np.array([[{}]], object), allow_pickle=True)
    with pytest.raises(ValueError, match="vectors.npy is not readable"):
        WordVectors.open(path)
    array.unlink()
    with pytest.raises(ValueError, match="vectors.npy is missing: .* Copy it too"):
        WordVectors.open(path)


class _Bomb:
    def __init__(self, file):
        self.file = file

    def __reduce__(self):
        return open, (str(self.file), "w")


class _Foreign:
    """A class of another package."""


def test_nothing_is_run(tmp_path):
    kv = KeyedVectors(2)
    kv.add_vectors(["a", "b"], np.eye(2))
    kv.extra = _Bomb(tmp_path / "ran")
    kv.values = [None, True, -(2**70), 1.5, b"\xff", {"a": (1, 2, 3, 4)}, {1}] * 2
    path = tmp_path / "x.kv"
    for protocol in range(2, 6):
        path.write_bytes(pickle.dumps(kv, protocol))
        assert WordVectors.open(path).words.tolist() == ["a", "b"]
    kv.vectors = _Bomb(tmp_path / "ran")
    path.write_bytes(pickle.dumps(kv))
    with pytest.raises(ValueError, match="vectors is not an array of numbers but"):
        WordVectors.open(path)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (
            _Foreign(),
            "pickle of a .*_Foreign, and pickles can run code: it",
        ),
        ({"a": 1}, "is a pickle.*contains no KeyedVectors.*from_arrays"),
        ([1, 2], "is a pickle.*from_keyed_vectors"),
        (KeyedVectors(2), "contains no KeyedVectors"),
    ],
)
def test_other_pickles_are_named(content, match, tmp_path):
    path = tmp_path / "x.pkl"
    path.write_bytes(pickle.dumps(content))
    with pytest.raises(ValueError, match=match):
        WordVectors.open(path)


def test_keys_and_matrices_of_others_are_named(tmp_path):
    documents = _doc2vec()
    documents.dv.save(str(tmp_path / "dv.kv"))
    with pytest.raises(ValueError, match="its keys are not texts; one is 0"):
        WordVectors.open(tmp_path / "dv.kv")
    kv = KeyedVectors(2)
    kv.add_vectors(["a", "b"], np.eye(2))
    kv.vectors = _Foreign()
    kv.save(str(tmp_path / "x.kv"))
    with pytest.raises(ValueError, match="not an array of numbers but .*_Foreign"):
        WordVectors.open(tmp_path / "x.kv")


SAVED = pickle.dumps(FastText(common_texts, bucket=5, **OPTIONS).wv, 4)


@given(
    changes=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), max_size=6),
    cut=st.floats(0.5, 1.0),
)
def test_corrupt_pickles_are_errors(changes, cut, tmp_path):
    data = bytearray(SAVED)
    for place, value in changes:
        data[int(place * (len(data) - 1))] = value
    (tmp_path / "x.kv").write_bytes(data[: int(cut * len(data))])
    with contextlib.suppress(ValueError):
        WordVectors.open(tmp_path / "x.kv")


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x04\x8e" + b"\xff" * 8,  # bytes of 2 ** 64 - 1
        b"\x80\x04r\xff\xff\xff\xff",
        b"\x80\x04Nr\xff\xff\xff\xff.",
        b"\x80\x04(u.",
        pickle.dumps(["word"] * 9)[:-8],
    ],
)
def test_hostile_pickles_need_no_memory(data, tmp_path):
    (tmp_path / "x.kv").write_bytes(data)
    with pytest.raises(ValueError, match="x.kv is a pickle"):
        WordVectors.open(tmp_path / "x.kv")
