import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sk_metaembed import WordVectors

from ..compiled import compiled_loops

texts = st.text(alphabet=st.characters(codec="utf-8"), max_size=12)


@given(st.lists(texts, min_size=1, max_size=40), st.lists(texts, max_size=40))
@example(["a\nb", "a", "b", ""], ["a", "\n", "a\nb"])
@example(["é", "e\u0301", "日本", "😀"], ["é", "日", "😀😀"])
def test_lookup_agrees_with_a_dictionary(words, queries):
    distinct = list(dict.fromkeys(words))
    rows = {word: row for row, word in enumerate(distinct)}
    wv = WordVectors.from_arrays(words, np.zeros((len(words), 1)))
    assert wv.words.tolist() == distinct
    both = [*queries, *words]
    for use in (False, True):
        with compiled_loops(use):
            assert wv.lookup(both).tolist() == [rows.get(word, -1) for word in both]


@pytest.mark.parametrize(
    "index",
    [
        lambda index: np.full_like(index, 1),
        lambda index: index + (index > 0) * np.array([9, 0], np.uint64),
    ],
    ids=["full", "rows beyond the words"],
)
def test_a_corrupt_index_is_named(index, tmp_path):
    path = tmp_path / "store"
    WordVectors.from_arrays([f"w{i}" for i in range(7)], np.ones((7, 1)), path=path)
    np.save(path / "index.npy", index(np.load(path / "index.npy")))
    for use in (False, True):
        with compiled_loops(use), pytest.raises(ValueError, match="is corrupt"):
            WordVectors.open(path).lookup(["w5", "w6", "w0"])


@pytest.fixture
def wv():
    return WordVectors.from_arrays(
        ["tea", "café", "two words", "line\nbreak", "日本語", "😀"],
        np.arange(12.0).reshape(6, 2),
    )


def test_words_of_any_characters(wv):
    queries = ["😀", "caf", "line\nbreak", "line", "日本語", "two words", "", "tea\n"]
    assert wv.lookup(queries).tolist() == [5, -1, 3, -1, 4, 2, -1, -1]
    assert wv.words[3] == "line\nbreak" and wv.words.tolist()[4:] == ["日本語", "😀"]
    assert wv.lookup(["\ud800", "a\udcff"]).tolist() == [-1, -1]


@pytest.mark.parametrize(
    "container",
    [list, tuple, np.array, lambda w: np.array(w, object), iter],
    ids=["list", "tuple", "str array", "object array", "iterator"],
)
def test_containers(wv, container):
    assert wv.lookup(container(["tea", "milk", "café"])).tolist() == [0, -1, 1]


def test_vectors_for_masks_unknown_words(wv):
    values, known = wv.vectors_for(["café", "milk", "café"])
    np.testing.assert_array_equal(values, [[2, 3], [0, 0], [2, 3]])
    assert known.tolist() == [True, False, True]
    assert values.dtype == np.float32
    values[:] = 7  # the caller's own copy
    np.testing.assert_array_equal(wv["café"], [2, 3])


def test_single_words(wv):
    assert "tea" in wv and "milk" not in wv and 3 not in wv
    np.testing.assert_array_equal(wv["tea"], [0, 1])
    with pytest.raises(KeyError, match="'milk' is not among the 6 words"):
        wv["milk"]
    with pytest.raises(TypeError, match="vectors_for"):
        wv[["tea"]]
    assert len(wv) == 6


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        ("tea", TypeError, "single str 'tea'"),
        (b"tea", TypeError, "single bytes"),
        (["a", None], TypeError, "element 1 is None of type NoneType"),
        (["a", b"b"], TypeError, "element 1 is b'b' of type bytes"),
        (["a", float("nan")], TypeError, "element 1 is nan of type float"),
        (np.array([["a"]]), ValueError, r"one-dimensional.*\(1, 1\)"),
    ],
)
def test_not_a_word(wv, words, error, message):
    with pytest.raises(error, match=message):
        wv.lookup(words)
