"""Checks of copies, seeds and repeated fits."""

import copy
import pickle
import random
import sys

import numpy as np

from .data import (
    as_input,
    assert_same,
    fitted,
    outputs,
    seeded,
    targets,
    token_lists,
)


def data(estimator):
    return as_input(estimator, token_lists()), targets(estimator)


def check_copies(estimator):
    """Check that copies of a fitted step give the same output."""
    X, y = data(estimator)
    step = seeded(estimator).fit(X, y)
    expected = outputs(step, X)
    assert_same(outputs(pickle.loads(pickle.dumps(step)), X), expected, "a pickle")
    assert_same(outputs(copy.deepcopy(step), X), expected, "a deep copy")


def check_refit(estimator):
    """Check that a second fit is independent of an earlier one to other data."""
    X, y = data(estimator)
    expected = outputs(seeded(estimator).fit(X, y), X)
    step = seeded(estimator)
    if "warm_start" in step.get_params():
        step.set_params(warm_start=False)
    half = slice(None, len(X) // 2)
    step.fit(X[half], y[half])
    assert_same(outputs(step.fit(X, y), X), expected, "fit after a fit to other data")


def check_global_random_state(estimator):
    """Check that no method uses or seeds the global random generators."""
    X, y = data(estimator)
    seeded(estimator).fit(X, y)  # so that late imports are done
    draw()  # so that seeding again would change the state
    before = generators()
    outputs(seeded(estimator).fit(X, y), X)
    changed = [name for name, state in generators().items() if state != before[name]]
    assert not changed


def draw():
    np.random.random()  # noqa: NPY002
    random.random()
    if "torch" in sys.modules:
        sys.modules["torch"].rand(1)


def generators():
    states = {
        "numpy": pickle.dumps(np.random.get_state()),  # noqa: NPY002
        "random": random.getstate(),
    }
    if "torch" in sys.modules:
        states["torch"] = sys.modules["torch"].get_rng_state().tolist()
    return states


def check_n_jobs(estimator):
    """Check that n_jobs has no effect on the output."""
    X, _ = data(estimator)
    step = fitted(estimator, X)
    names = [n for n in step.get_params() if n == "n_jobs" or n.endswith("__n_jobs")]
    expected = outputs(step, X)
    for n_jobs in (1, 2):
        step.set_params(**dict.fromkeys(names, n_jobs))
        assert_same(outputs(step, X), expected, f"n_jobs={n_jobs}")


def state_checks(estimator):
    """Yield the checks of state that apply to the estimator."""
    yield from (check_copies, check_refit, check_global_random_state)
    if any(name.endswith("n_jobs") for name in estimator.get_params()):
        yield check_n_jobs
