"""The models of a stack: out-of-fold decision values, penalties and weights.

Imported when an estimator is fitted, so that the package does not load scikit-learn's
models.
"""

import copy
import warnings
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.sparse import issparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, r2_score
from sklearn.pipeline import Pipeline
from sklearn.utils.parallel import Parallel, delayed

from .._core._arrays import vary_by_rounding
from .._core._sample_weights import fit_model
from .._pipelines import flat_steps
from .._targets import decision_values, errors_of_model, per_column
from .._training._one_blas_thread import one_blas_thread
from ..sequences._api import explained_token_errors
from ._label_regression import LabelRegression
from ._stacked_folds import MANY_ROWS
from ._stacked_rows import FORMS

# For rows of unit length, from strong to weak; the middle one is the default.
_INVERSE_PENALTIES = (1.0, 10.0, 100.0)
_LEAST_SQUARE = 1e-12  # relative; of products in float64
_FEW_ROWS = 100  # with fewer, folds cannot distinguish penalties
# Penalty of half the squared distance of the weights from the plain concatenation.
_PULL = 3.0
_LEAST_WEIGHT = 0.1  # share of the default one, so that no sum vanishes
_LEAST_LENGTH = 1e-3  # root mean square of decision values, for the same reason


class Fitted(NamedTuple):
    """A model of a stack.

    Attributes
    ----------
    model : estimator or list of estimator
        Fitted on all rows; or one per fold, fitted without its rows. The mean of their
        decision values counts.
    form : str
        The form of the rows that it reads.
    decisions : ndarray of shape (n_rows, n_columns)
        Decision values of models that have not seen the row; of the model where the
        row was not held out.
    """

    model: Any
    form: str
    decisions: np.ndarray


def fit_members(members, rows, target, folds, sample_weight, n_jobs):
    """Return the `Fitted` model of each member.

    Parameters
    ----------
    members : list of Member
    rows : StackRows
    target : Target
    folds : Folds
    sample_weight : ndarray of shape (n_rows,) or None
    n_jobs : int or None
    """
    common = target, folds, sample_weight
    with one_blas_thread():
        return Parallel(n_jobs=n_jobs)(
            delayed(_fit_named)(
                name,
                estimator,
                {form: rows.read(name, form) for form in forms},
                *common,
            )
            for name, estimator, forms in members
        )


def _fit_named(name, estimator, *args):
    """Return the result of `fit_member`; errors of a user's estimator are named."""
    if estimator is None:
        return fit_member(estimator, *args)
    with errors_of_model(f"model {name!r}", estimator):
        return fit_member(estimator, *args)


def fit_member(estimator, inputs, target, folds, sample_weight):
    """Return the `Fitted` model of the best form of the rows.

    Parameters
    ----------
    estimator : estimator or None
        None is a linear model whose penalty is chosen.
    inputs : dict of str to array or container
        What the model reads of the training rows, by form; later forms are used only if
        they are clearly better.
    target : Target
    folds : Folds
    sample_weight : ndarray of shape (n_rows,) or None
    """
    with (
        config_context(
            assume_finite=True,  # checks take half the time of a fit on few rows
            skip_parameter_validation=True,
        ),
        one_blas_thread(),
    ):
        fitter = _Fitter(target, folds, sample_weight)
        best_form, best = None, None
        for name, X in inputs.items():
            form = FORMS[name]
            if form.per_fold:
                with _explained_errors(estimator, form):
                    models, decisions = fit_on_folds(
                        estimator, X, target, folds, sample_weight
                    )
                return Fitted(models, name, decisions)
            if form.per_dimension:
                if len(X) < X.shape[1]:
                    continue
                X = without_noise(X)
            choice = fitter.choose(_grid_of(estimator, X, form, target), X)
            if best is None or _is_clearly_less(choice.row_losses, best.row_losses):
                best_form, best = name, choice
        return fitter.fit(best_form, best)


def _explained_errors(estimator, form):
    """Advise what to do if a model of `models` takes str instead of tokens."""
    if form.reads != "tokens":
        return nullcontext()
    what = f"{type(flat_steps(estimator)[0]).__name__} in `models`"
    remedy = (
        "Models that read texts receive tokens. Pass analyzer=list to a vectorizer, or "
        "wrap a transformer that takes str: EstimatorEmbedding(..., as_text=True)."
    )
    return explained_token_errors(estimator, what, remedy)


class _Grid(NamedTuple):
    """Models to choose from: one with several values of a parameter."""

    model: Any
    parameter: str | None  # None is a model without choice
    values: tuple
    features: Any = None  # a transformer before the model, which needs no labels


