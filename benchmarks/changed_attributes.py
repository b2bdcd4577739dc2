"""Fitted attributes of scikit-learn with other sizes or values crash no process.

Each attribute of each estimator is changed in turn. A change is made in a process of
its own, which predicts with the estimator unless `load` would refuse it. Changed arrays
end where their memory does, so that reading past them ends the process. Prints the
changes that ended a process and the number of changes, for estimators in random order.
It forks, so it runs on Linux only.

Run: python benchmarks/changed_attributes.py [SECONDS] [ESTIMATOR ...]
"""

import ctypes
import mmap
import os
import random
import signal
import sys
import time
import warnings

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import all_estimators

from sk_metaembed.persistence._checked_state import check_state

X = np.abs(np.random.default_rng(0).normal(size=(60, 4)))
Y = np.arange(60) % 3
INPUTS = {
    "CountVectorizer": ["aa bb cc", "bb cc dd"],
    "TfidfVectorizer": ["aa bb cc", "bb cc dd"],
    "DictVectorizer": [{"a": 1, "b": 2}, {"b": 1}],
    "FeatureHasher": [{"a": 1, "b": 2}],
    "IsotonicRegression": X[:, 0],
    "MultiLabelBinarizer": [["a"], ["b", "c"]],
}
METHODS = (
    *("predict", "transform", "predict_proba", "decision_function", "score_samples"),
    *("inverse_transform", "kneighbors", "radius_neighbors"),
)
NUMBERS = 0, -1, 10**6, 2**30
SLOW = 4  # seconds; some numbers are numbers of loops
MEMORY = 8 << 30


def guarded(array):
    """Return a copy that ends at a page of memory that cannot be read."""
    n_pages = -(-array.nbytes // mmap.PAGESIZE)
    pages = mmap.mmap(-1, (n_pages + 1) * mmap.PAGESIZE)
    size = n_pages * mmap.PAGESIZE
    last = ctypes.addressof(ctypes.c_char.from_buffer(pages)) + size
    if ctypes.CDLL(None).mprotect(ctypes.c_void_p(last), mmap.PAGESIZE, 0):
        raise OSError("mprotect failed")
    start = size - array.nbytes
    copy = np.ndarray(array.shape, array.dtype, pages, start)
    copy[...] = array
    return copy


def changes(value):
    """Yield other values in place of a fitted attribute."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiu" and value.size:
        yield guarded(value[:1])
        yield guarded(np.repeat(value, 50, axis=0))
        if value.ndim == 2:
            yield guarded(value[:, :1])
            yield np.zeros((10**8, 0), value.dtype)
        if value.dtype.kind == "i":
            yield from (guarded(np.full_like(value, n)) for n in (2**30, -(2**30)))
    elif type(value) is int:
        yield from NUMBERS
    elif type(value) is dict and all(type(v) is int for v in value.values()):
        yield dict.fromkeys(value, 2**30)


def fitted(name, kind):
    """Return a fitted estimator and its input, or None if it needs other data."""
    inputs = INPUTS.get(name, X)
    model = kind()
    try:
        return model.fit(inputs, Y[: len(inputs)]), inputs
    except (AttributeError, TypeError, ValueError):
        return None


def is_killed(model, attribute, value, inputs):
    """Return whether using a changed estimator ends a process."""
    child = os.fork()
    if not child:
        import resource

        signal.alarm(SLOW)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        use(model, attribute, value, inputs)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return status != 0 and status != signal.SIGALRM


def use(model, attribute, value, inputs):
    setattr(model, attribute, value)
    try:
        check_state(model)
    except (AttributeError, IndexError, TypeError, ValueError):
        return  # as SavedFileError of load
    for method in METHODS:
        try:
            output = getattr(model, method)(inputs)
            if issparse(output):
                output.toarray()
        except Exception:  # of whatever a value leads to
            continue


def run(seconds, names):
    """Return the changes that were tried, and those that ended a process."""
    end, killed, n_tried = time.monotonic() + seconds, [], 0
    kinds = [pair for pair in all_estimators() if not names or pair[0] in names]
    random.Random(0).shuffle(kinds)
    for name, kind in kinds:
        # Meta-estimators require arguments.
        if getattr(kind, "_required_parameters", ()) or time.monotonic() > end:
            continue
        try:
            model, inputs = fitted(name, kind)
        except TypeError:
            continue
        for attribute in list(vars(model)):
            for value in changes(vars(model)[attribute]):
                n_tried += 1
                if is_killed(model, attribute, value, inputs):
                    killed.append(f"{name}.{attribute} = {value!r:.60}")
    return n_tried, killed


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    seconds, *names = sys.argv[1:] or ["20"]
    n_tried, killed = run(float(seconds), names)
    print(*killed, n_tried, sep="\n")
    sys.exit(bool(killed))
