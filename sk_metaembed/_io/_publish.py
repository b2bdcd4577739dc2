"""Directories that appear complete in their place, or not at all."""

import errno
import os
import secrets
import shutil
from pathlib import Path

from ._atomic import errors_of_folder, replace
from ._lock import exclusive_lock


def publish(target, write, *, overwrite=False):
    """Create a directory in one step: ``write(temporary)``, then rename.

    One of several processes writes; the others wait for it. Partial directories of
    killed processes are removed. With `overwrite`, an existing directory is replaced
    on success, and stays otherwise.

    Returns
    -------
    bool
        False if the target exists already, and was not replaced.
    """
    target = Path(target)
    with errors_of_folder(target):
        if target.exists() and not overwrite:
            return False  # without a lock, which some users and disks do not allow
    with exclusive_lock(target):
        if target.exists() and not overwrite:
            return False
        _remove_partial(target)
        temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")
        with errors_of_folder(target):
            temporary.mkdir()
        try:
            write(temporary)
            _swap(temporary, target)
        except OSError as error:
            raise _with_hint(error, target) from error
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    return True


def _swap(new, target):
    """Move a directory to its final path; restore an existing one on failure."""
    old = target.with_name(f".{target.name}.{secrets.token_hex(6)}.old")
    if target.exists():  # a directory cannot be replaced in one step
        replace(target, old)
    try:
        replace(new, target)
    except OSError:
        if old.exists():
            os.rename(old, target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _with_hint(error, target):
    """Return an error of a full disk with a hint; NumPy's gives only byte counts."""
    if error.errno not in (None, errno.ENOSPC, errno.EDQUOT):
        return error
    return OSError(
        errno.ENOSPC,
        f"no space left to write this path ({error}). Nothing was saved. Free some "
        "space, or use another directory (for the cache: SK_METAEMBED_CACHE)",
        os.fspath(target),
    )


def _remove_partial(target):
    for path in target.parent.iterdir():
        if path.name.startswith(f".{target.name}.") and path.suffix == ".part":
            shutil.rmtree(path, ignore_errors=True)
