"""The search in Python for a few words agrees with the compiled one."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from sk_metaembed.vectors import _kernels_numba, _kernels_python
from sk_metaembed.vectors._word_index import build_index, pack

from ..draws import QUICK

WORDS = st.lists(st.text(st.characters(codec="utf-8"), max_size=9), max_size=12)


def rows_of(loops, packed, queries, slots):
    rows = np.empty(queries.n_words, np.int32)
    loops.find_rows(queries.blob, queries.offsets, *packed, slots, rows)
    return rows.tolist()


@QUICK
@given(words=WORDS, queries=WORDS)
@example(["a\nb", "a", ""], ["a", "\n", "", "日本", "\ud800"])
def test_rows(words, queries):
    packed, queries = pack(words), pack([*queries, *words])
    slots, _ = build_index(packed)
    expected = rows_of(_kernels_numba, packed, queries, slots)
    assert rows_of(_kernels_python, packed, queries, slots) == expected


@QUICK
@given(st.data())
def test_rows_of_a_corrupt_table(data):
    packed = pack([f"w{i}" * (1 + 4 * (i % 2)) for i in range(6)])
    slots, _ = build_index(packed)
    for _ in range(3):
        at = data.draw(st.integers(0, len(slots) - 1))
        slots[at, 0] = (slots[at, 0] & ~np.uint64(0xFF)) | np.uint64(
            data.draw(st.integers(0, 9))
        )
    offsets = packed.offsets.copy()
    offsets[data.draw(st.integers(0, 6))] = data.draw(st.integers(-2, 99))
    packed = packed._replace(offsets=offsets)
    queries = pack(["w0", "w3" * 5, "w5" * 5, "other"])
    expected = rows_of(_kernels_numba, packed, queries, slots)
    assert rows_of(_kernels_python, packed, queries, slots) == expected


def test_rows_in_a_full_table():
    packed, queries = pack(["a"]), pack(["b"])
    slots = np.full((4, 2), 1, np.uint64)
    assert rows_of(_kernels_python, packed, queries, slots) == [-2]
    assert rows_of(_kernels_numba, packed, queries, slots) == [-2]