def fit_on_folds(estimator, X, target, folds, sample_weight, change_rows=None):
    """Return a model per fold, fitted without its rows, and their decision values.

    The mean of these models takes one fit less than a model of all rows, and is at
    least as accurate where single models vary, as networks do.

    Parameters
    ----------
    estimator : estimator
    X : array or container of rows
    target : Target
    folds : Folds
        Without folds, one model is fitted on all rows.
    sample_weight : ndarray of shape (n_rows,) or None
    change_rows : callable, default=None
        Returns the rows to fit a model on, from a copy of its training rows.

    Returns
    -------
    models : list of estimator
    decisions : ndarray of shape (n_rows, n_columns)
        Relative to the center of the target, of models that have not seen the row; the
        mean of all models where the row was not held out.
    """
    estimator = per_column(estimator, target)
    models, decisions = [], np.zeros(target.columns.shape)
    for train, test in folds.pairs or [(np.arange(len(X)), np.arange(0))]:
        rows = X[train] if change_rows is None else change_rows(X[train])
        model = _fit(clone(estimator), rows, target, folds, sample_weight, train)
        models.append(model)
        if len(test):
            decisions[test] = decision_values(model, X[test], target) - target.center
    seen = np.flatnonzero(~folds.held_out)
    if len(seen):
        decisions[seen] = decision_values(models, X[seen], target) - target.center
    return models, decisions


def _fit(model, X, target, folds, sample_weight, rows):
    """Return a model fitted on X, which are some rows of the training data."""
    weights = None if sample_weight is None else sample_weight[rows]
    groups = None if folds.groups is None else folds.groups[rows]
    return fit_model(model, X, target.y[rows], weights, groups)


def held_out_score(target, is_held_out, sample_weight, decisions):
    """Return the accuracy or coefficient of determination of rows that are held out.

    NaN if there are fewer than two, or none of them has a weight.
    """
    if np.count_nonzero(is_held_out) < 2:
        return float("nan")
    weights = None if sample_weight is None else sample_weight[is_held_out]
    if weights is not None and not weights.any():
        return float("nan")
    score = r2_score if target.kind == "numbers" else accuracy_score
    predictions = target.decode(decisions)[is_held_out]
    return float(score(target.y[is_held_out], predictions, sample_weight=weights))


def row_weights(target, sample_weight):
    """Return the weights of rows in comparisons, (n_rows,); 0 for rare classes."""
    weights = target.is_common.astype(np.float64)
    return weights if sample_weight is None else weights * sample_weight


def _grid_of(estimator, X, form, target):
    """Return the `_Grid` of a `Form` of the rows."""
    has_few_rows = np.count_nonzero(target.is_common) < _FEW_ROWS
    strengths = _INVERSE_PENALTIES[1:2] if has_few_rows else _INVERSE_PENALTIES
    features = form.make_features() if form.make_features else None
    dim = X.shape[1] if form.per_dimension else 1
    if target.has_column_per_class and target.n_common_classes == 2:
        # Two columns w/2 and -w/2 replace one column w and have half its penalty, so C
        # is halved.
        strengths = tuple(strength / 2 for strength in strengths)
    if estimator is not None:
        grid = _Grid(per_column(clone(estimator), target), None, (None,), features)
    elif target.kind == "numbers":
        values = tuple(dim / value for value in strengths)
        grid = _Grid(Ridge(), "alpha", values, features)
    else:
        # Takes a third of the time of lbfgs.
        model = LogisticRegression(solver="newton-cg", max_iter=1000)
        if target.kind == "labels":
            model = LabelRegression()
        values = tuple(value / dim for value in strengths)
        grid = _Grid(model, "C", values, features)
    return grid


class _Choice(NamedTuple):
    """The best model of a grid.

    Attributes
    ----------
    model : estimator
    features : transformer or None
        Fitted; the step before the model.
    X : array or other rows
        The input of the model, or its `RowSpace`.
    row_losses : ndarray or None
        By held-out row; None if there are none.
    decisions : dict of int to ndarray
        Decision values of the test rows of each fold used to choose the model, by the
        index of the fold.
    """

    model: Any
    features: Any
    X: Any
    row_losses: np.ndarray | None
    decisions: dict


