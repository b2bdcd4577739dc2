"""Checks of what an estimator keeps, copies, and leaves alone."""

import copy
import io
import pickle
import random
import sys

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags

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


def check_copies_of_unfitted(estimator):
    """See that a pickle or deep copy of an unfitted estimator fits to the same."""
    X, y = _data(estimator)
    step = seeded(estimator)
    expected = outputs(clone(step).fit(X, y), X)
    for kind, copied in _copies(step).items():
        assert_same(outputs(copied.fit(X, y), X), expected, f"{kind}, unfitted")


def check_copies_of_fitted(estimator):
    """See that a pickle or deep copy of a fitted estimator gives the same."""
    X, _ = _data(estimator)
    step = fitted(estimator, X)
    expected = outputs(step, X)
    for kind, copied in _copies(step).items():
        assert_same(outputs(copied, X), expected, f"{kind}, fitted")


def _copies(step):
    file = io.BytesIO()
    joblib.dump(step, file)
    file.seek(0)
    return {
        "pickle": pickle.loads(pickle.dumps(step)),
        "joblib": joblib.load(file),
        "deepcopy": copy.deepcopy(step),
    }


def check_clone_forgets(estimator):
    """See that a clone of a fitted estimator keeps nothing that was learned."""
    X, _ = _data(estimator)
    step = seeded(estimator)
    before = set(vars(step))
    again = clone(fitted(step, X))
    require(
        set(vars(again)) == before,
        f"clone kept {sorted(set(vars(again)) - before)} from the fitted estimator.",
    )


def check_determinism(estimator):
    """See that two fits with one seed give the same, in every form of input."""
    if get_tags(estimator).non_deterministic:
        return
    for form, X in input_forms(estimator).items():
        first = outputs(fitted(estimator, X), X)
        second = outputs(fitted(estimator, X), X)
        assert_same(second, first, f"two fits with one random_state, {form}")


def check_refit(estimator):
    """See that a second fit forgets the first, which was to other data."""
    X, y = _data(estimator)
    expected = outputs(seeded(estimator).fit(X, y), X)
    step = seeded(estimator)
    if "warm_start" in step.get_params():
        step.set_params(warm_start=False)
    half = slice(None, len(X) // 2)
    step.fit(X[half], y[half])
    assert_same(outputs(step.fit(X, y), X), expected, "fit after a fit to other data")


def check_fit_returns_self(estimator):
    """See that fit returns the estimator, with some attribute that ends in _."""
    X, y = _data(estimator)
    step = seeded(estimator)
    require(step.fit(X, y) is step, "fit must return self.")
    learned = [n for n in vars(step) if n.endswith("_") and not n.startswith("_")]
    require(
        learned or not get_tags(step).requires_fit,
        "fit must set an attribute that ends in _, or the tags say requires_fit=False.",
    )


def check_fit_transform(estimator):
    """See that fit_transform gives what fit and transform give."""
    if not hasattr(estimator, "transform"):
        return
    X, y = _data(estimator)
    expected = seeded(estimator).fit(X, y).transform(X)
    assert_same(seeded(estimator).fit_transform(X, y), expected, "fit_transform")


def check_reprs(estimator):
    """See that the estimator shows itself, as text and HTML, before and after fit."""
    step = seeded(estimator)
    for when, shown in (("before", step), ("after", fitted(step, _data(step)[0]))):
        name = type(estimator).__name__
        require(name in repr(shown), f"repr {when} fit lacks the class's name.")
        require(name in shown._repr_html_(), f"HTML {when} fit lacks the class's name.")


def check_params_left_alone(estimator):
    """See that no method changes a parameter or puts another object in its place."""
    X, y = _data(estimator)
    step = seeded(estimator)
    before = step.get_params(deep=False)
    outputs(step.fit(X, y), X)
    after = step.get_params(deep=False)
    changed = [name for name in before if after[name] is not before[name]]
    require(not changed, f"fit or transform replaced the parameters {changed}.")


def check_state_left_alone(estimator):
    """See that transform and predict leave the fitted estimator as it was."""
    X, _ = _data(estimator)
    step = fitted(estimator, X)
    before = dict(vars(step))
    outputs(step, X)
    after = vars(step)
    changed = [n for n in before if after.get(n, None) is not before[n]]
    added = sorted(set(after) - set(before))
    require(not changed and not added, f"transform changed {changed}, added {added}.")


def check_input_left_alone(estimator):
    """See that no method changes X or y."""
    for form, X in input_forms(estimator).items():
        y = targets(estimator)
        X_before, y_before = copy.deepcopy(X), copy.deepcopy(y)
        outputs(fitted(estimator, X, y), X)
        require(X_before == X, f"X changed, as {form}.")
        require(np.array_equal(y, y_before), "y changed.")


def check_global_random_state(estimator):
    """See that no method draws from, or seeds, the global random generators."""
    X, y = _data(estimator)
    seeded(estimator).fit(X, y)  # so that what loads late has been loaded
    _draw()  # so that to seed once more would show
    before = _generators()
    outputs(seeded(estimator).fit(X, y), X)
    moved = [name for name, state in _generators().items() if state != before[name]]
    require(not moved, f"the global generators of {moved} were moved.")


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


def check_workers(estimator):
    """See that any number of workers gives the same."""
    X, _ = _data(estimator)
    step = fitted(estimator, X)
    names = [n for n in step.get_params() if n == "n_jobs" or n.endswith("__n_jobs")]
    expected = outputs(step, X)
    for n_jobs in (1, 2):
        step.set_params(**dict.fromkeys(names, n_jobs))
        assert_same(outputs(step, X), expected, f"n_jobs={n_jobs}")


def state_checks(estimator):
    """Yield the checks of this module that go with the estimator."""
    yield from (check_copies_of_unfitted, check_copies_of_fitted, check_clone_forgets)
    yield from (check_determinism, check_refit, check_fit_returns_self)
    yield from (check_params_left_alone, check_state_left_alone, check_reprs)
    yield from (check_input_left_alone, check_global_random_state)
    if hasattr(estimator, "transform"):
        yield check_fit_transform
    if any(name.endswith("n_jobs") for name in estimator.get_params()):
        yield check_workers
