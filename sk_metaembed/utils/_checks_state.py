"""Checks of copies, seeds and repeated fits, and of unchanged inputs."""

import copy
import io
import pickle
import random
import sys

import joblib
import numpy as np

from ._checks_data import (
    as_input,
    assert_same,
    fitted,
    input_forms,
    outputs,
    require,
    seeded,
    targets,
    token_lists,
)


def _data(estimator):
    return as_input(estimator, token_lists()), targets(estimator)


def check_copies(estimator):
    """Check that copies give the same output, made before or after fit."""
    X, y = _data(estimator)
    step = seeded(estimator)
    unfitted = pickle.loads(pickle.dumps(step))
    expected = outputs(step.fit(X, y), X)
    for kind, copied in _copies(step).items():
        assert_same(outputs(copied, X), expected, f"{kind}, fitted")
    # Other copies of what is not fitted are clones and pickles too.
    assert_same(outputs(unfitted.fit(X, y), X), expected, "pickle, unfitted")


def _copies(step):
    file = io.BytesIO()
    joblib.dump(step, file)
    file.seek(0)
    return {
        "pickle": pickle.loads(pickle.dumps(step)),
        "joblib": joblib.load(file),
        "deepcopy": copy.deepcopy(step),
    }


def check_refit(estimator):
    """Check that a second fit is independent of an earlier one to other data."""
    X, y = _data(estimator)
    expected = outputs(seeded(estimator).fit(X, y), X)
    step = seeded(estimator)
    if "warm_start" in step.get_params():
        step.set_params(warm_start=False)
    half = slice(None, len(X) // 2)
    step.fit(X[half], y[half])
    assert_same(outputs(step.fit(X, y), X), expected, "fit after a fit to other data")


def check_fit_transform(estimator):
    """Check that fit_transform is equivalent to fit and transform."""
    X, y = _data(estimator)
    expected = seeded(estimator).fit(X, y).transform(X)
    assert_same(seeded(estimator).fit_transform(X, y), expected, "fit_transform")


def check_input_unchanged(estimator):
    """Check that no method changes X or y."""
    for form, X in input_forms(estimator).items():
        y = targets(estimator)
        X_before, y_before = copy.deepcopy(X), copy.deepcopy(y)
        outputs(fitted(estimator, X, y), X)
        require(X_before == X, f"X changed, as {form}.")
        require(np.array_equal(y, y_before), "y changed.")


def check_global_random_state(estimator):
    """Check that no method uses or seeds the global random generators."""
    X, y = _data(estimator)
    seeded(estimator).fit(X, y)  # so that late imports are done
    _draw()  # so that seeding again would change the state
    before = _generators()
    outputs(seeded(estimator).fit(X, y), X)
    changed = [name for name, state in _generators().items() if state != before[name]]
    require(not changed, f"The state of the global generators of {changed} changed.")


def _draw():
    np.random.random()  # noqa: NPY002
    random.random()
    if "torch" in sys.modules:
        sys.modules["torch"].rand(1)


def _generators():
    states = {
        "numpy": pickle.dumps(np.random.get_state()),  # noqa: NPY002
        "random": random.getstate(),
    }
    if "torch" in sys.modules:
        states["torch"] = sys.modules["torch"].get_rng_state().tolist()
    return states


def check_n_jobs(estimator):
    """Check that n_jobs has no effect on the output."""
    X, _ = _data(estimator)
    step = fitted(estimator, X)
    names = [n for n in step.get_params() if n == "n_jobs" or n.endswith("__n_jobs")]
    expected = outputs(step, X)
    for n_jobs in (1, 2):
        step.set_params(**dict.fromkeys(names, n_jobs))
        assert_same(outputs(step, X), expected, f"n_jobs={n_jobs}")


def state_checks(estimator):
    """Yield the checks of state that apply to the estimator."""
    yield from (check_copies, check_refit, check_input_unchanged)
    yield check_global_random_state
    if hasattr(estimator, "transform"):
        yield check_fit_transform
    if any(name.endswith("n_jobs") for name in estimator.get_params()):
        yield check_n_jobs
