"""One short name for a fitted pipeline, the same in every process."""

import pickle

import numpy as np
from joblib.hashing import NumpyHasher
from sklearn.utils import Bunch


class _Hasher(NumpyHasher):
    """Hashes what a pickle would hold, whatever way things lie in memory."""

    def save(self, obj):
        if isinstance(obj, np.ndarray) and not obj.dtype.hasobject:
            # A view of some rows, or a mapped file, comes back from a pickle otherwise.
            obj = np.ascontiguousarray(obj)
        elif isinstance(obj, Bunch):  # gets other attributes by being pickled
            obj = "Bunch", dict(obj)
        elif _is_reference(obj):
            obj = type(obj).__name__, obj.fingerprint
        elif _is_net(obj):
            obj = _of_net(obj)
        elif hasattr(type(obj), "detach"):
            obj = _of_tensor(obj)
        super().save(obj)


def _is_reference(obj):
    """Tell whether an object stands for a file, whose place does not matter."""
    cls = type(obj)
    return hasattr(cls, "fingerprint") and hasattr(cls, "path")


def _is_net(obj):
    return hasattr(obj, "module_") and hasattr(obj, "initialize_module")


def _of_net(net):
    """Return what a skorch net computes with: not how long its epochs took."""
    told = {
        name: value
        for name, value in vars(net).items()
        if name.startswith("module") and name != "module_"
    }
    told["module_"] = str(net.module_), dict(net.module_.state_dict())
    # On its own: a pickle of a net shares nothing with what is around it.
    return type(net).__name__, pipeline_fingerprint(told)


def _of_tensor(tensor):
    """Return a tensor as an array; torch's own bytes differ from pickle to pickle."""
    tensor = tensor.detach().cpu()
    try:
        return str(tensor.dtype), tensor.numpy()
    except TypeError:  # numpy has no bfloat16
        return str(tensor.dtype), tensor.float().numpy()


def pipeline_fingerprint(pipeline):
    """Return a digest of a fitted pipeline, None if it cannot be pickled.

    Parameters
    ----------
    pipeline : estimator
        Everything that a pickle would hold counts: parameters and what was learned. Of
        vectors that go by reference, their fingerprint.

    Returns
    -------
    str or None
        40 hexadecimal digits.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> a, b = (pipeline_fingerprint(StandardScaler().fit([[x]])) for x in (1, 2))
    >>> len(a), a == b
    (40, False)
    """
    try:
        return _Hasher("sha1").hash(pipeline)
    except (pickle.PicklingError, AttributeError, TypeError):
        return None  # a lambda, for example
