"""SourceSelector: the sources that cross-validation chooses, one at a time.

What a SourceSelector tells of its choice: a mask, a table, names.
"""

from numbers import Integral, Real

import numpy as np
from sklearn.base import (
    BaseEstimator,
    MetaEstimatorMixin,
    TransformerMixin,
    clone,
    is_classifier,
    is_regressor,
)
from sklearn.utils import get_tags
from sklearn.utils._metadata_requests import _raise_for_params, _routing_enabled
from sklearn.utils._param_validation import HasMethods, Interval, RealNotInt, StrOptions
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.validation import check_is_fitted

from .._core._decorators import fit_context, rollback_on_error
from ..sequences._mixins import (
    EmbeddedInputMixin,
    SequencesOutputMixin,
    block_dims,
    check_blocks,
    check_embedded,
)
from ._greedy import (
    blocks_of,
    choose,
    grouped,
    number_of_steps,
)


class Selection:
    """What is read off the attributes of a fitted SourceSelector."""

    def get_support(self, indices=False):
        """Return which sources are kept.

        The name is that of scikit-learn's selectors, so that what reads these reads
        this one.

        Parameters
        ----------
        indices : bool, default=False
            Positions in `source_names_in_` rather than a mask.

        Returns
        -------
        ndarray of bool, shape (n_sources_in,), or of int
            The mask, or the positions of what is kept.
        """
        check_is_fitted(self)
        return np.flatnonzero(self.support_) if indices else self.support_

    def frame(self):
        """Return the order of choice and the score at each step as a table.

        It tells whether the last sources were worth their while: where the mean score
        hardly rises, fewer sources would do. `history_` holds the scores of those not
        taken, too.

        Returns
        -------
        pandas.DataFrame
            One row a step, numbered from 1, with the columns "source", "n_sources"
            (left after the step), "mean_score", "std_score", "taken" and "sources".
        """
        import pandas as pd

        check_is_fitted(self)
        columns = ("source", "n_sources", "mean_score", "std_score", "taken", "sources")
        rows = [{**step, "n_sources": len(step["sources"])} for step in self.history_]
        index = pd.RangeIndex(1, len(rows) + 1, name="step")
        return pd.DataFrame(rows, index=index, columns=list(columns))

    def get_feature_names_out(self, input_features=None):
        """Return a name for each dimension that is kept.

        A Pipeline passes what the sources call their dimensions, and so the names that
        come out tell where a column stems from.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of all dimensions that come in, as the sources give them. None makes
            them of the block's name and a number, ``block__0``.

        Returns
        -------
        ndarray of str objects
            Those of the blocks that are kept.
        """
        check_is_fitted(self)
        if input_features is None:
            names = [
                f"{b}__{i}" for b, dim in self.dims_in_.items() for i in range(dim)
            ]
        else:
            names = list(input_features)
        width = sum(self.dims_in_.values())
        if len(names) != width:
            raise ValueError(
                f"SourceSelector: input_features should have length equal to the "
                f"number of dimensions, {width}; got {len(names)}."
            )
        mask = np.repeat(
            [block in self.blocks_ for block in self.dims_in_],
            list(self.dims_in_.values()),
        )
        return np.array(names, dtype=object)[mask]


