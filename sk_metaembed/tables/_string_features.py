"""Encode a column of strings by indicators, or by n-grams and regressions on them."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, hstack
from sklearn.base import BaseEstimator

from .._linear._conjugate_gradients import conjugate_gradients

_N_ITER = 25
_TOLERANCE = 1e-3  # of the gradient, relative to the first gradient


class RidgeFit(NamedTuple):
    """A ridge regression on all rows, and its predictions out of fold."""

    coef: np.ndarray  # (n_features, n_targets)
    intercept: np.ndarray  # the means of the targets; features are not centered
    out_of_fold: np.ndarray  # (n_rows, n_targets), by models of the other folds
    r2: float  # R2 of `out_of_fold` over all targets


def fit_ridge(X, codes, targets, folds, weights, penalties):
    r"""Return the `RidgeFit` whose penalty has the least squared error out of fold.

    X has the features of the distinct cells, CSR (n_cells, n_features), `codes` the
    number of each row's cell, and `folds` the fold that holds out each row.

    For each penalty :math:`\alpha` and each fold, the coefficients w minimize
    :math:`\sum_c n_c (x_c^\top w - \bar y_c)^2 + \alpha \|w\|^2` over the distinct
    cells c, where :math:`n_c` is the weight of a cell's rows in the training part and
    :math:`\bar y_c` the mean of their targets minus the overall mean. All problems are
    solved at once by conjugate gradients.
    """
    n_cells, n_folds, n_targets = X.shape[0], folds.max() + 1, targets.shape[1]
    n_penalties = len(penalties)
    # The weight and the weighted targets of each cell's rows in each fold.
    places, length = codes * n_folds + folds, n_cells * n_folds
    size = np.bincount(places, weights, length).reshape(n_cells, n_folds)
    total = [np.bincount(places, weights * column, length) for column in targets.T]
    total = np.stack(total, axis=1).reshape(n_cells, n_folds, n_targets)
    mean = _means(total.sum(axis=(0, 1)), size.sum())
    others = size.sum(axis=1, keepdims=True) - size
    sums = total.sum(axis=1, keepdims=True) - total
    means = _means(sums.sum(axis=0), others.sum(axis=0)[:, None])
    right = sums - others[:, :, None] * means
    # One problem per fold, penalty and target.
    coef = _solve(
        X,
        np.repeat(others, n_penalties * n_targets, axis=1),
        np.repeat(right, n_penalties, axis=1).reshape(n_cells, -1),
        np.tile(np.repeat(penalties, n_targets), n_folds),
    )
    predicted = (X @ coef).reshape(n_cells, n_folds, n_penalties, n_targets)
    held_out = predicted[codes, folds] + means[folds][:, None]
    errors = np.square(held_out - targets[:, None]).sum(axis=2)
    losses = weights @ errors
    best = int(losses.argmin())
    size, total = size.sum(axis=1, keepdims=True), total.sum(axis=1)
    coef = _solve(
        X,
        np.repeat(size, n_targets, axis=1),
        total - size * mean,
        np.full(n_targets, penalties[best]),
    )
    spread = weights @ np.square(targets - mean).sum(axis=1)
    r2 = 1 - losses[best] / spread if spread > 0 else 0.0
    return RidgeFit(coef, mean, held_out[:, best], float(r2))


def _solve(X, weights, right, penalties):
    """Solve ``X.T @ (weights * (X @ W)) + penalties * W = X.T @ right`` for W.

    Each column of `weights` and `right`, (n_cells, n_problems), is one problem. The
    solutions have shape (n_features, n_problems).
    """
    transposed = X.T.tocsr()
    return conjugate_gradients(
        lambda coef: transposed @ (weights * (X @ coef)) + penalties * coef,
        transposed @ right,
        tolerance=_TOLERANCE,
        n_steps=_N_ITER,
    )


def _means(total, size):
    """Return ``total / size``, 0 where size is 0."""
    size = np.broadcast_to(size, np.shape(total))
    return np.divide(total, size, out=np.zeros(np.shape(total)), where=size > 0)


_PENALTIES = (0.3, 1.0, 3.0, 10.0)
_MAX_FEATURES = 20_000  # of words, and also of characters
_LEAST_RATIO = 1e-5  # to the largest singular value
_LEAST_R2 = 2.0  # times the number of rows


class StringFeatures(BaseEstimator):
    """Encode the strings of one column as numbers.

    Not public. Strings with few values are encoded as indicators. Others are encoded by
    the leading singular vectors of their character n-grams, the logarithm of the number
    of training rows with the same string and, if there is a target, the predictions of
    a ridge regression on the TF-IDF of words and characters, out of fold for the
    training rows. The number of components is limited to the rank. N-grams of lists are
    case-sensitive, like the items. `values_` has the sorted distinct strings of the
    training rows, and `r2_` the out-of-fold score of the regression, or None.
    """

    def __init__(self, one_hot, n_components, random_state, lowercase=True):
        self.one_hot = one_hot
        self.n_components = n_components
        self.random_state = random_state
        self.lowercase = lowercase

    def fit_transform(self, texts, targets, folds, weights):
        """Fit, and return the features of the training rows, float32.

        `texts` has str objects, `targets` the shape (n_rows, n_targets) or None, and
        `folds` the fold that holds out each row.
        """
        self.values_, codes = np.unique(texts, return_inverse=True)
        self.log_counts_ = np.log(np.bincount(codes))
        self.coef_ = self.intercept_ = self.r2_ = None
        if self.one_hot:
            self.values_ = self.values_[self.values_ != ""]
            return self._indicators(texts)
        words, characters = self._learn_ngrams()
        parts = [self._learn_components(characters)[codes]]
        parts.append(self.log_counts_[codes, None])
        if targets is not None:
            X = csr_array(hstack([words, characters], format="csr"))
            fit = fit_ridge(X, codes, targets, folds, weights, _PENALTIES)
            self.r2_ = fit.r2
            # Out-of-fold predictions of noise are negatively correlated with the
            # target, so a model would learn the opposite.
            if fit.r2 > _LEAST_R2 / len(texts):
                self.coef_, self.intercept_ = fit.coef, fit.intercept
                parts.append(fit.out_of_fold)
        return np.hstack(parts, dtype=np.float32, casting="unsafe")

    def transform(self, texts):
        """Return the features, float32 of shape (n_rows, n_features)."""
        if self.one_hot:
            return self._indicators(texts)
        distinct, codes = np.unique(texts, return_inverse=True)
        words, characters = (_tfidf(each, distinct) for each in self.ngrams_)
        places, known = self._places(distinct)
        counts = np.where(known, self.log_counts_[places], 0.0)
        parts = [characters @ self.components_, counts[:, None]]
        if self.coef_ is not None:
            of_words, of_characters = np.split(self.coef_, [words.shape[1]])
            predicted = words @ of_words + characters @ of_characters
            parts.append(predicted + self.intercept_)
        return np.hstack(parts, dtype=np.float32, casting="unsafe")[codes]

    def know_all(self, texts):
        """Return whether all texts, other than "", occur in the training rows."""
        return bool(self._places(texts[texts != ""])[1].all())

    def feature_names(self, target_names):
        """Return the names of the features, given the names of the target columns."""
        if self.one_hot:
            return self.values_.tolist()
        names = [f"chars__{i}" for i in range(self.components_.shape[1])]
        names.append("log_count")
        if self.coef_ is not None:
            names += [f"predicted{name}" for name in target_names]
        return names

    def _indicators(self, texts):
        places, known = self._places(texts)
        out = np.zeros((len(texts), len(self.values_)), dtype=np.float32)
        out[np.flatnonzero(known), places[known]] = 1
        return out

    def _places(self, texts):
        """Return each text's position among the values, and whether it is a value."""
        places = np.searchsorted(self.values_, texts)
        places = np.minimum(places, max(len(self.values_) - 1, 0))
        if not len(self.values_):
            return places, np.zeros(len(texts), dtype=bool)
        return places, self.values_[places] == texts

    def _learn_ngrams(self):
        """Fit the vectorizers, and return the TF-IDF of words and of characters."""
        from sklearn.feature_extraction.text import TfidfVectorizer

        options = {
            "lowercase": self.lowercase,
            "sublinear_tf": True,
            "max_features": _MAX_FEATURES,
        }
        vectorizers = (
            TfidfVectorizer(
                token_pattern=r"\w+|[^\w\s]", ngram_range=(1, 2), **options
            ),
            TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 4), **options),
        )
        ngrams, out = [], []
        for vectorizer in vectorizers:
            try:
                out.append(vectorizer.fit_transform(self.values_))
            except ValueError:  # no string has an n-gram
                vectorizer = None
                out.append(csr_array((len(self.values_), 0)))
            ngrams.append(vectorizer)
        self.ngrams_ = ngrams
        return out

    def _learn_components(self, characters):
        """Learn the singular vectors, and return the values' coordinates."""
        from sklearn.utils.extmath import randomized_svd

        n_components = min(self.n_components, *(n - 1 for n in characters.shape))
        if n_components < 1:
            self.components_ = np.zeros((characters.shape[1], 0))
        else:
            _, values, vectors = randomized_svd(
                characters, n_components, n_iter=2, random_state=self.random_state
            )
            # In other directions the training strings differ by rounding only, and new
            # strings may differ by more.
            vectors = vectors[values > _LEAST_RATIO * values[0]]
            # Sparse products copy arrays of other layouts, which slows down single
            # rows.
            self.components_ = np.ascontiguousarray(vectors.T)
        return characters @ self.components_


def _tfidf(vectorizer, texts):
    """Return the output of a fitted vectorizer without its checks, which are slow.

    Without a vectorizer there are no columns.
    """
    if vectorizer is None:
        return csr_array((len(texts), 0))
    analyze, places = vectorizer.build_analyzer(), vectorizer.vocabulary_
    indices, ends = [], [0]
    for text in texts:
        indices += [places[gram] for gram in analyze(text) if gram in places]
        ends.append(len(indices))
    shape = len(texts), len(places)
    out = csr_array((np.ones(len(indices)), indices, ends), shape=shape)
    out.sum_duplicates()
    out.data = (1 + np.log(out.data)) * vectorizer.idf_[out.indices]
    rows = np.repeat(np.arange(len(texts)), np.diff(out.indptr))
    out.data /= np.sqrt(np.bincount(rows, np.square(out.data), len(texts)))[rows]
    return out
