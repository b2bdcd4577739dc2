"""The models of the sources: targets, folds, out-of-fold predictions and weights.

Imported when an estimator is fitted, so that the package does not load scikit-learn's
models. Predictions of a model are decision values, (n_rows, 1) for two classes and
(n_rows, n_classes) for more, or numbers, (n_rows, 1), where `classes` is None.
"""

from numbers import Integral

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax
from sklearn import config_context
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, log_loss, mean_squared_error, r2_score
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    check_cv,
    cross_val_predict,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_y, has_fit_parameter
from threadpoolctl import threadpool_limits

from ..sequences._targets import check_target
from ._word_features import WordFeatures

# Per dimension, so that sources of any dimension need about the same; in all for
# features of words, whose rows have unit length.
_LOGISTIC_PENALTIES = (10.0, 1.0, 0.1, 0.01, 0.001)
_RIDGE_PENALTIES = (100.0, 10.0, 1.0, 0.1, 0.01)
_LEAST_PROBABILITY = 1e-6
_LEAST_SPREAD = 1e-5  # relative; float32 has noise of 1e-7
_ENOUGH_ROWS = 1000  # in a fold, to choose among penalties by it alone


def read_target(y, n_rows, estimator, target_type, *, caller):
    """Return y, (n_rows,), and its classes, None for a regressor."""
    y = _check_y(check_target(y, n_rows, caller=caller), estimator=caller)
    if estimator is None:
        kind = type_of_target(y, input_name="y")
        has_classes = target_type == "auto" and not kind.startswith("continuous")
    elif is_classifier(estimator) or is_regressor(estimator):
        has_classes = is_classifier(estimator)
    else:
        raise ValueError(
            f"{caller}: estimator must be a classifier or a regressor, got "
            f"{estimator!r}."
        )
    if not has_classes:
        return _check_y(y, y_numeric=True, estimator=caller), None
    check_classification_targets(y)
    classes = np.unique(y)
    if len(classes) < 2:
        raise ValueError(
            f"{caller} needs samples of at least 2 classes in y, got 1 class: "
            f"{classes.tolist()}."
        )
    return y, classes


def make_splits(cv, y, classes, groups, random_state, *, caller):
    """Return the training and test rows of each fold."""
    if isinstance(cv, Integral):
        if classes is not None:
            _check_class_sizes(cv, y, caller)
        kinds = (KFold, StratifiedKFold, GroupKFold, StratifiedGroupKFold)
        kind = kinds[(classes is not None) + 2 * (groups is not None)]
        cv = kind(cv, shuffle=True, random_state=random_state)
    else:
        cv = check_cv(cv, y, classifier=classes is not None)
    splits = list(cv.split(np.zeros(len(y)), y, groups))
    for train, _ in splits if classes is not None else ():
        missing = classes[~np.isin(classes, y[train])]
        if len(missing):
            raise ValueError(
                f"{caller}: no training row of a fold has the class "
                f"{missing.tolist()[0]!r}. Every class needs rows in two folds at "
                "least: drop it, or use fewer folds or other groups."
            )
    return splits


def _check_class_sizes(cv, y, caller):
    """Raise a ValueError if no class has a row for each fold."""
    largest = int(np.unique(y, return_counts=True)[1].max())
    if largest < cv:
        raise ValueError(
            f"{caller}: cv={cv} folds need {cv} rows of a class, but y has at most "
            f"{largest} of each. Use fewer folds or more rows; TextMetaEncoder also "
            "works without predictions, cv=None. If y are amounts, not classes, set "
            'target_type="continuous".'
        )


def without_noise(X):
    """Return vectors, (n_rows, dim), where dimensions of rounding noise are constant.

    Scaled to unit variance, they would decide on rows that differ in them.
    """
    spread = X.std(axis=0, dtype=np.float64)
    size = np.sqrt(np.square(X, dtype=np.float64).mean(axis=0))
    noise = spread < _LEAST_SPREAD * size
    if noise.any():
        X = X.copy()
        X[:, noise] = X[:, noise].mean(axis=0)
    return X


