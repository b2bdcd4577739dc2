r"""A linear model of mean vectors and n-grams, which is averaged with a network.

Its leave-one-out R2, which ridge regression computes exactly, measures how noisy the
targets are. The weight decay of the network and the share of this model in the outputs
depend on it.

In the ridge regression, weights w of the rows sum to 1, and features x and columns y
have their weighted means subtracted. The coefficients minimize
:math:`\sum_i w_i (y_i - B^\top x_i)^2 + \lambda |B|^2`.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_array

from .._core._arrays import normalize_rows, row_product, standardization
from .._linear._conjugate_gradients import conjugate_gradients
from ..sequences._api import (
    folds_case,
    learn_ngrams,
    ngram_weights,
    unit_rows,
    without_case,
)
from ._inputs import tokens_and_blocks

# The maximum numbers of rows that choose the penalty and the share of words, of rows of
# the fit, and of n-grams per length.
MAX_ROWS, MAX_ROWS_OF_FIT, _MAX_WORDS = 1000, 100_000, 20_000
_WORD_SHARES = (0, 0.25, 0.5, 0.75, 1)
_MAX_LENGTH = 3  # words of an n-gram
# The share if there are no sources, so both models read the same tokens.
_SHARE_OF_NGRAMS = 0.4
_PENALTIES = np.logspace(-4, 1, 16)
_MAX_SCALE = 60
_MAX_NUMBERS = 20_000_000  # numbers in the columns of the fit
_CHUNK = 16_384
# In the ridge regression.
_TOLERANCE, _MAX_ITERATIONS = 1e-6, 200
_ROUNDING, _EQUAL = 1e-6, 1e-5
_TINY = np.finfo(np.float64).tiny
# Chosen on development parts by `benchmarks/dynamic_defaults.py`.
CLEAR, MANY_ROWS, MANY_OUTPUTS = 0.7, 400, 7


class LinearModel:
    """Ridge regression on the mean vectors of sources and the TF-IDF of n-grams.

    The length of n-grams is chosen, up to three words.

    Parameters
    ----------
    X : EmbeddedSequences or TokenSequences
    codes : ndarray of shape (n_data,) or (n_data, n_outputs)
        Targets, encoded by `target`.
    weights : ndarray of shape (n_data,)
    rows : ndarray of int
        The rows to fit on.
    target : Target

    Attributes
    ----------
    r2, r2_of_vectors : float
        Leave-one-out R2 over all columns, and the same with vectors alone, which is 0
        without sources. Copies of a row are left out together, because they would
        otherwise favor a small penalty. A network does learn copies, so its weight
        decay depends on the R2 with copies.
    """

    def __init__(self, X, codes, weights, rows, target):
        # The rows, and n-grams of up to one, two and three words.
        self._n_rows = len(rows)
        data = _Rows(X, codes, weights, rows, target)
        self._standards = data.standards
        self._folds_case = folds_case(data.tokens)
        tokens = data.tokens.compact()
        tokens = without_case(tokens) if self._folds_case else tokens
        ngrams = learn_ngrams(tokens, _MAX_LENGTH, _MAX_WORDS)
        tf_idf = ngram_weights(tokens, ngrams)
        # The first columns are words, the next ones pairs, the last ones triples.
        sizes = np.cumsum([len(ngrams.words), *map(len, ngrams.keys)])

        # The length of n-grams, their share relative to vectors and the penalty are
        # chosen together. The length does not matter if the share is 0.
        features = [unit_rows(tf_idf[data.chosen, :size]) for size in sizes]
        products = [data.products, *map(_products, features)]
        shares = _WORD_SHARES if data.standards else (1,)
        choices = [(i, share) for share in shares for i in range(len(sizes))]
        choices = [(i, share) for i, share in choices if share > 0 or i == 0]
        *targets, (vectors, *words) = merged_copies(*data.chosen_targets, products)
        tried = [
            leave_one_out(
                (1 - share) * vectors + share * words[i], *targets, _PENALTIES
            )
            for i, share in choices
        ]
        place = int(np.argmax([each.r2 for each in tried]))
        best, (i, share) = tried[place], choices[place]
        self.r2, self.r2_of_vectors = best.r2, tried[0].r2 if data.standards else 0.0
        self._r2_with_copies = self.r2_of_vectors if data.standards else self.r2
        if len(vectors) < len(data.chosen):  # some rows are copies
            own = data.products if data.standards else products[1 + i]
            self._r2_with_copies = data.r2_with_copies(own)

        # The fit on all rows, scaled to minimize the log loss.
        size = sizes[i]
        self._words = ngrams._replace(keys=ngrams.keys[:i], idf=ngrams.idf[:size])
        parts = [data.vectors, unit_rows(tf_idf[:, :size])]
        columns, weights, n_rows = data.columns, data.weights, len(data.columns)
        means = weights @ columns
        offset, scale = calibration(best.decisions, *targets, means, n_rows, target)
        factors = (1 - share) ** 0.5, share**0.5
        scaled = [part * np.float32(f) for part, f in zip(parts, factors, strict=True)]
        # The best penalty of a sum over rows does not depend on their number.
        penalty = best.penalty * len(data.chosen) / n_rows
        coefs, intercepts = ridge(scaled, columns, weights, penalty)
        pairs = zip(coefs, factors, strict=True)
        self._of_vectors, self._of_words = (scale * f * own for own, f in pairs)
        self._intercepts = offset + scale * intercepts

    def weight_decay(self, target):
        """Return the weight decay for a network of the target."""
        return _weight_decay(self._r2_with_copies, self._n_rows, target)

    def share(self, target):
        """Return the share of this model in the sum with the outputs of a network.

        The share is large if the model explains little, in particular of many labels,
        and if words explain more than vectors. Without vectors, it is fixed.
        """
        if not self._standards:
            return _SHARE_OF_NGRAMS
        noise = _noise(max(self.r2, self._r2_with_copies)) ** 2
        noise *= min(target.n_outputs / MANY_OUTPUTS, 1)
        words = max(self.r2, 0) - max(self.r2_of_vectors, 0)
        # A small R2 is chance: a ratio to it would be arbitrary.
        return min(0.2 + 0.7 * noise + words / max(self.r2, 0.05), 0.7)

    def outputs(self, X):
        """Return outputs on the scale of a network's, (n_rows, n_outputs)."""
        tokens = tokens_and_blocks(X)[0]
        tokens = without_case(tokens) if self._folds_case else tokens
        outputs = self._intercepts + ngram_weights(tokens, self._words) @ self._of_words
        if not self._standards:
            return outputs
        for start in range(0, len(X), _CHUNK):  # vectors of all rows can be large
            rows = slice(start, start + _CHUNK)
            vectors = _unit_vectors(sequence_means(X[rows]), self._standards)
            outputs[rows] += row_product(vectors, self._of_vectors)
        return outputs


