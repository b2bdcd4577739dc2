"""The walk-through in CONTRIBUTING.md does what it says."""

import re
import subprocess
import sys
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


def test_a_source_takes_forty_lines_and_passes_the_checks(files):
    source = (files / "random_indexing.py").read_text(encoding="utf-8")
    lines = [line for line in source.splitlines() if line.strip()]
    assert len(lines) <= 40
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    run = subprocess.run(
        [*command, "--rootdir", str(files), str(files)],
        capture_output=True,
        text=True,
        cwd=files,
    )
    assert run.returncode == 0, run.stdout
    passed = int(re.search(r"(\d+) passed", run.stdout)[1])
    assert passed > 100
