"""TableClassifier and TableRegressor: weighted sums of learners for encoded tables."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from functools import lru_cache, partial
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import ThreadpoolController

from .._core._errors import NamedErrorsMixin, plural
from .._core._estimators import (
    fit_context,
    fit_task,
    part_tasks,
)
from .._core._inherited_docs import inherit_docs
from .._core._optional import progress_bar
from .._core._sklearn import CallbackSupportMixin, with_callbacks
from .._stacking import WeightedSumMixin
from .._targets import (
    TargetClassifierMixin,
    TargetRegressorMixin,
    check_predictor,
    errors_of_model,
)
from .._training._device import one_blas_thread
from ..sequences._api import find_copies
from ._learners import (
    LEARNERS,
    NumbersInputMixin,
    as_float32,
    decide,
    fit_estimator,
    offset,
)

_LEARNERS = ("boosting", "trees", "linear")
# Boosting waits for all threads after each of thousands of short loops: on a machine
# that does other work, two threads take 30 times as long as one for a small table.
_FEWEST_CELLS = 1_000_000  # that several threads need
# The limit of OpenMP belongs to a thread, and the limit of BLAS to the process.
_ONE_THREAD: dict[str, Any] = {"limits": 1, "user_api": "openmp"}
_MANY_COPIES = 0.1  # share of the rows; from this share on, a warning counts copies


class _TableModel(
    WeightedSumMixin,
    NumbersInputMixin,
    CallbackSupportMixin,
    NamedErrorsMixin,
    BaseEstimator,
):
    """Fit learners and the weights of their sum.

    The parameters and attributes below are those of the subclasses: `inherit_docs` adds
    them to their docstrings.

    Parameters
    ----------
    n_jobs : int, default=None
        Number of learners to fit in parallel, with one thread each. None fits one
        learner after the other, with all cores if X has a million numbers or more.
    verbose : int, default=0
        1 shows a progress bar. scikit-learn's own is set with ``set_callbacks``: each
        learner is a task.
    random_state : int, RandomState instance or None, default=None
        Determines the folds and the learners.

    Attributes
    ----------
    weights_ : dict of str to float
        Weight of each learner in the sum.
    scores_ : dict of str to float
        Accuracy or coefficient of determination of each learner, and of the weighted
        "sum", on rows that the learners have not seen. NaN if no row could be held out.
    estimators_ : dict of str to list of estimator
        The fitted models of each learner, whose decision values are averaged.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str objects, shape (n_features_in_,)
        Names of the columns, if all are str.
    """

    _parameter_constraints: dict = {
        "learners": [list, tuple],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        learners: Sequence[Any] = _LEARNERS,
        *,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.learners = learners
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @fit_context
    @with_callbacks
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit the learners, and learn their weights from rows that they have not seen.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Numbers, NaN where missing, such as the output of a `TableEncoder`.
        y : array-like of shape (n_rows,) or (n_rows, n_columns)
            The target.
        sample_weight : array-like of shape (n_rows,), default=None
            Weight of each row in the learners, their weights and the scores. Rows of
            weight 0 are ignored.
        groups : array-like of shape (n_rows,), default=None
            Rows of one group are in one fold. None groups copies of rows.

        Returns
        -------
        estimator instance
            The fitted estimator.
        """
        table = self._rows(X, reset=True)
        training = self._training_rows(table, y, sample_weight, groups)
        target = training.target
        if len(training.kept) < len(table):
            table = table[training.kept]
        rng, copies = check_random_state(self.random_state), None
        if training.groups is None:
            copies = find_copies([*table.T], target.columns)
        training.divide(copies, rng, "row")
        if training.folds.pairs and copies is not None:
            _warn_of_copies(copies)
        learners = self._read_learners()
        with fit_task(self, table, target.y, len(learners)) as context:
            fitted = self._fit_learners([*learners.values()], table, training, rng)
            parts = [*part_tasks(self, context, learners, fitted)]
            models = {n: m for n, (m, _) in zip(learners, parts, strict=True)}
            decisions = np.stack([each for _, each in parts])
            defaults = np.full(len(learners), 1 / len(learners))
            # Built-in learners are shrunk like users' models, because they may overfit
            # too, for example to copies.
            are_shrunk = [True] * len(learners)
            self._learn_weights(training, models, decisions, defaults, are_shrunk)
            total = np.tensordot([*self.weights_.values()], decisions, 1)
            self.scores_["sum"] = training.score(total)
        return self

    def _read_learners(self):
        """Return the function that fits each learner, by the learner's name."""
        learners = {}
        for learner in self.learners:
            if isinstance(learner, str):
                if learner not in LEARNERS:
                    raise ValueError(
                        f"learners has {learner!r}, which is not a learner. Use one of "
                        f"{_LEARNERS}, or pass a pair of a name and an estimator."
                    )
                name, fit = learner, LEARNERS[learner]
            elif isinstance(learner, list | tuple) and len(learner) == 2:
                name, estimator = learner
                check_predictor(estimator, self._target_kind, f"learner {name!r}")
                fit = partial(fit_estimator, name, estimator)
            else:
                raise ValueError(
                    "learners must be names or pairs of a name and an estimator; got "
                    f"{learner!r}."
                )
            if name in (*learners, "sum"):
                raise ValueError(
                    f"learners has two learners named {name!r}. Rename one; 'sum' "
                    "is the name of their sum."
                )
            learners[name] = fit
        if not learners:
            raise ValueError("learners is empty: at least one is needed.")
        return learners

    def _fit_learners(self, learners, X, training, rng):
        """Yield the models and decision values of learners, fitted in parallel."""
        is_single = self.n_jobs is not None or X.size < _FEWEST_CELLS
        shared = X, training.target, training.folds, training.sample_weight
        if is_single:
            controller = _thread_controller(len(sys.modules))
            learners = map(controller.wrap(**_ONE_THREAD), learners)
        calls = [delayed(fit)(*shared, int(rng.randint(2**31 - 1))) for fit in learners]
        parallel = Parallel(self.n_jobs, prefer="threads", return_as="generator")
        shown = {"total": len(calls), "desc": "learners", "disable": not self.verbose}
        with one_blas_thread() if is_single else nullcontext():
            yield from progress_bar(parallel(calls), **shown)

    def _rows(self, X, *, reset=False):
        """Return X as float32, after subtracting the median where float32 needs it."""
        X = self._numbers(X, [np.float32, np.float64], reset=reset)
        is_float32 = X.dtype == np.float32
        if reset:
            self._offsets = np.array([0.0 if is_float32 else offset(x) for x in X.T])
        if is_float32 and not self._offsets.any():
            return X
        return as_float32(X - self._offsets)

    def _decide(self, X):
        """Return the weighted sum of decision values, relative to the center."""
        check_is_fitted(self)
        X = self._rows(X)
        total = np.zeros((len(X), self._target.n_columns))
        if not len(X):
            return total
        controller = _thread_controller(len(sys.modules))
        is_single = X.size < _FEWEST_CELLS
        with controller.limit(**_ONE_THREAD) if is_single else nullcontext():
            for name, models in self.estimators_.items():
                with errors_of_model(f"learner {name!r}", models[0]):
                    for model in models:
                        own = decide(model, X, self._target) - self._target.center
                        total += self.weights_[name] / len(models) * own
        return total


