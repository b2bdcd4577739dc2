"""Limit BLAS to one thread: many small products take several times as long in more."""

from contextlib import contextmanager

from threadpoolctl import threadpool_limits

from .._io._handle import fork_safe_lock

_limiting = fork_safe_lock()


@contextmanager
def one_blas_thread():
    """Limit BLAS to one thread, unless another thread of the process has done so.

    The number of threads belongs to the process, and a limit restores what it found. If
    two overlapped, the one that ends last would restore the limit of the other.
    """
    if not _limiting.acquire(blocking=False):
        yield
        return
    try:
        with threadpool_limits(1, user_api="blas"):
            yield
    finally:
        _limiting.release()
