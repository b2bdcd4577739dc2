"""One short name for a fitted pipeline, the same in every process."""

import pickle

import numpy as np
from joblib.hashing import NumpyHasher


class _Hasher(NumpyHasher):
    """Hashes what a pickle would hold, whatever way arrays lie in memory."""

    def save(self, obj):
        if isinstance(obj, np.ndarray) and not obj.dtype.hasobject:
            # A view of some rows, or a mapped file, comes back from a pickle otherwise.
            obj = np.ascontiguousarray(obj)
        elif _is_reference(obj):
            obj = type(obj).__name__, obj.fingerprint
        super().save(obj)


def _is_reference(obj):
    """Tell whether an object stands for a file, whose place does not matter."""
    cls = type(obj)
    return hasattr(cls, "fingerprint") and hasattr(cls, "path")


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
