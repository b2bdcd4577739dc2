"""Compiled loops without a writable cache directory."""

import subprocess
import sys

from sk_metaembed._io._numba import cached_njit

NO_FOLDER = "from numba.core import caching; caching.CacheImpl._locator_classes = []; "


def test_loads_where_no_folder_can_keep_the_code():
    rooms = "sequences._split", "vectors._kernels", "pooling._kernels"
    names = ", ".join(f"sk_metaembed.{room}_numba" for room in rooms)
    script = f"{NO_FOLDER}import {names}"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_compiles_where_no_folder_can_keep_the_code():
    namespace = {}
    exec("def successor(number): return number + 1", namespace)  # of no file at all
    assert cached_njit(namespace["successor"])(1) == 2
