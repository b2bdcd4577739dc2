"""Compare the results of a device with those of the CPU."""

from contextlib import contextmanager

import numpy as np
import torch

# Relative to the largest value of an array. Gradients are sums over a batch, and the
# loss curve of several steps depends on all steps before.
FLOAT32 = {"value": 3e-5, "gradient": 2e-4, "step": 1e-2, "trained": 1e-4}
# Of the norm of the difference; an entry near zero may have any relative error.
BFLOAT16 = {"value": 0.04, "gradient": 0.1, "trained": 0.1}


def differences(expected, actual, dtype, effects=None):
    """Return a sentence per array that differs by more than rounding.

    Parameters
    ----------
    expected, actual : dict of str to ndarray
        Names are ``kind name``, such as ``gradient mixer.score.weight``. Steps are only
        compared where the expected gradient is not near zero: the first step of Adam is
        the sign of the gradient, and that of a rounding error is random.
    dtype : {"float32", "bfloat16"}
    effects : dict of str to float, default=None
        The results of `rounding_effects`. In bfloat16, gradients may differ by twice
        these.
    """
    if expected.keys() != actual.keys():
        return [f"names differ: {sorted(expected.keys() ^ actual.keys())}"]
    gradients = [v for name, v in expected.items() if name.startswith("gradient")]
    largest = max((np.abs(v).max(initial=0.0) for v in gradients), default=0.0)
    found = []
    for name, first in expected.items():
        second = actual[name]
        if first.shape != second.shape or first.dtype.kind != second.dtype.kind:
            found.append(f"{name}: {second.dtype} {second.shape} for {first.dtype}")
        elif first.dtype.kind != "f":
            share = (first == second).mean() if first.size else 1.0
            if share < (0.995 if dtype == "float32" else 0.9):
                found.append(f"{name}: only {share:.1%} are equal")
        elif not np.isfinite(second).all():
            found.append(f"{name}: not finite")
        elif dtype == "float32":
            if name.startswith("step"):
                sure = np.abs(expected[f"gradient {name[5:]}"]) > 1e-3 * largest
                first, second = first * sure, second * sure
            found += _far(name, first, second, largest)
        elif not name.startswith("step"):
            slack = 2 * effects.get(name, 0.0) if effects else 0.0
            found += _far_in_norm(name, first, second, largest, slack)
    return found


def _far(name, first, second, largest):
    """Compare the largest difference with the largest value."""
    kind = name.split()[0]
    floor = 1e-2 * largest if kind == "gradient" else 1e-12
    scale = max(np.abs(first).max(initial=0.0), floor)
    error = np.abs(second - first).max(initial=0.0) / scale
    limit = FLOAT32[kind]
    return [] if error <= limit else [f"{name}: error {error:.1e} > {limit:g}"]


def _far_in_norm(name, first, second, largest, slack):
    """Compare the norm of the difference with that of the values."""
    kind = name.split()[0]
    floor = 1e-2 * largest if kind == "gradient" else 1e-12
    scale = max(np.linalg.norm(first), floor * first.size**0.5)
    error = np.linalg.norm(second - first) / scale
    limit = max(BFLOAT16[kind], slack / scale)
    return [] if error <= limit else [f"{name}: relative error {error:.1e} > {limit:g}"]


@contextmanager
def exact_products():
    """Compute float32 products in float32: TensorFloat-32 has 10 bits."""
    backends = torch.backends.cuda.matmul, torch.backends.cudnn
    before = [backend.allow_tf32 for backend in backends]
    for backend in backends:
        backend.allow_tf32 = False
    try:
        yield
    finally:
        for backend, value in zip(backends, before, strict=True):
            backend.allow_tf32 = value
