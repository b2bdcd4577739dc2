"""Return the outputs of classifiers and regressors in one shape, order and type.

All predictions of users' estimators are read here. scikit-learn sorts `classes_`, but
other libraries use other orders: CatBoost orders "2" before "10". Some libraries return
a column instead of one dimension, frames, or scores instead of probabilities.
"""

import re
from contextlib import contextmanager, suppress

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from .._core._errors import plural, short_repr
from .._core._sample_weights import fit_model
from .._core._sklearn import parameter_of_pairs

_LEAST_PROBABILITY = 1e-6
_FAR = 1e6  # larger decision values make others inexact
_LARGEST = float(np.finfo(np.float32).max)
_ROUNDING = 1e-3  # error of probabilities in float16
_LABEL = np.array([0, 1])  # the classes of a column of an indicator matrix


def check_predictor(estimator, target_kind, name):
    """Raise a ValueError unless an estimator predicts a kind of target."""
    kind = "classifier" if target_kind == "classes" else "regressor"
    remedy = (
        f"A class of your own is one if it derives from {kind.capitalize()}Mixin and "
        "BaseEstimator of sklearn.base, in this order."
    )
    is_right = False
    if isinstance(estimator, type):
        remedy = "Pass an instance instead of the class."
    elif hasattr(estimator, "fit"):
        with suppress(AttributeError):  # the estimator has no tags
            is_right = get_tags(estimator).estimator_type == kind
    if not is_right:
        raise ValueError(
            f"{name} must be a {kind}, got {short_repr(estimator)}. {remedy}"
        )


@contextmanager
def errors_of_model(name, model):
    """Prefix errors raised inside with the name and class of a model."""
    try:
        yield
    except Exception as error:
        where = f"{name} ({type(model).__name__})"
        message = error.args[0] if len(error.args) == 1 else None
        if not isinstance(message, str):
            error.add_note(f"In {where}.")
            raise
        remedy = ""
        if re.search("float64|double", message):
            remedy = (
                " The rows are float32: if the model needs float64, put "
                "FunctionTransformer(numpy.float64) before it."
            )
        elif isinstance(error, NotFittedError):
            remedy = (
                " If its fit was called, it must set an attribute whose name ends in "
                "an underscore, by which scikit-learn knows it."
            )
        error.args = (f"{where}: {message}{remedy}",)
        raise


def for_scorers(model, X):
    """Return a fitted predictor that scikit-learn's scorers read correctly.

    If `classes_` is not sorted, scorers would take the wrong class as positive. X has
    some rows, to test the predictor on.
    """
    if not is_classifier(model):
        return model
    is_sorted = list(model.classes_) == np.unique(model.classes_).tolist()
    is_usual = is_sorted and np.ndim(model.predict(X[:1])) == 1
    return model if is_usual else SortedClassifier(model)


class SortedClassifier(ClassifierMixin, BaseEstimator):
    """Wrapper of a fitted classifier with sorted classes and predictions (n_rows,)."""

    def __init__(self, model):
        self.model = model

    @property
    def classes_(self):
        """The classes of the model, sorted."""
        return np.unique(self.model.classes_)

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, X):
        """Return the predicted classes, (n_rows,)."""
        return predicted_classes(self.model, X, self.classes_)

    @available_if(lambda self: hasattr(self.model, "predict_proba"))
    def predict_proba(self, X):
        """Return the probabilities of the classes, (n_rows, n_classes)."""
        return class_probabilities(self.model, X, self.classes_)

    @available_if(lambda self: hasattr(self.model, "decision_function"))
    def decision_function(self, X):
        """Return the decision values, (n_rows,) or (n_rows, n_classes)."""
        values = class_decisions(self.model, X, self.classes_)
        return values[:, 0] if len(self.classes_) == 2 else values


def class_decisions(model, X, classes):
    """Return the log odds or other decision values of a fitted classifier, float64.

    The values come from `decision_function`, or otherwise from the logarithms of
    probabilities. The shape is (n_rows, n_classes), in the order of `classes`, or
    (n_rows, 1) for the second of two classes. An unknown class has the probability
    1e-6.
    """
    names = "decision_function", "predict_proba"
    method = next((name for name in names if hasattr(model, name)), None)
    if method is None:
        raise ValueError(
            "the classifier has neither decision_function nor predict_proba, so there "
            "is nothing to sum. Use one that has: a VotingClassifier with "
            "voting='soft', for example."
        )
    refuse_pairs_of_classes(model)
    places = _class_places(model, classes)
    values = _rows_of(getattr(model, method)(X), method, X)
    n_known = len(model.classes_)
    if method == "predict_proba":
        _check_probabilities(values, n_known)
        values = np.log(np.maximum(values, _LEAST_PROBABILITY))
    else:
        if values.shape[1:] in ((), (1,)) and n_known == 2:
            values = values.reshape(-1, 1)
            if places is None:
                return values
            values = np.hstack([np.zeros_like(values), values])
        _check_shape(values, method, n_known)
        largest = values.max(axis=1, keepdims=True)
        # Adding a constant to a row does not change its probabilities.
        values = np.where(np.abs(largest) > _FAR, values - largest, values)
    values = _reordered(values, places)
    return values[:, 1:] - values[:, :1] if len(classes) == 2 else values


