"""Find a step inside a fitted pipeline, search or ColumnTransformer, and its input."""

from typing import NamedTuple

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from .._core._sklearn import safe_indexing
from ..sequences import (
    EmbeddedInputMixin,
    EmbeddedSequences,
    SequencesOutputMixin,
    Tokenizer,
    TokenSequences,
)


class Columns(NamedTuple):
    """The columns that a ColumnTransformer passes to one of its branches."""

    columns: object

    def transform(self, X):
        X = X if hasattr(X, "shape") else np.asarray(X, dtype=object)
        return safe_indexing(X, self.columns, axis=1)


class Route(NamedTuple):
    """The steps of one branch of an estimator."""

    name: str  # as in set_params, "" if there are no branches
    steps: tuple  # steps and Columns, in the order in which they are applied


def embeds(step):
    """Return whether a step returns or takes EmbeddedSequences."""
    kinds = SequencesOutputMixin | EmbeddedInputMixin
    return isinstance(step, kinds) and not isinstance(step, Tokenizer)


def find_step(estimator, X, predicate):
    """Return the first step that satisfies a predicate, and its input.

    Parameters
    ----------
    estimator : fitted estimator
        The step itself, or a Pipeline, search, ColumnTransformer or FeatureUnion
        around it, at any depth.
    X : input of the estimator
        Or the texts alone if it takes a table.
    predicate : callable
        From a step to a bool.

    Returns
    -------
    step : fitted estimator or None
        None if there is no such step.
    X : input of the step

    Raises
    ------
    ValueError
        If several branches have such a step, or a search has no best estimator.
    """
    steps = _one_route(estimator, predicate).steps
    place = _first(predicate, steps)
    if place == len(steps):
        return None, X
    return steps[place], apply_steps(steps[:place], X)


def features_within(estimator, X):
    """Return X transformed by an estimator's steps up to its final predictor."""
    return apply_steps(_one_route(estimator, embeds).steps, X)


def find_embedded(estimator, X):
    """Return every EmbeddedSequences that X becomes in an estimator, in order.

    Steps after the first one that returns something else are ignored.
    """
    return _embedded(_one_route(estimator, embeds).steps, X)


def embedding_input(estimator, X):
    """Return the input of the first step of an estimator that embeds texts."""
    steps = _one_route(estimator, embeds).steps
    place = _first(embeds, steps)
    return X if place == len(steps) else apply_steps(steps[:place], X)


def _embedded(steps, X):
    embedded = []
    for step in _applicable(X, steps):
        if not hasattr(step, "transform"):
            continue
        X = step.transform(X)
        if isinstance(X, EmbeddedSequences):
            embedded.append(X)
        elif embedded:
            break
    return embedded


def apply_steps(steps, X):
    """Return X transformed by steps; no columns are selected from texts alone."""
    for step in _applicable(X, steps):
        if hasattr(step, "transform"):  # resampling steps have none
            X = step.transform(X)
    return X


def _first(predicate, steps):
    return next((i for i, each in enumerate(steps) if predicate(each)), len(steps))


def _one_route(estimator, predicate):
    routes = _routes(estimator, predicate)
    if len(routes) > 1:
        names = [route.name for route in routes]
        last = names[0].rpartition("__")[2]
        raise ValueError(
            f"{len(names)} branches of {type(estimator).__name__} match: "
            f"{names}. Pass one of them and its input: ct.named_transformers_"
            f"[{last!r}] and its column of X for a ColumnTransformer ct, "
            f"union.named_transformers[{last!r}] for a FeatureUnion union."
        )
    if routes:
        return routes[0]
    estimator = unwrap_fitted(estimator)
    steps = [step for _, step in _named_steps(estimator)]
    return Route("", tuple(steps) or (estimator,))


def _applicable(X, steps):
    """Return the steps that apply to X: for texts alone, those after `Columns`."""
    selects = [i for i, step in enumerate(steps) if isinstance(step, Columns)]
    return steps[selects[-1] + 1 :] if selects and _is_one_column(X) else steps


def _is_one_column(X):
    if isinstance(X, list | tuple):  # may hold None, or token lists
        return np.asarray(X, dtype=object).ndim == 1
    is_container = isinstance(X, TokenSequences | EmbeddedSequences)
    return is_container or len(getattr(X, "shape", ())) == 1


def _routes(estimator, predicate, name="", steps=()):
    """Return a Route for each branch with a step that satisfies the predicate."""
    estimator = unwrap_fitted(estimator)
    for own_name, step in _named_steps(estimator) or [("", estimator)]:
        # Branches after a matching step take its output, so they are not searched.
        branches = parallel_branches(step) if not any(map(predicate, steps)) else []
        routes = [
            route
            for branch, inner, select in branches
            for route in _routes(
                inner, predicate, _join(name, own_name, branch), steps + select
            )
        ]
        if routes:
            return routes
        steps = (*steps, step)
    return [Route(name, steps)] if any(map(predicate, steps)) else []


def _named_steps(estimator, name=""):
    """Return (name, step) pairs of a Pipeline, and of Pipelines among its steps."""
    pairs = []
    for own_name, step in getattr(estimator, "steps", ()):
        if step is None or isinstance(step, str):
            continue
        full_name, step = _join(name, own_name), unwrap_fitted(step)
        pairs += _named_steps(step, full_name) or [(full_name, step)]
    return pairs


def parallel_branches(estimator):
    """Return (name, estimator, columns to select) of an estimator's parallel parts."""
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import FeatureUnion

    if isinstance(estimator, ColumnTransformer):
        check_is_fitted(estimator)
        fitted = estimator.transformers_
        branches = [(name, part, (Columns(select),)) for name, part, select in fitted]
    elif isinstance(estimator, FeatureUnion):
        branches = [(name, part, ()) for name, part in estimator.transformer_list]
    else:
        branches = []
    return [each for each in branches if not isinstance(each[1], str | None)]


def unwrap_fitted(estimator):
    """Return the fitted estimator in a search or another wrapper of a single estimator.

    Raises NotFittedError if a search has not refitted its best candidate.
    """
    if hasattr(estimator, "best_estimator_"):
        return unwrap_fitted(estimator.best_estimator_)
    # A transformer is used itself, and the estimator_ of an ensemble is a template.
    wraps = not (hasattr(estimator, "transform") or hasattr(estimator, "estimators_"))
    for name in ("regressor_", "estimator_"):
        if wraps and hasattr(estimator, name):
            return unwrap_fitted(getattr(estimator, name))
    if hasattr(estimator, "refit") and hasattr(estimator, "estimator"):
        raise NotFittedError(
            f"this {type(estimator).__name__} has no fitted estimator. Fit "
            "it with refit=True or the name of a metric."
        )
    return estimator


def _join(*names):
    return "__".join(name for name in names if name)


def flat_steps(estimator):
    """Return the steps that an estimator applies one after another."""
    from sklearn.pipeline import Pipeline

    while hasattr(estimator, "best_estimator_"):
        estimator = estimator.best_estimator_
    if not isinstance(estimator, Pipeline):
        return [estimator]
    steps = [step for _, step in estimator.steps if step not in (None, "passthrough")]
    return [inner for step in steps for inner in flat_steps(step)]
