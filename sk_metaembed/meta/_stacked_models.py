"""The models of a stack: folds, out-of-fold decision values, penalties and weights.

Imported when an estimator is fitted, so that the package does not load scikit-learn's
models.
"""

import warnings
from dataclasses import replace
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import issparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    check_cv,
)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

from .._core._sample_weights import weight_params
from ._ngram_features import CharacterFeatures, WordFeatures
from ._stacked_decisions import WHOLE, PerLabel, decides_labels, decisions
from ._stacked_targets import expected, losses, predicted

# Inverse penalties for rows of unit length, from strong to weak.
_USUAL = 10.0
_INVERSE_PENALTIES = (1.0, _USUAL, 100.0)
_LEAST_SPREAD = 1e-5  # relative; float32 has noise of 1e-7
_LEAST_SQUARE = 1e-12  # relative; of products in float64
_FOLDS = 5
_FEW_FOLDS = 3  # with many rows, which need no large training parts
_MANY_ROWS = 1500
_FEW_ROWS = 100  # with fewer, folds cannot distinguish penalties
_ENOUGH_ROWS = 300  # in a fold, to choose a model by it alone
# Penalty of half the squared distance of the weights from the plain concatenation.
_PULL = 3.0
_LEAST_WEIGHT = 0.1  # share of the usual one, so that no sum vanishes


class Folds(NamedTuple):
    """A division of the training rows into folds.

    Attributes
    ----------
    folds : list of (train, test)
        Positions of rows.
    held_out : ndarray of bool, shape (n_rows,)
        Whether a model has not seen the row. The only rows of a class are in every
        training part.
    """

    folds: list
    held_out: np.ndarray

    @property
    def large(self):
        """The first fold, if it is large enough to choose a model by; else None."""
        is_large = self.folds and len(self.folds[0][1]) >= _ENOUGH_ROWS
        return self.folds[0] if is_large else None


def make_folds(cv, target, groups, copies, random_state):
    """Return the `Folds` of a target's rows.

    `copies` has the same number for equal rows, which are in one fold unless there are
    `groups`; it is None if there are none.
    """
    labels = target.y if target.kind == "classes" else None
    if cv is None or isinstance(cv, Integral):
        if cv is None:
            has_many = np.count_nonzero(target.counted) >= _MANY_ROWS
            cv = _FEW_FOLDS if has_many else _FOLDS
        rng = check_random_state(random_state)
        folds = _division(cv, labels, target.counted, groups, copies, rng)
    else:
        folds = given_folds(cv, target.y, groups)
    return as_folds(folds, target)


def as_folds(folds, target):
    """Return the `Folds` of (train, test) pairs, with all classes in training parts."""
    if target.kind == "classes":
        codes = np.unique(target.y, return_inverse=True)[1]
        folds = [_with_all_classes(codes, *fold) for fold in folds]
    folds = [fold for fold in folds if len(fold[1])]
    held_out = np.zeros(len(target.y), dtype=bool)
    for _, test in folds:
        held_out[test] = True
    return Folds(folds, held_out)


def given_folds(cv, y, groups):
    """Return the folds of a splitter or an iterable, each row in one test part."""
    splitter = check_cv(cv)
    folds = list(splitter.split(np.zeros(len(y)), y, groups))
    _check_partition(folds, len(y), splitter)
    return folds


def folds_of_part(folds, rows):
    """Return folds of some rows only, as positions in these rows, which are sorted."""
    parts = [[np.isin(rows, part).nonzero()[0] for part in fold] for fold in folds]
    return [(train, test) for train, test in parts if len(train)]


def _division(n_folds, labels, counted, groups, copies, rng):
    """Return the folds of a division, as many as a class or the groups have rows for.

    Copies are divided by the label of the first of them that is counted. Rows that are
    not counted do not change the folds of the others.
    """
    units = groups
    if groups is None:
        units = np.arange(len(counted)) if copies is None else copies
    first, units = np.unique(units, return_index=True, return_inverse=True)[1:]
    rows = np.flatnonzero(counted)
    if groups is None:
        rows = rows[np.unique(units[rows], return_index=True)[1]]
    own_labels = None if labels is None else labels[rows]
    own_groups = None if groups is None else units[rows]
    folds = _fold_of_rows(n_folds, own_labels, len(rows), own_groups, rng)
    fold_of = np.full(len(first), -1)
    fold_of[units[rows]] = folds
    rare = rng.permutation(np.flatnonzero(fold_of < 0))
    if len(rare):
        rare = rare[np.argsort(labels[first[rare]], kind="stable")]
        fold_of[rare] = np.arange(len(rare)) % (folds.max() + 1)
    folds = fold_of[units]
    numbers = range(folds.max() + 1) if folds.any() else ()
    return [(np.flatnonzero(folds != i), np.flatnonzero(folds == i)) for i in numbers]