@inherit_docs(_TableModel)
class TableClassifier(TargetClassifierMixin, _TableModel):
    r"""Classify rows of numbers by a weighted sum of learners of different kinds.

    Gradient boosting, extremely randomized trees and a linear model are fitted on the
    same columns. Their log odds are summed with nonnegative weights, which are learned
    from predictions of rows that the learners have not seen. It is the model of
    `make_table_pipeline`, after a `TableEncoder`.

    Parameters
    ----------
    learners : list, default=("boosting", "trees", "linear")
        Names of built-in learners, or pairs of a new name and any classifier.
        "boosting" is a `HistGradientBoostingClassifier`, "trees" an
        `ExtraTreesRegressor` of indicators of the classes, "linear" a
        `LogisticRegression`. Classifiers that do not accept missing values receive
        imputed and scaled columns.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as for scikit-learn's classifiers.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes in y; for an indicator matrix, the column numbers.

    Raises
    ------
    ValueError
        If y is missing or has one class, or if a learner is unknown.

    Warns
    -----
    UserWarning
        If y has classes of very few rows, or a tenth of the rows are copies of others.

    See Also
    --------
    make_table_pipeline : Make a pipeline of a `TableEncoder` and this model.
    StackedMetaClassifier : A weighted sum of models of sequences.

    Notes
    -----
    With :math:`f_k` the log odds of learner k, the prediction is made from
    :math:`\sum_k w_k f_k(x)`. The weights minimize the log loss of predictions of rows
    that the learners have not seen plus :math:`\frac{3}{2} \lVert w - w^0 \rVert^2`,
    where :math:`w^0` are equal weights. Each weight is at least a tenth of :math:`w^0`.
    Boosting and further classifiers are fitted on the training part of each of five
    folds (three for 1,500 rows or more), and their mean predicts; the linear model is
    fitted once more on all rows. Each group of three trees divides the rows into three
    parts, and each tree is fitted without one part, on at most 20,000 rows. Rows of one
    group are in one fold and one part. The columns are float32. The median is
    subtracted from numbers that float32 cannot distinguish.

    Without `groups`, copies are groups: rows that are equal in all columns, with
    targets that differ by at most a tenth of their variance on average. Rows of tables
    with few columns and few values are not copies: independent columns would have a
    tenth as many pairs of equal rows.

    The rows and the column of a rare class, as defined in `StackedMetaClassifier`, do
    not count in the choice of weights.

    Decision values can be too extreme, and those of further classifiers need not be log
    odds. Each learner's values are first multiplied by a factor c of at most 1 that
    minimizes their log loss plus :math:`\frac{3}{2} (c - 1)^2`. The weight includes c.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_metaembed import TableClassifier
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = np.where(X[:, 0] > 0, "up", "down")
    >>> model = TableClassifier(random_state=0).fit(X, y)
    >>> model.predict([[1.0, 0.0, 0.0], [-1.0, 0.0, np.nan]]).tolist()
    ['up', 'down']
    """

    _parameter_constraints: dict = {
        **_TableModel._parameter_constraints,
        "class_weight": [dict, str, None],
    }

    def __init__(
        self,
        learners: Sequence[Any] = _LEARNERS,
        *,
        class_weight: dict[Any, float] | str | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        super().__init__(
            learners, n_jobs=n_jobs, verbose=verbose, random_state=random_state
        )
        self.class_weight = class_weight


@inherit_docs(_TableModel)
class TableRegressor(TargetRegressorMixin, _TableModel):
    r"""Predict numbers from rows of numbers by a weighted sum of learners.

    Gradient boosting, extremely randomized trees and a linear model are fitted on the
    same columns. Their predictions are summed with nonnegative weights, which are
    learned from predictions of rows that the learners have not seen. It is the model of
    `make_table_pipeline`, after a `TableEncoder`.

    Parameters
    ----------
    learners : list, default=("boosting", "trees", "linear")
        Names of built-in learners, or pairs of a new name and any regressor. "boosting"
        is a `HistGradientBoostingRegressor`, "trees" an `ExtraTreesRegressor`, "linear"
        a `Ridge`. Regressors that do not accept missing values receive imputed and
        scaled columns.

    Raises
    ------
    ValueError
        If y is missing or is not numeric, or if a learner is unknown.

    Warns
    -----
    UserWarning
        If a tenth of the rows are copies of others.

    See Also
    --------
    TableClassifier : The classifier, whose Notes describe the computation.
    StackedMetaRegressor : A weighted sum of models of sequences.

    Notes
    -----
    The prediction is :math:`\bar y + \sum_k w_k (f_k(x) - \bar y)`. The weights
    minimize the squared error of predictions of rows that the learners have not seen,
    divided by twice the squared error of equal weights, plus :math:`\frac{3}{2} \lVert
    w - w^0 \rVert^2`.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_metaembed import TableRegressor
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> model = TableRegressor(random_state=0).fit(X, 2 * X[:, 0])
    >>> model.predict([[1.0, 0.0, 0.0]]).round().tolist()
    [2.0]
    """


def _warn_of_copies(copies):
    """Warn if a tenth of the rows or more are copies of others."""
    counts = np.bincount(copies, minlength=len(copies))
    n_copied = int(counts[counts > 1].sum())
    if n_copied >= _MANY_COPIES * len(copies):
        warnings.warn(
            f"{n_copied:,} of {plural(len(copies), 'row')} equal another row in all "
            "columns, with equal targets. Equal rows are kept in one fold, because "
            "a learner that has seen a copy of a row knows its target. If they are "
            "independent observations, pass groups=numpy.arange(len(X)) to fit.",
            UserWarning,
            stacklevel=3,
        )


@lru_cache(maxsize=1)
def _thread_controller(n_modules):
    """Return a controller for the threads of all loaded libraries.

    Finding the libraries is slow. The search is repeated only if more modules are
    imported, because a learner may have loaded another library.
    """
    return ThreadpoolController()
