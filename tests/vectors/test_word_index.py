import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sk_metaembed import WordVectors
from sk_metaembed.vectors._store import PackedWords, build_index, find, pack

from ..compiled import compiled_loops

texts = st.text(alphabet=st.characters(codec="utf-8"), max_size=12)


def both_ways(queries, packed, slots):
    """Return what the search in Python and the compiled one find, or raise."""
    results = []
    for compiled in (False, True):
        with compiled_loops(compiled):
            try:
                results.append(find(pack(queries), packed, slots).tolist())
            except ValueError as error:
                results.append(str(error))
    assert results[0] == results[1]
    return results[0]


@given(st.lists(texts, min_size=1, max_size=40), st.lists(texts, max_size=40))
@example(["a\nb", "a", "b", ""], ["a", "\n", "a\nb"])
@example(["é", "e\u0301", "日本", "😀"], ["é", "日", "😀😀"])
def test_lookup_agrees_with_a_dictionary(words, queries):
    packed = pack(words)
    assert packed.to_list() == words
    slots, first = build_index(packed)
    rows = {word: words.index(word) for word in words}
    assert first.tolist() == [rows[word] for word in words]
    both = [*queries, *words]
    assert both_ways(both, packed, slots) == [rows.get(word, -1) for word in both]


@given(st.data())
def test_both_searches_leave_a_corrupt_table_alike(data):
    packed = pack([f"w{i}" * (1 + 4 * (i % 2)) for i in range(6)])
    slots, _ = build_index(packed)
    for _ in range(3):
        at = data.draw(st.integers(0, len(slots) - 1))
        row = np.uint64(data.draw(st.integers(0, 9)))
        slots[at, 0] = (slots[at, 0] & ~np.uint64(0xFF)) | row
    offsets = packed.offsets.copy()
    offsets[data.draw(st.integers(0, 6))] = data.draw(st.integers(-2, 99))
    packed = packed._replace(offsets=offsets)
    both_ways(["w0", "w3" * 5, "w5" * 5, "other"], packed, slots)


def test_a_full_table_is_corrupt():
    slots = np.full((4, 2), 1, np.uint64)
    assert "is corrupt" in both_ways(["b"], pack(["a"]), slots)


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


def test_an_index_beyond_the_words_is_corrupt():
    """The loops, in Python and compiled, read no word behind the last one."""
    packed = pack([f"w{i}" for i in range(7)])
    slots, _ = build_index(packed)
    fewer = PackedWords(packed.blob, packed.offsets[:-1])
    assert both_ways(["w5"], fewer, slots) == [5]
    assert "is corrupt" in both_ways(["w5", "w6", "w0"], fewer, slots)
