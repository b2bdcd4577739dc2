"""SourceSelector: selection of sources by cross-validation."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn import config_context
from sklearn.base import (
    BaseEstimator,
    MetaEstimatorMixin,
    TransformerMixin,
    is_classifier,
    is_regressor,
)
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from .._core._estimators import rollback_on_error
from .._core._sample_weights import fit_params
from .._core._sklearn import COUNT, HasMethods, Interval, StrOptions, fit_context
from .._core._typing import Names
from .._targets import (
    check_groups,
    check_target,
    no_warning_of_rare_classes,
    warn_of_rare_classes,
)
from ..sequences import EmbeddedInputMixin, EmbeddedSequences, SequencesOutputMixin
from ..sequences._api import block_dims, check_embedded, equal_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd
    from numpy.typing import ArrayLike

# Of `frame`.
_COLUMNS = "source", "n_sources", "mean_score", "std_score", "accepted", "sources"


class SourceSelector(
    EmbeddedInputMixin,
    SequencesOutputMixin,
    MetaEstimatorMixin,
    TransformerMixin,
    BaseEstimator,
):
    """Select sources by cross-validation, greedily.

    The counterpart of `sklearn.feature_selection.SequentialFeatureSelector` for
    sources. Use it if there are too many sources for a grid over all 2 ** n - 1
    subsets. In a pipeline, it comes after the sources, which are computed once for all
    subsets, and before the step that combines them.

    Parameters
    ----------
    estimator : estimator instance
        The remaining steps up to the prediction, on EmbeddedSequences, for example
        ``make_pipeline(ConcatMetaEmbedding(), Pooling(), LogisticRegression())``.
        Clones of it are fitted for their scores only.
    n_sources_to_select : "auto" or int, default="auto"
        With "auto" and a `tol`, sources are added or removed while the score improves
        by `tol`; with "auto" alone, half of the sources are selected, rounded down. An
        int is a number of sources.
    tol : float, default=None
        Minimum improvement of the score per step; a step that gains less is not taken
        and ends the search. Only with ``n_sources_to_select="auto"``. May be negative
        with ``direction="backward"``, as the loss that removing a source may cost.
    direction : {"forward", "backward"}, default="forward"
        Start with no source and add, or start with all and remove.
    by : {"source", "block"}, default="source"
        Whether the blocks of a source of an EmbeddingUnion, such as its layers, are
        selected together or one by one. They are named ``source__block``.
    scoring : str or callable, default=None
        Name of a scorer, or ``scorer(estimator, X, y)``; None uses the estimator's own
        score. With a scorer that needs no labels, `y` may be None. The scores of
        `sk_metaembed.metrics` embed words or texts of their own and need the sources
        too: use them in a search over `source_subsets`.
    cv : int, cross-validation generator or an iterable, default=5
        Splitting of the training data, as in `sklearn.model_selection.check_cv`:
        stratified for classifiers, and never shuffled if it is an int. All candidates
        are scored on the same folds. With an int, equal sequences, and pairs that share
        a text, are in one fold unless `groups` are passed to `fit`; rows of rare
        classes are in every training part and not scored, and a warning names these
        classes: with at most 10 rows, and at most a tenth of the rows of the largest
        class.
    n_jobs : int, default=None
        Number of folds fitted in parallel, in processes.

    Attributes
    ----------
    sources_ : list of str
        Names of the selected sources, or blocks with ``by="block"``, in input order.
    n_sources_ : int
        Number of selected sources.
    source_names_in_ : ndarray of str objects, shape (n_sources_in,)
        Names of all sources.
    support_ : ndarray of bool, shape (n_sources_in,)
        Mask of the selected sources.
    blocks_ : list of str
        Names of the selected blocks, in input order.
    history_ : list of dict
        One per step, with the keys ``"sources"`` (a tuple of those selected after the
        step), ``"mean_score"`` and ``"std_score"`` over the folds, ``"accepted"``,
        ``"source"`` (added or removed) and ``"scores"`` (mean score by candidate
        source). A step is not accepted if it gained less than `tol` and ended the
        search. `frame` returns it as a table.
    dims_in_ : dict of str to int
        Dimensions of the blocks seen in fit, by name.

    Raises
    ------
    TypeError
        If X is not an EmbeddedSequences.
    ValueError
        If `n_sources_to_select` is not smaller than the number of sources, `tol` is
        negative in forward selection, y is missing for a classifier or regressor, all
        scores are NaN.

    See Also
    --------
    source_subsets : All subsets, for a grid search that includes the sources.
    sklearn.feature_selection.SequentialFeatureSelector : The same for columns.

    Notes
    -----
    Each step adds or removes the source that gives the best score, so at most
    n (n + 1) / 2 subsets of n sources are evaluated. Ties are resolved in favor of the
    earlier source, and a single source is kept without a score under "auto". As in
    scikit-learn, "auto" excludes at least one source: the first step is always taken,
    whatever its score. To allow all sources, search over ``{"select": [selector,
    "passthrough"]}``. NaN counts as the lowest score.

    The sources were fitted on the whole training data before it is split here, so a
    source trained on texts has seen the texts of the inner test folds. It has not seen
    labels, unless it learns from them. The scores in `history_` are optimistic, since
    the best ones were selected. Evaluate the whole pipeline by cross-validation.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sk_metaembed import (
    ...     ConcatMetaEmbedding, EmbeddingUnion, FunctionEmbedding, Pooling
    ... )
    >>> from sk_metaembed import SourceSelector
    >>> def length(words):
    ...     return [[len(word)] for word in words]
    >>> def good(words):
    ...     return [[word in ("good", "fine")] for word in words]
    >>> sources = [
    ...     ("length", FunctionEmbedding(length)), ("good", FunctionEmbedding(good))
    ... ]
    >>> X = EmbeddingUnion(sources).fit_transform(
    ...     ["a good film", "a sad film", "a fine plot", "a dull plot"] * 10
    ... )
    >>> y = [1, 0] * 20
    >>> end = make_pipeline(ConcatMetaEmbedding(), Pooling(), LogisticRegression())
    >>> selector = SourceSelector(end, n_sources_to_select=1).fit(X, y)
    >>> selector.sources_, selector.support_
    (['good'], array([False,  True]))
    >>> selector.frame()[["source", "mean_score", "accepted"]]
         source  mean_score  accepted
    step
    1      good         1.0      True
    >>> selector.transform(X).names
    ('good',)
    """

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit"])],
        "n_sources_to_select": [StrOptions({"auto"}), COUNT],
        "tol": [None, Interval(Real, None, None, closed="neither")],
        "direction": [StrOptions({"forward", "backward"})],
        "by": [StrOptions({"source", "block"})],
        "scoring": [None, str, callable],
        "cv": ["cv_object"],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        estimator: Any,
        *,
        n_sources_to_select: int | Literal["auto"] = "auto",
        tol: float | None = None,
        direction: Literal["forward", "backward"] = "forward",
        by: Literal["source", "block"] = "source",
        scoring: str | Callable[..., Any] | None = None,
        cv: Any = 5,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_sources_to_select = n_sources_to_select
        self.tol = tol
        self.direction = direction
        self.by = by
        self.scoring = scoring
        self.cv = cv
        self.n_jobs = n_jobs

    # The estimator validates its own parameters.
    @fit_context(prefer_skip_nested_validation=False)
    @rollback_on_error
    def fit(
        self,
        X: EmbeddedSequences,
        y: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Select the sources.

        A clone of the estimator is fitted per fold and evaluated subset. No clone is
        kept.

        Parameters
        ----------
        X : EmbeddedSequences
            The training data, with the blocks of all sources.
        y : array-like of shape (n_sequences,), default=None
            Labels. May be None if neither the estimator nor the scorer needs them.
        groups : array-like of shape (n_sequences,), default=None
            Rows of one group are in one fold, if `cv` is an int or a splitter of
            groups. They are passed to an `estimator` whose `fit` takes groups.

        Returns
        -------
        estimator instance
            The fitted selector.
        """
        check_embedded(X)
        if y is None and self._needs_target():
            raise ValueError(
                f"{type(self.estimator).__name__} requires y to be passed, but the "
                "target y is None."
            )
        whole = self.by == "source"
        group = {b: b.partition("__")[0] if whole else b for b in X.names}
        names = np.array(list(dict.fromkeys(group.values())), dtype=object)
        n_steps = self._number_of_steps(names)

        def blocks_of(mask):
            selected = set(names[mask])
            return [block for block in X.names if group[block] in selected]

        groups = check_groups(groups, len(X))
        cv = self._division(X, y, groups)
        params = fit_params(self.estimator, "groups", groups)

        def evaluate(mask):
            return self._scores(X.select(blocks_of(mask)), y, cv, params)

        self.support_, self.history_ = self._search(names, n_steps, evaluate)
        self.source_names_in_ = names
        self.sources_ = names[self.support_].tolist()
        self.n_sources_ = len(self.sources_)
        self.blocks_ = blocks_of(self.support_)
        self.dims_in_ = block_dims(X)
        return self

    def transform(self, X: EmbeddedSequences) -> EmbeddedSequences:
        """Keep the blocks of the selected sources.

        The sources before this step still compute all blocks. To avoid that, set
        `active` of the union to `sources_`.

        Parameters
        ----------
        X : EmbeddedSequences
            With blocks of the names and dimensions seen in fit.

        Returns
        -------
        EmbeddedSequences
            The same tokens with the selected blocks, without copies.
        """
        check_is_fitted(self)
        check_embedded(X, self.dims_in_)
        return X.select(self.blocks_)

    def frame(self) -> pd.DataFrame:
        """Return the steps and their scores as a table.

        If the last steps hardly improve the mean score, fewer sources would do.

        Returns
        -------
        pandas.DataFrame
            One row per step, numbered from 1, with the columns "source", "n_sources"
            (after the step), "mean_score", "std_score", "accepted" and "sources".
        """
        import pandas as pd

        check_is_fitted(self)
        rows = [{**step, "n_sources": len(step["sources"])} for step in self.history_]
        index = pd.RangeIndex(1, len(rows) + 1, name="step")
        return pd.DataFrame(rows, index=index, columns=[*_COLUMNS])

    def get_feature_names_out(
        self, input_features: Sequence[str] | None = None
    ) -> Names:
        """Return the names of the selected dimensions.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of all input dimensions; a Pipeline passes the sources' names. None
            makes names of the block name and a number, ``block__0``.

        Returns
        -------
        ndarray of str objects
            Names of the dimensions of the selected blocks.
        """
        check_is_fitted(self)
        dims = self.dims_in_.items()
        if input_features is None:
            input_features = [f"{block}__{i}" for block, n in dims for i in range(n)]
        names = np.array(input_features, dtype=object)
        mask = np.hstack([[block in self.blocks_] * dim for block, dim in dims])
        if len(names) != len(mask):
            raise ValueError(
                f"input_features should have length equal to the "
                f"number of dimensions, {len(mask)}; got {len(names)}."
            )
        return names[mask]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        try:
            tags.target_tags.required = self._needs_target()
        except (AttributeError, TypeError, ValueError):
            # No estimator, or a Pipeline without steps: fit raises an error.
            tags.target_tags.required = False
        return tags

    def _needs_target(self):
        # The tags of a Pipeline do not say whether its last step requires y.
        predicts = is_classifier(self.estimator) or is_regressor(self.estimator)
        return predicts or get_tags(self.estimator).target_tags.required

    def _search(self, names, n_steps, evaluate):
        """Return the mask of the selected sources, and the history.

        `evaluate` returns the scores of the folds for a mask of sources, (n_sources,).
        """
        backward = self.direction == "backward"
        tol = self.tol if isinstance(self.n_sources_to_select, str) else None
        # A single source is kept without a step.
        support = np.full(len(names), backward or n_steps == 0)
        history, score = [], -np.inf
        for _ in range(n_steps):
            changed = {i: support ^ (names == names[i]) for i in range(len(names))}
            scores = {
                i: evaluate(changed[i]) for i in np.flatnonzero(support == backward)
            }
            means = {i: _mean(values) for i, values in scores.items()}
            best = _best(means)
            accepted = tol is None or means[best] - score >= tol
            history.append(
                {
                    "source": names[best],
                    "sources": tuple(names[changed[best]]),
                    "mean_score": means[best],
                    "std_score": float(np.std(scores[best])),
                    "accepted": bool(accepted),
                    "scores": {names[i]: mean for i, mean in means.items()},
                }
            )
            if not accepted:
                break
            support, score = changed[best], means[best]
        return support, history

    def _number_of_steps(self, names):
        """Return the number of sources to change, at most if `tol` decides."""
        number, backward = self.n_sources_to_select, self.direction == "backward"
        if self.tol is not None and self.tol < 0 and not backward:
            raise ValueError(
                f"tol must be nonnegative in forward selection; got {self.tol}."
            )
        if isinstance(number, str):
            return len(names) // 2 if self.tol is None else len(names) - 1
        if number >= len(names):
            raise ValueError(
                f"n_sources_to_select={number} must be smaller than the number of "
                f"{self.by}s in X, {len(names)} ({list(names)}). Select fewer, or "
                'replace the selector by "passthrough" to keep all.'
            )
        return len(names) - number if backward else number

    def _scores(self, X, y, cv, params):
        """Return the scores of the folds for a selection of blocks."""
        from sklearn.model_selection import cross_val_score

        # Groups reach the estimator whether or not the caller uses routing. Containers
        # are not arrays of another library.
        settings = {"enable_metadata_routing": False, "array_api_dispatch": False}
        with (
            config_context(**settings),
            no_warning_of_rare_classes(),  # of the rows of each fold
        ):
            return cross_val_score(
                self.estimator,
                X,
                y,
                cv=cv,
                scoring=self.scoring,
                n_jobs=self.n_jobs,
                params=params,
                error_score="raise",
            )

    def _division(self, X, y, groups):
        """Return (train, test) pairs, the same for all candidates.

        With an int as `cv`, rows of rare classes are not held out, and equal rows are
        in one fold.
        """
        from sklearn import model_selection as sk

        rows = common = np.arange(len(X))
        cv = sk.check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        if isinstance(self.cv, Integral | None):
            is_stratified = isinstance(cv, sk.StratifiedKFold)
            if is_stratified:
                y = check_target(y, len(X))
                common = np.flatnonzero(~np.isin(y, warn_of_rare_classes(y)))
                y = y[common]
            if groups is None:
                groups = equal_rows(X)
                if groups is not None and len(np.unique(groups)) < cv.get_n_splits():
                    groups = None  # vectors of equal sequences can differ
            if groups is not None:
                kind = sk.StratifiedGroupKFold if is_stratified else sk.GroupKFold
                cv, groups = kind(cv.get_n_splits()), groups[common]
        rare = np.setdiff1d(rows, common)
        return [
            (np.sort(np.concatenate([rare, common[train]])), common[test])
            for train, test in cv.split(common, y, groups)
        ]


def _best(means):
    """Return the key with the highest mean, the first of ties; NaN is lowest."""
    valid = {key: mean for key, mean in means.items() if not np.isnan(mean)}
    if not valid:
        raise ValueError(
            "the scores of all candidate sources are NaN. Check the scorer on a single "
            "fold, and that each fold has what it needs, such as every class."
        )
    return max(valid, key=valid.get)


def _mean(scores):
    """Return the mean of fold scores, which does not depend on their order."""
    if not np.isfinite(scores).all():
        return float(np.mean(scores))
    return math.fsum(scores) / len(scores)
