"""Models of encoded tables: gradient boosting or a linear model, by their loss."""

import warnings

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

_FOLDS = 3
_PENALTIES = (0.1, 3.0, 100.0)


class _TableModel(BaseEstimator):
    """Choose between gradient boosting and linear models by the loss out of fold.

    Not public. Reads the numbers and categories of a `skrub.TableVectorizer`.
    """

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):
        """Compare the models on three folds, and fit the best on all rows."""
        y = np.asarray(y)
        candidates = self._candidates(y)
        best = 0
        if len(candidates) > 1 and len(y) >= 2 * _FOLDS:
            best = int(np.argmin([self._loss(model, X, y) for model in candidates]))
        self.model_ = clone(candidates[best]).fit(X, y)
        return self

    def predict(self, X):
        """Return the predictions of the chosen model."""
        check_is_fitted(self)
        return self.model_.predict(X)


class TableClassifier(ClassifierMixin, _TableModel):
    """`HistGradientBoostingClassifier` or `LogisticRegression`."""

    def _candidates(self, y):
        from sklearn.ensemble import HistGradientBoostingClassifier
        from sklearn.linear_model import LogisticRegression
        from sklearn.multiclass import OneVsRestClassifier
        from skrub import tabular_pipeline

        linear = [
            LogisticRegression(C=1 / penalty, max_iter=1000) for penalty in _PENALTIES
        ]
        if type_of_target(y).startswith("multilabel"):
            return [tabular_pipeline(OneVsRestClassifier(linear[1]))]
        boosting = HistGradientBoostingClassifier(
            categorical_features="from_dtype", random_state=self.random_state
        )
        return [boosting, *map(tabular_pipeline, linear)]

    def _loss(self, model, X, y):
        from sklearn.metrics import log_loss
        from sklearn.model_selection import StratifiedKFold, cross_val_predict

        folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=0)
        with warnings.catch_warnings():
            # A class with fewer rows than folds has probability 0 in one of them.
            warnings.simplefilter("ignore")
            values = cross_val_predict(model, X, y, cv=folds, method="predict_proba")
        rare = 1e-6 / values.shape[1]
        values = (values + rare) / (values + rare).sum(axis=1, keepdims=True)
        return log_loss(y, values, labels=np.unique(y))

    @property
    def classes_(self):
        """The classes in y."""
        return self.model_.classes_

    def predict_proba(self, X):
        """Return the probabilities of the chosen model."""
        check_is_fitted(self)
        return self.model_.predict_proba(X)

    @available_if(lambda self: hasattr(self.model_, "decision_function"))
    def decision_function(self, X):
        """Return the decision values of the chosen model."""
        return self.model_.decision_function(X)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.input_tags.allow_nan = True
        return tags


class TableRegressor(RegressorMixin, _TableModel):
    """`HistGradientBoostingRegressor` or `Ridge`."""

    def _candidates(self, y):
        from sklearn.ensemble import HistGradientBoostingRegressor
        from sklearn.linear_model import Ridge
        from skrub import tabular_pipeline

        linear = [tabular_pipeline(Ridge(penalty)) for penalty in _PENALTIES]
        if y.ndim == 2 and y.shape[1] > 1:
            return linear
        boosting = HistGradientBoostingRegressor(
            categorical_features="from_dtype", random_state=self.random_state
        )
        return [boosting, *linear]

    def _loss(self, model, X, y):
        from sklearn.metrics import mean_squared_error
        from sklearn.model_selection import KFold, cross_val_predict

        folds = KFold(_FOLDS, shuffle=True, random_state=0)
        return mean_squared_error(y, cross_val_predict(model, X, y, cv=folds))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.input_tags.allow_nan = True
        return tags
