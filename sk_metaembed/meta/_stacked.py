"""StackedMetaClassifier and StackedMetaRegressor: a weighted sum of linear models."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import MetaEstimatorMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._core._arrays import row_norms
from .._core._errors import short_repr
from .._core._estimators import NamedEstimatorsMixin, fit_context
from .._core._inherited_docs import inherit_docs
from .._core._sklearn import HasMethods, available_if
from .._core._typing import Names
from .._pipelines import reads_texts
from .._stacking import WeightedSumMixin
from .._targets import (
    TargetClassifierMixin,
    TargetRegressorMixin,
    check_predictor,
    decision_values,
    errors_of_model,
)
from ..pooling import Pooling
from ..sequences import (
    Block,
    EmbeddedSequences,
    SequencePairs,
    SequencesInputMixin,
    TokenSequences,
)
from ..sequences._api import equal_rows, tokens_of
from ._ngram_features import token_features
from ._stacked_models import (
    VIEWS,
    Member,
    StackRows,
    fit_models,
    scale_vectors,
    vectors_of,
)

Input = EmbeddedSequences | TokenSequences | SequencePairs

_CONCAT = "concat"
_OF_TOKENS = "words", "chars", "ngrams", "positions"
_SWITCH = {_CONCAT: "concat", **dict.fromkeys(_OF_TOKENS, "tfidf")}


class _BaseStacked(
    WeightedSumMixin,
    SequencesInputMixin,
    MetaEstimatorMixin,
    TransformerMixin,
    NamedEstimatorsMixin,
):
    """Fit a model per source and learn the weights of their sum.

    The sources are the blocks of X, as `EmbeddingUnion` returns them.

    The parameters and attributes below are those of the subclasses: `inherit_docs` adds
    them to their docstrings.

    Parameters
    ----------
    estimator : estimator, default=None
        The classifier or regressor for each source and for the concatenation; a clone
        is fitted on unscaled vectors. None is a linear model, a LogisticRegression or a
        Ridge, whose scale and penalty are chosen out of fold for each source. Models of
        tokens do not use `estimator`, so without sources a warning is issued.
    models : list of (str, estimator) pairs, default=None
        Further classifiers or regressors. Models that read texts, such as a Pipeline
        that trains an encoder on y, receive the tokens. Other models, such as a
        `DynamicMetaClassifier`, receive X. Each model is fitted once per fold, and the
        decision values of these fits are averaged. Parameters are set by
        ``name__parameter``.
    concat : bool, default=True
        Whether to fit a model of the concatenated sources, "concat", if there are
        several. This model takes about as much time as the models of all sources.
    tfidf : bool, default=True
        Whether to fit models of sparse features of the tokens, which need no source:
        "words", of words and pairs of adjacent words; "chars", of the characters of
        words, if any word has several; and for tokens of a small alphabet "ngrams", of
        3 to 5 adjacent tokens and pairs with up to 3 tokens between them, and
        "positions", of tokens by their position.
    cv : int, cross-validation generator or an iterable, default=None
        Folds of the out-of-fold predictions. None means five folds, or three for
        1,500 rows or more. An int is a number of folds, stratified by class. The number
        is reduced if there are fewer rows or groups, or if every class has fewer rows.
        Equal sequences and pairs that share a text, or `groups` if they are passed to
        `fit`, are in one fold.
    random_state : int, RandomState instance or None, default=None
        Determines the folds, unless `cv` is a generator or an iterable.
    n_jobs : int, default=None
        Number of models to fit in parallel: models of sources and tokens in threads,
        `models` in processes.

    Attributes
    ----------
    weights_ : dict of str to float
        Weight of each model in the sum.
    scores_ : dict of str to float
        Out-of-fold accuracy or coefficient of determination of each model, NaN if no
        row could be held out.
    estimators_ : dict of str to estimator or list
        The models of the sources, the concatenation and the tokens, fitted on all rows.
        Each of `models` has a list of models, each fitted without one fold.
    dims_in_ : dict of str to int
        Dimension of each block in fit, by name. `predict` requires the same.
    """

    _named_estimators = "models"
    _parameter_constraints: dict = {
        # A list raises an error that explains where to pass it.
        "estimator": [HasMethods(["fit"]), list, tuple, None],
        "models": [list, tuple, None],
        "concat": ["boolean"],
        "tfidf": ["boolean"],
        "cv": ["cv_object"],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        models: Sequence[tuple[str, Any]] | None = None,
        concat: bool = True,
        tfidf: bool = True,
        cv: Any = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.models = models
        self.concat = concat
        self.tfidf = tfidf
        self.cv = cv
        self.random_state = random_state
        self.n_jobs = n_jobs

    # The estimators validate their own parameters.
    @fit_context
    def fit(
        self,
        X: Input,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit the models, and learn their weights out of fold.

        Parameters
        ----------
        X : EmbeddedSequences, TokenSequences, or SequencePairs of one of them
            Training data. A TokenSequences has no sources, so only the models of tokens
            and `models` are fitted.
        y : array-like of shape (n_sequences,) or (n_sequences, n_columns)
            The target.
        sample_weight : array-like of shape (n_sequences,), default=None
            Weight of each row in the models, their weights and the scores. Rows of
            weight 0 are ignored, but a splitter passed as `cv` divides all rows.
        groups : array-like of shape (n_sequences,), default=None
            Rows of one group are in one fold, also in the folds of models whose `fit`
            takes groups. None groups equal sequences, and pairs that share a text.

        Returns
        -------
        estimator instance
            The fitted estimator.
        """
        self._fit(X, y, sample_weight, groups)
        return self

    @fit_context
    def fit_transform(
        self,
        X: Input,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> NDArray[np.float32]:
        """Fit the models, and return their out-of-fold predictions.

        The result differs from `fit` followed by `transform`, whose models have seen
        the rows. Rows of weight 0 are predicted by the models of all other rows.

        Parameters
        ----------
        X : EmbeddedSequences, TokenSequences or SequencePairs
            As for `fit`.
        y : array-like of shape (n_sequences,) or (n_sequences, n_columns)
            As for `fit`.
        sample_weight : array-like of shape (n_sequences,), default=None
            As for `fit`.
        groups : array-like of shape (n_sequences,), default=None
            As for `fit`.

        Returns
        -------
        ndarray of float32, shape (n_sequences, n_features_out)
            With the columns of `get_feature_names_out`.
        """
        kept, decisions = self._fit(X, y, sample_weight, groups)
        n_models, _, n_columns = decisions.shape
        columns = np.empty((len(X), n_models * n_columns), np.float32)
        columns[kept] = np.hstack(decisions)
        absent = np.setdiff1d(np.arange(len(X)), kept)
        if len(absent):
            columns[absent] = self.transform(X[absent])
        return columns

    def transform(self, X: Input) -> NDArray[np.float32]:
        """Return the predictions of each model, fitted on all training rows.

        Parameters
        ----------
        X : EmbeddedSequences, TokenSequences or SequencePairs
            With blocks of the names and dimensions seen in `fit`.

        Returns
        -------
        ndarray of float32, shape (n_sequences, n_features_out)
            Decision values or numbers, with the columns of `get_feature_names_out`.
        """
        check_is_fitted(self)
        decisions = np.stack(self._model_decisions(X)) + self._target.center
        return np.hstack(decisions).astype(np.float32)

    def get_feature_names_out(self, input_features: object = None) -> Names:
        """Return a name for each column of `transform`: ``model__class``.

        Parameters
        ----------
        input_features : ignored
            The columns do not correspond to dimensions of the sources.

        Returns
        -------
        ndarray of str objects
            Two classes have one column, named after the second class. One column of
            numbers is named after the model alone.
        """
        check_is_fitted(self)
        labels = self._target.column_labels
        names = [
            f"{name}__{label}" if label != "" else name
            for name in self.estimators_
            for label in labels
        ]
        return np.array(names, dtype=object)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = False
        tags.target_tags.required = True
        return tags

    def _fit(self, X, y, sample_weight, groups):
        """Fit the models on the rows that have a weight, and learn their weights.

        Returns
        -------
        kept : ndarray of int
            The rows with a weight above 0.
        decisions : ndarray of shape (n_models, len(kept), n_columns)
            The out-of-fold predictions of each model for these rows.
        """
        self._check_models()
        rows = StackRows(X)  # raises for an invalid X before y is read
        training = self._training_rows(X, y, sample_weight, groups, self.cv)
        target = training.target
        if len(training.kept) < len(X):
            X = X[training.kept]
            rows = StackRows(X)
        self._reads_pairs, self.dims_in_ = rows.are_pairs, rows.dims
        copies = None
        if training.groups is None and isinstance(self.cv, Integral | None):
            copies = equal_rows(X, warns=True)  # equal rows stay in one fold
        training.divide(copies, self.random_state, "token sequence")
        members = self._members(rows)
        names = [member.name for member in members]
        shared = target, training.folds, training.sample_weight
        fitted = fit_models(members, rows, *shared, self.n_jobs)
        decisions = np.stack([result.decisions for result in fitted])
        defaults = np.array([member.default for member in members])
        defaults /= defaults.sum()
        are_given = [member.estimator is not None for member in members]
        models = {name: each.model for name, each in zip(names, fitted, strict=True)}
        self._learn_weights(training, models, decisions, defaults, are_given)
        self._views = dict(zip(names, (each.view for each in fitted), strict=True))
        return training.kept, decisions + target.center

    def _members(self, rows):
        """Return the `Member` of each model of the stack."""
        views = ("row", "dimension") if self.estimator is None else ("given",)
        # The default weights are 1 for the concatenation, for the only source, or for
        # several sources without concatenation. Without sources, all models have a
        # default weight, the models of token order half of it.
        has_sources = len(self.dims_in_) > 0
        has_concat = self.concat and len(self.dims_in_) > 1
        source = self.estimator, views, float(not has_concat)
        members = [Member(name, *source) for name in self.dims_in_]
        if has_concat:
            members.append(Member(_CONCAT, self.estimator, views, 1.0))
        if self.tfidf:
            for name in token_features(tokens_of(rows.sequences)):
                default = 0.0 if has_sources else 1 / (1 + VIEWS[name].of_order)
                members.append(Member(name, None, (name,), default))
        for name, model in self.models or ():
            view = "tokens" if reads_texts(model) else "sequences"
            members.append(Member(name, model, (view,), float(not has_sources)))
        for name, count in Counter(member.name for member in members).items():
            if count > 1:
                switch = f", or set {_SWITCH[name]}=False" if name in _SWITCH else ""
                raise ValueError(
                    f"two models are named {name!r}. Rename the source or the entry of "
                    f"models{switch}."
                )
        if not members:
            reason = "all sequences are empty" if self.tfidf else "tfidf=False"
            raise ValueError(
                "there is nothing to learn from: X has no "
                f"sources, and {reason}. Pass EmbeddedSequences, such as the output of "
                "an EmbeddingUnion."
            )
        if self.estimator is not None and not self.dims_in_:
            warnings.warn(
                f"estimator={short_repr(self.estimator)} is not used, because X has no "
                "sources: tokens have models of their own. Add sources, "
                "or pass a Pipeline that reads tokens in `models`.",
                UserWarning,
                stacklevel=2,
            )
        return members

    def _check_models(self):
        """Raise an error unless all models predict the stack's kind of target."""
        if isinstance(self.estimator, list | tuple):
            raise ValueError(
                f"estimator is one model, which is fitted for each source; got "
                f"{short_repr(self.estimator)}. Put sources into an EmbeddingUnion "
                "before this step, and further models into `models`."
            )
        for pair in self.models or ():
            is_pair = isinstance(pair, list | tuple) and len(pair) == 2
            if not is_pair or not isinstance(pair[0], str):
                raise TypeError(
                    "models must be a list of (name, estimator) pairs; got "
                    f"{short_repr(pair)} in it."
                )
        self._validate_names([name for name, _ in self.models or ()])
        if self.estimator is not None:
            check_predictor(self.estimator, self._target_kind, "estimator")
        for name, model in self.models or ():
            check_predictor(model, self._target_kind, f"model {name!r}")

    def _rows(self, X):
        """Return the `StackRows` of X; raise an error for another kind than in fit."""
        if self._reads_pairs != isinstance(X, SequencePairs):
            kind = "SequencePairs" if self._reads_pairs else "single sequences"
            raise TypeError(f"The stack was fitted on {kind}, got {X!r}.")
        return StackRows(X, self.dims_in_)

    def _model_decisions(self, X):
        """Return the decision values of each model, (n_rows, n_columns)."""
        rows = self._rows(X)
        if not len(X):
            return [np.zeros((0, self._target.n_columns))] * len(self._views)
        return self._decisions_of(rows.read)

    def _decisions_of(self, read):
        """Return the decision values of each model, (n_rows, n_columns).

        ``read(name, view)`` returns the input of a model, as `StackRows.read`.
        """
        decisions = []
        for name, model in self.estimators_.items():
            view = self._views[name]
            rows = read(name, view)
            if view in _OF_TOKENS:
                decisions.append(self._decisions_of_tokens(*model, rows))
                continue
            with errors_of_model(f"model {name!r}", model):
                values = decision_values(model, rows, self._target)
            decisions.append(values - self._target.center)
        return decisions

    def _decisions_of_tokens(self, features, model, rows):
        """Return the decision values of a linear model, (n_rows, n_columns)."""
        values = features.rows(rows) @ np.atleast_2d(model.coef_).T
        return values + (model.intercept_ - self._target.center)

    def _sum(self, decisions):
        """Return the weighted sum of decision values, (n_rows, n_columns)."""
        return np.tensordot([*self.weights_.values()], np.stack(decisions), 1)

    def combine(self, columns: ArrayLike) -> NDArray[np.float64]:
        """Return the weighted sum of the columns of `transform` or `fit_transform`.

        For the columns of `fit_transform`, the sum is the stack's out-of-fold
        prediction.

        Parameters
        ----------
        columns : array-like of shape (n_sequences, n_features_out)
            The predictions of each model.

        Returns
        -------
        ndarray of shape (n_sequences, n_columns)
            Decision values, with one column for two classes, or numbers.
        """
        check_is_fitted(self)
        decisions = np.split(np.asarray(columns), len(self.weights_), axis=1)
        center = self._target.center
        return self._sum([each - center for each in decisions]) + center

    def _decide(self, X):
        check_is_fitted(self)
        return self._sum(self._model_decisions(X))

    # Models that read tokens are not functions of the vectors.
    @available_if(
        lambda self: {VIEWS[view].reads for view in self._views.values()} == {"vectors"}
    )
    def pool_with_weights(
        self, X: EmbeddedSequences
    ) -> tuple[NDArray[np.float32], list[tuple[Block, NDArray[np.float64] | None]]]:
        """Return the vectors that the models read, and the weight of each token.

        This method serves `explain`, like `Pooling.pool_with_weights`. All models must
        read vectors of sources: set ``tfidf=False``, and pass no `models` that read
        tokens.

        Parameters
        ----------
        X : EmbeddedSequences
            With the blocks seen in `fit`.

        Returns
        -------
        pooled : ndarray of float32, shape (n_sequences, dim)
            The vectors of each source, in each view that a model reads, scaled to unit
            length or unscaled.
        parts : list of (Block, ndarray of shape (n_tokens,) or None)
            The block of each vector, and the weight of each token in it, which contains
            the scale.
        """
        sequences = self._rows(X).sequences
        pooled, parts = Pooling().fit(sequences).pool_with_weights(sequences)
        ends = np.cumsum([*self.dims_in_.values()])[:-1]
        vectors = np.split(pooled, ends, axis=1)
        row_of_token = sequences.tokens.segment_ids()
        values, scaled = [], []
        for view in sorted({*self._views.values()}):
            for own, (block, factors) in zip(vectors, parts, strict=True):
                values.append(scale_vectors(own, view, of_pairs=False))
                if factors is not None and view == "row":
                    norms = row_norms(own)
                    norms[norms == 0] = np.inf
                    factors = factors / norms[row_of_token]
                scaled.append((block, factors))
        return np.hstack(values), scaled

    def from_pooled(self, pooled: NDArray[Any]) -> NDArray[np.float64]:
        """Return the predictions for pooled vectors.

        Parameters
        ----------
        pooled : ndarray of shape (n_rows, dim)
            Vectors such as those from `pool_with_weights`.

        Returns
        -------
        ndarray of shape (n_rows, n_columns)
            Decision values, with one column for two classes, or numbers.
        """
        views = sorted({*self._views.values()})
        ends = np.cumsum([*self.dims_in_.values()] * len(views))[:-1]
        parts = iter(np.split(pooled, ends, axis=1))
        vectors = {
            view: {name: next(parts) for name in self.dims_in_} for view in views
        }
        decisions = self._decisions_of(
            lambda name, view: vectors_of(vectors[view], name)
        )
        return self._sum(decisions) + self._target.center


@inherit_docs(_BaseStacked)
class StackedMetaClassifier(TargetClassifierMixin, _BaseStacked):
    r"""Classify sequences by a weighted sum of linear models, one per source.

    The sources are the blocks of X, as `EmbeddingUnion` returns them. There is one
    model per source, a model of all sources ("concat"), and models of the words and the
    characters of the sequences ("words", "chars"). Tokens of a small alphabet, such
    as amino acids, states or events, also have models of their order ("ngrams",
    "positions"). Decision values are summed with nonnegative weights that are learned
    out of fold. An uninformative source gets a weight near 0, and a source with many
    dimensions does not dominate the others. With few rows the sum is close to a model
    of the concatenation. This is the recommended model for whole texts.

    Parameters
    ----------
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as for scikit-learn's classifiers.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes in rows with a weight above 0; for an indicator matrix, the column
        numbers.

    Raises
    ------
    TypeError
        If X is not one of these containers, or not of the kind passed to fit.
    ValueError
        If y is missing or has one class or several columns of classes, if two models
        have the same name, if there are no sources or tokens, or if X has other blocks
        than in fit.

    See Also
    --------
    StackedMetaRegressor : Predicts numbers in the same way.
    make_text_pipeline : Make a pipeline from texts to this model.
    ConcatMetaEmbedding : Concatenates the sources, for one model of all dimensions.
    DynamicMetaClassifier : A network that weights sources for each word.
    sklearn.ensemble.StackingClassifier : The same idea for estimators on one array.

    Notes
    -----
    With :math:`f_s` the decision values of model s, the prediction is made from

    .. math:: \sum_s w_s f_s(x), \qquad w_s \geq w_s^0 / 10

    where w minimizes the log loss of the out-of-fold predictions of the training rows
    plus :math:`\frac{3}{2} \lVert w - w^0 \rVert^2` [1]_ [2]_. The weights :math:`w^0`
    are 1 for "concat", or for the only source, and 0 for all others. Without "concat",
    several sources have equal :math:`w^0`; without sources, all models do, "ngrams" and
    "positions" half as large a one. The log loss is a sum over rows. With few rows the
    weights therefore stay close to :math:`w^0`, the plain concatenation; with many rows
    the second term is negligible. Weights are nonnegative and no further model is
    fitted on the sum, because out-of-fold predictions of few rows are negatively
    correlated with y: a held-out row is missing from its class. A model with free signs
    would learn this correlation. For a classifier without `decision_function`,
    :math:`f_s` is the logarithm of the probability, at least 1e-6, or the log odds of
    the second of two classes. Decision values of `estimator` and `models` need not be
    log odds. They are first multiplied by a factor c of at most 1 that minimizes their
    log loss plus :math:`\frac{3}{2} (c - 1)^2`. The weight includes c.

    By default, the rows of each source have unit length, and the concatenation consists
    of such rows. All dimensions then have one scale, so a source whose vectors differ
    little has little weight. If there are at least as many rows as dimensions, vectors
    scaled to unit variance per dimension are tried as well, and are used if their loss
    is smaller by more than two standard errors. The penalty is ``C=10`` below 100 rows,
    where folds cannot distinguish penalties. From 100 rows on it is chosen out of fold
    from 1, 10 and 100: the value nearest to 10 whose loss is within one standard error
    of the smallest loss [3]_. If the first fold holds out 300 rows or more, it is
    chosen in this fold alone: from the smallest on, the last value before the loss
    stops falling. The fit of a value ends early if its loss becomes larger by more than
    two standard errors. For d dimensions of unit variance, these values are divided by
    d. Standard errors are of the difference of two losses by row.

    A class with at most 10 rows, and at most a tenth of the rows of the largest class,
    is rare if two other classes are not. Models are fitted on its rows too, but neither
    these rows nor the probability of their class count in the choice of scales,
    penalties and weights, which they would dominate: a mistyped label hardly changes
    the predictions of other rows. A warning names rare classes. A row that is the only
    one of its class is in every training part, and its class does not count either.
    With two classes next to rare ones, C is halved, which has the same effect on these
    two as without rare ones.

    Vectors of words are averaged, as by `Pooling`; to pool otherwise, let the source
    return vectors of sequences. For `SequencePairs`, each model receives [u; v;
    abs(u-v); u*v; cos(u, v)], with products scaled by the root of the dimension for
    vectors of unit length; products of words and characters are not scaled. A sequence
    that a source does not know is a zero vector. Pairs that share a text, on whichever
    sides, are in one fold; texts link pairs, the rarest first, as long as at most a
    tenth of all pairs are linked to each other. A warning names the pairs that still
    share a text with other folds.

    A word or pair of words that occurs c times in a sequence, and in n_f of n training
    sequences, has the weight :math:`(1 + \ln c)(1 + \ln \frac{1 + n}{1 + n_f})`; rows
    have unit length. The case of words that the default `Tokenizer` finds in texts is
    ignored; other tokens are read as they are. "words" uses the 20,000 words with the
    largest document frequencies, and the 20,000 most frequent pairs of two of these
    words.

    For "chars", words begin and end with a space. A group g of 2 to 4 characters that
    occurs k times in a word has the weight :math:`k \frac{1 + \ln m_g}{m_g} (1 + \ln
    \frac{1 + n}{1 + n_g})` there. The document frequency :math:`n_g = n - n \prod_w (1
    - n_w / n)` is that of words w with g that occur independently, and :math:`m_g` the
    sum of :math:`k (1 + \ln c)` over the words of all sequences, divided by
    :math:`n_g`, and at least 1. The row of a sequence is the sum of its words, each
    times :math:`1 + \ln c`, divided by the root of the sum of their squared lengths.
    For single sequences it is never computed, because the words of each sequence and
    the groups of each word suffice.

    Document frequencies, and means and variances of dimensions, are computed without y
    from all training rows with a weight above 0, which count alike.

    An alphabet is small if the training rows have at most 1,000 different tokens, which
    occur 8 times on average; texts have either fewer words or more different ones. Of
    50 rows or more, the 2% with the most tokens that no other row has, and the longest
    2%, do not count. "ngrams" then uses the 20,000 most frequent groups of 3, of 4 and
    of 5 adjacent tokens, and pairs with 1, 2 and 3 tokens between them, of those that
    occur twice or more, weighted as above. "positions" uses the 20,000 most frequent
    pairs of a token and its position, or one of the windows of 4 or 16 positions, which
    overlap by half, with the weight :math:`1 + \ln c`. Positions are counted from the
    start, and from the end too if lengths differ, up to 1,000.

    Probabilities are the softmax of the sums, or the logistic function of one sum for
    two classes and for each of several labels. The weights minimize the out-of-fold log
    loss, so their common factor calibrates the probabilities.

    ``fit_transform(X, y)`` returns out-of-fold predictions of the models, on which
    another model can be fitted; ``fit(X, y).transform(X)`` returns predictions of
    models that were fitted on the same rows.

    References
    ----------
    .. [1] D. H. Wolpert. "Stacked Generalization". Neural Networks, 1992.
    .. [2] L. Breiman. "Stacked Regressions". Machine Learning, 1996.
    .. [3] L. Breiman, J. Friedman, R. Olshen, C. Stone. "Classification and Regression
       Trees", 1984.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_metaembed import (
    ...     Block, EmbeddedSequences, StackedMetaClassifier, TokenSequences
    ... )
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["ham", "spam"], 50)
    >>> sign = np.repeat([[-1.0], [1.0]], 50, axis=0)
    >>> blocks = [
    ...     Block("good", sign + rng.normal(size=(100, 3)), "sequence"),
    ...     Block("noise", rng.normal(size=(100, 50)), "sequence"),
    ... ]
    >>> tokens = TokenSequences.from_lists([[f"text{i}"] for i in range(100)])
    >>> X = EmbeddedSequences(tokens, blocks)
    >>> model = StackedMetaClassifier(random_state=0).fit(X, y)
    >>> model.predict(X[:2]).tolist()
    ['ham', 'ham']
    >>> model.scores_["good"] > 0.8 > model.scores_["noise"]
    True
    >>> model.weights_["noise"] < 0.1
    True
    >>> model.get_feature_names_out().tolist()
    ['good__spam', 'noise__spam', 'concat__spam', 'words__spam', 'chars__spam']
    """

    _parameter_constraints: dict = {
        **_BaseStacked._parameter_constraints,
        "class_weight": [dict, str, None],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        models: Sequence[tuple[str, Any]] | None = None,
        concat: bool = True,
        tfidf: bool = True,
        cv: Any = None,
        class_weight: dict[Any, float] | str | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            estimator,
            models=models,
            concat=concat,
            tfidf=tfidf,
            cv=cv,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.class_weight = class_weight


@inherit_docs(_BaseStacked)
class StackedMetaRegressor(TargetRegressorMixin, _BaseStacked):
    r"""Predict numbers from sequences by a weighted sum of linear models.

    The sources are the blocks of X, as `EmbeddingUnion` returns them. There is one
    model per source, a model of all sources ("concat"), and models of the words and the
    characters of the sequences ("words", "chars"). Tokens of a small alphabet also
    have models of their order ("ngrams", "positions"). Predictions are summed with
    nonnegative weights that are learned out of fold.

    Raises
    ------
    TypeError
        If X is not one of these containers, or not of the kind passed to fit.
    ValueError
        If y is missing or is not numeric, if two models have the same name, if there
        are no sources or tokens, or if X has other blocks than in fit.

    See Also
    --------
    StackedMetaClassifier : The classifier, whose Notes give the reasons.
    DynamicMetaRegressor : A network that weights sources for each word.

    Notes
    -----
    With :math:`f_s` the predictions of model s, and :math:`\bar y` the weighted mean of
    y, the prediction is

    .. math:: \bar y + \sum_s w_s (f_s(x) - \bar y), \qquad w_s \geq w_s^0 / 10

    where w minimizes the squared error of the out-of-fold predictions of the training
    rows plus :math:`\frac{3}{2} \lVert w - w^0 \rVert^2`, with :math:`w^0` as of
    `StackedMetaClassifier`, whose Notes also describe the features of sources and
    tokens. Predictions of `estimator` and `models`, less :math:`\bar y`, are first
    multiplied by the factor c of at most 1 that minimizes their own squared error, in
    the same units, plus :math:`\frac{3}{2} (c - 1)^2`; it is part of the weight. The
    squared error of each column of y is divided by twice the mean squared error of
    :math:`w^0` in this column; in the choice of penalties and scales, by the variance
    of the column. The units of columns therefore do not matter.

    The penalty is ``alpha=0.1`` below 100 rows, and is otherwise chosen from 0.01, 0.1
    and 1, as ``1 / C`` of the classifier; it is multiplied by the number of dimensions
    if these have unit variance.

    Examples
    --------
    >>> from sk_metaembed import StackedMetaRegressor, Tokenizer
    >>> texts = ["very good", "good", "bad", "very bad"] * 10
    >>> X = Tokenizer().transform(texts)
    >>> model = StackedMetaRegressor(random_state=0).fit(X, [5, 4, 2, 1] * 10)
    >>> best, worst = model.predict(X[[0, 3]])
    >>> bool(best > 3.5 and worst < 2.5)
    True
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # With few rows, predictions shrink to the mean.
        tags.regressor_tags.poor_score = True
        return tags
