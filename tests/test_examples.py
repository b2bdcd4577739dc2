"""The quick examples run; the others, which `make demo` and people run, compile."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import sklearn

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
SCRIPTS = sorted(EXAMPLES.rglob("*.py"))
# `make docs` runs them all.
QUICK = [
    "plot_export.py",
    "plot_not_language.py",
    "plot_quickstart.py",
    "reproductions/plot_static_vs_contextual.py",
]


@pytest.mark.slow  # the tests of the guide take the same steps
@pytest.mark.parametrize("name", QUICK)
def test_quick_examples_run_without_a_screen(name, tmp_path):
    if sklearn.__version__ < "1.9":
        pytest.skip("examples are written for the newest scikit-learn")
    environment = {
        **os.environ,
        "MPLBACKEND": "Agg",
        "PYTHONWARNINGS": "error::DeprecationWarning:__main__",
        "SK_METAEMBED_CACHE": str(tmp_path),
    }
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert "Warning" not in done.stderr


def test_examples_compile_and_begin_with_a_title():
    for path in SCRIPTS:
        source = path.read_text("utf-8")
        compile(source, path.name, "exec")
        first, title, line = source.split("\n")[:3]
        assert first in ('"""', 'r"""'), path
        assert line == "=" * len(title), path
