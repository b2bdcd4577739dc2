"""One short name for a model's weights and options, or for a file.

What becomes of the reference to a model that a pickle holds.
"""

import io
import json
import threading
from hashlib import blake2b
from pathlib import Path

import numpy as np

_lock = threading.Lock()
_digests: dict[tuple[object, ...], str] = {}


def fingerprint_of(options, weights=()):
    """Return a fingerprint of all that vectors depend on but the tokens.

    Taken over the weights as they are loaded, not over a name or a file: a model that
    was trained further, or loaded in another precision, has another one.

    Parameters
    ----------
    options : dict
        What changes the vectors: subword pooling, window, precision, the tokenizer's
        state, the version of the source's own code. Values as JSON has them.
    weights : iterable of (str, ndarray or torch tensor), default=()
        Names and values, such as ``model.state_dict().items()``. Their order does not
        matter; names, dtypes, shapes and bytes do.

    Returns
    -------
    str
        32 hexadecimal digits.

    Raises
    ------
    TypeError
        If an option is nothing that JSON has.

    Examples
    --------
    >>> import numpy as np
    >>> a = fingerprint_of({"subword": "mean"}, [("table", np.eye(2))])
    >>> b = fingerprint_of({"subword": "first"}, [("table", np.eye(2))])
    >>> len(a), a == b
    (32, False)
    """
    told = [json.dumps(options, sort_keys=True, ensure_ascii=True).encode()]
    for name, array in sorted(weights, key=lambda pair: pair[0]):
        dtype, shape, content = _content(array)
        head = json.dumps([name, dtype, shape]).encode()
        told.append(head + blake2b(content).digest())
    whole = blake2b(digest_size=16)
    for part in told:
        whole.update(len(part).to_bytes(8, "little") + part)
    return whole.hexdigest()


def is_plain(value):
    """Tell whether a value of a network's state is a tensor of numbers in a row.

    Others, such as quantised ones, have scales beside their numbers.
    """
    import torch

    kinds = torch.Tensor, torch.nn.Parameter
    return type(value) in kinds and not (value.is_quantized or value.is_sparse)


def file_digest(path):
    """Return a digest of a file's bytes, read again only when the file changed.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    str
        32 hexadecimal digits.
    """
    path = Path(path).resolve()
    found = path.stat()
    key = str(path), found.st_size, found.st_mtime_ns
    with _lock:
        if key in _digests:
            return _digests[key]
    whole = blake2b(digest_size=16)
    with path.open("rb") as file:
        while chunk := file.read(2**22):
            whole.update(chunk)
    with _lock:
        return _digests.setdefault(key, whole.hexdigest())


def _content(array):
    """Return dtype, shape and bytes; a tensor's own, for numpy has no bfloat16."""
    if not isinstance(array, np.ndarray | np.generic):
        import torch

        if not is_plain(array):
            file = io.BytesIO()
            torch.save(array, file)
            return type(array).__name__, [], file.getbuffer()
        array = array.detach().cpu()
        flat = array.contiguous().flatten().view(torch.uint8).numpy()
        return str(array.dtype), list(array.shape), flat
    array = np.ascontiguousarray(array)
    return array.dtype.str, list(array.shape), array.reshape(-1).view(np.uint8)


def reopened(shared, spec, fingerprint, *, what, where, parts):
    """Return the handle on the model of a pickle, on a device of this machine.

    Parameters
    ----------
    shared : callable
        Takes the spec, returns the process's handle.
    spec : NamedTuple
        With a field `device`.
    fingerprint : str
        Of the model that was pickled.
    what, where, parts : str
        Name the model, its files and what they hold, in the error message.

    Raises
    ------
    ValueError
        If the files hold another model by now.
    """
    import torch

    if spec.device.startswith("cuda") and not torch.cuda.is_available():
        spec = spec._replace(device="cpu")
    handle = shared(spec)
    if handle.fingerprint != fingerprint:
        raise ValueError(
            f"The {what} pickled here had fingerprint {fingerprint}, but {where} now "
            f"have {handle.fingerprint}: {parts} changed. Bring back what was there, "
            "or fit again."
        )
    return handle
