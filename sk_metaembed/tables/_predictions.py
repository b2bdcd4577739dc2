"""Out-of-fold predictions of a stack, as additional columns."""

import warnings

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._targets import check_target, is_continuous, read_partial_labels
from ..meta import StackedMetaClassifier, StackedMetaRegressor
from ..sequences import EmbeddedInputMixin

# With fewer rows, out-of-fold predictions did not improve the next step or misled it.
FEWEST_ROWS = 200


class StackedPredictions(EmbeddedInputMixin, TransformerMixin, BaseEstimator):
    """Predict y from sequences, out of fold for the training rows.

    Not public. The columns are the decision values of a `StackedMetaClassifier`, or the
    predictions of a `StackedMetaRegressor`; there are none for fewer than 200 training
    rows with ``cv="auto"``, nor if no row can be held out because almost all texts are
    equal.

    Parameters
    ----------
    ignored : tuple of str
        Sources that are left out, because the words themselves are read.
    tfidf : bool
    target_type : {"auto", "continuous", "semi-supervised"}
    cv : "auto" or as for the stacks
    random_state, n_jobs
        As for the stacks.
    """

    def __init__(self, ignored, tfidf, target_type, cv, random_state, n_jobs):
        self.ignored = ignored
        self.tfidf = tfidf
        self.target_type = target_type
        self.cv = cv
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X, y):
        """Fit the stack."""
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X, y):
        """Return predictions by models that have not seen the row."""
        self.stack_, weights, n_rows = None, None, len(X)
        if self.target_type == "semi-supervised":
            y, weights = read_partial_labels(y)
            n_rows = np.count_nonzero(weights)
        if n_rows < FEWEST_ROWS:
            if self.cv == "auto":
                return np.zeros((len(X), 0), dtype=np.float32)
            warnings.warn(
                f"TextMetaEncoder: out-of-fold predictions of {n_rows} rows, cv="
                f"{self.cv!r}, are noisy and can make the next step worse. Set "
                f"cv='auto', which adds them from {FEWEST_ROWS} rows on.",
                stacklevel=2,
            )
        is_number = self.target_type == "continuous" or is_continuous(check_target(y))
        kind = StackedMetaRegressor if is_number else StackedMetaClassifier
        stack = kind(
            tfidf=self.tfidf,
            cv=None if self.cv == "auto" else self.cv,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "no row could be held out", UserWarning)
            columns = stack.fit_transform(self._read(X), y, weights)
        if np.isnan([*stack.scores_.values()]).all():
            return np.zeros((len(X), 0), dtype=np.float32)
        self.stack_ = stack
        return stack.combine(columns).astype(np.float32)

    def transform(self, X):
        """Return predictions by models of all training rows."""
        check_is_fitted(self)
        if self.stack_ is None:
            return np.zeros((len(X), 0), dtype=np.float32)
        decide = getattr(self.stack_, "decision_function", self.stack_.predict)
        return decide(self._read(X)).reshape(len(X), -1).astype(np.float32)

    def get_feature_names_out(self, input_features=None):
        """Return "stacked", or ``stacked__class`` for each column."""
        check_is_fitted(self)
        if self.stack_ is None:
            return np.array([], dtype=object)
        first, *others = self.stack_.weights_
        names = self.stack_.get_feature_names_out()
        names = names[: len(names) // (1 + len(others))]
        endings = [name.removeprefix(first) for name in names]
        return np.array([f"stacked{ending}" for ending in endings], dtype=object)

    def _read(self, X):
        names = [name for name in X.names if name not in self.ignored]
        return X.select(names) if names else X.tokens
