"""Fingerprints of models and files."""

import hashlib
import io
import json
from functools import partial
from hashlib import blake2b
from pathlib import Path

import numpy as np

from .._io._handle import fork_safe_lock

_lock = fork_safe_lock()
_digests: dict[tuple[object, ...], str] = {}


def fingerprint_of(options, weights=()):
    """Return a hex fingerprint of everything that vectors depend on except the tokens.

    The fingerprint digests `options`, which JSON can represent, and `weights`, pairs of
    names and arrays or tensors in any order: the loaded weights, because a model that
    was trained further, or loaded in another precision, gives other vectors.
    """
    parts = [json.dumps(options, sort_keys=True, ensure_ascii=True).encode()]
    for name, array in sorted(weights, key=lambda pair: pair[0]):
        dtype, shape, content = _content(array)
        head = json.dumps([name, dtype, shape]).encode()
        parts.append(head + blake2b(content).digest())
    digest = blake2b(digest_size=16)
    for part in parts:
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()


def is_dense_tensor(value):
    """Return whether a value of a state dict is a plain dense tensor.

    Others, such as quantized tensors, store scales in addition to their numbers.
    """
    import torch

    plain = torch.Tensor, torch.nn.Parameter
    return type(value) in plain and not (value.is_quantized or value.is_sparse)


def file_digest(path):
    """Return a digest of a file's bytes as hex, cached until the file changes."""
    path = Path(path).resolve()
    stat = path.stat()
    key = str(path), stat.st_size, stat.st_mtime_ns
    with _lock:
        if key in _digests:
            return _digests[key]
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, partial(blake2b, digest_size=16))
    with _lock:
        return _digests.setdefault(key, digest.hexdigest())


def _content(array):
    """Return dtype, shape and bytes; tensors keep their own dtype."""
    if not isinstance(array, np.ndarray | np.generic):
        import torch

        if not is_dense_tensor(array):
            file = io.BytesIO()
            torch.save(array, file)
            return type(array).__name__, [], file.getbuffer()
        array = array.detach().cpu()
        flat = array.contiguous().flatten().view(torch.uint8).numpy()
        return str(array.dtype), list(array.shape), flat
    array = np.ascontiguousarray(array)
    return array.dtype.str, list(array.shape), array.reshape(-1).view(np.uint8)
