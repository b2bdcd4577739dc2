"""Settings for tests and for the examples in docstrings."""

import gc
import sys

import pytest


def pytest_addoption(parser):
    """Add the device of the tests marked gpu."""
    parser.addoption(
        "--gpu-device", default="cuda", help="device of the tests marked gpu"
    )


def pytest_ignore_collect(collection_path, config):
    """With ``-m gpu`` import no other tests, which need more packages."""
    if config.option.markexpr == "gpu" and collection_path.is_file():
        return collection_path.parent.name != "gpu" or None
    return None


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session):
    """Exempt modules and tests from collections of garbage, which take seconds."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def close_figures():
    """Close what an example has drawn; matplotlib warns of many open figures."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