class SourceSelector(
    Selection,
    EmbeddedInputMixin,
    SequencesOutputMixin,
    MetaEstimatorMixin,
    TransformerMixin,
    BaseEstimator,
    auto_wrap_output_keys=None,
):
    """Keep the sources that help, chosen greedily by cross-validation.

    What `sklearn.feature_selection.SequentialFeatureSelector` does for columns this
    does for sources: at each step it adds the source, or removes the one, after
    which `estimator` scores best. Take it where there are more sources than a grid
    over all their subsets can bear: of n sources it looks at n (n + 1) / 2 sets at
    most, in place of 2 ** n - 1. It stands behind the sources and before what
    combines them.

    Parameters
    ----------
    estimator : estimator instance
        What follows, up to the prediction: it takes EmbeddedSequences, for example
        ``make_pipeline(ConcatMetaEmbedding(), Pooling(), LogisticRegression())``.
        Clones of it are fitted, for their scores only.
    n_sources_to_select : "auto", int or float, default="auto"
        With "auto" and a `tol`, sources are added or removed while the score gains
        `tol`; without one, half of them are selected, rounded down. An int is their
        number, a float between 0 and 1 their share, at least one source.
    tol : float, default=None
        The least gain in the score from one step to the next; a step that gains less
        is not taken and ends the search. Only with ``n_sources_to_select="auto"``.
        Negative with ``direction="backward"``, where it is the loss that a source
        less may cost.
    direction : {"forward", "backward"}, default="forward"
        Whether to begin with none and add, or with all and remove.
    by : {"source", "block"}, default="source"
        Whether the blocks of one source of an EmbeddingUnion, such as its layers,
        are kept together or chosen one by one. They are named ``source__block``.
    scoring : str or callable, default=None
        A scorer's name, or ``scorer(estimator, X, y)``; None for the estimator's own
        score. A scorer that needs no labels allows `y` to be None. Those of
        `sk_metaembed.metrics` embed words or texts of their own, which takes the
        sources as well: search over `source_subsets` with them.
    cv : int, cross-validation generator or an iterable, default=5
        How the training fold is split, as `sklearn.model_selection.check_cv` reads
        it: stratified for classifiers, never shuffled where an int is given.
    n_jobs : int, default=None
        Number of folds to fit at a time, in processes.

    Attributes
    ----------
    sources_ : list of str
        What is kept, in the order of the input: names of sources, or of blocks with
        ``by="block"``.
    n_sources_ : int
        Their number.
    source_names_in_ : ndarray of str objects, shape (n_sources_in,)
        What there was to choose from.
    support_ : ndarray of bool, shape (n_sources_in,)
        Which of these are kept.
    blocks_ : list of str
        Names of the blocks that are kept, in the order of the input.
    history_ : list of dict
        One a step, in order, with the keys ``"source"`` (added or removed by it),
        ``"sources"`` (a tuple of those left after it), ``"mean_score"`` and
        ``"std_score"`` of the folds, ``"scores"`` (the mean score for each source
        that might have been taken) and ``"taken"``, which is False where the step
        gained less than `tol` and so ended the search. `frame` shows it as a table.
    dims_in_ : dict of str to int
        Dimensions of the blocks by name, as they stood in fit.

    Raises
    ------
    TypeError
        If X is not an EmbeddedSequences.
    ValueError
        If as many sources are asked for as there are, `tol` is negative in forward
        selection, y is missing for a classifier or regressor, or no score is a
        number.

    See Also
    --------
    source_subsets : All subsets, for a grid search that reaches behind the sources.
    sklearn.feature_selection.SequentialFeatureSelector : The same for columns.

    Notes
    -----
    Of sources that score alike the earlier one is added or removed. A score that is
    not a number counts as the lowest. A single source is kept without a score under
    "auto". As in scikit-learn, "auto" leaves out one source at least: the first one
    is added, or removed, whatever it scores. To let all stay, search over
    ``{"select": [selector, "passthrough"]}``.

    The sources were fitted on the whole training fold before it is split here, so
    that a source trained on texts has read the texts of the inner test folds. It has
    not seen labels, unless it learns from them; the scores in `history_` are those of
    a choice, and too good by what the choice of the best adds. Score the whole
    pipeline by cross-validation from outside.

    Metadata such as ``sample_weight`` reach the estimator, the splitter and the
    scorer where metadata routing is enabled and they ask for it.

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
    >>> selector.sources_
    ['good']
    >>> selector.transform(X).names
    ('good',)
    """

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit"])],
        "n_sources_to_select": [
            StrOptions({"auto"}),
            Interval(RealNotInt, 0, 1, closed="right"),
            Interval(Integral, 0, None, closed="neither"),
        ],
        "tol": [None, Interval(Real, None, None, closed="neither")],
        "direction": [StrOptions({"forward", "backward"})],
        "by": [StrOptions({"source", "block"})],
        "scoring": [None, str, callable],
        "cv": ["cv_object"],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        estimator,
        *,
        n_sources_to_select="auto",
        tol=None,
        direction="forward",
        by="source",
        scoring=None,
        cv=5,
        n_jobs=None,
    ):
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
    def fit(self, X, y=None, **params):
        """Choose the sources.

        At each step one clone of the estimator is fitted for each fold and each source
        that might be taken. None is kept: what is behind the selector is fitted on its
        own.

        Parameters
        ----------
        X : EmbeddedSequences
            Of the training fold, with the blocks of all sources.
        y : array-like of shape (n_sequences,), default=None
            Labels. None where neither the estimator nor the scorer needs any.
        **params : dict
            Passed to the estimator, the splitter and the scorer; only where
            scikit-learn's metadata routing is enabled.

        Returns
        -------
        estimator instance
            The fitted selector.
        """
        _raise_for_params(params, self, "fit")
        check_embedded(X, caller=type(self).__name__)
        self._check_target(y)
        groups = grouped(X.names, self.by)
        names = np.array(list(groups), dtype=object)
        n_steps = self._number_of_steps(names)
        if _routing_enabled():
            # Only verified here: cross_val_score routes.
            process_routing(self, "fit", **params)

        self.support_, self.history_ = choose(
            names,
            n_steps,
            self._scorer(X, y, list(groups.values()), params),
            backward=self.direction == "backward",
            tol=self.tol if isinstance(self.n_sources_to_select, str) else None,
        )
        self.source_names_in_ = names
        self.sources_ = names[self.support_].tolist()
        self.n_sources_ = len(self.sources_)
        self.blocks_ = blocks_of(X.names, list(groups.values()), self.support_)
        self.dims_in_ = block_dims(X)
        return self

    def transform(self, X):
        """Keep the blocks of the chosen sources.

        The sources themselves stand before this step and embed as before: what is not
        kept costs its computing still. To spare that, set `active` of the union by
        `sources_`.

        Parameters
        ----------
        X : EmbeddedSequences
            With blocks of the names and dimensions seen in fit.

        Returns
        -------
        EmbeddedSequences
            The same tokens with fewer blocks, which are not copied.
        """
        check_is_fitted(self)
        check_embedded(X, caller=type(self).__name__)
        check_blocks(X, self.dims_in_, caller=type(self).__name__)
        return X.select(self.blocks_)

    def get_metadata_routing(self):
        """Return where metadata go: to the estimator, the splitter, the scorer.

        scikit-learn calls it where routing is enabled, to know what `fit` may be given.

        Returns
        -------
        sklearn.utils.metadata_routing.MetadataRouter
            As `SequentialFeatureSelector` routes.
        """
        from sklearn.metrics import check_scoring
        from sklearn.model_selection import check_cv

        cv = check_cv(self.cv, classifier=is_classifier(self.estimator))
        parts = {
            "fit": {"estimator": self.estimator},
            "split": {"splitter": cv},
            "score": {"scorer": check_scoring(self.estimator, scoring=self.scoring)},
        }
        router = MetadataRouter(owner=self)
        for callee, part in parts.items():
            mapping = MethodMapping().add(caller="fit", callee=callee)
            router.add(**part, method_mapping=mapping)
        return router

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        try:
            tags.target_tags.required = self._needs_target()
        except (AttributeError, TypeError, ValueError):
            # No estimator, or one of no steps: fit will say so.
            tags.target_tags.required = False
        return tags

    def _needs_target(self):
        # A Pipeline hands on what its last step is, not whether that needs y.
        predicts = is_classifier(self.estimator) or is_regressor(self.estimator)
        return predicts or get_tags(self.estimator).target_tags.required

    def _check_target(self, y):
        if y is None and self._needs_target():
            raise ValueError(
                f"SourceSelector({type(self.estimator).__name__}) requires y to be "
                "passed, but the target y is None."
            )

    def _number_of_steps(self, names):
        asked, backward = self.n_sources_to_select, self.direction == "backward"
        if isinstance(asked, Integral) and asked >= len(names):
            raise ValueError(
                f"SourceSelector: n_sources_to_select={asked} must be smaller than "
                f"the number of {self.by}s in X, {len(names)} ({list(names)}). Ask for "
                'fewer, or put "passthrough" in the selector\'s place to keep all.'
            )
        if self.tol is not None and self.tol < 0 and not backward:
            raise ValueError(
                "SourceSelector: tol must be 0 or more in forward selection, got "
                f"{self.tol}."
            )
        return number_of_steps(asked, len(names), tol=self.tol, backward=backward)

    def _scorer(self, X, y, groups, params):
        from sklearn.model_selection import check_cv, cross_val_score

        cv = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        estimator = clone(self.estimator)

        def score(mask):
            return cross_val_score(
                estimator,
                X.select(blocks_of(X.names, groups, mask)),
                y,
                cv=cv,
                scoring=self.scoring,
                n_jobs=self.n_jobs,
                params=params,
                error_score="raise",
            )

        return score
