"""Checks that outputs depend on their own row alone and are finite."""

import warnings

import numpy as np

from sk_metaembed.sequences import EmbeddedSequences, TokenSequences

from .data import (
    UNKNOWN_WORDS,
    as_input,
    assert_same,
    fitted,
    input_forms,
    output_values,
    outputs,
    require,
    require_finite,
    row_tokens,
    token_lists,
    unpaired,
)


def _fitted_forms(estimator):
    for form, X in input_forms(estimator).items():
        with warnings.catch_warnings():
            # Options for words have no effect on vectors of sequences.
            warnings.filterwarnings("ignore", ".*will have no effect", UserWarning)
            step = fitted(estimator, X)
        yield form, X, step


def check_row_alone(estimator):
    """Check that a row gives the same output alone and with others."""
    for form, X, step in _fitted_forms(estimator):
        batch = outputs(step, X)
        for i in range(2, 6):  # among them the one of one token, and the one of none
            rows = {name: value[[i]] for name, value in batch.items()}
            what = f"row {i} alone and with others, as {form}"
            assert_same(outputs(step, X[i : i + 1]), rows, what)


def check_edge_case_rows(estimator):
    """Check that empty, unknown and one-token rows give finite outputs."""
    step = fitted(estimator, as_input(estimator, token_lists()))
    usual = outputs(step, as_input(estimator, token_lists()))
    unknown = list(UNKNOWN_WORDS)
    edge_cases = {
        "empty rows": [[], []],
        "rows of unknown words": [unknown, unknown[:1]],
        "rows of one token": [["good"], ["the"]],
        "empty, unknown and known rows": [[], unknown, ["good", "zyxwv"]],
    }
    for what, rows in edge_cases.items():
        result = outputs(step, as_input(estimator, rows))
        for method, value in result.items():
            _check_shape(value, usual[method], len(rows), f"{what} ({method})")


def _check_shape(value, usual, n_rows, what):
    require(len(value) == n_rows, f"{what}: got {len(value)} rows for {n_rows}.")
    value, usual = unpaired(value), unpaired(usual)
    if isinstance(value, EmbeddedSequences):
        require(
            [b.dim for b in value.blocks] == [b.dim for b in usual.blocks],
            f"{what}: the dimensions of blocks differ from other rows.",
        )
    elif not isinstance(value, TokenSequences):
        require(
            np.shape(value)[1:] == np.shape(usual)[1:],
            f"{what}: shape {np.shape(value)} does not match {np.shape(usual)}.",
        )
    require_finite(value, what)


def check_no_rows(estimator):
    """Check that an empty X gives an empty output or raises a ValueError."""
    step = fitted(estimator, as_input(estimator, token_lists()))
    empty = as_input(estimator, [])
    for method in outputs(step, as_input(estimator, token_lists())):
        try:
            value = getattr(step, method)(empty)
        except ValueError:
            continue
        require(len(value) == 0, f"{method}: got {len(value)} rows for an empty X.")


def check_output_kind(estimator):
    """Check that a transformer returns finite float32 vectors of the tokens of X."""
    for form, X, step in _fitted_forms(estimator):
        if not hasattr(step, "transform"):
            return
        result = step.transform(X)
        n_rows = len(result)
        require(n_rows == len(X), f"{form}: got {n_rows} rows for {len(X)}.")
        result = unpaired(result)
        if isinstance(result, TokenSequences):
            continue
        _check_finite_float(result, form)
        if isinstance(result, EmbeddedSequences) and form != "texts":
            same = result.tokens.to_list() == row_tokens(estimator)
            require(same, f"{form}: the output's tokens differ from those of X.")


def _check_finite_float(result, form):
    values = output_values(result)
    require(
        isinstance(result, EmbeddedSequences | np.ndarray),
        f"{form}: transform must return a TokenSequences, an EmbeddedSequences or an "
        f"array; got {type(result).__name__}.",
    )
    require(
        values is not None and values.dtype in (np.float32, np.float16),
        f"{form}: vectors must be float32 (or float16); got {result!r}.",
    )
    require_finite(result, form)
    any_known = np.any(values)
    require(any_known, f"{form}: all vectors are zero. Use vectors for some of WORDS.")


def row_checks(estimator):
    """Yield the checks of rows that apply to the estimator."""
    yield from (check_row_alone, check_edge_case_rows)
    yield from (check_no_rows, check_output_kind)
