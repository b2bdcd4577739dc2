"""Pooling by its formulas: one sequence at a time, in NumPy."""

import math

import numpy as np
from scipy.fft import dct

LABELS = {
    "mean": ["mean"],
    "max": ["max"],
    "min": ["min"],
    "sum": ["sum"],
    "first": ["first"],
    "last": ["last"],
    "power-means": ["power1", "power2", "power3", "powerinf", "power-inf"],
    "dct": ["dct0", "dct1", "dct2"],
    "hierarchical": ["hierarchical"],
}
OPTIONS = {
    "powers": (1, 2, 3, math.inf, -math.inf),
    "n_coefficients": 3,
    "window_size": 3,
}


def pooled_tokens(embedded, i, name):
    """Return the vectors of sequence i that are pooled, float64, and their words."""
    block = embedded.broadcast(embedded.block(name), "token")
    span = slice(*embedded.tokens.offsets[i : i + 2])
    rows = block.values[span].astype(np.float64)
    known = block.known[span]
    words = [w for w, k in zip(embedded.tokens[i], known, strict=True) if k]
    return rows[known], words


def power_mean(rows, weights, divisor, power):
    if math.isinf(power):
        return rows.max(axis=0) if power > 0 else rows.min(axis=0)
    mean = (weights[:, None] * rows**power).sum(axis=0) / divisor
    return np.sign(mean) * np.abs(mean) ** (1 / power)


def window_means(rows, size):
    size = min(size, len(rows))
    starts = range(len(rows) - size + 1)
    return np.array([rows[s : s + size].mean(axis=0) for s in starts])


def cosine_coefficients(rows, n_coefficients):
    length = len(rows)
    padded = np.zeros((max(length, n_coefficients), rows.shape[1]))
    padded[:length] = rows
    coefficients = dct(padded, type=2, norm="ortho", axis=0)[:n_coefficients]
    return coefficients * np.sqrt(len(padded)) / length


def pool(rows, mode, weights=None, divisor=None):
    """Return one mode's pooled vector of one sequence."""
    if len(rows) == 0:
        return np.zeros(len(LABELS[mode]) * rows.shape[1])
    weights = np.ones(len(rows)) if weights is None else np.asarray(weights)
    divisor = len(rows) if divisor is None else divisor
    if mode == "power-means":
        means = [power_mean(rows, weights, divisor, p) for p in OPTIONS["powers"]]
        return np.concatenate(means)
    if mode == "dct":
        return cosine_coefficients(rows, OPTIONS["n_coefficients"]).ravel()
    plain = {
        "mean": lambda: weights @ rows / divisor,
        "sum": lambda: weights @ rows,
        "max": lambda: rows.max(axis=0),
        "min": lambda: rows.min(axis=0),
        "first": lambda: rows[0],
        "last": lambda: rows[-1],
        "hierarchical": lambda: window_means(rows, OPTIONS["window_size"]).max(axis=0),
    }
    return plain[mode]()


def pool_all(embedded, modes):
    """Return the pooled array of all sequences and blocks."""
    rows = []
    for i in range(len(embedded)):
        parts = []
        for block in embedded.blocks:
            if block.level == "sequence":
                parts.append(block.values[i].astype(np.float64))
                continue
            vectors, _ = pooled_tokens(embedded, i, block.name)
            parts += [pool(vectors, mode) for mode in modes]
        rows.append(np.concatenate(parts))
    width = sum(
        b.dim
        if b.level == "sequence"
        else b.dim * sum(len(LABELS[mode]) for mode in modes)
        for b in embedded.blocks
    )
    return np.array(rows).reshape(len(embedded), width)
