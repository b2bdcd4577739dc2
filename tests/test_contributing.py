"""The walk-through in CONTRIBUTING.md does what it says."""

import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[1] / "CONTRIBUTING.md"


@pytest.fixture
def files(tmp_path):
    """Write the guide's blocks of code where a reader would."""
    text = GUIDE.read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n# (\w+\.py)\n(.*?)```", text, flags=re.DOTALL)
    for name, code in blocks:
        (tmp_path / name).write_text(code, encoding="utf-8")
    return tmp_path


def test_a_source_takes_forty_lines_and_passes_the_checks(files, monkeypatch):
    source = (files / "random_indexing.py").read_text(encoding="utf-8")
    lines = [line for line in source.splitlines() if line.strip()]
    assert len(lines) <= 40
    modules = "random_indexing", "test_random_indexing"
    monkeypatch.syspath_prepend(files)
    for name in modules:
        monkeypatch.delitem(sys.modules, name, raising=False)
    test = import_module("test_random_indexing").test_our_source
    for value in test.pytestmark[0].args[1]:
        test(value)
    for name in modules:
        del sys.modules[name]
