"""Fits that overlap leave the number of threads as it was."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from sk_metaembed._training import _one_blas_thread


def test_the_thread_that_limits_restores(monkeypatch):
    numbers = [2]

    @contextmanager
    def limits(number, user_api):
        before = numbers[-1]
        numbers.append(number)
        yield
        numbers.append(before)

    monkeypatch.setattr(_one_blas_thread, "threadpool_limits", limits)
    first, second = (_one_blas_thread.one_blas_thread() for _ in range(2))
    first.__enter__()
    with ThreadPoolExecutor(1) as other:
        other.submit(second.__enter__).result()
        first.__exit__(None, None, None)
        other.submit(second.__exit__, None, None, None).result()
    assert numbers == [2, 1, 2]
