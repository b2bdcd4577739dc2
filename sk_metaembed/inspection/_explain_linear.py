"""Exact contributions of words and sources to the value of a text.

They exist if the pooled vector is a weighted sum of word vectors, and the value an
affine function of the pooled vector. This function consists of all steps after the
pooling. Its slopes are computed from differences of its values, at points at which it
is then checked to be affine.

The step that pools is recognized by its methods `pool_with_weights` and `from_pooled`;
`Pooling` documents them.
"""

from typing import NamedTuple

import numpy as np
from sklearn.base import is_classifier, is_regressor

from .._pipelines import apply_steps, flat_steps
from .._targets import refuse_pairs_of_classes
from ..meta import ConcatMetaEmbedding
from ..sequences import EmbeddedSequences

# Maximum difference between an affine model and its linearization, relative to the
# differences of values, and what float32 rounds, relative to the values.
_TOLERANCE, _ROUNDING = 1e-4, 1e-6
_N_PROBES = 16  # random points at which this is checked
_POINTS_AT_ONCE = 1024


class Outputs:
    """The values of a fitted predictor: one column per class, or one for numbers."""

    def __init__(self, estimator):
        self.classes, self.method = None, "predict"
        self._estimator = estimator
        if is_classifier(estimator):
            self.classes = np.asarray(estimator.classes_, dtype=object)
            has_decision = hasattr(estimator, "decision_function")
            self.method = "decision_function" if has_decision else "predict_proba"
            if has_decision and len(self.classes) > 2:
                refuse_pairs_of_classes(estimator)
        elif not is_regressor(estimator):
            raise TypeError(
                "explain takes a fitted classifier or regressor, or a Pipeline or "
                f"search that ends in one; got {type(estimator).__name__}."
            )

    def __call__(self, X):
        """Return the values, (n_rows, n_classes or 1), in float64."""
        return self.as_columns(getattr(self._estimator, self.method)(X))

    def as_columns(self, values):
        """Return a predictor's output as (n_rows, n_classes or 1), in float64.

        For two classes it may have one column, the value of the second class.
        """
        shape = getattr(values, "shape", None)  # None of a list of arrays
        n_columns = 1 if self.classes is None else len(self.classes)
        if shape is not None and len(shape) == 1:
            values = np.asarray(values)[:, None]
        if n_columns == 2 and np.shape(values)[1:] == (1,):
            values = np.hstack([-values, values])
        if np.shape(values) != (len(values), n_columns) or shape is None:
            raise ValueError(
                f"{self.method} must return {n_columns} columns, one per "
                f"class, or one for numbers; got an array of shape {shape}. Explain "
                "one target at a time, with a pipeline fitted on it."
            )
        return np.asarray(values, dtype=np.float64)

    def choose(self, values, target):
        """Return the column to explain in each row of `values`, (n_rows,)."""
        if target is None:
            return values.argmax(axis=1)
        if self.classes is None:
            raise ValueError(
                f"target={target!r} is a class, but the estimator predicts "
                "numbers. Leave it out."
            )
        matches = np.flatnonzero([label == target for label in self.classes])
        if not len(matches):
            raise ValueError(
                f"target={target!r} is not one of the classes {self.classes.tolist()}."
            )
        return np.full(len(values), matches[0])


class Contributions(NamedTuple):
    """Exact contributions to the values of texts; None where there are none."""

    tokens: object  # TokenSequences
    values: np.ndarray  # (n_texts,)
    targets: np.ndarray  # (n_texts,), the explained column of the estimator's values
    base: np.ndarray  # (n_texts,)
    words: np.ndarray | None  # (n_tokens,)
    sources: dict | None  # of (n_texts,)


def exact_contributions(estimator, X, choose, background=None):
    """Return the exact `Contributions` of words and sources, None if none exist.

    `choose` returns the column to explain in each row of values (n_texts, n_columns).
    """
    steps = flat_steps(estimator)
    place = next(
        (i for i, s in enumerate(steps) if hasattr(s, "pool_with_weights")), None
    )
    if place is None or not (hasattr(steps[-1], "coef_") or steps[-1] is steps[place]):
        return None
    before, pool, after = steps[:place], steps[place], steps[place + 1 :]
    embedded = apply_steps(before, X)
    if not isinstance(embedded, EmbeddedSequences):  # pairs
        return None
    pooled, parts = pool.pool_with_weights(embedded)
    pooled = np.asarray(pooled, dtype=np.float64)
    function = _AfterPooling(pool, after, embedded[:1])
    reference = _reference(pool, after, pooled.shape[1])
    if background is not None:
        mean = pool.pool_with_weights(apply_steps(before, background))[0]
        reference = np.mean(mean, axis=0, dtype=np.float64)
    try:
        linear = linearize(function, reference, pooled)
    except ValueError:  # a step rejects some points, so it is not affine
        linear = None
    if linear is None:
        return None
    base, weights = linear
    values = function(pooled)
    targets = choose(values)
    names = _sources_by_dim(before, parts)
    words = _word_contributions(embedded.tokens, parts, reference, weights, targets)
    effects = (pooled - reference) * weights.T[targets]
    sources = None if names is None else _sum_by_name(effects, names)
    # Dimensions behind the parts, an indicator of missing texts, have no words.
    dim = sum(block.dim for block, _ in parts)
    base = base[targets] + effects[:, dim:].sum(axis=1)
    chosen = values[np.arange(len(values)), targets]
    return Contributions(embedded.tokens, chosen, targets, base, words, sources)


