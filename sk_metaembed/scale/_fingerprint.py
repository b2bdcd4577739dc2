"""Fingerprint of a fitted pipeline, the same in every process."""

import pickle
from hashlib import sha1

import numpy as np
from joblib.hashing import NumpyHasher
from sklearn.utils import Bunch

try:
    import cloudpickle
except ImportError:  # joblib contains it, except as some distributions package it
    from joblib.externals import cloudpickle


class _Hasher(NumpyHasher):
    """Hashes what a pickle would hold, independent of the layout in memory."""

    def save(self, obj):
        if isinstance(obj, np.ndarray) and not obj.dtype.hasobject:
            # Views and mapped files are other objects after pickling.
            obj = np.ascontiguousarray(obj)
        elif isinstance(obj, Bunch):  # pickling adds attributes
            obj = "Bunch", dict(obj)
        elif hasattr(type(obj), "fingerprint") and hasattr(type(obj), "path"):
            # It refers to a file, whose path does not matter.
            obj = type(obj).__name__, obj.fingerprint
        elif hasattr(obj, "module_") and hasattr(obj, "initialize_module"):
            obj = _net_content(obj)
        elif hasattr(type(obj), "detach"):
            obj = _tensor_content(obj)
        super().save(obj)


def _net_content(net):
    """Return what a skorch net computes with, without its history."""
    content = {
        name: value
        for name, value in vars(net).items()
        if name.startswith("module") and name != "module_"
    }
    content["module_"] = str(net.module_), dict(net.module_.state_dict())
    # Hashed separately: a pickled net shares no objects with its estimator.
    return type(net).__name__, pipeline_fingerprint(content)


def _tensor_content(tensor):
    """Return a tensor as an array; pickles of equal tensors differ."""
    tensor = tensor.detach().cpu()
    try:
        return str(tensor.dtype), tensor.numpy()
    except TypeError:  # numpy has no bfloat16
        return str(tensor.dtype), tensor.float().numpy()


def pipeline_fingerprint(pipeline):
    """Return hexadecimal digits for a fitted pipeline, None if it cannot be pickled.

    Parameters and all that was learned count; vectors by their own fingerprint.

    >>> from sklearn.preprocessing import StandardScaler
    >>> a, b = (pipeline_fingerprint(StandardScaler().fit([[x]])) for x in (1, 2))
    >>> len(a), a == b
    (40, False)
    """
    try:
        return _Hasher("sha1").hash(pipeline)
    except (pickle.PicklingError, AttributeError, TypeError):
        # A lambda, for example: its pickle contains its code.
        return sha1(cloudpickle.dumps(pipeline)).hexdigest()