def class_probabilities(model, X, classes):
    """Return the probabilities of `classes`, float64 (n_rows, n_classes).

    A class that the model does not know has the probability 0.
    """
    places = _class_places(model, classes)
    values = _rows_of(model.predict_proba(X), "predict_proba", X)
    _check_probabilities(values, len(model.classes_))
    if places is None:
        return values
    return np.where(places < 0, 0.0, values[:, places])


def predicted_classes(model, X, classes):
    """Return the predicted classes, (n_rows,), in the dtype of `classes`."""
    values = np.asarray(model.predict(X))
    if values.ndim == 1 and values.dtype == classes.dtype:
        return values
    if values.shape != (_n_rows(X),) and values.shape != (_n_rows(X), 1):
        raise ValueError(
            f"predict returned shape {values.shape} for {_n_rows(X)} rows. A "
            "classifier must predict one class per row."
        )
    found, inverse = np.unique(values.ravel(), return_inverse=True)
    places = _places(found, classes)
    if (places < 0).any():
        unknown = found[places < 0][0]
        raise ValueError(
            f"predict returned {short_repr(unknown)}, which is not one of the classes "
            f"{_shown(classes)}."
        )
    return classes[places[inverse]]


def predicted_numbers(model, X, n_columns=1):
    """Return the predictions of a regressor, float64 (n_rows, n_columns)."""
    values = _rows_of(model.predict(X), "predict", X)
    values = values[:, None] if values.ndim == 1 else values
    _check_shape(values, "predict", n_columns, "column")
    return values


def refuse_pairs_of_classes(model):
    """Raise a ValueError if decision values have a column per pair of classes."""
    if key := parameter_of_pairs(model):
        raise ValueError(
            "decision values must have one column per class, but "
            f"{key}='ovo' gives one per pair of classes. Set it to 'ovr'."
        )


class PerColumn(BaseEstimator):
    """Fit a clone of a regressor for each column of y.

    Not public. If metadata routing is enabled, scikit-learn's MultiOutputRegressor
    accepts weights only by routing.
    """

    def __init__(self, estimator):
        self.estimator = estimator

    def fit(self, X, y, sample_weight=None, groups=None):
        """Fit a model per column."""
        shared = sample_weight, groups
        self.models_ = [self._fit_column(X, column, *shared) for column in y.T]
        return self

    def decide(self, X):
        """Return decision values or predictions, (n_rows, n_columns)."""
        return np.hstack([self._decide_column(model, X) for model in self.models_])

    def _fit_column(self, X, column, *shared):
        return fit_model(clone(self.estimator), X, column, *shared)

    def _decide_column(self, model, X):
        return predicted_numbers(model, X)


class PerLabel(PerColumn):
    """Fit a clone of a classifier for each column of an indicator matrix.

    Not public. scikit-learn's OneVsRestClassifier has no log odds for a column that is
    constant in a fold.
    """

    def _fit_column(self, X, column, *shared):
        n, n_positive = len(column), int(np.count_nonzero(column))
        if n_positive in (0, n):
            # Compute the log odds after adding one row of each kind.
            return float(np.log((n_positive + 1) / (n - n_positive + 1)))
        return super()._fit_column(X, column, *shared)

    def _decide_column(self, model, X):
        if isinstance(model, float):
            return np.full((_n_rows(X), 1), model)
        return class_decisions(model, X, _LABEL)


def per_column(estimator, target):
    """Return an estimator for all columns of a target, wrapped if it accepts one."""
    if target.kind == "classes" or target.n_outputs == 1:
        return estimator
    tags = get_tags(estimator)
    if target.kind == "numbers":
        is_enough = tags.target_tags.multi_output or isinstance(estimator, PerColumn)
        return estimator if is_enough else PerColumn(estimator)
    has_values = hasattr(estimator, "decision_function")
    is_enough = has_values and tags.classifier_tags.multi_label
    return estimator if is_enough else PerLabel(estimator)


