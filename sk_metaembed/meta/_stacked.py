"""StackedMetaEmbedding: out-of-fold predictions of one linear model per source."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, TransformerMixin
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from .._core._arrays import normalize_rows, pair_features
from .._core._decorators import available_if, fit_context, rollback_on_error
from ..pooling import Pooling
from ..pooling._sequence_blocks import sequence_blocks
from ..sequences import SequencePairs
from ..sequences._mixins import (
    EmbeddedInputMixin,
    block_dims,
    check_blocks,
    check_embedded,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from ..sequences import EmbeddedSequences


class StackedMetaEmbedding(
    EmbeddedInputMixin, MetaEstimatorMixin, TransformerMixin, BaseEstimator
):
    r"""Stack one linear model per source, with a learned weight for each.

    The model of a source sees the vectors of that source alone; a further model,
    "concat", sees all of them side by side. The result is the weighted sum of their
    predictions: of decision values, a column per class, or of numbers. The weights are
    not negative and few, so they are learned well from few labels: a useless source
    gets a weight near 0, a source of many dimensions does not drown the others, and the
    sum can be any single source or the concatenation if nothing is gained by more. With
    `tfidf`, one more model sees the words themselves.

    The columns that `fit_transform` returns are *out of fold*: a row is predicted by
    models that have not seen it. Those of `transform` come from models of all training
    rows. So ``fit(X, y).transform(X)`` differs from ``fit_transform(X, y)``, and shows
    models on rows that they have learned. A Pipeline calls `fit_transform`, which is
    right: what comes next learns from columns like those of new rows.

    Parameters
    ----------
    estimator : classifier or regressor, default=None
        The model of a source, on arrays of shape (n_sequences, dim); a clone is fitted
        per source. None is a standardized `LogisticRegression` if y has classes and a
        standardized `Ridge` if y is continuous, with the penalty of each source chosen
        out of fold.
    output : {"sum", "sources"}, default="sum"
        Whether to return the weighted sum, or the prediction of every model in columns
        of its own, for example for trees. Of pairs, the cosine of the two sides in each
        source is appended.
    concat : bool, default=True
        Whether to fit the model of the concatenation. Takes effect with several
        sources, and about as much time as all of them.
    tfidf : bool, default=False
        Whether to fit a further model, "tfidf", on sparse TF-IDF features of the words
        of the sequences and of pairs of adjacent words. It helps most with long texts
        and specialized vocabulary. The model is a `LogisticRegression` or `Ridge`,
        whatever `estimator` is.
    target_type : {"auto", "continuous"}, default="auto"
        Whether y has classes or numbers, for ``estimator=None``. "auto" decides as
        scikit-learn's `type_of_target` does: integers are classes. Pass "continuous" if
        they are amounts.
    cv : int, cross-validation generator or an iterable, default=5
        Folds of the out-of-fold predictions. An int is a number of folds, shuffled,
        stratified for classes, and keeping `groups` together if they are passed to
        `fit`.
    random_state : int, RandomState instance or None, default=None
        Determines the folds if `cv` is an int.
    n_jobs : int, default=None
        Number of models fitted in parallel, in processes.

    Attributes
    ----------
    weights_ : dict of str to float
        Weight of each model in the sum.
    scores_ : dict of str to float
        Accuracy or coefficient of determination of each model, out of fold: what each
        source is worth alone.
    estimators_ : dict of str to estimator
        The models, fitted on all rows: of the sources, and "concat" and "tfidf" where
        they are fitted. "tfidf" reads a `TokenSequences`, or `SequencePairs` of one.
    intercept_ : ndarray of shape (n_columns,)
        Added to the weighted sum.
    classes_ : ndarray of shape (n_classes,), or None
        The classes in y; None for a regressor.
    dims_in_ : dict of str to int
        Dimension of each block in fit, by name. `transform` requires the same.

    Raises
    ------
    TypeError
        If X is not an EmbeddedSequences or SequencePairs of them, or not of the kind
        that fit saw.
    ValueError
        If y is missing, has several columns or only one class, if a class is missing in
        the training rows of a fold, if a source has the name of a further model, if
        there are no words for ``tfidf=True``, or if the blocks are not those of fit.

    See Also
    --------
    ConcatMetaEmbedding : The sources side by side, for one model of all dimensions.
    DynamicMetaClassifier : A network that weights sources for each word.
    sklearn.ensemble.StackingClassifier : The same idea for estimators on one array.

    Notes
    -----
    With :math:`f_s` the model of source s, the sum is

    .. math:: \sum_s w_s f_s(x_s) + b, \qquad w_s \geq 0

    where w and b minimize the log loss plus :math:`\lVert w \rVert^2 / 2`, or the
    squared error, of the out-of-fold predictions of the training rows [1]_ [2]_. With
    the default models, and without `tfidf`, it is linear in the vectors. Of a
    classifier without `decision_function`, :math:`f_s` is the logarithm of the
    probability, at least 1e-6; of two classes, the log odds of the second.

    Vectors of words are averaged, as by `Pooling`; to pool otherwise, let the source
    return vectors of sequences. Of `SequencePairs`, a model sees
    [u; v; abs(u-v); u*v]. A sequence that a source does not know has zeros.

    A word or pair of words that occurs c times in a sequence, and in n_f of n training
    sequences, has the weight :math:`(1 + \ln c)(1 + \ln \frac{1 + n}{1 + n_f})` in the
    model "tfidf"; rows have unit length. It has the 20,000 words and 20,000 pairs that
    are in the most sequences. Frequencies do not depend on `sample_weight`.

    The default models choose among five penalties, of 0.001 to 10 times the dimension
    for `LogisticRegression` and 0.01 to 100 times for `Ridge` (the dimension counts as
    1 for "tfidf"), by the log loss or squared error out of fold; by that of the first
    fold if it has 1,000 rows or more. Penalties and weights are chosen on the
    predictions that `fit_transform` returns: a few numbers for all rows, which favor
    them little.

    References
    ----------
    .. [1] D. H. Wolpert. "Stacked Generalization". Neural Networks, 1992.
    .. [2] L. Breiman. "Stacked Regressions". Machine Learning, 1996.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sk_metaembed import (
    ...     Block, EmbeddedSequences, StackedMetaEmbedding, TokenSequences
    ... )
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["ham", "spam"], 50)
    >>> sign = np.repeat([[-1.0], [1.0]], 50, axis=0)
    >>> blocks = [
    ...     Block("good", sign + rng.normal(size=(100, 3)), "sequence"),
    ...     Block("noise", rng.normal(size=(100, 50)), "sequence"),
    ... ]
    >>> X = EmbeddedSequences(TokenSequences.from_lists([["text"]] * 100), blocks)
    >>> model = make_pipeline(
    ...     StackedMetaEmbedding(random_state=0), LogisticRegression()
    ... )
    >>> model.fit(X, y).predict(X[:2]).tolist()
    ['ham', 'ham']
    >>> stacked = model[0]
    >>> stacked.scores_["good"] > 0.9 > stacked.scores_["noise"]
    True
    >>> stacked.weights_["noise"] < 0.1
    True
    >>> stacked.set_params(output="sources").fit_transform(X, y).shape
    (100, 3)
    >>> stacked.get_feature_names_out().tolist()
    ['good__spam', 'noise__spam', 'concat__spam']
    """

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit"]), None],
        "output": [StrOptions({"sum", "sources"})],
        "concat": ["boolean"],
        "tfidf": ["boolean"],
        "target_type": [StrOptions({"auto", "continuous"})],
        "cv": ["cv_object"],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        output: Literal["sum", "sources"] = "sum",
        concat: bool = True,
        tfidf: bool = False,
        target_type: Literal["auto", "continuous"] = "auto",
        cv: Any = 5,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.output = output
        self.concat = concat
        self.tfidf = tfidf
        self.target_type = target_type
        self.cv = cv
        self.random_state = random_state
        self.n_jobs = n_jobs

    # The estimator validates its own parameters.
    @fit_context(prefer_skip_nested_validation=False)
    @rollback_on_error
    def fit(
        self,
        X: EmbeddedSequences | SequencePairs,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit a model per source, and score it out of fold.

        Parameters
        ----------
        X : EmbeddedSequences or SequencePairs
            Training data, with the blocks of the sources.
        y : array-like of shape (n_sequences,)
            Classes, or numbers.
        sample_weight : array-like of shape (n_sequences,), default=None
            Weight of each row in the models and scores.
        groups : array-like of shape (n_sequences,), default=None
            Rows of one group are in one fold, such as copies of a text.

        Returns
        -------
        estimator instance
            The fitted transformer.
        """
        self._fit(X, y, sample_weight, groups)
        return self

    @fit_context(prefer_skip_nested_validation=False)
    @rollback_on_error
    def fit_transform(
        self,
        X: EmbeddedSequences | SequencePairs,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> NDArray[np.float32]:
        """Fit a model per source, and return the out-of-fold predictions.

        Differs from `fit` followed by `transform`, whose models have seen the rows.

        Parameters
        ----------
        X : EmbeddedSequences or SequencePairs
            As for `fit`.
        y : array-like of shape (n_sequences,)
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
        return self._fit(X, y, sample_weight, groups)

    def transform(self, X: EmbeddedSequences | SequencePairs) -> NDArray[np.float32]:
        """Return the predictions of the models that were fitted on all training rows.

        Parameters
        ----------
        X : EmbeddedSequences or SequencePairs
            With blocks of the names and dimensions seen in `fit`.

        Returns
        -------
        ndarray of float32, shape (n_sequences, n_features_out)
            With the columns of `get_feature_names_out`.
        """
        check_is_fitted(self)
        return self._predict(*self._features(X, self._further))

    def get_feature_names_out(
        self, input_features: object = None
    ) -> NDArray[np.object_]:
        """Return a name for each column: ``source__class``, or the source.

        Parameters
        ----------
        input_features : ignored
            The columns do not correspond to dimensions of the sources.

        Returns
        -------
        ndarray of str objects
            The sum is named "stacked". Of two classes, the second is named; of numbers,
            the source alone. Columns of cosines are named ``source__cosine``.
        """
        check_is_fitted(self)
        names = ["stacked"] if self._outputs_sum else list(self.estimators_)
        if self.classes_ is not None:
            labels = self.classes_[-1:] if len(self.classes_) == 2 else self.classes_
            names = [f"{name}__{label}" for name in names for label in labels]
        if self._reads_pairs:
            names += [f"{name}__cosine" for name in self.dims_in_]
        return np.array(names, dtype=object)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _fit(self, X, y, sample_weight, groups):
        """Fit the models and return the out-of-fold predictions."""
        from ._stacked_models import (
            fit_sources,
            fit_weights,
            make_splits,
            read_target,
        )

        caller = type(self).__name__
        self._reads_pairs = isinstance(X, SequencePairs)
        self.dims_in_ = block_dims(self._sequences(X))
        self._outputs_sum = self.output == "sum"
        further = self._further_models()
        names = [*self.dims_in_, *further]
        y, classes = read_target(
            y, len(X), self.estimator, self.target_type, caller=caller
        )
        if sample_weight is not None:
            sample_weight = _check_sample_weight(
                sample_weight, y, ensure_non_negative=True
            )
        splits = make_splits(
            self.cv, y, classes, groups, self.random_state, caller=caller
        )
        if self.tfidf and not self._sequences(X).tokens.n_tokens:
            raise ValueError(
                f"{caller}: tfidf=True needs words, but all sequences are empty. Set "
                "tfidf=False."
            )
        inputs, cosines = self._features(X, further)
        models, predictions, scores = zip(
            *fit_sources(
                self.estimator, inputs, y, classes, splits, sample_weight, self.n_jobs
            ),
            strict=True,
        )
        weights, self.intercept_ = fit_weights(
            np.stack(predictions), y, classes, sample_weight
        )
        self.classes_ = classes
        self.estimators_ = dict(zip(names, models, strict=True))
        self.scores_ = dict(zip(names, scores, strict=True))
        self.weights_ = dict(zip(names, weights.tolist(), strict=True))
        return self._output(predictions, cosines)

    def _further_models(self):
        """Return the names of the models of more than a source."""
        wanted = {"concat": self.concat and len(self.dims_in_) > 1, "tfidf": self.tfidf}
        further = [name for name in wanted if wanted[name]]
        for name in further:
            if name in self.dims_in_:
                raise ValueError(
                    f"{type(self).__name__}: a source is named {name!r}, as is a "
                    f"further model. Rename the source, or set {name}=False."
                )
        return further

    def _predict(self, inputs, cosines):
        """Return the columns to output, of the input of each model."""
        from ._stacked_models import predict

        predictions = [
            predict(model, Z)
            for model, Z in zip(self.estimators_.values(), inputs, strict=True)
        ]
        return self._output(predictions, cosines)

    # The output is a function of the pooled vectors without features of words only.
    @available_if(lambda self: "tfidf" not in self._further)
    def _pooled(self, X):
        """Return the pooled vectors of single sequences, as `Pooling._pooled` does."""
        sequences = self._sequences(X)
        check_blocks(sequences, self.dims_in_, caller=type(self).__name__)
        return Pooling().fit(sequences)._pooled(sequences)

    @property
    def _pooled_mean(self):
        """The training mean of pooled vectors, or None if no model stores it."""
        models = list(self.estimators_.values())[: len(self.dims_in_)]
        scalers = [model[0] if hasattr(model, "steps") else None for model in models]
        means = [getattr(scaler, "mean_", None) for scaler in scalers]
        return None if any(mean is None for mean in means) else np.hstack(means)

    def _from_pooled(self, values):
        """Return the output of `transform` for pooled vectors."""
        parts = np.split(values, np.cumsum([*self.dims_in_.values()])[:-1], axis=1)
        return self._predict(_inputs(parts, None, self._further), [])

    def _output(self, predictions, cosines):
        """Return the columns to output, of those of each model."""
        if self._outputs_sum:
            weights = np.array([*self.weights_.values()])
            predictions = [np.tensordot(weights, predictions, 1) + self.intercept_]
        return np.hstack([*predictions, *cosines]).astype(np.float32)

    def _sequences(self, X):
        """Return the EmbeddedSequences of X, which are those of both sides of pairs."""
        caller = type(self).__name__
        if not self._reads_pairs:
            return check_embedded(X, caller=caller)
        if not isinstance(X, SequencePairs):
            raise TypeError(f"{caller} was fitted on SequencePairs, got {X!r}.")
        return check_embedded(X.sequences, caller=caller)

    @property
    def _further(self):
        """The names of the fitted models of more than a source."""
        return list(self.estimators_)[len(self.dims_in_) :]

    def _features(self, X, further):
        """Return the input of each model, and columns of cosines."""
        sequences = self._sequences(X)
        words = sequences.tokens
        check_blocks(sequences, self.dims_in_, caller=type(self).__name__)
        parts = [block.values for block in sequence_blocks(sequences)]
        cosines = []
        if self._reads_pairs:
            sides = [np.split(part, 2) for part in parts]
            parts = [pair_features(u, v) for u, v in sides]
            cosines = [_cosines(u, v) for u, v in sides]
            words = SequencePairs(words)
        return _inputs(parts, words, further), cosines


def _inputs(parts, words, further):
    """Return the input of each model: arrays (n_rows, dim), and the words."""
    inputs = {"concat": lambda: np.hstack(parts), "tfidf": lambda: words}
    return [*parts, *(inputs[name]() for name in further)]


def _cosines(u, v):
    """Return the cosines of rows as a column, (n_rows, 1); 0 for rows of zeros."""
    products = np.einsum("ij,ij->i", normalize_rows(u), normalize_rows(v))
    return products[:, None]
