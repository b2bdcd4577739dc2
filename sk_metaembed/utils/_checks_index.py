"""Checks that rows of a result stay beside the rows of the input they belong to."""

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion
from sklearn.preprocessing import FunctionTransformer

from ._checks_data import (
    assert_same,
    import_or_skip,
    input_kind,
    is_predictor,
    paired,
    require,
    seeded,
    targets,
    token_lists,
)
from ._checks_steps import text_pipeline


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
