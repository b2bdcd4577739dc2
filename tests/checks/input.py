"""Checks of valid and invalid input and targets."""

from functools import partial

import numpy as np
import pandas as pd
import polars as pl
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags

from sk_metaembed.sequences import TokenSequences

from .data import (
    as_container,
    as_input,
    assert_same,
    fitted,
    input_forms,
    input_kind,
    is_tagger,
    methods_of,
    object_array,
    outputs,
    paired,
    require_error,
    seeded,
    takes_columns,
    targets,
    token_lists,
)


def check_containers(estimator):
    """Check that all collections and frames of rows give the same output as lists."""
    y = targets(estimator)
    for form, X in input_forms(estimator).items():
        expected = outputs(fitted(estimator, X), X)
        for kind, container in _containers(estimator, form, X).items():
            step = seeded(estimator).fit(container, y)
            assert_same(outputs(step, container), expected, f"{form} as {kind}")
        # Rows that can be read once are read once by each method.
        step = seeded(estimator).fit((row for row in X), y)
        for method, value in expected.items():
            result = getattr(step, method)(row for row in X)
            assert_same(result, value, f"{form} as a generator ({method})")
        if "transform" in expected:
            result = seeded(estimator).fit_transform((row for row in X), y)
            what = f"{form} as a generator (fit_transform)"
            assert_same(result, expected["transform"], what)


def _containers(estimator, form, X):
    """Return the rows of a list in all other collections, by name."""
    as_objects = object_array(X)
    containers = {"a tuple": tuple(X), "an object array": as_objects}
    columns, is_pairs = {"text": X}, as_objects.ndim == 2
    if is_pairs:  # the names that unnamed columns get
        columns = dict(zip(("x0", "x1"), zip(*X, strict=True), strict=True))
    for library in (pd, pl):
        frame = library.DataFrame(columns)
        containers[f"a DataFrame of {library.__name__}"] = frame
        if not is_pairs:
            containers[f"a Series of {library.__name__}"] = frame["text"]
    if not is_pairs:
        containers["a one-column array"] = as_objects[:, None]
    if form == "texts":
        containers["a str array"] = np.array(X)
    elif input_kind(estimator) != "columns":
        containers["a container"] = as_container(estimator, token_lists())
    return containers


def _refused_values(estimator, *others):
    """Return values that are not texts, with missing ones unless they are accepted."""
    accepted = get_tags(estimator).input_tags.allow_nan
    accepted |= estimator.get_params(deep=False).get("missing") == "empty"
    return others if accepted else (None, float("nan"), *others)


def check_refuses_bad_rows(estimator):
    """Check that rows that are not texts raise an error that names the row."""
    for form, X in input_forms(estimator).items():
        step = fitted(estimator, X)
        for bad in _refused_values(estimator, 3, 2.5, b"bytes", {"a": 1}):
            _check_refused(step, [X[0], bad, *X[2:]], "row 1", f"{bad!r} among {form}")
    for bad, what in (
        (["fine", 3], "a number among the tokens"),
        ("good film", "a text among token lists"),
    ):
        rows = [["good"], bad, *token_lists()[2:]]
        if takes_columns(estimator):
            rows = [(row, ["the"]) for row in rows]
        _check_refused(step, rows, "row 1", what)


def check_refuses_bad_sides(estimator):
    """Check that sides or cells that are not texts, and other shapes, are refused."""
    is_pairs = input_kind(estimator) == "pairs"
    names = ["first side", "second side"]
    if not is_pairs:
        names = ["column 'x0'", "column 'x1'"]
    for form, X in input_forms(estimator).items():
        step = fitted(estimator, X)
        for bad in _refused_values(step, 3, b"bytes"):
            for name, row in zip(names, ((bad, X[1][1]), (X[1][0], bad)), strict=True):
                rows, what = [X[0], row, *X[2:]], f"{bad!r} among {form}"
                _check_refused(step, rows, f"row 1, {name}", what)
        _check_refused(step, [X[0], (*X[1], X[1][0]), *X[2:]], "row 1", "three texts")
        _check_refused(step, [X[0], X[1][:1], *X[2:]], "row 1", "one text")
    texts = object_array(paired([" ".join(row) for row in token_lists()]))
    for columns in (texts[:, :1], np.hstack([texts, texts])):
        what = f"{columns.shape[1]} columns of texts"
        _check_refused(step, columns, "column", what, fit=is_pairs)


