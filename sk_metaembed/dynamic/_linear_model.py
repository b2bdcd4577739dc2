"""A linear model of mean vectors and n-grams, with which a network is averaged.

Its leave-one-out R2, which ridge regression computes exactly, measures how noisy the
targets are. The weight decay of the network and the share of this model in the outputs
depend on it.
"""

import numpy as np
from scipy.optimize import minimize_scalar

from .._core._arrays import normalize_rows, row_product
from ..pooling._api import sequence_blocks
from ..sequences._api import folds_case, learn_ngrams, ngram_weights, without_case
from ._inputs import tokens_and_blocks
from ._ridge import leave_one_out, merged_copies, ridge
from ._standardization import standardization

# The maximum numbers of rows that choose the penalty and the share of words, of rows of
# the fit, and of n-grams per length.
MAX_ROWS, MAX_ROWS_OF_FIT, _MAX_WORDS = 1000, 100_000, 20_000
_WORD_SHARES = (0, 0.25, 0.5, 0.75, 1)
_NGRAM_LENGTHS = (1, 2, 3)
# The share without sources, where both models read the same tokens.
_SHARE_OF_NGRAMS = 0.4
_PENALTIES = np.logspace(-4, 1, 16)
_MAX_SCALE = 60
_MAX_NUMBERS = 20_000_000  # in the columns of the fit
_CHUNK = 16_384
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
        without sources. All copies of a row are left out with it, so that they do not
        choose a small penalty. A network does learn copies, so its weight decay follows
        the R2 with them.
    """

    def __init__(self, X, codes, weights, rows, target):
        self._n_rows = len(rows)
        data = _Rows(X, codes, weights, rows, target)
        self._standards = data.standards
        self._folds_case = folds_case(data.tokens)
        tokens = self._without_case(data.tokens.compact())
        ngrams = [learn_ngrams(tokens, length, _MAX_WORDS) for length in _NGRAM_LENGTHS]
        chosen = tokens[data.chosen]
        features = [_products(ngram_weights(chosen, each)) for each in ngrams]
        products = [data.products, *features]
        # Pairs of a length of n-grams and their share; the length does not matter if
        # the share is 0.
        shares = _WORD_SHARES if data.standards else (1,)
        choices = [(i, share) for share in shares for i in range(len(ngrams))]
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
        self._words, parts = ngrams[i], [data.vectors, ngram_weights(tokens, ngrams[i])]
        self.r2, self.r2_of_vectors = best.r2, tried[0].r2 if data.standards else 0.0
        self._r2_of_copies = self.r2_of_vectors if data.standards else self.r2
        if len(vectors) < len(data.chosen):  # there are copies
            own = data.products if data.standards else products[1 + i]
            self._r2_of_copies = data.r2_of_copies(own)
        columns, weights, n_rows = data.columns, data.weights, len(data.columns)
        offset = _outputs_of_means(weights @ columns, n_rows, target)
        scale = calibrated_scale(best.decisions, offset, *targets, target)
        factors = (1 - share) ** 0.5, share**0.5
        scaled = [part * np.float32(f) for part, f in zip(parts, factors, strict=True)]
        # The best penalty of a sum over rows does not depend on their number.
        penalty = best.penalty * len(data.chosen) / n_rows
        coefs, intercepts = ridge(scaled, columns, weights, penalty)
        pairs = zip(coefs, factors, strict=True)
        self._of_vectors, self._of_words = (scale * f * own for own, f in pairs)
        self._intercepts = offset + scale * intercepts

    def _without_case(self, tokens):
        return without_case(tokens) if self._folds_case else tokens

    def weight_decay(self, target):
        """Return the weight decay for a network of the target."""
        return _weight_decay(self._r2_of_copies, self._n_rows, target)

    def share(self, target):
        """Return the share of this model in the sum with the outputs of a network.

        The share is large if the model explains little, in particular of many labels,
        and if words explain more than vectors. Without vectors, it is fixed.
        """
        if not self._standards:
            return _SHARE_OF_NGRAMS
        noise = _noise(max(self.r2, self._r2_of_copies)) ** 2
        noise *= min(target.n_outputs / MANY_OUTPUTS, 1)
        words = max(self.r2, 0) - max(self.r2_of_vectors, 0)
        # A small R2 is chance: a ratio to it would be arbitrary.
        return min(0.2 + 0.7 * noise + words / max(self.r2, 0.05), 0.7)

    def outputs(self, X):
        """Return outputs on the scale of a network's, (n_rows, n_outputs)."""
        words = ngram_weights(self._without_case(tokens_and_blocks(X)[0]), self._words)
        outputs = self._intercepts + words @ self._of_words
        if not self._standards:
            return outputs
        for start in range(0, len(X), _CHUNK):  # vectors of all rows can be large
            rows = slice(start, start + _CHUNK)
            vectors = _mean_vectors(sequence_blocks(X[rows]), self._standards)
            outputs[rows] += row_product(vectors, self._of_vectors)
        return outputs


