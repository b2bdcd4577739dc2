"""Cosine coefficients of each sequence's vectors."""

import numpy as np

from ._bags import run_kernel


def dct_weights(offsets, coefficient, n_coefficients):
    """Return what each token's vector is multiplied by in one cosine coefficient.

    Parameters
    ----------
    offsets : ndarray of int64, shape (n_sequences + 1,)
    coefficient : int
        From 0 to ``n_coefficients - 1``.
    n_coefficients : int
        Shorter sequences are padded with zeros to this length.

    Returns
    -------
    ndarray of float64, shape (n_tokens,)

    Notes
    -----
    Of a sequence of N vectors, padded to M = max(N, n_coefficients), the orthonormal
    DCT-II has ``c_k = sqrt(g / M) * sum_n v_n cos(pi (2n + 1) k / 2M)``, g = 1 for
    k = 0 and 2 otherwise. It grows with the root of the length;
    ``c_k * sqrt(M) / N`` does not, and is the mean for k = 0.
    """
    lengths = np.diff(offsets)
    step = np.pi * coefficient / np.maximum(lengths, n_coefficients)
    angle = np.arange(0.5, offsets[-1])  # in place from here: one entry a token
    angle -= np.repeat(offsets[:-1], lengths)
    angle *= np.repeat(step, lengths)
    np.cos(angle, out=angle)
    return angle if coefficient == 0 else np.multiply(angle, np.sqrt(2.0), out=angle)


def write_coefficient(bags, out, at, *, coefficient, n_coefficients):
    """Write one cosine coefficient, its length divided out.

    Parameters
    ----------
    bags : Bags
        Its weights are not used.
    out : ndarray of float32, shape (n_sequences, n_columns)
        Written to from column `at` on.
    at : int
    coefficient, n_coefficients : int
        See `dct_weights`.
    """
    weights = None  # all are 1 for the mean
    if coefficient:
        weights = dct_weights(bags.offsets, coefficient, n_coefficients)
    lengths = np.maximum(bags.lengths, 1).astype(np.float64)
    run_kernel("sum_rows", bags, (weights, lengths), out, at)
