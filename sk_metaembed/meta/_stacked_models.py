"""Fit the models of a stack, and return their out-of-fold decision values."""

from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from .._core._arrays import normalize_rows, pair_features, vary_by_rounding
from .._pipelines import flat_steps
from .._stacking import fit_linear, fit_on_folds, fit_part, is_clearly_less
from .._targets import decision_values, errors_of_model, per_column
from .._training._device import one_blas_thread
from ..pooling._api import mean_vectors
from ..sequences import EmbeddedSequences, SequencePairs, TokenSequences
from ..sequences._api import (
    block_dims,
    check_embedded,
    explained_token_errors,
    tokens_of,
)
from ._ngram_features import (
    CharacterFeatures,
    NgramFeatures,
    PositionFeatures,
    WordFeatures,
)


class View(NamedTuple):
    """A view of the rows: the input of a model, and how the model is fitted."""

    reads: str  # "vectors" of a source or of all, "tokens", or "input": X itself
    features: type | None = None  # a transformer of tokens before the model
    per_dimension: bool = False  # scale dimensions, if there are fewer than rows
    per_fold: bool = False  # average a model per fold instead of one of all rows
    of_order: bool = False  # features of the order of tokens


VIEWS = {
    "row": View("vectors"),  # rows of unit length
    "dimension": View("vectors", per_dimension=True),  # unit variance
    "given": View("vectors"),
    "words": View("tokens", WordFeatures),
    "chars": View("tokens", CharacterFeatures),
    "ngrams": View("tokens", NgramFeatures, of_order=True),
    "positions": View("tokens", PositionFeatures, of_order=True),
    # For `models`:
    "tokens": View("tokens", per_fold=True),
    "sequences": View("input", per_fold=True),
}


class StackRows:
    """The input of a stack, in each of the `VIEWS`.

    `dims` has the dimensions of the sources by name, as in fit. For pairs, `sequences`
    has all first sides, followed by all second sides.
    """

    def __init__(self, X, dims=None):
        self.X, self.are_pairs = X, isinstance(X, SequencePairs)
        sequences = X.sequences if self.are_pairs else X
        if not isinstance(sequences, TokenSequences):
            check_embedded(sequences, dims)
        elif dims:
            raise TypeError(
                f"The stack was fitted on the sources {[*dims]}, got {X!r} without "
                "sources. Pass EmbeddedSequences with these sources."
            )
        self.sequences, self._means, self._vectors = sequences, {}, {}
        has_sources = isinstance(sequences, EmbeddedSequences)
        self.dims = block_dims(sequences) if has_sources else {}

    def read(self, name, view):
        """Return the input of a model: X, its tokens, or vectors of the sources.

        Vectors come from the source named like the model, or from all sources.
        """
        if VIEWS[view].reads == "input":
            return self.X
        if VIEWS[view].reads == "tokens":
            tokens = tokens_of(self.sequences)
            return SequencePairs(tokens) if self.are_pairs else tokens
        if not self._means:
            tokens, blocks = self.sequences.tokens, self.sequences.blocks
            self._means = {b.name: mean_vectors(tokens, b)[0] for b in blocks}
        if view not in self._vectors:
            self._vectors[view] = {
                name: scale_vectors(means, view, self.are_pairs)
                for name, means in self._means.items()
            }
        return vectors_of(self._vectors[view], name)


def vectors_of(vectors, name):
    """Return the vectors of a source, or of all sources if none has the name."""
    return vectors[name] if name in vectors else np.hstack([*vectors.values()])


def scale_vectors(values, view, of_pairs):
    """Return sequence vectors, or features of pairs, scaled for a view."""
    if view == "row":
        values = normalize_rows(values)
    if not of_pairs:
        return values
    u, v = np.split(values, 2)
    features = pair_features(u, v)
    if view == "row":
        # Products of unit vectors have a length of about 1 / sqrt(dim).
        features[:, 3 * u.shape[1] :] *= np.sqrt(u.shape[1])
    cosines = np.einsum("ij,ij->i", normalize_rows(u), normalize_rows(v))
    return np.hstack([features, cosines[:, None]])


class Member(NamedTuple):
    """A model of a stack, before its fit."""

    name: str
    estimator: Any  # None is a linear model whose penalty is chosen
    views: tuple[str, ...]  # names of views, the best of which is chosen
    default: float  # weight, relative to those of the others


