"""A file is locked by one process at a time."""

import pytest

from sk_metaembed._io._lock import lock_file

fcntl = pytest.importorskip("fcntl", reason="needs locks of POSIX")


def test_a_lock_that_was_removed_since_it_was_opened(tmp_path, monkeypatch):
    path = tmp_path / "lock"
    first = lock_file(path, wait=False)
    assert first is not None
    assert lock_file(path, wait=False) is None
    flock = fcntl.flock

    def late(file, flags):
        """Lock a file that its holder removes after it was opened here."""
        path.unlink()
        first.close()
        flock(file, flags)

    with monkeypatch.context() as patched:
        patched.setattr(fcntl, "flock", late)
        assert lock_file(path, wait=False) is None
    lock_file(path, wait=False).close()