def _fold_of_rows(n_folds, labels, n_rows, groups, rng):
    """Return the number of the fold that holds out each row, 0 if there is one only."""
    n_units = n_rows if groups is None else len(np.unique(groups))
    if labels is not None:
        n_units = min(n_units, int(np.unique(labels, return_counts=True)[1].max()))
    n_folds = min(n_folds, n_units)
    fold_of = np.zeros(n_rows, dtype=int)
    if n_folds < 2:
        return fold_of
    kinds = (KFold, StratifiedKFold, GroupKFold, StratifiedGroupKFold)
    kind = kinds[(labels is not None) + 2 * (groups is not None)]
    splitter = kind(n_folds, shuffle=True, random_state=rng)
    with warnings.catch_warnings():
        # Classes with fewer rows than folds are as intended.
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        folds = splitter.split(np.zeros(n_rows), labels, groups)
        for i, (_, test) in enumerate(folds):
            fold_of[test] = i
    return fold_of


def _check_partition(folds, n_rows, splitter):
    """Raise a ValueError unless every row is held out once."""
    counts = np.bincount(
        np.concatenate([test for _, test in folds]).astype(int), minlength=n_rows
    )
    wrong = np.flatnonzero(counts != 1)
    if len(wrong):
        raise ValueError(
            f"cv must hold out every row once, but {splitter!r} holds out "
            f"row {wrong[0]} {counts[wrong[0]]} times. Use a splitter such as "
            "StratifiedKFold or GroupKFold."
        )


def _with_all_classes(codes, train, test):
    """Return a fold whose training part also has the rows of classes it lacks."""
    lacking = ~np.isin(codes[test], codes[train])
    return np.concatenate([train, test[lacking]]), test[~lacking]


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
    score : float
        Accuracy or coefficient of determination of `decisions`.
    """

    model: Any
    form: str
    decisions: np.ndarray
    score: float


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
    return Parallel(n_jobs=n_jobs)(
        delayed(fit_member)(
            estimator,
            {form: rows.read(name, form) for form in forms},
            target,
            folds,
            sample_weight,
        )
        for name, estimator, forms in members
    )


def fit_member(estimator, rows, target, folds, sample_weight):
    """Return the `Fitted` model of the best form of the rows.

    Parameters
    ----------
    estimator : estimator or None
        None is a linear model whose penalty is chosen.
    rows : dict of str to array or container
        The training rows by form; later forms are used only if they are clearly better.
    target : Target
    folds : Folds
    sample_weight : ndarray of shape (n_rows,) or None
    """
    # Weights reach the models whether or not the caller uses routing. Solvers make many
    # small products, which take several times as long in threads.
    with (
        config_context(
            enable_metadata_routing=False,
            assume_finite=True,  # checks take half the time of a fit on few rows
            skip_parameter_validation=True,
        ),
        threadpool_limits(1, user_api="blas"),
    ):
        fitter = _Fitter(target, folds, sample_weight)
        best = None
        for form, X in rows.items():
            if form in WHOLE:
                models, out = fit_on_folds(estimator, X, target, folds, sample_weight)
                return Fitted(models, form, out, fitter.score(out))
            if form == "dimension":
                if len(X) < X.shape[1]:
                    continue
                X = without_noise(X)
            path = _path_of(estimator, X, form, target)
            choice = fitter.choose(path, X)
            if best is None or _is_clearly_less(choice.losses, best[1].losses):
                best = form, choice
        return fitter.fit(*best)


class _Path(NamedTuple):
    """Models to choose from: one with several values of a parameter."""

    model: Any
    name: str | None
    values: tuple
    features: Any = None  # a transformer before the model, which needs no labels


_FEATURES = {
    "dimension": StandardScaler,
    "words": WordFeatures,
    "chars": CharacterFeatures,
}


def fit_on_folds(estimator, X, target, folds, sample_weight, prepare=None):
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
    prepare : callable, default=None
        Changes the training rows of each model.

    Returns
    -------
    models : list of estimator
    decisions : ndarray of shape (n_rows, n_columns)
        Relative to the center of the target, of models that have not seen the row; the
        mean of all models where the row was not held out.
    """
    if target.kind == "labels" and not decides_labels(estimator):
        estimator = PerLabel(estimator)
    models, out = [], np.zeros(target.columns.shape)
    for train, test in folds.folds or [(np.arange(len(X)), np.arange(0))]:
        params = {}
        if sample_weight is not None:
            params = weight_params(estimator, sample_weight[train])
        rows = X[train] if prepare is None else prepare(X[train])
        model = clone(estimator).fit(rows, target.y[train], **params)
        models.append(model)
        if len(test):
            out[test] = decisions(model, X[test]) - target.center
    seen = np.flatnonzero(~folds.held_out)
    if len(seen):
        out[seen] = decisions(models, X[seen]) - target.center
    return models, out