class _AfterPooling:
    """The steps after the pooling: from pooled vectors (n_rows, dim) to values."""

    def __init__(self, pool, after, embedded):
        self._pool, self._steps = pool, after[:-1]
        self._outputs = Outputs(after[-1] if after else pool)
        # An example of the pool's output, which may be a DataFrame.
        self._like = pool.transform(embedded) if after else None

    def __call__(self, pooled):
        X = self._pool.from_pooled(pooled)
        if self._like is None:
            return self._outputs.as_columns(X)
        if hasattr(self._like, "iloc"):
            X = type(self._like)(X, columns=self._like.columns)
        elif hasattr(self._like, "columns"):
            X = type(self._like)(X, schema=self._like.columns, orient="row")
        return self._outputs(apply_steps(self._steps, X))


def _reference(pool, after, dim):
    """Return the training mean of pooled vectors, zeros if it is not stored."""
    mean = getattr(after[0], "mean_", None) if after else None
    return mean if mean is not None and np.shape(mean) == (dim,) else np.zeros(dim)


@np.errstate(over="ignore", invalid="ignore")
def linearize(function, reference, rows):
    """Return the value (n_columns,) and the slopes of a function at a point.

    Slopes have shape (dim, n_columns). Returns None if the function is not affine at
    `rows`, (n_rows, dim), and at random points of the same scale.
    """
    scale = np.abs(rows - reference).max(axis=0, initial=0) + np.abs(reference)
    scale[scale == 0] = max(scale.max(initial=0), 1.0)
    dim = len(reference)
    (base,) = function(reference[None])
    slopes = np.empty((dim, len(base)))
    for start in range(0, dim, _POINTS_AT_ONCE):
        columns = np.arange(start, min(start + _POINTS_AT_ONCE, dim))
        points = np.repeat(reference[None], len(columns), axis=0)
        points[np.arange(len(columns)), columns] += scale[columns]
        slopes[columns] = (function(points) - base) / scale[columns, None]
    rng = np.random.default_rng(0)
    probes = reference + scale * rng.normal(size=(_N_PROBES, dim))
    points = np.concatenate([rows, probes])
    values = function(points)
    effects = values - base
    errors = np.abs(effects - (points - reference) @ slopes)
    allowed = _TOLERANCE * np.abs(effects).max() + _ROUNDING * np.abs(values).max()
    is_affine = errors.max() <= allowed
    return (base, slopes) if is_affine and np.isfinite(values).all() else None


def _word_contributions(tokens, parts, reference, weights, targets):
    """Return token contributions, (n_tokens,); None if a part is not a sum."""
    if any(factors is None for _, factors in parts):
        return None
    rows, place = tokens.segment_ids(), 0
    effects = np.zeros(tokens.n_tokens)
    for block, factors in parts:
        own = slice(place, place + block.dim)
        place += block.dim
        projected = block.values @ weights[own]  # (n_rows of the block, n_columns)
        of_tokens = tokens.codes if block.level == "type" else slice(None)
        projected = projected[of_tokens][np.arange(tokens.n_tokens), targets[rows]]
        shares = _shares(factors, rows, len(tokens))
        of_reference = reference[own] @ weights[own]
        effects += factors * projected - shares * of_reference[targets[rows]]
    return effects


def _shares(factors, rows, n_texts):
    """Return each token's share of the factors of its text, (n_tokens,).

    Shares are equal in a text without known words, whose factors are all 0.
    """
    sizes = np.abs(factors)
    unknown = np.bincount(rows, sizes, minlength=n_texts) == 0
    sizes[unknown[rows]] = 1
    return sizes / np.bincount(rows, sizes, minlength=n_texts)[rows]


def _sources_by_dim(before, parts):
    """Return the source of each pooled dimension, None if a step mixes sources."""
    union, last = None, None
    for step in before:
        if hasattr(step, "named_sources_"):
            union = step
        last = step.dims_in_ if isinstance(step, ConcatMetaEmbedding) else None
    names = []
    for block, _ in parts:
        dims = {block.name: block.dim} if last is None else last
        names += [name for name, dim in dims.items() for _ in range(dim)]
    if union is None:
        return names
    owners = [source_of(name, union.named_sources_) for name in names]
    return None if None in owners else owners


def source_of(block_name, sources):
    """Return the name of the source that a block comes from, or None."""
    matches = [s for s in sources if block_name == s or block_name.startswith(f"{s}__")]
    return max(matches, key=len, default=None)


def _sum_by_name(effects, names):
    """Return the sums of columns (n_rows, dim) by the names of the columns."""
    places = {}
    for place, name in enumerate(names):
        places.setdefault(name, []).append(place)
    return {name: effects[:, own].sum(axis=1) for name, own in places.items()}
