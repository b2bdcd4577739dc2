"""The parsers of benchmarks/fuzz.py accept their seeds; atheris is not needed here."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import contextlib, importlib.util, shutil, sys, types, warnings

atheris = types.ModuleType("atheris")
atheris.instrument_imports = lambda **options: contextlib.nullcontext()
sys.modules["atheris"] = atheris
spec = importlib.util.spec_from_file_location("fuzz", sys.argv[1])
fuzz = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fuzz)
try:
    for name, (parse, seeds, longest) in fuzz.PARSERS.items():
        inputs = seeds()
        assert inputs, name
        for data in inputs:
            parse(data)
            assert len(data) <= longest, (name, len(data))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fuzz.cache_file(b"x" * 5000)
    assert any("is corrupt" in str(w.message) for w in caught)
finally:
    shutil.rmtree(fuzz.WORK)
"""


@pytest.mark.slow  # seconds in loops that numba does not compile
@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="atheris needs Linux")
def test_seeds_are_valid():
    path = Path(__file__).parents[1] / "benchmarks" / "fuzz.py"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT, str(path)],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
