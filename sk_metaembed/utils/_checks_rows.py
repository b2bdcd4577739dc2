"""Checks that a row's result depends on that row alone, and is always a number.

Checks that rows of a result stay beside the rows of the input they belong to.
"""

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion
from sklearn.preprocessing import FunctionTransformer

from ..sequences import EmbeddedSequences, TokenSequences
from ._checks_data import (
    UNKNOWN_WORDS,
    as_container,
    as_input,
    assert_same,
    fitted,
    import_or_skip,
    input_forms,
    input_kind,
    is_predictor,
    outputs,
    paired,
    require,
    seeded,
    targets,
    token_lists,
    unpaired,
    values_of,
)
from ._checks_pipeline import text_pipeline


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


def _columns(estimator):
    """Return columns of texts, their names, and a column that numbers the rows."""
    texts = [" ".join(row) for row in token_lists()]
    columns = {"text": texts}
    if input_kind(estimator) == "pairs":
        first, second = zip(*paired(texts), strict=True)
        columns = {"text": list(first), "other": list(second)}
    return {**columns, "number": np.arange(len(texts), dtype=float)}, list(columns)


def _indices(pandas, n_rows):
    """Return row numbers and labels of every kind that frames have, by name."""
    rng = np.random.default_rng(0)
    order = rng.permutation(n_rows)[:9]
    drawn = rng.integers(5, size=9)
    words = np.array([f"row {i}" for i in range(n_rows)])
    levels = pandas.MultiIndex.from_arrays([np.arange(n_rows) % 3, words])
    return {
        "rows in another order": (order, pandas.RangeIndex(n_rows)),
        "a slice of the rows": (np.arange(2, 8), pandas.RangeIndex(n_rows)),
        "rows drawn twice": (drawn, pandas.RangeIndex(n_rows)),
        "labels that are strings": (order, pandas.Index(words)),
        "labels of two levels": (order, levels),
        "one row": (order[:1], pandas.RangeIndex(n_rows)),
    }


def _combinations(estimator, names):
    """Return transformers that put the step's columns beside the row's number."""
    texts = names[0] if len(names) == 1 else names
    return {
        "ColumnTransformer": ColumnTransformer(
            [("text", text_pipeline(estimator), texts), ("n", "passthrough", [-1])]
        ),
        "FeatureUnion": FeatureUnion(
            [
                ("text", _on_columns(text_pipeline(estimator), texts)),
                ("n", _on_columns(FunctionTransformer(), ["number"])),
            ]
        ),
    }


def _on_columns(step, columns):
    return ColumnTransformer([("", step, columns)], verbose_feature_names_out=False)


def check_row_index(estimator):
    """Check that a pandas index stays with its rows, alone and beside numbers."""
    pandas = import_or_skip("pandas")
    columns, names = _columns(estimator)
    frame, y = pandas.DataFrame(columns), targets(estimator)
    texts = frame[names[0]] if len(names) == 1 else frame[names]
    alone = text_pipeline(estimator).set_output(transform="pandas").fit(texts, y)
    expected = alone.transform(texts).to_numpy()
    container = _container_step(estimator, texts, y)
    fresh = text_pipeline(estimator).set_output(transform="pandas")
    result = fresh.fit_transform(texts.iloc[::-1], y[::-1])
    require(result.index.equals(texts.index[::-1]), "fit_transform lost the index.")
    for what, (rows, labels) in _indices(pandas, len(frame)).items():
        part = texts.set_axis(labels).iloc[rows]
        result = alone.transform(part)
        require(result.index.equals(part.index), f"{what}: the index is lost.")
        assert_same(result.to_numpy(), expected[rows], what)
        if container is not None:
            require(
                part.index.equals(container.transform(part).index),
                f"{what}: the container that transform returns lost the index.",
            )
    for name, both in _combinations(estimator, names).items():
        both.set_output(transform="pandas").fit(frame, y)
        for what, (rows, labels) in _indices(pandas, len(frame)).items():
            part = frame.set_axis(labels).iloc[rows]
            result = both.transform(part)
            what = f"{what}, in a {name}"
            require(result.index.equals(part.index), f"{what}: the index is lost.")
            assert_same(result.iloc[:, -1].to_numpy(), rows.astype(float), what)
            assert_same(result.iloc[:, :-1].to_numpy(), expected[rows], what)


def _container_step(estimator, texts, y):
    """Return the fitted step if it reads texts and returns a container, else None."""
    if input_kind(estimator) == "embedded":
        return None
    step = seeded(estimator).fit(texts, y)
    return step if hasattr(step.transform(texts), "index") else None


def check_rows_polars(estimator):
    """Check that rows of polars frames stay beside each other, in any order."""
    polars = import_or_skip("polars")
    columns, names = _columns(estimator)
    frame, y = polars.DataFrame(columns), targets(estimator)
    alone = text_pipeline(estimator)
    texts = frame[names[0]] if len(names) == 1 else frame[names]
    expected = alone.fit(texts, y).transform(texts)
    rows = np.random.default_rng(0).permutation(len(frame))[:9]
    for name, both in _combinations(estimator, names).items():
        result = (
            both.set_output(transform="polars").fit(frame, y).transform(frame[rows])
        )
        assert_same(result.to_numpy()[:, -1], rows.astype(float), name)
        assert_same(result.to_numpy()[:, :-1], expected[rows], name)


def index_checks(estimator):
    """Yield the checks of this module that go with the estimator."""
    if not is_predictor(estimator) and hasattr(estimator, "transform"):
        yield from (check_row_index, check_rows_polars)
