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
from sklearn import config_context
from sklearn.base import clone
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.parallel import Parallel, delayed

from .._core._arrays import vary_by_rounding
from .._core._sample_weights import fit_model
from .._pipelines import flat_steps
from .._targets import decision_values, errors_of_model, per_column
from .._training._device import one_blas_thread
from ..sequences._api import explained_token_errors
from ._stacked_linear import LinearFit
from ._stacked_rows import FORMS

_LEAST_SQUARE = 1e-12  # relative
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
            rows = target, folds, sample_weight
            if estimator is None:
                fit = LinearFit(X, form, *rows)
            else:
                fit = _GivenFit(estimator, X, *rows)
            if best is None or _is_clearly_less(fit.row_losses, best.row_losses):
                best_form, best = name, fit
        return Fitted(best.model(), best_form, best.decisions())


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


class _GivenFit:
    """A user's model, fitted on all rows and without the rows of each fold."""

    row_losses = None  # they compare forms, of which such a model reads only one

    def __init__(self, estimator, X, target, folds, sample_weight):
        X = X.astype(np.float64)  # in float32, solvers stop early and warn
        estimator = per_column(clone(estimator), target)
        self._decisions = np.zeros(target.columns.shape)
        every = np.arange(len(X))
        for train, test in [(every, every), *folds.pairs]:
            model = _fit(
                clone(estimator), X[train], target, folds, sample_weight, train
            )
            decisions = decision_values(model, X[test], target)
            self._decisions[test] = decisions - target.center
            if test is every:
                self._model = model

    def model(self):
        """Return the model of all rows."""
        return self._model

    def decisions(self):
        """Return decision values out of fold, less the center, (n_rows, n_columns)."""
        return self._decisions


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
