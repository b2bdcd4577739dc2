"""Checks that outputs depend on their own row alone, are finite and keep the index."""

import numpy as np

from ..sequences import EmbeddedSequences, TokenSequences
from ._checks_data import (
    UNKNOWN_WORDS,
    as_input,
    assert_same,
    fitted,
    import_or_skip,
    input_forms,
    input_kind,
    is_predictor,
    output_values,
    outputs,
    require,
    row_tokens,
    seeded,
    takes_columns,
    token_lists,
    unpaired,
)
from ._checks_pipeline import text_pipeline, text_rows


def _fitted_forms(estimator):
    for form, X in input_forms(estimator).items():
        yield form, X, fitted(estimator, X)


def _take(X, rows):
    return [X[i] for i in rows] if isinstance(X, list) else X[rows]


def check_row_alone(estimator):
    """Check that a row gives the same output alone and with others."""
    for form, X, step in _fitted_forms(estimator):
        batch = outputs(step, X)
        for i in range(2, 6):  # among them the one of one token, and the one of none
            rows = {name: value[[i]] for name, value in batch.items()}
            what = f"row {i} alone and with others, as {form}"
            assert_same(outputs(step, _take(X, [i])), rows, what)


def check_row_order(estimator):
    """Check that permuted rows give permuted outputs."""
    for form, X, step in _fitted_forms(estimator):
        order = np.random.default_rng(0).permutation(len(X))
        shuffled = {name: value[order] for name, value in outputs(step, X).items()}
        what = f"rows in another order, as {form}"
        assert_same(outputs(step, _take(X, order)), shuffled, what)


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
            f"{what}: the dimensions of blocks differ from those of other rows.",
        )
    elif not isinstance(value, TokenSequences):
        require(
            np.shape(value)[1:] == np.shape(usual)[1:],
            f"{what}: shape {np.shape(value)} does not match {np.shape(usual)}.",
        )
    numbers = output_values(value)
    if numbers is not None:
        finite = np.isfinite(numbers).all()
        require(finite, f"{what}: the output contains NaN or infinity.")


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
    finite = np.isfinite(values).all()
    require(finite, f"{form}: the output contains NaN or infinity.")
    any_known = np.any(values)
    require(any_known, f"{form}: all vectors are zero. Use vectors for some of WORDS.")


def row_checks(estimator):
    """Yield the checks of rows that apply to the estimator."""
    yield from (check_row_alone, check_row_order)
    yield from (check_edge_case_rows, check_no_rows, check_output_kind)


def _indices(pandas, n_rows):
    """Return row numbers and a pandas index for each kind of selection, by name."""
    rng = np.random.default_rng(0)
    order = rng.permutation(n_rows)[:9]
    drawn = rng.integers(5, size=9)
    words = np.array([f"row {i}" for i in range(n_rows)])
    levels = pandas.MultiIndex.from_arrays([np.arange(n_rows) % 3, words])
    return {
        "permuted rows": (order, pandas.RangeIndex(n_rows)),
        "a slice of the rows": (np.arange(2, 8), pandas.RangeIndex(n_rows)),
        "repeated rows": (drawn, pandas.RangeIndex(n_rows)),
        "string labels": (order, pandas.Index(words)),
        "labels with two levels": (order, levels),
        "one row": (order[:1], pandas.RangeIndex(n_rows)),
    }


def check_row_index(estimator):
    """Check that pandas rows keep their index."""
    pandas = import_or_skip("pandas")
    rows, y = text_rows(estimator)
    texts = pandas.DataFrame(rows) if takes_columns(estimator) else pandas.Series(rows)
    alone = text_pipeline(estimator).set_output(transform="pandas").fit(texts, y)
    expected = alone.transform(texts).to_numpy()
    container = _container_step(estimator, texts, y)
    fresh = text_pipeline(estimator).set_output(transform="pandas")
    result = fresh.fit_transform(texts.iloc[::-1], y[::-1])
    require(result.index.equals(texts.index[::-1]), "fit_transform lost the index.")
    for what, (rows, labels) in _indices(pandas, len(texts)).items():
        part = texts.set_axis(labels).iloc[rows]
        result = alone.transform(part)
        require(result.index.equals(part.index), f"{what}: the index is lost.")
        assert_same(result.to_numpy(), expected[rows], what)
        if container is not None:
            require(
                part.index.equals(container.transform(part).index),
                f"{what}: the container that transform returns lost the index.",
            )


def _container_step(estimator, texts, y):
    """Return the fitted step if it maps texts to a container, else None."""
    if input_kind(estimator) == "embedded":
        return None
    step = seeded(estimator).fit(texts, y)
    return step if hasattr(step.transform(texts), "index") else None


def index_checks(estimator):
    """Yield the check of the index if it applies to the estimator."""
    if not is_predictor(estimator) and hasattr(estimator, "transform"):
        yield check_row_index
