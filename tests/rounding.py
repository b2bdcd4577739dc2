"""Comparing floats that products of matrices gave."""

import numpy as np


def assert_close(actual, expected, precision=1e-5):
    """Compare at the scale of the data, to float32's precision.

    A BLAS chooses its kernel by the processor and by the operands' shapes, and some
    kernels round a row by its place. The same row alone and among others, or the same
    fit in another process, can differ in the last bits.
    """
    expected = np.asarray(expected)
    scale = np.abs(expected[np.isfinite(expected)]).max(initial=1.0)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=precision * scale)
