"""Compiled loops without a writable cache directory."""

import os
import subprocess
import sys

import pytest

NO_FOLDER = "from numba.core import caching; caching.CacheImpl._locator_classes = []; "


@pytest.mark.slow
def test_loads_where_no_folder_can_keep_the_code():
    homes = "_kernels._bytes sequences._split vectors._kernels pooling._kernels"
    names = ", ".join(f"sk_metaembed.{home}_numba" for home in homes.split())
    script = f"{NO_FOLDER}import {names}"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_stores_are_read_where_numba_compiles_nothing():
    """As in fuzzing, in a process of its own."""
    script = """if True:
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
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
    )
    assert done.returncode == 0, done.stderr
