import os
import time

import pytest


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A cache directory of the test's own."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("SK_METAEMBED_CACHE", str(folder))
    return folder / "vectors"


@pytest.fixture
def write(tmp_path):
    """Write a file, dated back so that its time stamp counts as settled."""

    def write(name, content):
        path = tmp_path / name
        data = content if isinstance(content, bytes) else content.encode()
        path.write_bytes(data)
        past = time.time() - 60
        os.utime(path, (past, past))
        return path

    return write