class _Fitter:
    """Fits and compares models on the rows of a stack."""

    def __init__(self, target, folds, sample_weight):
        self.target, self.folds = target, folds
        self.sample_weight = sample_weight
        self.row_weights = row_weights(target, sample_weight)
        self._compared_weights = self.row_weights * folds.held_out

    def choose(self, grid, X):
        """Return the `_Choice` of a grid."""
        if grid.features is not None:
            X = grid.features.fit_transform(X)
        if hasattr(X, "dtype"):
            X = X.astype(np.float64)  # in float32, solvers stop early and warn
            if grid.parameter is not None and X.shape[0] < min(X.shape[1], MANY_ROWS):
                X = RowSpace(X)
        place, row_losses, decisions = self._least_loss(grid, X)
        model = clone(grid.model)
        if grid.parameter is not None:
            model.set_params(**{grid.parameter: grid.values[place]})
        return _Choice(model, grid.features, X, row_losses, decisions)

    def _least_loss(self, grid, X):
        """Return the place of the best value of a grid, and the results of that value.

        These are `row_losses` and `decisions`, as in `_Choice`.
        """
        pairs = self.folds.pairs
        if not pairs:
            return len(grid.values) // 2, None, {}
        if self.folds.large is not None:
            return self._first_minimum(grid, X, *self.folds.large)
        by_fold = {}
        row_losses = np.zeros((len(grid.values), len(self.target.columns)))
        for i, (train, test) in enumerate(pairs):
            by_fold[i] = np.stack([*self._decisions_on_grid(grid, X, train, test)])
            row_losses[:, test] = self._losses(by_fold[i], test)
        place = _nearest_to_default(row_losses)
        decisions = {i: of_values[place] for i, of_values in by_fold.items()}
        return place, row_losses[place], decisions

    def _first_minimum(self, grid, X, train, test):
        """Return the first place before the loss of one fold stops falling.

        With its losses and its decisions, as `_least_loss`. If the loss only falls, it
        is the last place.
        """
        best = None
        for i, decisions in enumerate(self._decisions_on_grid(grid, X, train, test)):
            row_losses = self._losses(decisions, test)
            if best is not None and row_losses.sum() >= best[1].sum():
                break
            best = i, row_losses, {0: decisions}
        return best

    def _losses(self, decisions, test):
        """Return the weighted loss of some rows, (..., n_rows)."""
        target, decisions = self.target.without_empty_classes(
            decisions, self._compared_weights
        )
        row_losses = target.losses(decisions, target.columns[test])
        return row_losses * self.row_weights[test]

    def _decisions_on_grid(self, grid, X, train, test):
        """Yield the decision values of test rows for each value of a grid."""
        model = clone(grid.model)
        if isinstance(model, LogisticRegression | LabelRegression):
            model.set_params(warm_start=True)
        for value in grid.values:
            if grid.parameter is not None:
                model.set_params(**{grid.parameter: value})
            yield self._fit_and_decide(model, X, train, test)

    def _fit_and_decide(self, model, X, train, test):
        """Fit a model on training rows, and return its decision values of test rows."""
        _fit(model, X[train], self.target, self.folds, self.sample_weight, train)
        return decision_values(model, X[test], self.target) - self.target.center

    def fit(self, form, choice):
        """Return the `Fitted` model of a choice."""
        X, model = choice.X, clone(choice.model)
        every = slice(None)  # a `RowSpace` returns the coordinates of these rows
        decisions = self._fit_and_decide(model, X, every, every)
        for i, (train, test) in enumerate(self.folds.pairs):
            held_out = choice.decisions.get(i)
            if held_out is None:
                held_out = self._fit_and_decide(clone(choice.model), X, train, test)
            decisions[test] = held_out
        if isinstance(X, RowSpace):
            X.move_coefficients(model)
        if choice.features is not None:
            model = Pipeline([("features", choice.features), ("model", model)])
        return Fitted(model, form, decisions)


class RowSpace:
    r"""Rows in coordinates of the space that they span, for linear models.

    Indexing returns coordinates, (n_rows, rank), in an orthonormal basis. A linear
    model whose penalty is the sum of squared coefficients has its solution in that
    space, and the same predictions in any such basis. If there are fewer rows than
    dimensions, the cost of each fit depends on the number of rows only.

    Parameters
    ----------
    X : ndarray or CSR array of shape (n_rows, n_dims)

    Notes
    -----
    With :math:`X X^\top = V \Lambda V^\top` the coordinates are
    :math:`V \Lambda^{1/2}`, and coefficients w of them are
    :math:`X^\top V \Lambda^{-1/2} w` of the dimensions.
    """

    def __init__(self, X):
        self._X = X
        products = X @ X.T
        if issparse(products):
            products = products.toarray()
        squares, vectors = np.linalg.eigh(products)
        kept = squares > _LEAST_SQUARE * squares[-1]
        if not kept.any():  # rows of zeros
            kept[-1] = True
            squares[-1] = 1.0
            vectors[:, -1] = 0.0
        self._vectors, self._lengths = vectors[:, kept], np.sqrt(squares[kept])
        self._coordinates = self._vectors * self._lengths

    def __getitem__(self, rows):
        return self._coordinates[rows]

    def move_coefficients(self, model):
        """Convert the coefficients of a model from coordinates to dimensions."""
        model.coef_ = (model.coef_ / self._lengths) @ self._vectors.T @ self._X
        model.n_features_in_ = self._X.shape[1]


