"""Compiled loops without a writable cache directory."""

import pytest

from ..processes import run_script

NO_FOLDER = "from numba.core import caching; caching.CacheImpl._locator_classes = []; "


@pytest.mark.slow
def test_loads_where_no_folder_can_keep_the_code():
    homes = "_kernels._row_sums sequences._split vectors._kernels pooling._kernels"
    names = ", ".join(f"sk_metaembed.{home}_numba" for home in homes.split())
    run_script(f"{NO_FOLDER}import {names}")


@pytest.mark.slow
def test_stores_are_read_where_numba_compiles_nothing():
    """As in fuzzing, in a process of its own."""
    script = """
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
    run_script(script, NUMBA_DISABLE_JIT="1")
