#!/bin/sh
# joblib's hash of equal arrays, by which joblib.Memory and Pipeline(memory=) find what
# they have computed.
#
# Guess: numpy.zeros_like sets all bytes of an array to zero, as numpy.zeros does, and
# equal arrays have equal hashes.
# numpy 2.4.6, joblib 1.6.0, 2026-11-28: zeros_like sets the fields of an aligned
# structure and leaves the bytes between them as the memory was. joblib hashes these
# bytes too, so equal arrays have different hashes.
#
#     equal: True, equal hashes: False, bytes that are not zero: 21
. "$(dirname "$0")/_run.sh"
run_with numpy==2.4.6 joblib==1.6.0 <<'PROGRAM'
import joblib
import numpy as np


def dirty(size):
    """Fill memory that the next array of this size gets."""
    np.full(size, 0xAB, np.uint8)


aligned = np.dtype([("flag", "i1"), ("value", "f8")], align=True)
first = np.zeros(3, aligned)
dirty(first.nbytes)
second = np.zeros_like(first)
n_bytes = second.tobytes().count(0xAB)
same = bool((first == second).all()), joblib.hash(first) == joblib.hash(second)
print(f"equal: {same[0]}, equal hashes: {same[1]}, bytes that are not zero: {n_bytes}")
assert same == (True, False) and n_bytes == 21
PROGRAM
