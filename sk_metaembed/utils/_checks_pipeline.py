"""Checks of estimators inside pipelines, searches and ColumnTransformers, on frames."""

import tempfile

import numpy as np
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from ..sequences import (
    EmbeddedSequences,
    SequencePairs,
    SequencesInputMixin,
    SequencesOutputMixin,
    TokenSequences,
    check_tokens,
)
from ._checks_data import (
    as_container,
    as_input,
    assert_same,
    embedded,
    fitted,
    for_libraries,
    import_or_skip,
    input_kind,
    is_predictor,
    outputs,
    require,
    requires_columns,
    seeded,
    takes_columns,
    targets,
    texts_of,
    token_lists,
    unpaired,
)


class _WordTable(SequencesOutputMixin, TransformerMixin, BaseEstimator):
    """Source with the fixed vectors of the checks' words."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        tokens = check_tokens(X)
        return embedded(tokens.to_list(), index=tokens.index)

    def get_feature_names_out(self, input_features=None):
        return np.array([f"table{i}" for i in range(embedded([]).dim)], dtype=object)


class _AsArray(SequencesInputMixin, TransformerMixin, BaseEstimator):
    """Convert any step's output to an array with one row per sequence."""

    def fit(self, X, y=None):
        self.n_features_out_ = self._values(X).shape[1]
        return self

    def transform(self, X):
        return self._values(X)

    def get_feature_names_out(self, input_features=None):
        names = [f"value{i}" for i in range(self.n_features_out_)]
        return np.array(names, dtype=object)

    def _values(self, X):
        if unpaired(X) is not X:
            sides = self._values(unpaired(X))
            return np.concatenate(np.split(sides, 2), axis=1)
        if hasattr(X, "offsets"):  # a TokenSequences
            X = embedded(X.to_list())
        if not isinstance(X, EmbeddedSequences):
            return np.asarray(X)
        means = [rows.sum(axis=0) / max(len(rows), 1) for rows in X.to_list()]
        return np.array(means).reshape(len(X), X.dim)


def text_pipeline(estimator, *, classify=False, memory=None):
    """Return a pipeline from texts through the estimator to an array or predictions.

    ``classify=True`` adds a classifier after a transformer, or a regressor if the
    targets have several columns.
    """
    steps = [("step", seeded(estimator))]
    if input_kind(estimator) == "embedded":
        steps.insert(0, ("table", _WordTable()))
    if not is_predictor(estimator):
        steps.append(("array", _AsArray()))
        if classify:
            several = requires_columns(estimator)
            last = LinearRegression() if several else LogisticRegression()
            steps.append(("classify", last))
    return Pipeline(steps, memory=memory)


def check_grid_search(estimator):
    """Check that GridSearchCV can split the container and set the step in a pipeline.

    It sets the step itself and a clone of it.
    """
    pipe = text_pipeline(estimator, classify=True)
    if input_kind(estimator) == "embedded":
        pipe = pipe[1:]
    X = as_container(estimator, token_lists())
    grid = {"step": [seeded(estimator), clone(estimator)]}
    search = GridSearchCV(pipe, grid, cv=2, error_score="raise")
    scores = search.fit(X, targets(estimator)).cv_results_["mean_test_score"]
    require(np.isfinite(scores).all(), f"Scores must be finite; got {scores}.")
    n_rows = len(search.predict(X))
    require(n_rows == len(X), f"predict: got {n_rows} rows for {len(X)}.")


def check_memory(estimator):
    """Check that ``Pipeline(memory=...)`` gives the same output as without memory."""
    texts, y = texts_of(estimator), targets(estimator)
    expected = outputs(text_pipeline(estimator).fit(texts, y), texts)
    with tempfile.TemporaryDirectory() as folder:
        for when in ("first", "second"):
            pipe = text_pipeline(estimator, classify=False, memory=folder)
            result = outputs(pipe.fit(texts, y), texts)
            assert_same(result, expected, f"Pipeline(memory=...), the {when} time")