def check_missing_rows(estimator):
    """Check that ``missing="empty"`` reads a missing row as an empty one."""
    options = {"missing": "empty", "add_indicator": False}
    options = {n: v for n, v in options.items() if n in estimator.get_params()}
    for form, X in input_forms(estimator).items():
        full, empty = X[0], "" if form == "texts" else []
        if isinstance(full, tuple):
            bad, good = (full[0], None), (full[0], empty)
        else:
            bad, good = None, empty
        step = fitted(clone(estimator).set_params(**options), [full, bad, *X[2:]])
        assert getattr(step, "n_missing_", 1) == 1, form
        expected = outputs(step, [full, good, *X[2:]])
        what = f"a missing row among {form}"
        assert_same(outputs(step, [full, bad, *X[2:]]), expected, what)


def check_refuses_other_collections(estimator):
    """Check that X that is not a collection of texts raises an error."""
    step = fitted(estimator, as_input(estimator, token_lists()))
    _check_refused(step, "a single text", "list", "a single str")
    for bad in (b"bytes", None, 3, float("nan"), {"a": "text"}, {"a", "b"}):
        _check_refused(step, bad, type(bad).__name__, f"{bad!r} for X")
    _check_refused(step, np.ones((len(token_lists()), 3)), "column", "numbers in 2-D")


def check_refuses_unembedded(estimator):
    """Check that X without vectors raises an error that names EmbeddedSequences."""
    step = fitted(estimator, as_input(estimator, token_lists()))
    rows = token_lists()
    texts = [" ".join(row) for row in rows]
    others = (rows, texts, TokenSequences.from_lists(rows), np.ones((24, 3)), None, 3)
    for bad in (*others, "a single text"):
        what = f"{type(bad).__name__} for X"
        _check_refused(step, bad, "EmbeddedSequences", what)


def _check_refused(step, X, mention, what, *, fit=True):
    calls = {"fit": partial(seeded(step).fit, X, targets(step))} if fit else {}
    calls |= {name: partial(call, X) for name, call in methods_of(step).items()}
    for method, call in calls.items():
        require_error(call, mention, f"{type(step).__name__}.{method} of {what}")


def check_unfitted(estimator):
    """Check that methods raise NotFittedError before fit, if fit is required."""
    X = as_input(estimator, token_lists())
    step = seeded(estimator)
    if not get_tags(step).requires_fit:
        assert_same(outputs(step, X), outputs(fitted(step, X), X), "without fit")
        return
    for name, method in methods_of(step).items():
        what = f"{type(step).__name__}.{name}, which must raise NotFittedError,"
        require_error(partial(method, X), "", what, NotFittedError)


def check_targets_required(estimator):
    """Check that a missing y raises an error if it is required."""
    fit = partial(seeded(estimator).fit, as_input(estimator, token_lists()), None)
    require_error(fit, "(?i)requires y", "fit without y")


def check_bad_targets(estimator):
    """Check that missing labels and labels of another length raise an error."""
    X = as_input(estimator, token_lists())
    y = targets(estimator)
    not_a_number = np.array([*np.arange(len(X) - 1) % 2, np.nan])
    cases = [
        (y[:-1], "(?i)inconsistent|length|rows|samples"),
        (not_a_number, "(?i)NaN|missing"),
    ]
    if y.dtype.kind != "f":
        missing = y.astype(object)
        missing[1] = None
        cases.append((missing, "(?i)NaN|None|missing|unknown"))
    for bad, mentions in cases:
        fit = partial(seeded(estimator).fit, X, bad)
        require_error(fit, mentions, f"fit to y={bad!r}")


def check_label_kinds(estimator):
    """Check that predictions have the type of the labels: str, int or bool."""
    X = as_input(estimator, token_lists())
    odd = np.arange(len(X)) % 2
    for y in (np.array(["neg", "pos"])[odd], odd + 3, odd.astype(bool)):
        predicted = fitted(estimator, X, y).predict(X)
        assert predicted.dtype.kind == y.dtype.kind and set(predicted) <= set(y)


def input_checks(estimator):
    """Yield the checks of input that apply to the estimator."""
    if takes_columns(estimator):
        yield check_refuses_bad_sides
    if input_kind(estimator) in ("tokens", "columns", "pairs"):
        yield check_containers
        yield from (check_refuses_bad_rows, check_refuses_other_collections)
        if estimator.get_params(deep=False).get("missing") in ("raise", "empty"):
            yield check_missing_rows
    else:
        yield check_refuses_unembedded
    yield check_unfitted
    if get_tags(estimator).target_tags.required:
        yield check_targets_required
        # Invalid tags have checks of their own.
        if not is_tagger(estimator):
            yield check_bad_targets
    if is_classifier(estimator):
        yield check_label_kinds