def decision_values(model, X, target):
    """Return decision values or predictions, (n_rows, n_columns).

    `model` is a fitted model, or a list of models, whose mean is returned. The columns
    are in the order of the target, regardless of the model's order of classes.
    """
    if isinstance(model, list):
        return np.mean([decision_values(one, X, target) for one in model], axis=0)
    if hasattr(model, "steps") and isinstance(model[-1], PerColumn):
        return model[-1].decide(model[:-1].transform(X))
    if isinstance(model, PerColumn):
        return model.decide(X)
    if target.kind == "numbers":
        return predicted_numbers(model, X, target.n_outputs)
    if target.kind == "labels":
        values = _rows_of(model.decision_function(X), "decision_function", X)
        _check_shape(values, "decision_function", target.n_outputs, "label")
        return values
    return class_decisions(model, X, target.classes)


def _class_places(model, classes):
    """Return the column of each class in a model's outputs, -1 for unknown classes.

    Returns None if the model has the same order of classes.
    """
    if not hasattr(model, "classes_"):
        raise ValueError(
            "the classifier has no classes_ after fit, so the order of its columns is "
            "unknown. Set it in fit, for example to numpy.unique(y)."
        )
    known = np.asarray(model.classes_)
    if known.ndim == 1 and known.tolist() == classes.tolist():
        return None
    places = _places(classes, known.ravel())
    if (places < 0).all():
        raise ValueError(
            f"the classifier has the classes {_shown(known)}, but y has "
            f"{_shown(classes)}. Fit it on these labels."
        )
    return places


def _places(labels, among):
    """Return the position of each label in `among`, -1 if missing.

    Some packages convert labels to str, so labels of another type are compared as str
    if this finds all of them.
    """
    for convert in (lambda label: label, str):
        by_label = {convert(label): i for i, label in enumerate(among.tolist())}
        places = [by_label.get(convert(label), -1) for label in labels.tolist()]
        if -1 not in places or (convert is not str and max(places) >= 0):
            return np.array(places)
    return np.full(len(labels), -1)


def _reordered(values, places):
    """Return columns in the order of places; a missing column is 1e-6 of the others."""
    if places is None:
        return values
    total = np.logaddexp.reduce(values, axis=1, keepdims=True)
    least = total + np.log(_LEAST_PROBABILITY)
    return np.where(places < 0, least, values[:, places])


def _rows_of(output, method, X):
    """Return an output as float64, after checking for NaN and the number of rows."""
    if hasattr(output, "toarray"):
        output = output.toarray()
    try:
        values = np.asarray(output, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{method} must return an array of numbers, got {short_repr(output)}."
        ) from None
    if values.ndim not in (1, 2) or len(values) != _n_rows(X):
        raise ValueError(
            f"{method} returned shape {values.shape} for {_n_rows(X)} rows. It must "
            "return a number or several for each row."
        )
    is_finite = np.isfinite(values)
    if not is_finite.all():
        if method == "decision_function":  # infinite values mean certainty
            values = np.clip(values, -_LARGEST, _LARGEST)
            is_finite = np.isfinite(values)
        bad = np.argwhere(~is_finite)
        if len(bad):
            n_bad = len(np.unique(bad[:, 0]))
            raise ValueError(
                f"{method} returned {values[tuple(bad[0])]} for row {bad[0, 0]}, "
                f"{plural(n_bad, 'row')} in all. Check the scale of the "
                "columns, or leave out the estimator."
            )
    return values


def _check_shape(values, method, n_columns, noun="class"):
    """Raise a ValueError unless an output has `n_columns` columns."""
    if values.shape[1:] == (n_columns,):
        return
    nouns = {"class": "classes", "label": "labels", "column": "columns of y"}
    counted = f"{n_columns} {nouns[noun]}" if n_columns > 1 else "one column of y"
    reason = f"{method} returned shape {values.shape} for {counted}. "
    if method != "predict_proba":
        reason += "Pass an estimator that returns one value per row and " + (
            f"{noun}." if noun != "column" else "column of y."
        )
    else:
        reason += _NO_PROBABILITIES
    raise ValueError(reason)


_NO_PROBABILITIES = (
    "A classifier must return a probability per class. LightGBM before 4.7 returns raw "
    "scores for an objective of one's own: derive a class that converts them in "
    "predict_proba, or returns them in decision_function."
)


def _check_probabilities(values, n_classes):
    """Raise a ValueError unless values are probabilities of classes."""
    _check_shape(values, "predict_proba", n_classes)
    is_off = (values < -_ROUNDING) | (values > 1 + _ROUNDING)
    if is_off.any():
        row, column = np.argwhere(is_off)[0]
        raise ValueError(
            f"predict_proba returned {values[row, column]:.6g} for row {row}, which is "
            f"not a probability. {_NO_PROBABILITIES}"
        )


def _n_rows(X):
    return X.shape[0] if hasattr(X, "shape") else len(X)


def _shown(classes):
    return short_repr(np.asarray(classes).tolist())
