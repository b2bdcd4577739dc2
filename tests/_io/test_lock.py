"""A file is locked by one process at a time."""

from sk_metaembed._io._lock import lock_file, release_lock


def test_a_lock_is_held_once_and_leaves_no_file(tmp_path):
    path = tmp_path / "lock"
    first = lock_file(path, wait=False)
    assert lock_file(path, wait=False) is None
    release_lock(first)
    assert not path.exists()
    release_lock(lock_file(path, wait=True))
