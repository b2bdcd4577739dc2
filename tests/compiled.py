"""Choose between compiled loops and those in Python, whatever the size of the input."""

from contextlib import contextmanager
from unittest.mock import patch

import numpy as np


@contextmanager
def compiled_loops(use, *, chunk=1 << 20, equal_hashes=False):
    """Use compiled loops, or do not use them.

    Texts are split in chunks of `chunk` characters, and with `equal_hashes` all hashes
    of their tokens are equal.
    """
    from sk_metaembed._kernels import _compiled
    from sk_metaembed.sequences import _split, _split_numba

    limit = -1 if use else np.inf
    limits = {"_CALL": limit, "_LOADING": limit}
    hash_spans = _split_numba.hash_spans
    if equal_hashes:
        hash_spans = zeros_for_hashes
    with (
        patch.multiple(_compiled, **limits),
        patch.object(_split, "_CHUNK", chunk),
        patch.object(_split_numba, "hash_spans", hash_spans),
    ):
        yield


def zeros_for_hashes(buffer, starts, ends):
    return np.zeros(len(starts), np.uint64)
