"""Settings for every test."""

import multiprocessing
import os
import tempfile

import pytest

from .windows_files import refuse_files_in_use

# Nets in tests are tiny: threads would only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# No test asks the network for a model.
os.environ["HF_HUB_OFFLINE"] = "1"

# No test reads or fills the user's own cache. The folder goes when the process ends.
CACHE = tempfile.TemporaryDirectory(prefix="sk_metaembed-")
os.environ["SK_METAEMBED_CACHE"] = CACHE.name


@pytest.fixture(autouse=True)
def simulated_system(monkeypatch):
    """Refuse what Windows refuses, if the environment asks for it."""
    if os.environ.get("SK_METAEMBED_TEST_AS") == "windows":
        refuse_files_in_use(monkeypatch)


# The start method of macOS and Windows, and of Linux from Python 3.14 on is not fork.
if method := os.environ.get("SK_METAEMBED_TEST_START"):
    multiprocessing.set_start_method(method, force=True)