def weight_decay_alone(X, codes, weights, rows, target):
    """Return the weight decay of a `LinearModel`, without fitting the rest of it."""
    if not tokens_and_blocks(X)[1]:
        return LinearModel(X, codes, weights, rows, target).weight_decay(target)
    data = _Rows(X, codes, weights, rows, target)
    return _weight_decay(data.r2_with_copies(data.products), len(rows), target)


def _weight_decay(r2, n_rows, target):
    return target.weight_decay(_noise(r2)) * min(MANY_ROWS / n_rows, 1)


class _Rows:
    """The rows of a fit: their targets, weights, tokens and mean vectors.

    `chosen` are at most `MAX_ROWS` of them, by which the penalty is chosen.
    """

    def __init__(self, X, codes, weights, rows, target):
        rows = _subsample(rows, min(MAX_ROWS_OF_FIT, _MAX_NUMBERS // target.n_outputs))
        X = X if len(rows) == len(X) else X[rows]
        self.columns = target.as_outputs(codes[rows]).astype(np.float64)
        self.weights = weights[rows] / weights[rows].sum(dtype=np.float64)
        self.tokens, means = tokens_and_blocks(X)[0], sequence_means(X)
        self.standards = [
            standardization(values.__getitem__, own, self.weights[own])
            for values, known in means
            for own in [np.flatnonzero(known)]
        ]
        self.vectors = np.zeros((len(rows), 0), dtype=np.float32)
        if means:
            self.vectors = _unit_vectors(means, self.standards)
        self.chosen = _subsample(np.arange(len(rows)), MAX_ROWS)
        self.products = _products(self.vectors[self.chosen])
        weights = self.weights[self.chosen]
        self.chosen_targets = self.columns[self.chosen], weights / weights.sum()

    def r2_with_copies(self, products):
        """Return the leave-one-out R2 from products of rows, without merging copies."""
        return leave_one_out(products, *self.chosen_targets, _PENALTIES).r2


def sequence_means(X):
    """Return (means, known) of the sequences for each block of X.

    A mean is that of the known words, float32 (n_sequences, dim), and a sequence is
    known, (n_sequences,), if one of its words is. A sparse product in float32 takes a
    fraction of the time of the exact sums of `Pooling`.
    """
    tokens, blocks = tokens_and_blocks(X)
    means = []
    for block in blocks:
        if block.level == "sequence":
            means.append((block.values, block.known))
            continue
        is_type = block.level == "type"
        columns = tokens.codes if is_type else np.arange(tokens.n_tokens)
        weights = block.known[columns].astype(np.float32)
        shape = len(tokens), block.n_rows
        words = csr_array((weights, columns, tokens.offsets), shape=shape)
        n_known = words.sum(axis=1)
        # Divided before the sums, which could otherwise exceed float32.
        words.data /= np.repeat(np.maximum(n_known, 1), tokens.lengths)
        means.append((words @ block.values, n_known > 0))
    return means


def _unit_vectors(means, standards):
    """Return the concatenated unit vectors of all sources, standardized before.

    `means` are those of `sequence_means`. A row has unit length if every source knows a
    word of its sequence.
    """
    rows = []
    for (values, known), (mean, factor) in zip(means, standards, strict=True):
        standardized = (values - mean) * factor
        standardized[~known] = 0
        rows.append(normalize_rows(standardized))
    return np.hstack(rows) / np.float32(len(rows) ** 0.5)


def calibration(decisions, columns, weights, means, n_rows, target):
    """Return the offset and the factor that turn decisions into outputs of a target.

    The offset is the output for the means of all rows. For labels and label sets, the
    factor minimizes the log loss, summed over columns; it is 1 for numbers.
    """
    if not target.is_classification:
        return means, 1.0
    offset = target.link(means.clip(0.5 / n_rows, 1 - 0.5 / n_rows))

    def log_loss(scale):
        chances = target.probabilities(offset + scale * decisions).clip(1e-12, 1)
        others = (1 - chances).clip(1e-12)
        likelihoods = columns * np.log(chances) + (1 - columns) * np.log(others)
        return -weights @ likelihoods.sum(axis=1)

    bounds = 0, _MAX_SCALE
    return offset, minimize_scalar(log_loss, bounds=bounds, method="bounded").x


def _noise(r2):
    """Return the level of noise, 0 to 1, from an R2."""
    return 1 - min(max(r2 / CLEAR, 0), 1)


def _products(part):
    part = part.astype(np.float64)
    products = part @ part.T
    return products if isinstance(products, np.ndarray) else products.toarray()


def _subsample(rows, n):
    """Return n rows drawn at random, in their order, or all if there are fewer.

    Evenly spaced rows may all be of one class if classes alternate.
    """
    if len(rows) <= n:
        return rows
    return rows[np.sort(np.random.RandomState(0).permutation(len(rows))[:n])]


class LeaveOneOut(NamedTuple):
    """Predictions of each row by the ridge regression on the others."""

    r2: float  # over all columns, relative to the mean of the others; 0 if none varies
    penalty: float  # the best of the given ones
    decisions: np.ndarray  # (n_rows, n_outputs), minus the mean of all rows


def leave_one_out(products, columns, weights, penalties):
    """Return the exact `LeaveOneOut` predictions with the best penalty.

    `products` are the dot products of the rows' features, (n_rows, n_rows), without
    centering. Penalties are relative to the sum of squares of the centered features.
    """
    root = np.sqrt(weights)[:, None]
    means = products @ weights
    centered = products - means - means[:, None] + weights @ means
    values, axes = np.linalg.eigh(root * centered * root.T)
    values = values.clip(0)
    # Smaller sums of squares are rounding errors.
    least = max(_ROUNDING * (weights @ products.diagonal()), _TINY)
    penalties = np.multiply(penalties, max(values.sum(), least))
    Y = root * (columns - weights @ columns)
    squares, projected = np.square(axes), axes.T @ Y

    def errors(shrinkage):
        # A row's residual without itself is its residual divided by 1 - leverage.
        rest = (1 - weights - squares @ shrinkage).clip(1e-9)
        residuals = Y - axes @ (shrinkage[:, None] * projected)
        return residuals / rest[:, None]

    all_errors = [errors(values / (values + penalty)) for penalty in penalties]
    sums = [np.square(each).sum() for each in all_errors]
    best, total = int(np.argmin(sums)), np.square(errors(0 * values)).sum()
    r2 = 0.0 if np.square(Y).sum() < 1e-12 else 1 - sums[best] / total
    return LeaveOneOut(r2, penalties[best], (Y - all_errors[best]) / root)


def merged_copies(columns, weights, products):
    """Merge copies into one row, with the mean of their columns and the sum of weights.

    Otherwise the columns of a row that is left out would be known from its copy.
    `products` are the dot products of the rows, (n_rows, n_rows), in each part of the
    features. Copies are equal in all parts.
    """
    gram = sum(products)
    squares = gram.diagonal()
    sums = squares + squares[:, None]
    is_equal = sums - 2 * gram <= _EQUAL * sums
    first, group = np.unique(is_equal.argmax(axis=1), return_inverse=True)
    members = (group == np.arange(len(first))[:, None]) * weights
    weights = members.sum(axis=1)
    columns = members @ columns / weights[:, None]
    return columns, weights, [each[np.ix_(first, first)] for each in products]


def ridge(parts, columns, weights, penalty):
    """Return the coefficients of each part, and intercepts, for centered columns.

    Parts are features side by side, each dense or CSR of shape (n_rows, n_features).
    Conjugate gradients leave sparse parts sparse.
    """
    ends = np.cumsum([part.shape[1] for part in parts])

    # A product of float32 with float64 would copy the features each time.
    dtype = parts[0].dtype

    def weighted_sums(rows):
        rows = (weights[:, None] * rows).astype(dtype)
        return np.concatenate([part.T @ rows for part in parts])

    def equations(coefs):
        pairs = zip(parts, np.split(coefs.astype(dtype), ends[:-1]), strict=True)
        rows = sum(part @ own for part, own in pairs)
        return weighted_sums(rows - weights @ rows) + penalty * coefs

    coefs = conjugate_gradients(
        equations,
        weighted_sums(columns - weights @ columns),
        tolerance=_TOLERANCE,
        n_steps=_MAX_ITERATIONS,
    )
    means = weighted_sums(np.ones((len(weights), 1)))[:, 0]
    return np.split(coefs, ends[:-1]), -means @ coefs
