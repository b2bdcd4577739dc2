"""Settings for tests and for the examples in docstrings."""

import sys

import pytest


@pytest.fixture(autouse=True)
def close_figures():
    """Close what an example has drawn; matplotlib warns of many open figures."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