class FittedMember(NamedTuple):
    """A model of a stack, after its fit."""

    view: str  # name of the view that the model reads
    model: Any  # fitted on all rows, or a list of models that each leave out a fold
    # Out of fold, (n_rows, n_columns), or by `model` for rows that are not held out
    decisions: np.ndarray


def fit_models(members, rows, target, folds, sample_weight, n_jobs):
    """Return the `FittedMember` of each `Member`."""
    shared, fitted = (target, folds, sample_weight), {}
    with one_blas_thread():
        # Matrix products release the GIL, so linear models run in threads without
        # copies.
        for prefer, is_linear in (("threads", True), (None, False)):
            some = [each for each in members if (each.estimator is None) == is_linear]
            jobs = (
                delayed(_fit_member)(
                    member,
                    {view: rows.read(member.name, view) for view in member.views},
                    *shared,
                )
                for member in some
            )
            results = Parallel(n_jobs=n_jobs, prefer=prefer)(jobs)
            fitted |= {each.name: one for each, one in zip(some, results, strict=True)}
    return [fitted[member.name] for member in members]


def _fit_member(member, inputs, target, folds, sample_weight):
    """Return the `FittedMember` of a `Member`; name the estimator in errors.

    `inputs` has the training rows as the model reads them, by view. Later views are
    used only if they are clearly better.
    """
    shared = target, folds, sample_weight
    with (
        config_context(
            assume_finite=True,  # checks take half the time of a fit on few rows
            skip_parameter_validation=True,
        ),
        one_blas_thread(),  # in a worker process, `fit_models` has not set it
    ):
        if member.estimator is None:
            return _fit_best_view(inputs, *shared)
        ((view, X),) = inputs.items()
        with errors_of_model(f"model {member.name!r}", member.estimator):
            if not VIEWS[view].per_fold:
                return FittedMember(view, *_fit_given(member.estimator, X, *shared))
            with _explained_errors(member.estimator, view):
                return FittedMember(view, *fit_on_folds(member.estimator, X, *shared))


def _fit_best_view(inputs, target, folds, sample_weight):
    """Return the `FittedMember` of a linear model, whose penalty is chosen."""
    from sklearn.pipeline import Pipeline  # slow to import
    from sklearn.preprocessing import StandardScaler

    best, least = None, None
    for view, X in inputs.items():
        settings, features = VIEWS[view], None
        if settings.per_dimension:
            if len(X) < X.shape[1]:
                continue
            features = StandardScaler().set_output(transform="default")
            X = features.fit_transform(without_noise(X))
        elif settings.features is not None:
            features = settings.features()
            X = features.rows(X, learns=True)
        fit = fit_linear(X, target, folds, sample_weight, settings.per_dimension)
        if best is None or is_clearly_less(fit.row_losses, least):
            model = fit.model
            if features is not None:
                model = Pipeline([("features", features), ("model", model)])
            best, least = FittedMember(view, model, fit.decisions), fit.row_losses
    return best


def _explained_errors(estimator, view):
    """Add advice to errors of models that read str instead of tokens."""
    if VIEWS[view].reads != "tokens":
        return nullcontext()
    what = f"{type(flat_steps(estimator)[0]).__name__} in `models`"
    remedy = (
        "Models that read texts receive tokens. Pass analyzer=list to a vectorizer, or "
        "wrap a transformer that takes str: EstimatorEmbedding(..., as_text=True)."
    )
    return explained_token_errors(estimator, what, remedy)


def _fit_given(estimator, X, target, folds, sample_weight):
    """Return a fitted clone of `estimator`, and out-of-fold decision values."""
    X = X.astype(np.float64)  # in float32, solvers stop early and warn
    estimator = per_column(estimator, target)
    every, decisions = np.arange(len(X)), np.zeros(target.columns.shape)
    models = []
    for train, test in [(every, every), *folds.pairs]:
        part = target, folds, sample_weight, train
        models.append(fit_part(clone(estimator), X[train], *part))
        decisions[test] = decision_values(models[-1], X[test], target) - target.center
    return models[0], decisions


def without_noise(X):
    """Return vectors, (n_rows, dim), with dimensions of rounding noise made constant.

    Scaled to unit variance, these dimensions would dominate.
    """
    mean, std = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
    noise = vary_by_rounding(mean, std)
    if noise.any():
        X = X.copy()
        X[:, noise] = mean[noise]
    return X
