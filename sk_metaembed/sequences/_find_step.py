"""Find a step inside a fitted pipeline, search or ColumnTransformer, and its input."""

from typing import NamedTuple

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from ._embedded_sequences import EmbeddedSequences
from ._mixins import EmbeddedInputMixin, SequencesOutputMixin
from ._token_sequences import TokenSequences
from ._tokenizer import Tokenizer


class Columns(NamedTuple):
    """The columns that a ColumnTransformer gives to one of its branches."""

    columns: object

    def transform(self, X):
        X = X if hasattr(X, "shape") else np.asarray(X, dtype=object)
        return _safe_indexing(X, self.columns, axis=1)


class Route(NamedTuple):
    """A branch of an estimator, from its input on."""

    name: str  # as in set_params, "" where there are no branches
    moves: tuple  # of steps and Columns, in the order in which they are applied


def embeds(step):
    """Return whether a step gives or takes EmbeddedSequences."""
    kinds = SequencesOutputMixin | EmbeddedInputMixin
    return isinstance(step, kinds) and not isinstance(step, Tokenizer)


def find_step(estimator, X, is_wanted, caller):
    """Return the first step of a kind, and X as the steps before it transform it.

    Parameters
    ----------
    estimator : fitted estimator
        The step itself, or a Pipeline, search, ColumnTransformer or FeatureUnion
        around it, to any depth.
    X : what the estimator takes
        Or the texts alone, where it takes a table.
    is_wanted : callable
        From a step to a bool.
    caller : str
        Begins the error messages.

    Returns
    -------
    step : fitted estimator or None
        None if there is no such step.
    X : what the step takes

    Raises
    ------
    ValueError
        If several branches have such a step, or a search has no best estimator.
    """
    moves = _one_route(estimator, is_wanted, caller).moves
    place = _first(is_wanted, moves)
    if place == len(moves):
        return None, X
    return moves[place], _applied(moves[:place], X)


def features_within(estimator, X, caller):
    """Return what an estimator makes of X before it predicts; X itself if nothing."""
    return _applied(_one_route(estimator, embeds, caller).moves, X)


def find_embedded(estimator, X, caller):
    """Return every EmbeddedSequences on the way through an estimator, in order.

    Parameters
    ----------
    estimator : fitted estimator
        As for `find_step`.
    X : what the estimator takes
        Or the texts alone, where it takes a table.
    caller : str
        Begins the error messages.

    Returns
    -------
    list of EmbeddedSequences
        Up to the first later step that gives something else.
    """
    return _embedded(_one_route(estimator, embeds, caller).moves, X)


def texts_by_branch(estimator, X, caller):
    """Return what the first embedding step of each branch is given, by branch.

    Parameters
    ----------
    estimator : fitted estimator
        As for `find_step`, but several branches may embed.
    X : what the estimator takes
        Or the texts alone, where it takes a table.
    caller : str
        Begins the error messages.

    Returns
    -------
    dict of str to object
        X itself if that step is the first.
    """
    routes = _routes(estimator, embeds, caller)
    cut = {each.name: each.moves[: _first(embeds, each.moves)] for each in routes}
    return {name: _applied(moves, X) for name, moves in cut.items()}


def embedded_by_branch(estimator, tokens, caller):
    """Return every EmbeddedSequences of each branch, from its first embedding step on.

    Parameters
    ----------
    estimator : fitted estimator
        As for `texts_by_branch`.
    tokens : TokenSequences
        As that step takes them; the steps before it are skipped.
    caller : str
        Begins the error messages.

    Returns
    -------
    dict of str to list of EmbeddedSequences
    """
    routes = _routes(estimator, embeds, caller)
    cut = {each.name: each.moves[_first(embeds, each.moves) :] for each in routes}
    return {name: _embedded(moves, tokens) for name, moves in cut.items()}


def _embedded(moves, X):
    found = []
    for move in _moves_for(X, moves):
        if not hasattr(move, "transform"):
            continue
        X = move.transform(X)
        if isinstance(X, EmbeddedSequences):
            found.append(X)
        elif found:
            break
    return found


def _applied(moves, X):
    for move in _moves_for(X, moves):
        if hasattr(move, "transform"):  # those that resample have none
            X = move.transform(X)
    return X


