"""The models of a stack: what they read, and their decision values out of fold."""

from collections.abc import Callable
from contextlib import nullcontext
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from .._core._arrays import normalize_rows, pair_features, vary_by_rounding
from .._pipelines import flat_steps
from .._stacking import LinearFit, fit_on_folds, fit_part, is_clearly_less
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


def _scaler():
    from sklearn.preprocessing import StandardScaler

    return StandardScaler().set_output(transform="default")


class View(NamedTuple):
    """A view of the rows: what a model of a stack reads, and how it is fitted.

    Attributes
    ----------
    reads : {"vectors", "tokens", "input"}
        The vectors of a source or of all sources, the tokens, or X itself.
    make_features : callable or None
        Returns the transformer before the model, which needs no y.
    per_dimension : bool
        Whether dimensions are scaled one by one, which needs at least as many rows.
    per_fold : bool
        Whether the mean of one model per fold is used, not a model of all rows.
    of_order : bool
        Whether features represent the order of tokens.
    """

    reads: str
    make_features: Callable | None = None
    per_dimension: bool = False
    per_fold: bool = False
    of_order: bool = False


VIEWS = {
    "row": View("vectors"),  # of unit length
    "dimension": View("vectors", _scaler, per_dimension=True),  # to unit variance
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
    """The rows of an input of a stack, in each of the `VIEWS`.

    Parameters
    ----------
    X : EmbeddedSequences, TokenSequences, or SequencePairs of one of them
    dims : dict of str to int, default=None
        The blocks of fit; None in fit.
    """

    def __init__(self, X, dims=None):
        self.X, self.are_pairs = X, isinstance(X, SequencePairs)
        # For pairs, all first sides and then all second sides.
        sequences = X.sequences if self.are_pairs else X
        if not isinstance(sequences, TokenSequences):
            check_embedded(sequences, dims)
        elif dims:
            raise TypeError(
                f"The stack was fitted on the sources {[*dims]}, got {X!r} without "
                "sources. Pass EmbeddedSequences with these sources."
            )
        self.sequences, self._vectors = sequences, {}

    @property
    def dims(self):
        """The dimensions of the sources, by name."""
        has_sources = isinstance(self.sequences, EmbeddedSequences)
        return block_dims(self.sequences) if has_sources else {}

    @cached_property
    def _means(self):
        tokens, blocks = self.sequences.tokens, self.sequences.blocks
        return {block.name: mean_vectors(tokens, block)[0] for block in blocks}

    def vectors(self, view):
        """Return the vectors of each source, (n_rows, n_features), by its name."""
        if view not in self._vectors:
            self._vectors[view] = {
                name: scale_vectors(means, view, self.are_pairs)
                for name, means in self._means.items()
            }
        return self._vectors[view]

    def read(self, name, view):
        """Return the input of a model: X, its tokens, or vectors of the sources.

        Vectors come from the source with the name of the model, or from all sources.
        """
        if VIEWS[view].reads == "input":
            return self.X
        if VIEWS[view].reads == "tokens":
            tokens = tokens_of(self.sequences)
            return SequencePairs(tokens) if self.are_pairs else tokens
        return vectors_of(self.vectors(view), name)


def vectors_of(vectors, name):
    """Return the vectors of a source, or of all sources if none has the name."""
    return vectors[name] if name in vectors else np.hstack([*vectors.values()])


def scale_vectors(values, view, of_pairs):
    """Return sequence vectors, or features of pairs, as the model of a view reads."""
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


class FittedModel(NamedTuple):
    """A model of a stack.

    Attributes
    ----------
    model : estimator or list of estimator
        Fitted on all rows; or one per fold, fitted without its rows. The mean of their
        decision values counts.
    view : str
        The view of the rows that it reads.
    decisions : ndarray of shape (n_rows, n_columns)
        Decision values out of fold; those of the model itself for rows that were not
        held out.
    """

    model: Any
    view: str
    decisions: np.ndarray


def fit_models(members, rows, target, folds, sample_weight, n_jobs):
    """Return one `FittedModel` per model.

    Parameters
    ----------
    members : list of UnfittedModel
    rows : StackRows
    target : Target
    folds : Folds
    sample_weight : ndarray of shape (n_rows,) or None
    n_jobs : int or None
    """
    common = target, folds, sample_weight

    def fit(some, prefer):
        jobs = (
            delayed(_fit_named)(
                member.name,
                member.estimator,
                {view: rows.read(member.name, view) for view in member.views},
                *common,
            )
            for member in some
        )
        names = [member.name for member in some]
        fitted = Parallel(n_jobs=n_jobs, prefer=prefer)(jobs)
        return dict(zip(names, fitted, strict=True))

    linear = [member for member in members if member.estimator is None]
    others = [member for member in members if member.estimator is not None]
    with one_blas_thread():
        # Products of matrices release the GIL, so that linear models need no copies.
        by_name = {**fit(linear, "threads"), **fit(others, None)}
    return [by_name[member.name] for member in members]


def _fit_named(name, estimator, *args):
    """Return the result of `fit_best_view`; errors of a user's estimator are named."""
    if estimator is None:
        return fit_best_view(estimator, *args)
    with errors_of_model(f"model {name!r}", estimator):
        return fit_best_view(estimator, *args)


def fit_best_view(estimator, inputs, target, folds, sample_weight):
    """Return the `FittedModel` of the best view of the rows.

    Parameters
    ----------
    estimator : estimator or None
        None is a linear model whose penalty is chosen.
    inputs : dict of str to array or container
        What the model reads of the training rows, by view; later views are used only if
        they are clearly better.
    target : Target
    folds : Folds
    sample_weight : ndarray of shape (n_rows,) or None
    """
    with (
        config_context(
            assume_finite=True,  # checks take half the time of a fit on few rows
            skip_parameter_validation=True,
        ),
        one_blas_thread(),
    ):
        best_name, best = None, None
        for name, X in inputs.items():
            view = VIEWS[name]
            if view.per_fold:
                with _explained_errors(estimator, view):
                    models, decisions = fit_on_folds(
                        estimator, X, target, folds, sample_weight
                    )
                return FittedModel(models, name, decisions)
            if view.per_dimension:
                if len(X) < X.shape[1]:
                    continue
                X = without_noise(X)
            rows = target, folds, sample_weight
            if estimator is None:
                features = view.make_features() if view.make_features else None
                fit = LinearFit(X, *rows, features, view.per_dimension)
            else:
                fit = _GivenFit(estimator, X, *rows)
            if best is None or is_clearly_less(fit.row_losses, best.row_losses):
                best_name, best = name, fit
        return FittedModel(best.model(), best_name, best.decisions())


def _explained_errors(estimator, view):
    """Advise what to do if a model of `models` takes str instead of tokens."""
    if view.reads != "tokens":
        return nullcontext()
    what = f"{type(flat_steps(estimator)[0]).__name__} in `models`"
    remedy = (
        "Models that read texts receive tokens. Pass analyzer=list to a vectorizer, or "
        "wrap a transformer that takes str: EstimatorEmbedding(..., as_text=True)."
    )
    return explained_token_errors(estimator, what, remedy)


class _GivenFit:
    """A user's model, fitted on all rows and without the rows of each fold."""

    row_losses = None  # would compare views, but such a model reads one only

    def __init__(self, estimator, X, target, folds, sample_weight):
        X = X.astype(np.float64)  # in float32, solvers stop early and warn
        estimator = per_column(clone(estimator), target)
        self._decisions = np.zeros(target.columns.shape)
        every = np.arange(len(X))
        for train, test in [(every, every), *folds.pairs]:
            model = fit_part(
                clone(estimator), X[train], target, folds, sample_weight, train
            )
            decisions = decision_values(model, X[test], target)
            self._decisions[test] = decisions - target.center
            if test is every:
                self._model = model

    def model(self):
        """Return the model of all rows."""
        return self._model

    def decisions(self):
        """Return decision values out of fold minus the center, (n_rows, n_columns)."""
        return self._decisions


def without_noise(X):
    """Return vectors, (n_rows, dim), where dimensions of rounding noise are constant.

    Scaled to unit variance, they would dominate the rows that differ in them.
    """
    mean, std = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
    noise = vary_by_rounding(mean, std)
    if noise.any():
        X = X.copy()
        X[:, noise] = mean[noise]
    return X
