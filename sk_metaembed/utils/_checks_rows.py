"""Checks that a row's result depends on that row alone, and is always a number."""

import numpy as np

from ..sequences import EmbeddedSequences, TokenSequences
from ._checks_data import (
    UNKNOWN_WORDS,
    as_container,
    as_input,
    assert_same,
    fitted,
    input_forms,
    outputs,
    require,
    token_lists,
    unpaired,
    values_of,
)


def _fitted_forms(estimator):
    for form, X in input_forms(estimator).items():
        yield form, X, fitted(estimator, X)


def _take(X, rows):
    return [X[i] for i in rows] if isinstance(X, list) else X[rows]


def check_row_alone(estimator):
    """See that a row gives the same alone as among others."""
    for form, X, step in _fitted_forms(estimator):
        together = outputs(step, X)
        for i in range(8):
            rows = {name: value[[i]] for name, value in together.items()}
            what = f"row {i} alone and among others, as {form}"
            assert_same(outputs(step, _take(X, [i])), rows, what)


def check_row_order(estimator):
    """See that rows in another order give the same, in that order."""
    for form, X, step in _fitted_forms(estimator):
        order = np.random.default_rng(0).permutation(len(X))
        shuffled = {name: value[order] for name, value in outputs(step, X).items()}
        what = f"rows in another order, as {form}"
        assert_same(outputs(step, _take(X, order)), shuffled, what)


def check_subset(estimator):
    """See that a subset by slice, mask or index gives the same before and after."""
    mask = np.arange(len(token_lists())) % 3 == 0
    keys = [slice(5, 12), mask, np.array([2, 2, 0])]
    for form, X, step in _fitted_forms(estimator):
        if isinstance(X, list):
            if form == "texts":
                continue
            X = as_container(estimator, token_lists())
        everything = outputs(step, X)
        for key in keys:
            subset = {name: value[key] for name, value in everything.items()}
            what = f"a subset by {key!r} before and after, as {form}"
            assert_same(outputs(step, X[key]), subset, what)


def check_awkward_rows(estimator):
    """See that empty, unknown and one-token rows give finite, usual shapes."""
    step = fitted(estimator, as_input(estimator, token_lists()))
    usual = outputs(step, as_input(estimator, token_lists()))
    unknown = list(UNKNOWN_WORDS)
    awkward = {
        "empty rows": [[], []],
        "rows of unknown words": [unknown, unknown[:1]],
        "rows of one token": [["good"], ["the"]],
        "empty, unknown and known rows": [[], unknown, ["good", "zyxwv"]],
    }
    for what, rows in awkward.items():
        result = outputs(step, as_input(estimator, rows))
        for method, value in result.items():
            _check_shape(value, usual[method], len(rows), f"{what} ({method})")


def _check_shape(value, usual, n_rows, what):
    require(len(value) == n_rows, f"{what}: {n_rows} rows gave {len(value)}.")
    value, usual = unpaired(value), unpaired(usual)
    if isinstance(value, EmbeddedSequences):
        require(
            [b.dim for b in value.blocks] == [b.dim for b in usual.blocks],
            f"{what}: the blocks' dims are not those of other rows.",
        )
    elif not isinstance(value, TokenSequences):
        require(
            np.shape(value)[1:] == np.shape(usual)[1:],
            f"{what}: shape {np.shape(value)} does not go with {np.shape(usual)}.",
        )
    numbers = values_of(value)
    if numbers is not None:
        require(np.isfinite(numbers).all(), f"{what}: NaN or infinity came out.")


def check_no_rows(estimator):
    """See that no rows give no rows, or a ValueError that says so."""
    step = fitted(estimator, as_input(estimator, token_lists()))
    nothing = as_input(estimator, [])
    for method in outputs(step, as_input(estimator, token_lists())):
        try:
            value = getattr(step, method)(nothing)
        except ValueError:
            continue
        require(len(value) == 0, f"{method} of no rows gave {len(value)} rows.")


def check_output_kind(estimator):
    """See that a transformer gives finite float32, over the tokens it was given."""
    for form, X, step in _fitted_forms(estimator):
        if not hasattr(step, "transform"):
            return
        result = step.transform(X)
        require(len(result) == len(X), f"{form}: {len(X)} rows gave {len(result)}.")
        result = unpaired(result)
        if isinstance(result, TokenSequences):
            continue
        _check_finite_float(result, form)
        if isinstance(result, EmbeddedSequences) and form != "texts":
            given = unpaired(as_container(estimator, token_lists()))
            given = getattr(given, "tokens", given).to_list()
            require(
                result.tokens.to_list() == given,
                f"{form}: the tokens that came out are not those that went in.",
            )


def _check_finite_float(result, form):
    values = values_of(result)
    require(
        isinstance(result, EmbeddedSequences | np.ndarray),
        f"{form}: transform gave {type(result).__name__}; allowed are a "
        "TokenSequences, an EmbeddedSequences or an array.",
    )
    require(
        values is not None and values.dtype in (np.float32, np.float16),
        f"{form}: vectors must be float32 (or float16), got {result!r}.",
    )
    require(np.isfinite(values).all(), f"{form}: NaN or infinity came out.")
    require(np.any(values), f"{form}: every vector is zero; know some of WORDS.")


def row_checks(estimator):
    """Yield the checks of this module that go with the estimator."""
    yield from (check_row_alone, check_row_order, check_subset)
    yield from (check_awkward_rows, check_no_rows, check_output_kind)