def check_column_transformer(estimator, library):
    """Check that a ColumnTransformer keeps texts and numbers of a frame aligned."""
    make_frame = import_or_skip(library).DataFrame
    texts, y = texts_of(estimator), targets(estimator)
    number = np.arange(len(texts), dtype=float)
    columns = {"text": texts}
    if takes_columns(estimator):
        columns = dict(zip(("text", "other"), zip(*texts, strict=True), strict=True))
    frame = make_frame({**columns, "a": number, "b": -number})
    names = list(columns) if len(columns) > 1 else "text"
    parts = [("words", text_pipeline(estimator), names)]
    both = ColumnTransformer([*parts, ("numbers", StandardScaler(), ["a", "b"])])
    expected = text_pipeline(estimator).fit(texts, y).transform(texts)
    rows = np.random.default_rng(0).permutation(len(texts))[:9]
    part = frame.iloc[rows] if library == "pandas" else frame[rows]
    result = both.fit(frame, y).transform(part)
    what = f"in a ColumnTransformer on {library}"
    assert_same(result[:, :-2], expected[rows], what)
    assert_same(np.argsort(result[:, -2]), np.argsort(rows), what)
    result = both.transform(frame)
    named = clone(both).set_output(transform=library).fit_transform(frame, y)
    _check_frame(named, library, result, both.get_feature_names_out())


def check_set_output(estimator, library):
    """Check that ``set_output(transform=...)`` gives named columns."""
    import_or_skip(library)
    texts, y = texts_of(estimator), targets(estimator)
    plain = text_pipeline(estimator).fit(texts, y)
    framed = text_pipeline(estimator).set_output(transform=library)
    names, values = plain.get_feature_names_out(), plain.transform(texts)
    _check_frame(framed.fit_transform(texts, y), library, values, names)

    X = as_input(estimator, token_lists())
    step = seeded(estimator)
    require(step.set_output(transform=library) is step, "set_output must return self.")
    set_on_step = step.fit(X, targets(estimator)).transform(X)
    step = fitted(estimator, X)
    expected = step.transform(X)
    with config_context(transform_output=library):
        set_globally = step.transform(X)
    for result in (set_on_step, set_globally):
        if isinstance(expected, TokenSequences | EmbeddedSequences | SequencePairs):
            assert_same(result, expected, "a container, after set_output")
        else:
            _check_frame(result, library, expected, step.get_feature_names_out())


def _check_frame(frame, kind, values, names):
    library = type(frame).__module__.partition(".")[0]
    require(library == kind, f"set_output({kind!r}) returned a {type(frame)}.")
    require(
        list(frame.columns) == list(names),
        f"The columns {list(frame.columns)} differ from get_feature_names_out(), "
        f"{list(names)}.",
    )
    assert_same(frame.to_numpy(), values, f"the values of the {kind} DataFrame")


def check_feature_names(estimator):
    """Check that get_feature_names_out returns one distinct str per column."""
    X = as_input(estimator, token_lists())
    step = fitted(estimator, X)
    names = step.get_feature_names_out()
    require(
        isinstance(names, np.ndarray) and names.dtype == object and names.ndim == 1,
        f"get_feature_names_out must return a 1-D object array; got {names!r}.",
    )
    require(all(type(n) is str for n in names), f"Names must be str; got {names!r}.")
    require(len(set(names)) == len(names), f"Names must be unique; got {list(names)}.")
    require(
        np.array_equal(names, step.get_feature_names_out(None)),
        "get_feature_names_out(None) must equal get_feature_names_out().",
    )
    result = unpaired(step.transform(X))
    if isinstance(result, TokenSequences):
        return
    width = result.dim if isinstance(result, EmbeddedSequences) else result.shape[1]
    require(len(names) == width, f"Got {len(names)} names for {width} columns.")


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
    rows, y = texts_of(estimator), targets(estimator)
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


def pipeline_checks(estimator):
    """Yield the checks of pipelines that apply to the estimator."""
    yield from (check_grid_search, check_memory)
    if is_predictor(estimator) or not hasattr(estimator, "transform"):
        return
    yield from for_libraries(check_column_transformer)
    yield from for_libraries(check_set_output)
    if get_tags(estimator).requires_fit or hasattr(estimator, "get_feature_names_out"):
        yield check_feature_names
    yield check_row_index
