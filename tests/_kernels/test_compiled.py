"""numba is loaded when it saves time, and without a cache for its code."""

import sys

import pytest

from sk_metaembed._kernels import _compiled
from sk_metaembed._kernels._compiled import use_compiled

from ..processes import run_script


@pytest.fixture
def fresh(monkeypatch):
    """Be as in a process that has not loaded numba, and has computed nothing."""
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    monkeypatch.setattr(_compiled, "_spent", 0.0)


def test_long_work_loads_it(fresh):
    assert not use_compiled(0.6)
    assert use_compiled(0.2)


def test_much_short_work_loads_it(fresh):
    given = [use_compiled(0.2) for _ in range(12)]
    assert given == [False] * 3 + [True] * 9


def test_single_rows_never_load_it(fresh):
    assert not any(use_compiled(0.001) for _ in range(100_000))


def test_a_process_that_has_it_uses_it(fresh, monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", object())
    assert use_compiled(0.001)
    assert not use_compiled(0.0001)


NO_FOLDER = "from numba.core import caching; caching.CacheImpl._locator_classes = []; "


@pytest.mark.slow
def test_loads_where_no_folder_can_keep_the_code():
    homes = "_kernels._row_sums sequences._split vectors._kernels pooling._kernels"
    names = ", ".join(f"sk_metaembed.{home}_numba" for home in homes.split())
    run_script(f"{NO_FOLDER}import {names}")


@pytest.mark.slow
def test_stores_are_read_where_numba_compiles_nothing():
    """As in fuzzing, in a process of its own."""
    script = """
        import warnings
        import numpy as np
        from sk_metaembed import WordVectors
        warnings.simplefilter("ignore")  # integers that wrap around
        words = ["tea", "internationally", "café"]
        store = WordVectors.from_arrays(words, np.eye(3))
        others = [f"internationale{i}" for i in range(600)]
        rows = store.lookup([*words, *others]).tolist()
        assert rows == [0, 1, 2] + [-1] * 600
    """
    run_script(script, NUMBA_DISABLE_JIT="1")