def weight_decay_alone(X, codes, weights, rows, target):
    """Return the weight decay of a `LinearModel`, without fitting the rest of it."""
    if not tokens_and_blocks(X)[1]:
        return LinearModel(X, codes, weights, rows, target).weight_decay(target)
    data = _Rows(X, codes, weights, rows, target)
    return _weight_decay(data.r2_of_copies(data.products), len(rows), target)


def _weight_decay(r2, n_rows, target):
    return target.weight_decay(_noise(r2)) * min(MANY_ROWS / n_rows, 1)


class _Rows:
    """Rows of a fit: their mean vectors, and those that choose the penalty."""

    def __init__(self, X, codes, weights, rows, target):
        rows = _subsample(rows, min(MAX_ROWS_OF_FIT, _MAX_NUMBERS // target.n_outputs))
        X, self.columns = X[rows], target.as_columns(codes[rows]).astype(np.float64)
        self.weights = weights[rows] / weights[rows].sum(dtype=np.float64)
        self.tokens, blocks = tokens_and_blocks(X)
        blocks = sequence_blocks(X) if blocks else []
        self.standards = [
            standardization(block, known, self.weights[known])
            for block in blocks
            for known in [np.flatnonzero(block.known)]
        ]
        self.vectors = np.zeros((len(rows), 0), dtype=np.float32)
        if blocks:
            self.vectors = _mean_vectors(blocks, self.standards)
        self.chosen = _subsample(np.arange(len(rows)), MAX_ROWS)
        self.products = _products(self.vectors[self.chosen])
        weights = self.weights[self.chosen]
        self.chosen_targets = self.columns[self.chosen], weights / weights.sum()

    def r2_of_copies(self, products):
        """Return the R2 of rows with given products; copies are left out one by one."""
        return leave_one_out(products, *self.chosen_targets, _PENALTIES).r2


def _mean_vectors(blocks, standards):
    """Return the concatenated unit vectors of all sources, standardized before.

    A row has unit length if every source knows a word of its sequence.
    """
    rows = []
    for block, (mean, factor) in zip(blocks, standards, strict=True):
        standardized = (block.values - mean) * factor
        standardized[~block.known] = 0
        rows.append(normalize_rows(standardized))
    return np.hstack(rows) / np.float32(len(rows) ** 0.5)


def calibrated_scale(decisions, offset, columns, weights, target):
    """Return the factor that makes decisions outputs of a target, 1 for numbers.

    For labels and label sets, it minimizes the log loss, summed over columns.
    """
    if not target.is_classification:
        return 1.0

    def log_loss(scale):
        chances = target.probabilities(offset + scale * decisions).clip(1e-12, 1)
        others = (1 - chances).clip(1e-12)
        likelihoods = columns * np.log(chances) + (1 - columns) * np.log(others)
        return -weights @ likelihoods.sum(axis=1)

    bounds = 0, _MAX_SCALE
    return minimize_scalar(log_loss, bounds=bounds, method="bounded").x


def _outputs_of_means(means, n_rows, target):
    """Return the outputs of a target for the means of its columns."""
    if not target.is_classification:
        return means
    return target.link(means.clip(0.5 / n_rows, 1 - 0.5 / n_rows))


def _noise(r2):
    """Return from 0 to 1 how little is explained."""
    return 1 - min(max(r2 / CLEAR, 0), 1)


def _products(part):
    part = part.astype(np.float64)
    products = part @ part.T
    return products if isinstance(products, np.ndarray) else products.toarray()


def _subsample(rows, n):
    """Return n rows drawn at random, in their order, or all if there are fewer.

    Rows at equal distances may be of one class, where classes alternate.
    """
    if len(rows) <= n:
        return rows
    return rows[np.sort(np.random.RandomState(0).permutation(len(rows))[:n])]