def held_out_score(target, rows, sample_weight, decisions):
    """Return the accuracy or coefficient of determination of rows that are held out.

    NaN if there are fewer than two, or none of them has a weight.
    """
    if np.count_nonzero(rows) < 2:
        return float("nan")
    weights = None if sample_weight is None else sample_weight[rows]
    if weights is not None and not weights.any():
        return float("nan")
    score = r2_score if target.kind == "numbers" else accuracy_score
    values = predicted(target, decisions)[rows]
    return float(score(target.y[rows], values, sample_weight=weights))


def row_weights(target, sample_weight):
    """Return the weights of rows in comparisons, (n_rows,); 0 for rare classes."""
    weights = target.counted.astype(np.float64)
    return weights if sample_weight is None else weights * sample_weight


def _path_of(estimator, X, form, target):
    """Return the `_Path` of a form of the rows."""
    has_few_rows = np.count_nonzero(target.counted) < _FEW_ROWS
    strengths = (_USUAL,) if has_few_rows else _INVERSE_PENALTIES
    features = _FEATURES[form]() if form in _FEATURES else None
    dim = X.shape[1] if form == "dimension" else 1
    if target.is_exclusive and target.n_common_classes == 2:
        # Half the sum of squares of one column of coefficients, in two.
        strengths = tuple(strength / 2 for strength in strengths)
    if estimator is not None:
        path = _Path(clone(estimator), None, (None,), features)
    elif target.kind == "numbers":
        values = tuple(dim / value for value in strengths)
        path = _Path(Ridge(), "alpha", values, features)
    else:
        # Takes a third of the time of lbfgs.
        model = LogisticRegression(solver="newton-cg", max_iter=1000)
        values = tuple(value / dim for value in strengths)
        path = _Path(model, "C", values, features)
    if target.kind == "labels":
        path = path._replace(
            model=PerLabel(path.model), name=path.name and f"estimator__{path.name}"
        )
    return path


class _Choice(NamedTuple):
    """The best model of a path.

    Attributes
    ----------
    model : estimator
    features : transformer or None
        Fitted; the step before the model.
    X : array or other rows
        The input of the model, or its `RowSpace`.
    losses : ndarray or None
        By held-out row; None if there are none.
    decisions : dict of int to ndarray
        Decision values of the test rows of each fold used to choose the model, by the
        index of the fold.
    """

    model: Any
    features: Any
    X: Any
    losses: np.ndarray | None
    decisions: dict


