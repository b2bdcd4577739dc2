"""Settings for every test."""

import os
import tempfile
from functools import partial

import pytest

from .browsers import find_browser, measure

# Nets in tests are tiny: threads would only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# No test asks the network for a model.
os.environ["HF_HUB_OFFLINE"] = "1"

# No test reads or fills the user's own cache. The folder goes when the process ends.
CACHE = tempfile.TemporaryDirectory(prefix="sk_metaembed-")
os.environ["SK_METAEMBED_CACHE"] = CACHE.name


@pytest.fixture
def browser(tmp_path):
    """Give a function that opens HTML in a browser and returns what a script finds."""
    path = find_browser()
    if path is None:
        pytest.skip(
            "no browser found: install chromium, or name one in SK_METAEMBED_BROWSER"
        )
    return partial(measure, path, folder=tmp_path)
