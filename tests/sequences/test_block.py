"""Block: constructor, unknown rows, rows of tables."""

import pickle

import numpy as np
import pandas as pd
import pytest

from sk_metaembed import Block


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((1, [[1.0]], "type"), TypeError, "name must be a str, got int"),
        (("s", [[1.0]], "word"), ValueError, "level must be one of"),
        (("s", [1.0], "type"), ValueError, r"must have shape \(n_rows, dim\)"),
        (("s", [[1.0], [np.inf]], "type"), ValueError, "first is row 1"),
        (("s", [[1.0]], "type", [True, False]), ValueError, "one entry per row"),
        (("s", [[1j]], "type"), TypeError, "real numbers.*complex128"),
        (("s", [[1.0], [2.0, 3.0]], "type"), TypeError, "real numbers.*inhomogeneous"),
    ],
)
def test_blocks_that_do_not_fit(arguments, error, message):
    with pytest.raises(error, match=message):
        Block(*arguments)


def test_block_keeps_float16_and_lowers_float64():
    half = np.ones((2, 1), dtype=np.float16)
    assert Block("s", half, "type").values.dtype == np.float16
    assert Block("s", np.ones((2, 1)), "type").values.dtype == np.float32
    assert Block("s", [[1], [2]], "type").values.dtype == np.float32
    # Finite, though its sum is not within float16.
    assert Block("s", np.full((9, 9), 6e4, np.float16), "type").n_rows == 9


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_unknown_rows_become_zeros(dtype):
    given = np.array([[1, 2], [3, 4], [np.nan, 5], [np.inf, 6e4]], dtype=dtype)
    before = given.copy()
    block = Block("s", given, "type", [True, False, False, False])
    assert block.values.tolist() == [[1, 2], [0, 0], [0, 0], [0, 0]]
    assert block == Block("s", [[1, 2], *[[0, 0]] * 3], "type", block.known)
    np.testing.assert_array_equal(given, before)
    with pytest.raises(ValueError, match="1 rows hold NaN or infinity.* is row 2"):
        Block("s", given, "type", [True, False, True, False])
    with pytest.raises(ValueError, match="1 rows hold NaN or infinity.* is row 1"):
        Block("s", np.ma.masked_equal(given[:2], 4), "type")


@pytest.mark.parametrize("view", [np.asarray, pd.DataFrame])
def test_writers_cannot_change_a_block(view):
    values, known = np.eye(2, dtype=np.float32), np.array([True, True])
    block = Block("s", view(values), "type", known)
    other = values.view()
    other.flags.writeable = False  # its owner can still write
    blocks = block, Block("s", other, "type", known)
    values[0], known[:] = np.nan, False
    for each in blocks:
        assert each == Block("s", np.eye(2), "type")
        for array in (each.values, each.known):
            with pytest.raises(ValueError, match="cannot set WRITEABLE flag"):
                array.flags.writeable = True


def test_read_only_memory_is_shared(tmp_path):
    np.save(tmp_path / "table.npy", np.eye(3, dtype=np.float32))
    mapped = np.load(tmp_path / "table.npy", mmap_mode="r")
    block = Block("s", mapped[1:], "type")
    assert np.shares_memory(block.values, mapped)
    assert np.shares_memory(Block("t", block.values, "type").values, mapped)
    for mode in ("c", "r+"):
        writable = np.load(tmp_path / "table.npy", mmap_mode=mode)
        values = writable.view()
        values.flags.writeable = False
        block = Block("s", values, "type")
        assert not np.shares_memory(block.values, writable)


def test_block_take_and_rename():
    block = Block("s", [[1.0], [2.0]], "type", [True, False])
    taken = block.take([1, 1, 0], level="token")
    assert taken == Block("s", [[2.0], [2.0], [1.0]], "token", [False, False, True])
    assert block.rename("t") == Block("t", [[1.0], [2.0]], "type", [True, False])
    assert block != block.rename("t")
    assert (block.known_share, Block("s", np.empty((0, 3)), "type").known_share) == (
        0.5,
        1,
    )
    assert pickle.loads(pickle.dumps(block)) == block
    with pytest.raises(TypeError, match="unhashable"):
        hash(block)


def test_a_block_of_a_table_gathers_on_access():
    table = np.arange(12, dtype=np.float32).reshape(6, 2)
    table.flags.writeable = False
    rows = np.array([5, -1, 0, 5], dtype=np.int32)
    expected = Block("s", [[10, 11], [0, 0], [0, 1], [10, 11]], "type", rows >= 0)
    block = Block._of_table("s", table, "type", rows >= 0, rows)
    taken, renamed = block.take(np.array([3, 1]), level="token"), block.rename("t")
    assert (block.dim, block.n_rows, block.known_share) == (2, 4, 0.75)
    assert repr(block) == repr(expected)
    for lazy in (block, taken, renamed):
        assert np.shares_memory(lazy._table_rows[0], table)
        assert lazy._table_rows[1] is not None
    assert pickle.loads(pickle.dumps(block.rename("s"))) == expected
    assert taken == expected.take([3, 1], level="token")
    assert renamed == expected.rename("t")
    assert block == expected
    assert block.values is block.values is block._table_rows[0]
    assert block._table_rows[1] is None
    assert not block.values.flags.writeable
