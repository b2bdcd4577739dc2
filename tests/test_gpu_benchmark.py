"""What benchmarks/gpu.py reports of a row that takes too long; nothing is measured."""

from importlib import import_module
from pathlib import Path

import pytest


@pytest.mark.parametrize(("left", "reported"), [(59, "skipped"), (61, "failed")])
def test_a_row_cut_off_by_the_end_has_not_failed(left, reported, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
    gpu = import_module("gpu")

    def measure(*args):
        raise TimeoutError(f"took more than {min(left, 60)} s")

    monkeypatch.setattr(gpu, "measure", measure)
    record = gpu.measured(gpu.Row("DME", None, 64, "float32"), None, "cpu", left)
    assert f"{reported}: " in gpu.line(record)
    assert (record["error"] is None) == (reported == "skipped")
