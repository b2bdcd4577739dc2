"""Arrays in temporary files, for vectors that exceed a memory limit.

The file is unlinked when it is created, so its space is freed when the array is
collected or the process ends, even if it is killed.
"""

import os
import tempfile
import weakref

import numpy as np


def memmap_zeros(shape, dtype, caller):
    """Return zeros in an unlinked file in `tempfile.gettempdir`, mapped into memory."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if not size:
        return np.zeros(shape, dtype)
    file = tempfile.TemporaryFile(prefix="sk_metaembed-spill-")  # noqa: SIM115
    try:
        _allocate(file, size)
    except OSError as error:
        file.close()
        raise OSError(
            error.errno,
            f"{caller}: memory_limit is exceeded, and {tempfile.gettempdir()} has no "
            f"room for {size / 2**20:,.0f} MiB of vectors. Set TMPDIR to a directory "
            "on a larger disk, or pass fewer sequences at a time",
        ) from error
    array = np.memmap(file, dtype=dtype, mode="r+", shape=shape)
    name = f"/proc/{os.getpid()}/fd/{file.fileno()}"
    # joblib's workers open the file by this name while this process lives.
    array.filename = name if os.path.exists(name) else None
    array.is_temp_memmap = True
    weakref.finalize(array._mmap, file.close).atexit = False
    return array


def _allocate(file, size):
    """Reserve disk space: writing to a page without space would kill the process."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
    else:
        file.truncate(size)


def is_temp_memmap(array):
    """Return whether an array is a result of `memmap_zeros` or a view of one."""
    while isinstance(array, np.ndarray):
        if getattr(array, "is_temp_memmap", False):
            return True
        array = array.base
    return False
