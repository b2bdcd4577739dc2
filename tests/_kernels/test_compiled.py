"""numba is loaded when it saves more time than loading takes."""

import sys

import pytest

from sk_metaembed._kernels import _compiled
from sk_metaembed._kernels._compiled import use_compiled


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """Be as in a process that has not loaded numba, and has computed nothing."""
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    monkeypatch.setattr(_compiled, "_spent", 0.0)


def test_long_work_loads_it():
    assert not use_compiled(0.6)
    assert use_compiled(0.2)


def test_much_short_work_loads_it():
    given = [use_compiled(0.2) for _ in range(12)]
    assert given == [False] * 3 + [True] * 9


def test_single_rows_never_load_it():
    assert not any(use_compiled(0.001) for _ in range(100_000))


def test_a_process_that_has_it_uses_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", object())
    assert use_compiled(0.001)
    assert not use_compiled(0.0001)
