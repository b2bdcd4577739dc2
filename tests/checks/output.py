"""Checks of the names, frames and row index of outputs."""

import numpy as np
import pandas as pd
import polars as pl
from sklearn import config_context
from sklearn.utils import get_tags

from sk_metaembed.sequences import EmbeddedSequences, SequencePairs, TokenSequences

from .data import (
    as_input,
    assert_same,
    embedded,
    fitted,
    input_kind,
    seeded,
    targets,
    texts_of,
    token_lists,
    unpaired,
)


def check_set_output(estimator):
    """Check that ``set_output(transform=...)`` gives named columns, or a container."""
    X, y = as_input(estimator, token_lists()), targets(estimator)
    expected = fitted(estimator, X).transform(X)
    for library in (pd, pl):
        kind = library.__name__
        step = seeded(estimator)
        assert step.set_output(transform=kind) is step
        with config_context(transform_output=kind):
            set_globally = fitted(estimator, X).transform(X)
        for result in (step.fit(X, y).transform(X), set_globally):
            if isinstance(expected, TokenSequences | EmbeddedSequences | SequencePairs):
                assert_same(result, expected, "a container, after set_output")
            else:
                _check_frame(result, kind, expected, step.get_feature_names_out())


def _check_frame(frame, kind, values, names):
    library = type(frame).__module__.partition(".")[0]
    assert library == kind
    assert list(frame.columns) == list(names)
    assert_same(frame.to_numpy(), values, f"the values of the {kind} DataFrame")


def check_feature_names(estimator):
    """Check that get_feature_names_out returns one distinct str per column."""
    X = as_input(estimator, token_lists())
    step = fitted(estimator, X)
    names = step.get_feature_names_out()
    assert isinstance(names, np.ndarray) and names.dtype == object and names.ndim == 1
    assert all(type(n) is str for n in names)
    assert len(set(names)) == len(names)
    result = unpaired(step.transform(X))
    if isinstance(result, TokenSequences):
        return
    width = result.dim if isinstance(result, EmbeddedSequences) else result.shape[1]
    assert len(names) == width


def check_row_index(estimator):
    """Check that pandas rows keep their index in containers and DataFrames."""
    n_rows = len(token_lists())
    order = np.random.default_rng(0).permutation(n_rows)
    words = pd.Index([f"row {i}" for i in order])
    numbers = pd.RangeIndex(n_rows)[order]
    levels = pd.MultiIndex.from_arrays([order % 3, words])
    for index in (numbers, words, levels):
        X = _with_index(estimator, index)
        step = seeded(estimator)
        step.set_output(transform="pandas")
        fit_transformed = step.fit_transform(X, targets(estimator))
        for result in (fit_transformed, step.transform(X)):
            assert result.index is not None and result.index.equals(index)


def _with_index(estimator, index):
    """Return the rows of `token_lists` with an index."""
    if input_kind(estimator) == "embedded":
        return embedded(token_lists(), index=index)
    texts = texts_of(estimator)
    frame = pd.DataFrame if isinstance(texts[0], tuple) else pd.Series
    return frame(texts, index=index)


def output_checks(estimator):
    """Yield the checks of outputs that apply to a transformer."""
    yield check_set_output
    if get_tags(estimator).requires_fit or hasattr(estimator, "get_feature_names_out"):
        yield check_feature_names
    yield check_row_index
