"""Compiled loops in an installation and a home that nobody may write to."""

import subprocess
import sys

from sk_metaembed._io._numba import compiled

NO_FOLDER = "from numba.core import caching; caching.CacheImpl._locator_classes = []; "


def test_loads_where_no_folder_can_keep_the_code():
    modules = (
        "sequences._split_numba",
        "vectors._kernels_numba",
        "pooling._kernels_numba",
    )
    names = ", ".join(f"sk_metaembed.{module}" for module in modules)
    script = f"{NO_FOLDER}import {names}"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_compiles_where_no_folder_can_keep_the_code():
    namespace = {}
    exec("def successor(number): return number + 1", namespace)  # of no file at all
    assert compiled(namespace["successor"])(1) == 2
