"""The models of a stack, and their decision values out of fold.

Imported when an estimator is fitted, so that the package does not load scikit-learn's
models.
"""

from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from .._core._arrays import vary_by_rounding
from .._pipelines import flat_steps
from .._stacking import fit_on_folds, fit_part
from .._targets import decision_values, errors_of_model, per_column
from .._training._device import one_blas_thread
from ..sequences._api import explained_token_errors
from ._stacked_linear import LinearFit
from ._stacked_rows import FORMS


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
            model = fit_part(
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