class _Fitter:
    """Fits and compares models on the rows of a stack."""

    def __init__(self, target, folds, sample_weight):
        self.target, self.folds = target, folds
        self.sample_weight = sample_weight
        self.row_weights = row_weights(target, sample_weight)

    def choose(self, path, X):
        """Return the `_Choice` of a path."""
        if path.features is not None:
            X = path.features.fit_transform(X)
        if hasattr(X, "dtype"):
            X = X.astype(np.float64)  # in float32, solvers stop early and warn
            if path.name is not None and X.shape[0] < min(X.shape[1], _MANY_ROWS):
                X = RowSpace(X)
        place, each, known = self._least_loss(path, X)
        model = clone(path.model)
        if path.name is not None:
            model.set_params(**{path.name: path.values[place]})
        return _Choice(model, path.features, X, each, known)

    def _least_loss(self, path, X):
        """Return the place of the best value of a path, its losses, and its decisions.

        Both as in `_Choice`.
        """
        if not self.folds.folds:
            return len(path.values) // 2, None, {}
        if self.folds.large is not None:
            return self._first_minimum(path, X, self.folds.large)
        found = [
            np.stack([*self._values_on_path(path, X, *fold)])
            for fold in self.folds.folds
        ]
        each = np.zeros((len(path.values), len(self.target.columns)))
        for (_, test), values in zip(self.folds.folds, found, strict=True):
            each[:, test] = self._losses(values, test)
        place = _usual_of_best(each)
        return place, each[place], {i: v[place] for i, v in enumerate(found)}

    def _first_minimum(self, path, X, fold):
        """Return the first value whose loss is less than the next one's."""
        train, test = fold
        best = None
        for i, values in enumerate(self._values_on_path(path, X, train, test)):
            each = self._losses(values, test)
            if best is not None and each.sum() >= best[1].sum():
                break
            best = i, each, {0: values}
        return best

    def _losses(self, values, rows):
        """Return the weighted loss of some rows, (..., n_rows)."""
        each = losses(self.target, values, self.target.columns[rows])
        return each * self.row_weights[rows]

    def _values_on_path(self, path, X, train, test):
        """Yield the decision values of test rows for each value of a path."""
        model = clone(path.model)
        if isinstance(model, LogisticRegression):
            model.set_params(warm_start=True)
        for value in path.values:
            if path.name is not None:
                model.set_params(**{path.name: value})
            self._fit(model, X, train)
            yield self._decide(model, X[test])

    def fit(self, form, choice):
        """Return the `Fitted` of a chosen model."""
        path, X = _Path(choice.model, None, (None,)), choice.X
        model = clone(choice.model)
        self._fit(model, X, slice(None))
        out = self._decide(model, X[:])
        for i, (train, test) in enumerate(self.folds.folds):
            values = choice.decisions.get(i)
            if values is None:
                (values,) = self._values_on_path(path, X, train, test)
            out[test] = values
        if isinstance(X, RowSpace):
            X.move_coefficients(model)
        if choice.features is not None:
            model = Pipeline([("features", choice.features), ("model", model)])
        return Fitted(model, form, out, self.score(out))

    def score(self, decisions):
        """Return the score of decision values on the rows that are held out."""
        rows = self.folds.held_out
        return held_out_score(self.target, rows, self.sample_weight, decisions)

    def _fit(self, model, X, rows):
        weights = self.sample_weight
        params = {}
        if weights is not None:
            params = weight_params(model, weights[rows])
        model.fit(X[rows], self.target.y[rows], **params)

    def _decide(self, model, X):
        return decisions(model, X) - self.target.center


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
        for each in getattr(model, "models_", [model]):
            if not isinstance(each, float):  # the log odds of a constant label
                each.coef_ = (each.coef_ / self._lengths) @ self._vectors.T @ self._X
                each.n_features_in_ = self._X.shape[1]


def _usual_of_best(each):
    """Return the index nearest to the middle, the default, that is not clearly worse.

    `each` has the losses by value and row; a value is not clearly worse if its loss is
    within one standard error of the smallest one.
    """
    gaps = each - each[each.sum(axis=1).argmin()]
    errors = gaps.std(axis=1) * np.sqrt(each.shape[1])
    near = np.flatnonzero(gaps.sum(axis=1) <= errors)
    return int(near[np.abs(near - len(each) // 2).argmin()])


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
    spread = X.std(axis=0, dtype=np.float64)
    size = np.sqrt(np.square(X, dtype=np.float64).mean(axis=0))
    noise = spread < _LEAST_SPREAD * size
    if noise.any():
        X = X.copy()
        X[:, noise] = X[:, noise].mean(axis=0)
    return X


def fit_weights(values, target, rows, usual):
    """Return nonnegative weights of models, (n_models,), at least a tenth of `usual`.

    Parameters
    ----------
    values : ndarray of shape (n_models, n_rows, n_columns)
        Decision values out of fold.
    target : Target
    rows : ndarray of shape (n_rows,)
        The weights of rows, 0 for those that do not count.
    usual : ndarray of shape (n_models,)
        The default weights; with few rows, the result is close to them.
    """
    if target.kind == "numbers" and rows.any():
        # In units of the error of the usual weights, for each column.
        errors = (np.tensordot(usual, values, 1) - target.columns) / target.scale
        means = np.average(np.square(errors), axis=0, weights=rows)
        means = np.maximum(means, _LEAST_SQUARE)
        target = replace(target, scale=target.scale * np.sqrt(means))

    def objective(weights):
        sums = np.tensordot(weights, values, 1)
        slopes = expected(target, sums) - target.columns
        slopes = rows[:, None] * slopes / np.square(target.scale)
        away = weights - usual
        loss = (rows * losses(target, sums, target.columns)).sum()
        gradient = np.tensordot(values, slopes, 2)
        return loss + _PULL / 2 * away @ away, gradient + _PULL * away

    bounds = [(weight * _LEAST_WEIGHT, None) for weight in usual]
    return minimize(objective, usual, jac=True, method="L-BFGS-B", bounds=bounds).x
