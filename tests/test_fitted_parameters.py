"""A parameter that is changed after fit has no effect before the next fit."""

from itertools import zip_longest

import pytest
from sklearn.utils._param_validation import StrOptions

from .checks.data import assert_same, fitted, outputs
from .checks.state import data
from .test_estimators import ESTIMATORS, VARIANTS

# Rows of another kind, and fits that take seconds.
SKIPPED = ("Tokenizer", "Contrastive", "Distilled", "Table", "Common")
# What to do with missing rows, and whether to warn, is not learned; one network has
# both outputs.
LIVE = {"missing", "truncate", ("DynamicMetaEmbedding", "output")}


def other_values(estimator):
    """Yield the other values of each parameter that has obvious ones, as pairs."""
    constraints = estimator._parameter_constraints
    for name, value in estimator.get_params(deep=False).items():
        if {name, (type(estimator).__name__, name)} & LIVE:
            continue
        if name == "char_ngrams":
            yield [(name, (1, 2) if value is None else None)]
        elif isinstance(value, bool):
            yield [(name, not value)]
        elif isinstance(value, int):
            yield [(name, value + 1)]
        elif constraints.get(name) != "no_validation":
            for constraint in constraints.get(name, ()):
                options = getattr(constraint, "options", ())
                if isinstance(constraint, StrOptions):
                    yield [(name, other) for other in sorted(options - {value})]


@pytest.mark.filterwarnings("ignore:.*are noisy:UserWarning")
@pytest.mark.parametrize(
    "estimator",
    [e for e in ESTIMATORS + VARIANTS if not type(e).__name__.startswith(SKIPPED)],
    ids=lambda estimator: type(estimator).__name__,
)
def test_parameters_of_a_fitted_estimator(estimator):
    X, _ = data(estimator)
    step = fitted(estimator, X)
    expected = outputs(step, X)
    for pairs in zip_longest(*other_values(step)):
        changed = dict(filter(None, pairs))
        assert_same(outputs(step.set_params(**changed), X), expected, f"{changed}")