def _first(is_wanted, moves):
    return next((i for i, each in enumerate(moves) if is_wanted(each)), len(moves))


def _one_route(estimator, is_wanted, caller):
    routes = _routes(estimator, is_wanted, caller)
    if len(routes) > 1:
        names = [route.name for route in routes]
        last = names[0].rpartition("__")[2]
        raise ValueError(
            f"{caller}: {len(names)} branches of {type(estimator).__name__} could be "
            f"meant: {names}. Pass one of them and its own input: of a "
            f"ColumnTransformer ct, ct.named_transformers_[{last!r}] and its column "
            f"of X; of a FeatureUnion union, union.named_transformers[{last!r}]."
        )
    if routes:
        return routes[0]
    estimator = unwrap_fitted(estimator, caller)
    steps = [step for _, step in _flat_steps(estimator, caller)]
    return Route("", tuple(steps) or (estimator,))


def _moves_for(X, moves):
    """Return the moves that apply to X: texts alone have no columns to select."""
    selects = [i for i, move in enumerate(moves) if isinstance(move, Columns)]
    return moves[selects[-1] + 1 :] if selects and _is_one_column(X) else moves


def _is_one_column(X):
    if isinstance(X, list | tuple):  # also of None among texts, or of token lists
        return np.asarray(X, dtype=object).ndim == 1
    is_container = isinstance(X, TokenSequences | EmbeddedSequences)
    return is_container or len(getattr(X, "shape", ())) == 1


def _routes(estimator, is_wanted, caller, name="", moves=()):
    """Return a Route for each branch with a wanted step."""
    estimator = unwrap_fitted(estimator, caller)
    for own_name, step in _flat_steps(estimator, caller) or [("", estimator)]:
        # Behind a wanted step branches read what it gives, and are not looked into.
        branches = parallel_branches(step) if not any(map(is_wanted, moves)) else []
        routes = [
            route
            for branch, inner, select in branches
            for route in _routes(
                inner, is_wanted, caller, _join(name, own_name, branch), moves + select
            )
        ]
        if routes:
            return routes
        moves = (*moves, step)
    return [Route(name, moves)] if any(map(is_wanted, moves)) else []


def _flat_steps(estimator, caller, name=""):
    """Return (name, step) pairs of a Pipeline, and of Pipelines among its steps."""
    found = []
    for own_name, step in _steps(estimator):
        if step is None or isinstance(step, str):
            continue
        full_name, step = _join(name, own_name), unwrap_fitted(step, caller)
        found += _flat_steps(step, caller, full_name) or [(full_name, step)]
    return found


def _steps(estimator):
    return getattr(estimator, "steps", ())


def parallel_branches(estimator):
    """Return the parallel parts of an estimator: names, estimators, what selects."""
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import FeatureUnion

    if isinstance(estimator, ColumnTransformer):
        check_is_fitted(estimator)
        given = estimator.transformers_
        found = [(name, part, (Columns(select),)) for name, part, select in given]
    elif isinstance(estimator, FeatureUnion):
        found = [(name, part, ()) for name, part in estimator.transformer_list]
    else:
        found = []
    return [each for each in found if not isinstance(each[1], str | None)]


def unwrap_fitted(estimator, caller):
    """Return what a search or another estimator around a single one has fitted.

    Raises
    ------
    NotFittedError
        If a search has not refitted its best candidate.
    """
    if hasattr(estimator, "best_estimator_"):
        return unwrap_fitted(estimator.best_estimator_, caller)
    # Transformers work by themselves, and the estimator_ of an ensemble is a template.
    wraps = not (hasattr(estimator, "transform") or hasattr(estimator, "estimators_"))
    for name in ("regressor_", "estimator_"):
        if wraps and hasattr(estimator, name):
            return unwrap_fitted(getattr(estimator, name), caller)
    if hasattr(estimator, "refit") and hasattr(estimator, "estimator"):
        raise NotFittedError(
            f"{caller}: this {type(estimator).__name__} has no fitted estimator. Fit "
            "it, with refit=True or the name of a metric."
        )
    return estimator


def _join(*names):
    return "__".join(name for name in names if name)
