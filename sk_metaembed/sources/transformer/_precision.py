"""The precision of ``dtype="auto"``: bfloat16 if a trial finds it faster and close."""

import time

import numpy as np
import torch

from ..._io._fork_safe_lock import fork_safe_lock
from ..._io._handle import shared
from ._model import TransformerModel

_MIN_SPEEDUP = 1.2
_MIN_COSINE = 0.999
_TRIAL_SHAPE = (4, 32)  # sequences and pieces per sequence
_N_ROUNDS = 3

_lock = fork_safe_lock()
_chosen: dict[tuple, str] = {}


def choose_dtype(spec):
    """Return "bfloat16" or "float32" for a ModelSpec, tried once per process and model.

    It is bfloat16 if the device computes in it, a batch of random pieces takes at most
    1 / 1.2 of the time, and in each layer the mean cosine of its vectors with those of
    float32 is at least .999.
    """
    if not computes_bfloat16(spec.device):
        return "float32"
    model = shared(TransformerModel, spec._replace(dtype="float32"))
    key = model.fingerprint, model._spec
    with _lock:
        if key not in _chosen:
            networks = [model.new_network(name) for name in ("float32", "bfloat16")]
            speedup, cosine = compare(*networks)
            better = speedup >= _MIN_SPEEDUP and cosine >= _MIN_COSINE
            _chosen[key] = "bfloat16" if better else "float32"
        return _chosen[key]


def computes_bfloat16(device):
    """Return whether products in bfloat16 are supported, natively or emulated."""
    if torch.device(device).type == "cuda":
        return torch.cuda.is_bf16_supported()
    is_supported = getattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", None)
    return device == "cpu" and is_supported is not None and is_supported()


def compare(exact, other):
    """Return how much faster another Network is, and how close its vectors are.

    Closeness is the mean cosine of the pieces' vectors, in the layer where it is
    smallest.
    """
    n_rows, n_pieces = _TRIAL_SHAPE
    generator = np.random.default_rng(0)
    row = exact.trial_row(n_pieces)
    n_ids = exact.n_ids or 1 + int(row.max())
    rows = list(generator.integers(0, n_ids, (n_rows, len(row))))
    seconds, states = ([], []), [None, None]
    for _ in range(1 + _N_ROUNDS):  # the first one allocates memory
        for i, network in enumerate((exact, other)):
            begin = time.perf_counter()
            results = network.hidden_states(rows, None)
            states[i] = [state.float().cpu() for state in results]  # waits for a GPU
            seconds[i].append(time.perf_counter() - begin)
    cosine = torch.nn.functional.cosine_similarity
    cosines = [float(cosine(a, b, dim=-1).mean()) for a, b in zip(*states, strict=True)]
    # NaN is not close.
    closeness = min(cosines) if np.isfinite(cosines).all() else -1.0
    return min(seconds[0]) / min(seconds[1]), closeness
