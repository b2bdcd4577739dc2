"""Compiled loops in an installation and a home that nobody may write to."""

import subprocess
import sys

import pytest

from sk_metaembed.sequences._compile import compiled

NO_FOLDER = "from numba.core import caching; caching.CacheImpl._locator_classes = []; "


@pytest.mark.parametrize(
    "module", ["sequences._scan", "vectors._kernel", "pooling._kernels"]
)
def test_loads_where_no_folder_can_keep_the_code(module):
    script = f"{NO_FOLDER}import sk_metaembed.{module}"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_compiles_where_no_folder_can_keep_the_code():
    namespace = {}
    exec("def successor(number): return number + 1", namespace)  # of no file at all
    assert compiled(namespace["successor"])(1) == 2
