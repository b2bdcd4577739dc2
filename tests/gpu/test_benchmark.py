"""benchmarks/gpu.py: a row that fails is reported, and the others are measured."""

import importlib
import json
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def gpu(monkeypatch):
    """The script, imported."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    yield importlib.import_module("gpu")
    for name in ("gpu", "_gpu_rows", "_plain_nets", "dme_training"):
        sys.modules.pop(name, None)


def run(gpu, monkeypatch, *options):
    script = ["gpu.py", "--device", "cpu", "--quick", *map(str, options)]
    monkeypatch.setattr(sys, "argv", script)
    return gpu.main()


def test_rows_are_measured_and_failures_reported(gpu, monkeypatch, tmp_path, capsys):
    def fails(*args):
        raise RuntimeError("no\n kernel")

    packed = gpu.rows.recurrent("packed")
    rows = [
        gpu.Row("bare", packed, 4, "float32"),
        gpu.Row("broken", fails, 4, "float32", "bare"),
        gpu.Row("BiLSTM", packed, 4, "float32", "bare"),
        gpu.Row("streams", gpu.rows.recurrent("streams"), 4, "float32", "bare"),
    ]
    monkeypatch.setattr(gpu, "table", lambda quick: rows)
    file = tmp_path / "gpu.json"
    assert run(gpu, monkeypatch, "--output", file) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "| broken | 4 | float32 | failed: RuntimeError: no kernel | | | | |" in lines
    assert "| streams | 4 | float32 | skipped: needs CUDA | | | | |" in lines
    assert lines[-1] == "Failed: broken"
    content = json.loads(file.read_text())
    assert content["hardware"]["device"] == "cpu"
    bare, broken, again, _ = content["rows"]
    assert bare["ratio"] is None and broken["error"] == "RuntimeError: no kernel"
    assert again["ratio"] == again["tokens_per_s"] / bare["tokens_per_s"]
    assert 0.5 < again["products"] <= 1 and again["busy"] is None
    assert run(gpu, monkeypatch, "--only", "bare|BiLSTM") == 0
    assert run(gpu, monkeypatch, "--minutes", 0) == 0
    assert capsys.readouterr().out.count("skipped: no time was left") == 4
