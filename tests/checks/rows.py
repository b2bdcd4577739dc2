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
    assert len(value) == n_rows, what
    value, usual = unpaired(value), unpaired(usual)
    if isinstance(value, EmbeddedSequences):
        assert [b.dim for b in value.blocks] == [b.dim for b in usual.blocks], what
    elif not isinstance(value, TokenSequences):
        assert np.shape(value)[1:] == np.shape(usual)[1:], what
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
        assert len(value) == 0, method


def check_output_kind(estimator):
    """Check that a transformer returns finite float32 vectors of the tokens of X."""
    for form, X, step in _fitted_forms(estimator):
        if not hasattr(step, "transform"):
            return
        result = step.transform(X)
        assert len(result) == len(X), form
        result = unpaired(result)
        if isinstance(result, TokenSequences):
            continue
        assert isinstance(result, EmbeddedSequences | np.ndarray), form
        values = output_values(result)
        assert values.dtype in (np.float32, np.float16) and np.any(values), form
        require_finite(result, form)
        if isinstance(result, EmbeddedSequences) and form != "texts":
            assert result.tokens.to_list() == row_tokens(estimator), form


def row_checks(estimator):
    """Yield the checks of rows that apply to the estimator."""
    yield from (check_row_alone, check_edge_case_rows)
    yield from (check_no_rows, check_output_kind)