def fit_sources(estimator, inputs, y, classes, splits, sample_weight, n_jobs):
    """Return a fitted model, its out-of-fold predictions and its score, per input.

    Inputs are arrays, (n_rows, dim), or the words of the rows.
    """
    return Parallel(n_jobs=n_jobs)(
        delayed(_fit_source)(
            *_candidates(estimator, classes, X),
            without_noise(X) if isinstance(X, np.ndarray) else X,
            y,
            classes,
            splits,
            sample_weight,
        )
        for X in inputs
    )


def _candidates(estimator, classes, X):
    """Return the first step, or None, and the models to choose from, for an input."""
    solver = "lbfgs"
    if not isinstance(X, np.ndarray):
        first, dim = WordFeatures(), 1
        solver = "newton-cg"  # takes half the time with many features
    elif estimator is not None:
        return None, [clone(estimator)]
    else:
        first, dim = StandardScaler(), X.shape[1]
    if classes is None:
        return first, [Ridge(dim * penalty) for penalty in _RIDGE_PENALTIES]
    models = [
        LogisticRegression(C=1 / (dim * penalty), solver=solver, max_iter=1000)
        for penalty in _LOGISTIC_PENALTIES
    ]
    return first, models


class _Several(BaseEstimator):
    """Fits models on the same features, and predicts with each."""

    def __init__(self, models):
        self.models = models

    def fit(self, X, y, sample_weight=None):
        self.models_ = [
            clone(model).fit(X, y, **_weight_params(model, sample_weight))
            for model in self.models
        ]
        return self

    def predict(self, X):
        """Return decision values or predictions, (n_rows, n_models, n_columns)."""
        return np.stack([predict(model, X) for model in self.models_], axis=1)


def _fit_source(first, models, X, y, classes, splits, sample_weight):
    """Return the best model, fitted, its out-of-fold decision values, and score."""
    # Weights reach the steps by their names, whether or not the caller uses routing.
    # Solvers make many small products, which take several times as long in threads.
    with (
        config_context(enable_metadata_routing=False),
        threadpool_limits(1, user_api="blas"),
    ):
        if len(models) > 1 and len(splits[0][1]) >= _ENOUGH_ROWS:
            values = _one_fold(first, models, X, y, splits[0], sample_weight)
            rows = splits[0][1]
            weights = None if sample_weight is None else sample_weight[rows]
            models = [models[_best(y[rows], values, classes, weights)]]
        values = _out_of_fold(first, models, X, y, splits, sample_weight)
        best = _best(y, values, classes, sample_weight)
        model, values = models[best], values[:, best]
        if first is not None:
            model = make_pipeline(first, model)
        model.fit(X, y, **_weight_params(model, sample_weight))
    return model, values, _score(y, values, classes, sample_weight)


def _best(y, values, classes, sample_weight):
    """Return the model of least loss, of values (n_rows, n_models, n_columns)."""
    each = np.moveaxis(values, 1, 0)
    return int(np.argmin([_loss(y, v, classes, sample_weight) for v in each]))


def _one_fold(first, models, X, y, split, sample_weight):
    """Return the values of the test rows of a fold, as `_Several` does."""
    train, test = split
    pipeline = make_pipeline(first, _Several(models))
    weights = None if sample_weight is None else sample_weight[train]
    pipeline.fit(X[train], y[train], **_weight_params(pipeline, weights))
    return pipeline.predict(X[test])


def _out_of_fold(first, models, X, y, splits, sample_weight):
    """Return the values of each row by models of other folds, as `_Several` does."""
    pipeline = make_pipeline(first, _Several(models))
    params = _weight_params(pipeline, sample_weight)
    return cross_val_predict(pipeline, X, y, cv=splits, params=params)


def _method(model):
    """Return the name of the method whose output is stacked."""
    if not is_classifier(model):
        return "predict"
    names = ("decision_function", "predict_proba")
    name = next((name for name in names if hasattr(model, name)), None)
    if name is None:
        raise ValueError(
            "StackedMetaEmbedding: a classifier must have decision_function or "
            f"predict_proba, got {model!r}."
        )
    for key, value in model.get_params().items():
        if key.split("__")[-1] == "decision_function_shape" and value == "ovo":
            raise ValueError(
                "StackedMetaEmbedding: decision values must have one column per class, "
                f"but {key}='ovo' gives one per pair of classes. Set it to 'ovr'."
            )
    return name


