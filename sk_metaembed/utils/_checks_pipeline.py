"""Checks of estimators inside pipelines, searches and ColumnTransformers."""

import tempfile

import numpy as np
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from ..sequences import EmbeddedSequences, SequencePairs, TokenSequences, check_tokens
from ..sequences._mixins import SequencesInputMixin, SequencesOutputMixin
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
    paired,
    require,
    requires_columns,
    seeded,
    takes_columns,
    targets,
    token_lists,
    unpaired,
)


class _WordTable(SequencesOutputMixin, TransformerMixin, BaseEstimator):
    """Source with the fixed vectors of the checks' words."""

    def fit(self, X, y=None):
        self.dim_ = embedded([]).dim
        return self

    def transform(self, X):
        check_is_fitted(self)
        tokens = check_tokens(X)
        return embedded(tokens.to_list(), index=tokens.index)

    def get_feature_names_out(self, input_features=None):
        check_is_fitted(self)
        return np.array([f"table{i}" for i in range(self.dim_)], dtype=object)


class _AsArray(SequencesInputMixin, TransformerMixin, BaseEstimator):
    """Convert any step's output to an array with one row per sequence."""

    def fit(self, X, y=None):
        self.n_features_out_ = self._values(X).shape[1]
        return self

    def transform(self, X):
        check_is_fitted(self)
        return self._values(X)

    def get_feature_names_out(self, input_features=None):
        check_is_fitted(self)
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


def text_rows(estimator):
    """Return the rows of `token_lists` as texts, paired if needed, and targets."""
    texts = [" ".join(row) for row in token_lists()]
    texts = paired(texts) if takes_columns(estimator) else texts
    return texts, targets(estimator)


def check_grid_search(estimator):
    """Check that GridSearchCV can set the step, and a clone of it, in a pipeline."""
    texts, y = text_rows(estimator)
    pipe = text_pipeline(estimator, classify=True)
    grid = {"step": [seeded(estimator), clone(estimator)]}
    search = GridSearchCV(pipe, grid, cv=2, error_score="raise").fit(texts, y)
    n_rows = len(search.predict(texts))
    require(n_rows == len(texts), f"predict: got {n_rows} rows for {len(texts)}.")


def check_cross_validation(estimator):
    """Check that scikit-learn's splitters index the containers of the estimator."""
    pipe = text_pipeline(estimator, classify=True)
    if input_kind(estimator) == "embedded":
        pipe = pipe[1:]
    X = as_container(estimator, token_lists())
    scores = cross_val_score(pipe, X, targets(estimator), cv=2, error_score="raise")
    require(np.isfinite(scores).all(), f"Scores must be finite; got {scores}.")


def check_memory(estimator):
    """Check that ``Pipeline(memory=...)`` gives the same output as without memory."""
    texts, y = text_rows(estimator)
    expected = outputs(text_pipeline(estimator).fit(texts, y), texts)
    with tempfile.TemporaryDirectory() as folder:
        for when in ("first", "second"):
            pipe = text_pipeline(estimator, classify=False, memory=folder)
            result = outputs(pipe.fit(texts, y), texts)
            assert_same(result, expected, f"Pipeline(memory=...), the {when} time")


def check_column_transformer(estimator, library):
    """Check that a ColumnTransformer keeps texts and numbers of a frame aligned."""
    make_frame = import_or_skip(library).DataFrame
    texts, y = text_rows(estimator)
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
    texts, y = text_rows(estimator)
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


def pipeline_checks(estimator):
    """Yield the checks of pipelines that apply to the estimator."""
    yield from (check_grid_search, check_cross_validation, check_memory)
    if is_predictor(estimator) or not hasattr(estimator, "transform"):
        return
    yield from for_libraries(check_column_transformer)
    yield from for_libraries(check_set_output)
    if get_tags(estimator).requires_fit or hasattr(estimator, "get_feature_names_out"):
        yield check_feature_names
