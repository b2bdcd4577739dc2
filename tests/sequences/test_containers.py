"""TokenSequences, Block and EmbeddedSequences: identities, indexing, immutability."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.utils import _safe_indexing, indexable, shuffle
from sklearn.utils.validation import _num_samples

from sk_metaembed import Block, EmbeddedSequences, Tokenizer, TokenSequences

from ..levels import embed

ROWS = [["to", "be", "or"], [], ["be", "to"], ["x"], ["or", "or"]]


make_tokens = TokenSequences.from_lists


def test_writers_cannot_change_tokens():
    types = np.array(["a", "b"], dtype=object)
    codes, offsets = np.array([0, 1], np.int32), np.array([0, 1, 2])
    index = np.array([7, 8])
    tokens = TokenSequences(types, codes, offsets, index=index)
    types[0], codes[:], offsets[:], index[:] = "z", 10**8, 10**8, 0
    assert tokens.to_list() == [["a"], ["b"]]
    assert tokens.index.tolist() == [7, 8]
    texts = Tokenizer(missing="empty").fit_transform(["a b", None])
    for part in (texts, texts[:1], texts[[1, 0]]):
        for array in (part.types, part.codes, part.offsets, part.texts, part.missing):
            with pytest.raises(ValueError, match="read-only"):
                array[:1] = array[:1]
            with pytest.raises(ValueError, match="cannot set WRITEABLE flag"):
                array.flags.writeable = True


both = pytest.mark.parametrize("make", [make_tokens, embed])
rows_of_tokens = st.lists(st.lists(st.sampled_from(["a", "b", "", "é", "😀"])))


@given(rows=rows_of_tokens)
def test_lists_round_trip(rows):
    tokens = TokenSequences.from_lists(rows)
    assert tokens.to_list() == rows
    assert list(tokens) == rows
    assert TokenSequences(tokens.types, tokens.codes, tokens.offsets) == tokens
    assert tokens.lengths.tolist() == [len(row) for row in rows]
    flat = [word for row in rows for word in row]
    assert tokens.types.tolist() == list(dict.fromkeys(flat))
    assert tokens.type_counts().tolist() == [flat.count(w) for w in tokens.types]
    assert tokens.segment_ids().tolist() == [i for i, r in enumerate(rows) for _ in r]


@given(rows=rows_of_tokens, data=st.data())
def test_a_subset_is_what_its_rows_make(rows, data):
    embedded = embed(rows)
    picked = data.draw(
        st.lists(st.integers(-len(rows), len(rows) - 1)) if rows else st.just([])
    )
    subset = embedded[picked]
    assert subset.tokens.to_list() == [rows[i] for i in picked]
    whole, parts = embedded.to_list(), subset.to_list()
    assert len(parts) == len(picked)
    for i, part in zip(picked, parts, strict=True):
        np.testing.assert_array_equal(part, whole[i])
    compact = subset.tokens.compact()
    assert compact == subset.tokens
    assert compact == TokenSequences.from_lists(subset.tokens.to_list())
    assert (compact.type_counts() > 0).all()


@given(rows=rows_of_tokens)
def test_padded_and_ragged_hold_the_same(rows):
    embedded = embed(rows)
    array, mask = embedded.to_padded()
    codes, same_mask = embedded.tokens.to_padded()
    width = max(map(len, rows), default=0)
    assert array.shape == (len(rows), width, embedded.dim)
    assert codes.shape == mask.shape == (len(rows), width)
    assert codes.dtype == np.int32
    np.testing.assert_array_equal(mask, same_mask)
    assert not array[~mask].any()
    np.testing.assert_array_equal(codes[mask], embedded.tokens.codes)
    for padded, real, ragged in zip(array, mask, embedded.to_list(), strict=True):
        np.testing.assert_array_equal(padded[real], ragged)


@given(rows=rows_of_tokens)
def test_broadcast_gathers_and_repeats(rows):
    embedded = embed(rows)
    tokens = embedded.tokens
    of_type, of_token, of_sequence = embedded.aligned_blocks()
    assert {b.level for b in embedded.aligned_blocks()} == {"token"}
    at = {"type": tokens.codes, "sequence": tokens.segment_ids()}
    for block, wide in zip(embedded.blocks, embedded.aligned_blocks(), strict=True):
        index = at.get(block.level, slice(None))
        np.testing.assert_array_equal(wide.values, block.values[index])
        np.testing.assert_array_equal(wide.known, block.known[index])
    assert of_token is embedded.blocks[1]
    assert (of_type.dim, of_sequence.dim) == (1, 3)


KEYS = [
    slice(None),
    slice(1, 4),
    slice(None, None, -1),
    slice(9, 20),
    [0, 3],
    (4, -5),
    np.array([2, 2, -1]),
    np.array([], dtype=int),
    np.array([True, False, True, False, True]),
    [False] * 5,
    pd.Series([1, 2]),
    pl.Series([4, 0]),
    np.array([1], dtype=np.uint8),
]


@both
@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_index_like_an_array(make, key):
    whole = make(ROWS)
    expected = np.arange(5)[
        list(key) if not isinstance(key, slice | np.ndarray) else key
    ]
    if isinstance(key, tuple):
        key = list(key)
    subset = whole[key]
    assert type(subset) is type(whole)
    assert subset == make([ROWS[i] for i in expected]) or make is embed
    tokens = subset if make is make_tokens else subset.tokens
    assert tokens.to_list() == [ROWS[i] for i in expected]
    assert subset.shape == (len(expected),) == (len(subset),)
    assert subset == whole[key, ...]


@both
@pytest.mark.parametrize("i", [0, -1, np.uint8(2)])
def test_one_row(make, i):
    whole = make(ROWS)
    one, listed = whole[i], whole.to_list()[int(i)]
    np.testing.assert_array_equal(one, listed)
    np.testing.assert_array_equal(whole[i, ...], listed)
    assert len(one) == len(ROWS[int(i)])


@both
@pytest.mark.parametrize(
    "key",
    [5, [-6], [0.5], "a", None, True, [[0]], np.ones(4, dtype=bool)],
    ids=repr,
)
def test_bad_index(make, key):
    named = f"Row {key} is out of range for 5" if type(key) is int else None
    with pytest.raises(IndexError, match=named):
        make(ROWS)[key]


def test_subsets_share_the_table():
    embedded = embed(ROWS)
    for key in ([0], slice(2), np.ones(5, dtype=bool)):
        assert embedded.tokens[key].types is embedded.tokens.types
        assert embedded[key].blocks[0] is embedded.blocks[0]
    assert embedded[1:][1:].tokens.types is embedded.tokens.types


@both
def test_scikit_learn_splits_it(make):
    whole = make(ROWS)
    y = np.arange(5)
    assert _num_samples(whole) == 5
    assert indexable(whole, y)[0] is whole
    assert _safe_indexing(whole, [1, 2]) == whole[1:3]
    assert _safe_indexing(whole, np.array([True, False, False, False, True]))
    for train, test in KFold(2).split(whole):
        assert len(whole[train]) + len(whole[test]) == 5
    left, right, y_left, y_right = train_test_split(whole, y, random_state=0)
    assert (left, right) == (whole[y_left], whole[y_right])
    mixed, order = shuffle(whole, y, random_state=0)
    assert mixed == whole[order]


@both
def test_copies_are_equal_and_apart(make):
    whole = make(ROWS)
    for again in (
        pickle.loads(pickle.dumps(whole)),
        copy.deepcopy(whole),
        copy.copy(whole),
    ):
        assert again == whole
        assert again is not whole
    subset = whole[[3, 0]]
    assert pickle.loads(pickle.dumps(subset)) == subset == make(ROWS)[[3, 0]]


@both
def test_equal_by_content_and_never_hashed(make):
    assert make(ROWS) == make(ROWS)
    assert make(ROWS) != make(ROWS[::-1])
    assert make(ROWS) != make(ROWS[:4])
    assert make(ROWS) != ROWS
    assert make([]) == make([])
    assert make([[]]) != make([])
    with pytest.raises(TypeError, match="unhashable"):
        hash(make(ROWS))


def test_order_and_surplus_of_types_do_not_matter():
    a = TokenSequences(["x", "y", "z"], [1, 0], [0, 2])
    b = TokenSequences(["y", "x"], [0, 1], [0, 2])
    assert a == b
    values = np.array([[1.0], [2.0], [3.0]])
    left = EmbeddedSequences(a, [Block("s", values, "type")])
    right = EmbeddedSequences(b, [Block("s", values[[1, 0]], "type")])
    assert left == right
    assert left != EmbeddedSequences(b, [Block("s", values[:2], "type")])
    assert left != EmbeddedSequences(b, [Block("t", values[[1, 0]], "type")])


@pytest.mark.parametrize(
    "value", [make_tokens(ROWS), embed(ROWS), embed(ROWS).blocks[0]], ids=type
)
def test_immutable(value):
    for name in type(value).__slots__:
        with pytest.raises(AttributeError, match="immutable"):
            setattr(value, name, None)
        with pytest.raises(AttributeError, match="immutable"):
            delattr(value, name)
    with pytest.raises((AttributeError, TypeError)):
        value.anything = 1


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("ab", "row 0 is 'a', not a list of str"),
        ([["a"], "bc"], "row 1 is 'bc', not a list of str.*use Tokenizer"),
        ([["a"], None], "row 1 is None"),
        ([[b"a"]], "row 0, token 0 is of type bytes"),
        ([["a"], ["b", 3]], "row 1, token 1 is of type int"),
    ],
)
def test_lists_that_are_not_tokens(rows, message):
    with pytest.raises(TypeError, match=message):
        TokenSequences.from_lists(rows)


@pytest.mark.parametrize(
    ("types", "codes", "offsets", "error", "message"),
    [
        (["a"], [1], [0, 1], ValueError, r"Codes must be in \[0, 1\).*from 1 to 1"),
        (["a"], np.array([2**32]), [0, 1], ValueError, "Codes must be in"),
        (["a"], [0.5], [0, 1], TypeError, "codes must be integers, got dtype float64"),
        (["a"], [0], [0, 2], ValueError, "Offsets must ascend"),
        (["a"], [0], [0, 2, 1], ValueError, "Offsets must ascend"),
        (["a"], [0], [], ValueError, "Offsets must ascend"),
        (["a", "a"], [0], [0, 1], ValueError, "distinct"),
        (["a", 1], [0], [0, 1], TypeError, "Types must be str, got int"),
        ([["a"]], [0], [0, 1], ValueError, "one-dimensional"),
    ],
)
def test_layouts_that_do_not_fit(types, codes, offsets, error, message):
    with pytest.raises(error, match=message):
        TokenSequences(types, codes, offsets)


def test_blocks_of_an_embedding():
    embedded = embed(ROWS)
    assert embedded.names == ("type1", "token2", "sequence3")
    assert (embedded.dim, embedded.level) == (6, "token")
    assert embedded.block("token2") is embedded.blocks[1]
    assert embedded.select(["sequence3", "type1"]).names == ("sequence3", "type1")
    assert embed(ROWS, ["sequence", "type"]).level == "type"
    assert [block.n_rows for block in embedded.blocks] == [4, 8, 5]
    assert embed(ROWS, ["type"] * 2).aligned_blocks()[0].level == "type"
    with pytest.raises(ValueError, match="cannot be broadcast to level"):
        embedded.broadcast(embedded.blocks[1], "type")
    with pytest.raises(KeyError, match="No block is named 'x'; the names"):
        embedded.block("x")


@pytest.mark.parametrize(
    ("blocks", "error", "message"),
    [
        ([], ValueError, "at least one block"),
        ([None], TypeError, "blocks must hold Block, got NoneType"),
        (Block("s", np.ones((2, 1)), "type"), TypeError, r"a single one: \[s\]"),
        ([Block("s", np.ones((2, 1)), "type")] * 2, ValueError, r"\['s'\] occur more"),
        (
            [Block("s", np.ones((3, 1)), "type")],
            ValueError,
            "must have 2 rows, one per type",
        ),
        ([Block("s", np.ones((2, 1)), "sequence")], ValueError, "must have 1 rows"),
    ],
)
def test_blocks_that_do_not_fit_the_tokens(blocks, error, message):
    tokens = TokenSequences.from_lists([["a", "b", "a"]])
    with pytest.raises(error, match=message):
        EmbeddedSequences(tokens, blocks)


def test_tokens_must_be_tokens():
    with pytest.raises(TypeError, match="must be a TokenSequences, got list"):
        EmbeddedSequences([["a"]], [Block("s", np.ones((1, 1)), "type")])


def test_containers_before_a_classifier_raise_with_a_remedy():
    model = make_pipeline(Tokenizer(), LogisticRegression())
    with pytest.raises(TypeError, match="Put a source .* and then Pooling, before"):
        model.fit(["a b", "b"], [0, 1])
    tokens = TokenSequences.from_lists([["a"], ["b"]])
    embedded = EmbeddedSequences(tokens, [Block("x", np.eye(2), "type")])
    with pytest.raises(TypeError, match=r"x: type 2d\) cannot be .* Put Pooling"):
        LogisticRegression().fit(embedded, [0, 1])
