"""Forget the stores and models that a process has open."""

from sk_metaembed._io._handle import _caches


def clear_handles():
    for cache in list(_caches):
        cache._in_use.clear()
        cache.drop_unused()