def _nearest_to_default(row_losses):
    """Return the index nearest to the middle, the default, that is not clearly worse.

    `row_losses` has shape (n_values, n_rows); a value is not clearly worse if its loss
    is within one standard error of the smallest one.
    """
    gaps = row_losses - row_losses[row_losses.sum(axis=1).argmin()]
    errors = gaps.std(axis=1) * np.sqrt(row_losses.shape[1])
    near = np.flatnonzero(gaps.sum(axis=1) <= errors)
    return int(near[np.abs(near - len(row_losses) // 2).argmin()])


def _is_clearly_less(new, old):
    """Return whether losses by row are less than others by two standard errors."""
    if new is None or old is None or len(new) < 2:
        return False
    difference = old - new
    return difference.mean() > 2 * difference.std(ddof=1) / np.sqrt(len(new))


def without_noise(X):
    """Return vectors, (n_rows, dim), where dimensions of rounding noise are constant.

    Scaled to unit variance, they would dominate the rows that differ in them.
    """
    mean, std = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
    noise = vary_by_rounding(mean, std)
    if noise.any():
        X = X.copy()
        X[:, noise] = mean[noise]
    return X


def shrinkage(decisions, target, held_out_weights):
    """Return a factor of at most 1 for the decision values of a model.

    It makes the loss of held-out rows least, so that a model that misleads counts
    little, and decision values that are not log odds are in their units. With few rows
    it is close to 1.

    Parameters
    ----------
    decisions : ndarray of shape (n_rows, n_columns)
        Decision values out of fold.
    target : Target
    held_out_weights : ndarray of shape (n_rows,)
        As for `fit_weights`.
    """
    decisions = decisions / target.scale
    largest = np.abs(decisions).max(initial=_LEAST_LENGTH)
    length = largest * np.sqrt(np.mean(np.square(decisions / largest)))
    if length <= _LEAST_LENGTH:
        return 1.0
    unit = decisions / length
    columns = target.columns / target.scale

    def slope(scale):
        """Return the derivative of the loss by the length, which increases."""
        errors = held_out_weights[:, None] * (
            target.inverse_link(scale * unit) - columns
        )
        return np.vdot(errors, unit) + _PULL * (scale / length - 1) / length

    if slope(length) <= 0:
        return 1.0
    if slope(_LEAST_LENGTH) >= 0:
        return _LEAST_LENGTH / length
    # On a logarithmic scale, which converges for decision values of any size.
    ends = np.log(_LEAST_LENGTH), np.log(length)
    return np.exp(brentq(lambda log: slope(np.exp(log)), *ends, xtol=1e-2)) / length


def fit_weights(decisions, target, held_out_weights, defaults, are_shrunk):
    """Return nonnegative weights of models, (n_models,).

    Parameters
    ----------
    decisions : ndarray of shape (n_models, n_rows, n_columns)
        Decision values out of fold.
    target : Target
    held_out_weights : ndarray of shape (n_rows,)
        The weights of rows, 0 for those that are not held out or do not count.
    defaults : ndarray of shape (n_models,)
        The default weights. With few rows, the result is close to them; it is at least
        a tenth of each.
    are_shrunk : sequence of bool
        Whether the decision values of each model are multiplied by their `shrinkage`
        before, as those of models that users pass. The factor is part of the weight.
    """
    if 0 < held_out_weights.max() < 0.1:
        warnings.warn(
            f"the largest weight of a row is {held_out_weights.max():.2g}. A row of "
            "weight 2 counts as two rows, so penalties outweigh these rows. Divide "
            "sample_weight by its mean.",
            stacklevel=2,
        )
    target, decisions = target.without_empty_classes(decisions, held_out_weights)
    factors = np.ones(len(decisions))
    for i in np.flatnonzero(are_shrunk):
        factors[i] = shrinkage(decisions[i], target, held_out_weights)
    if np.any(factors != 1):
        decisions = decisions * factors[:, None, None]
    if target.kind == "numbers" and held_out_weights.any():
        # In units of the error of the default weights, for each column.
        errors = (np.tensordot(defaults, decisions, 1) - target.columns) / target.scale
        means = np.average(np.square(errors), axis=0, weights=held_out_weights)
        means = np.maximum(means, _LEAST_SQUARE)
        target = copy.copy(target)
        target.scale = target.scale * np.sqrt(means)

    def objective(weights):
        sums = np.tensordot(weights, decisions, 1)
        slopes = target.inverse_link(sums) - target.columns
        slopes = held_out_weights[:, None] * slopes / np.square(target.scale)
        away = weights - defaults
        loss = (held_out_weights * target.losses(sums, target.columns)).sum()
        gradient = np.tensordot(decisions, slopes, 2)
        return loss + _PULL / 2 * away @ away, gradient + _PULL * away

    bounds = [(weight * _LEAST_WEIGHT, None) for weight in defaults]
    result = minimize(objective, defaults, jac=True, method="L-BFGS-B", bounds=bounds)
    return factors * result.x