def _weight_params(model, sample_weight):
    """Return the parameters of fit that pass weights to all steps that take them."""
    if sample_weight is None:
        return {}
    steps = model.steps if isinstance(model, Pipeline) else [(None, model)]
    names = [
        f"{name}__sample_weight" if name else "sample_weight"
        for name, step in steps
        if has_fit_parameter(step, "sample_weight")
    ]
    if not names:
        raise ValueError(
            "StackedMetaEmbedding: sample_weight was passed, but "
            f"{type(model).__name__} does not support it."
        )
    return dict.fromkeys(names, sample_weight)


def _decisions(values, method):
    """Return a model's output as decision values, (n_rows, 1 or n_classes)."""
    if method == "predict_proba":
        values = np.log(np.maximum(values, _LEAST_PROBABILITY))
        values = values[:, 1] - values[:, 0] if values.shape[1] == 2 else values
    return values if values.ndim == 2 else values[:, None]


def predict(model, X):
    """Return the predictions of a fitted model."""
    method = _method(model)
    return _decisions(getattr(model, method)(X), method)


def _of_all_classes(values):
    """Return decision values of all classes, (..., n_rows, n_classes), in float64."""
    if values.shape[-1] == 1:
        values = np.concatenate([np.zeros_like(values), values], axis=-1)
    return values.astype(np.float64)


def _loss(y, values, classes, sample_weight):
    """Return the log loss of decision values, or the squared error of numbers."""
    if classes is None:
        return mean_squared_error(y, values, sample_weight=sample_weight)
    probabilities = softmax(_of_all_classes(values), axis=1)
    return log_loss(y, probabilities, labels=classes, sample_weight=sample_weight)


def _score(y, values, classes, sample_weight):
    """Return the accuracy, or the coefficient of determination of numbers."""
    if classes is None:
        return r2_score(y, values, sample_weight=sample_weight)
    predicted = classes[_of_all_classes(values).argmax(axis=1)]
    return float(accuracy_score(y, predicted, sample_weight=sample_weight))


def fit_weights(predictions, y, classes, sample_weight):
    """Return nonnegative weights of models, (n_models,), and the intercepts.

    `predictions` are (n_models, n_rows, n_columns).
    """
    fit = _fit_numbers if classes is None else _fit_classes
    return fit(predictions, y, sample_weight)


def _fit_numbers(predictions, y, sample_weight):
    """Return nonnegative weights, (n_models,), of predictions, and the intercept."""
    model = LinearRegression(positive=True)
    model.fit(predictions[:, :, 0].T, y, sample_weight=sample_weight)
    return model.coef_, np.atleast_1d(model.intercept_)


def _fit_classes(predictions, y, sample_weight):
    """Return nonnegative weights, (n_models,), of decision values, and intercepts."""
    values = _of_all_classes(predictions)
    n_models, n_rows, n_classes = values.shape
    targets = np.eye(n_classes)[np.unique(y, return_inverse=True)[1]]
    rows = np.ones(n_rows) if sample_weight is None else sample_weight

    def objective(parameters):
        weights, intercepts = np.split(parameters, [n_models])
        logits = np.tensordot(weights, values, 1) + intercepts
        losses = logsumexp(logits, axis=1) - (targets * logits).sum(axis=1)
        slopes = rows[:, None] * (softmax(logits, axis=1) - targets)
        gradient = np.tensordot(values, slopes, 2) + weights
        loss = rows @ losses + weights @ weights / 2
        return loss, np.concatenate([gradient, slopes.sum(axis=0)])

    start = np.repeat([1 / n_models, 0.0], [n_models, n_classes])
    bounds = [(0, None)] * n_models + [(None, None)] * n_classes
    result = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds)
    weights, intercepts = np.split(result.x, [n_models])
    if predictions.shape[-1] == 1:
        intercepts = intercepts[1:] - intercepts[:1]
    return weights, intercepts
