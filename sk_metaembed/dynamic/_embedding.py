"""DynamicMetaEmbedding: DME and CDME as a transformer."""

from __future__ import annotations

import warnings
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.validation import check_is_fitted

from .._core._arrays import PAIR_FEATURES, pair_features
from .._core._sklearn import StrOptions, _routing_enabled
from ..sequences import Block, EmbeddedSequences, SequencePairs
from ._base import BaseDynamicMeta
from ._parameters import (
    Attention,
    ClassWeight,
    Encoder,
    MixerKind,
    describe,
)
from ._targets import any_target
from ._trainable import TransformingMixin, all_tokens, read_input
from .training._plan import checked_weights, fold_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray
    from sklearn.model_selection import BaseCrossValidator

    from .._core._typing import RandomState
    from ._trainable import Input

# See docs/benchmarks.md, "Earlier measurements".
MIN_ROWS_TO_CROSS_FIT = 500


@describe(hidden_dims="()")
class DynamicMetaEmbedding(TransformingMixin, BaseDynamicMeta):
    r"""Combine embeddings by attention trained on y (DME and CDME).

    Each source is projected to a common dimension, weighted per word, and summed. The
    weights are trained on the labels with an encoder and a linear head; then
    `transform` returns the mixed word vectors, for `Pooling` and any classifier, or the
    vectors of the encoder.

    Use it when you have labels and several embeddings to choose from: it learns which
    source is useful for which word. The default encoder is the mean, because mixed
    vectors are usually pooled by their mean.

    Parameters
    ----------
    %(common)s
    output : {"tokens", "sequence"}, default="tokens"
        "tokens" returns EmbeddedSequences with one block of mixed vectors; "sequence"
        returns the vectors of the encoder as an array. For pairs, "tokens" returns
        SequencePairs, the input of a `PairEncoder` of a `Pooling`; "sequence" returns
        [u; v; abs(u-v); u*v].
    cv : int, cross-validation splitter or iterable, default=None
        Cross-fitting: `fit_transform` returns vectors from nets that were not trained
        on the sequences, one net per fold. Ignored by `fit` and `transform`. An int is
        the number of folds, which are shuffled, and stratified by labels; iterables
        hold (train, test) row numbers. Every row must be held out exactly once. None
        returns the vectors of the net fitted on all rows. See the Notes for when to
        use which.

    Attributes
    ----------
    %(attributes)s

    Raises
    ------
    TypeError
        If X is not an EmbeddedSequences, unless all sources are trainable.
    ValueError
        If y is missing or has missing values, or if the blocks of X are not those of
        fit.

    See Also
    --------
    DynamicMetaClassifier : The same network, end to end.
    ConcatMetaEmbedding, AverageMetaEmbedding : Combinations without labels.

    Notes
    -----
    For source :math:`i` and word :math:`j`, with :math:`w'_{ij} = P_i w_{ij} + b_i`,

    .. math:: m_j = \mathrm{ReLU}\Big(\sum_i \alpha_{ij} w'_{ij}\Big), \qquad
              \alpha_{ij} = \phi(a \cdot w'_{ij} + b)

    with :math:`\phi` a softmax over the sources that know the word, or a sigmoid. CDME
    uses :math:`a \cdot h_{ij} + b` instead, where :math:`h_{ij}` is the state of a
    BiLSTM with 2 units per direction over the projected sequence of the source; all
    sources share it. Word-level weights are computed once per distinct word, and the
    output is then a type-level block.

    ``attention="task"`` is the scalar mix of ELMo,

    .. math:: m_j = \mathrm{ReLU}\Big(\gamma \sum_i \alpha_i w'_{ij}\Big), \qquad
              \alpha = \mathrm{softmax}(s)

    with initial values :math:`s = 0` and :math:`\gamma = 1`, and `mix_penalty` times
    :math:`|s|^2` added to the loss. The published form has neither projection nor ReLU:
    ``projection_dim=None, activation=None``. A mix of the layers of an `ElmoEmbedding`
    that was learned in this form can be written into one with ``output="elmo"``: the
    logarithms of `layer_weights_` as ``mix_weights``, `gamma_` as ``gamma``, and the
    same ``layer_norm``.

    A classifier behind the net is fitted on vectors that are adapted to its own labels:
    a net that fits the training data too well makes it overconfident, trees above all.
    With ``cv=5``, `fit_transform`, and so ``Pipeline.fit``, trains one net on all
    rows, which `transform` uses, and one per fold, which transforms the rows that it
    was not trained on; thus ``fit(X, y).transform(X)`` differs from
    ``fit_transform(X, y)``, as for scikit-learn's `TargetEncoder`. The nets of the
    folds have the same initial weights as the net on all rows, but the spaces of their
    vectors differ still. The centered vectors :math:`A` of a fold's net are therefore
    mapped linearly to those of the net on all rows, :math:`B`, by

    .. math:: \min_W \|A W - B\|^2 + \lambda \|W - R\|^2, \qquad
              R = \arg\min_{R^T R = I} \|A R - B\|^2,

    a ridge regression that shrinks to the best rotation. It is learned on the rows that
    the fold's net was trained on; :math:`\lambda` is a tenth of the mean eigenvalue of
    :math:`A^T A`. Mapped vectors may be slightly below zero even after a ReLU.

    Below 500 sequences the nets of the folds see too few, the next step becomes worse,
    and `fit_transform` warns. With early stopping, the vectors of the training rows are
    hardly better than those of new rows, and ``cv=None``, the default, is as accurate
    and takes a fifth of the time. Without early stopping, or where nets memorize the
    training data, use ``cv=5``: probabilities are then better calibrated, at about the
    same accuracy.

    Each fold's net holds out its own part for early stopping,
    and starts from new weights even with ``warm_start=True``; `partial_fit` ignores
    `cv`. scikit-learn's callbacks and skorch's that write files see the net on all rows
    only.

    References
    ----------
    .. [1] D. Kiela, C. Wang, K. Cho. "Dynamic Meta-Embeddings for Improved Sentence
       Representations". EMNLP 2018.
    .. [2] M. Peters et al. "Deep contextualized word representations". NAACL 2018.
    .. [3] P. Schönemann. "A generalized solution of the orthogonal Procrustes problem".
       Psychometrika 1966.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_metaembed import Block, DynamicMetaEmbedding, EmbeddedSequences
    >>> from sk_metaembed import TokenSequences
    >>> tokens = TokenSequences.from_lists([["good"], ["bad"]] * 250)
    >>> X = EmbeddedSequences(
    ...     tokens,
    ...     [Block("a", np.eye(2), "type"), Block("b", np.ones((2, 3)), "type")],
    ... )
    >>> dme = DynamicMetaEmbedding(projection_dim=4, max_epochs=2, random_state=0)
    >>> dme.fit(X, [1, 0] * 250).transform(X)
    EmbeddedSequences(500 sequences, 500 tokens, 2 types; dynamic: type 4d)
    >>> dme.attention_weights(X[:1]).columns.tolist()
    ['sequence', 'position', 'token', 'a', 'b']

    The scalar mix has one weight per source and a factor:

    >>> mix = DynamicMetaEmbedding("task", projection_dim=4, max_epochs=1)
    >>> weights = mix.fit(X, [1, 0] * 250).layer_weights_
    >>> sorted(weights), round(sum(weights.values()), 3), round(mix.gamma_, 1)
    (['a', 'b'], 1.0, 1.0)

    Out-of-fold vectors for the training of the next step:

    >>> dme.set_params(cv=5, output="sequence").fit_transform(X, [1, 0] * 250).shape
    (500, 4)
    """

    _parameter_constraints: dict = {
        **BaseDynamicMeta._parameter_constraints,
        "output": [StrOptions({"tokens", "sequence"})],
        "cv": ["cv_object"],
    }
    # During `fit_transform`: what the nets of all folds have in common.
    _shared: dict[str, Any] | None = None

    def __init__(
        self,
        attention: Attention = "word",
        *,
        trainable: Any = None,
        gate: Literal["softmax", "sigmoid"] = "softmax",
        projection_dim: int | None = 256,
        activation: Literal["relu"] | None = "relu",
        layer_norm: bool = False,
        mix_penalty: float = 0.0,
        mixer: MixerKind = "standardized",
        encoder: Encoder = "mean",
        encoder_dim: int | Sequence[int] = 512,
        hidden_dims: Sequence[int] = (),
        embedding_dropout: float = 0.2,
        encoder_dropout: float = 0.0,
        head_dropout: float = 0.2,
        lr: float = 1e-3,
        batch_size: int = 32,
        max_epochs: int | Literal["auto"] = "auto",
        early_stopping: bool | Literal["auto"] = "auto",
        validation_fraction: float = 0.1,
        patience: int = 3,
        train_options: dict[str, Any] | None = None,
        class_weight: ClassWeight = None,
        device: str = "auto",
        callbacks: Sequence[Any] | None = None,
        warm_start: bool = False,
        random_state: RandomState = None,
        verbose: int = 0,
        output: Literal["tokens", "sequence"] = "tokens",
        cv: int | BaseCrossValidator | Iterable[Any] | None = None,
    ) -> None:
        super().__init__(
            attention,
            trainable=trainable,
            gate=gate,
            projection_dim=projection_dim,
            activation=activation,
            layer_norm=layer_norm,
            mix_penalty=mix_penalty,
            mixer=mixer,
            encoder=encoder,
            encoder_dim=encoder_dim,
            hidden_dims=hidden_dims,
            embedding_dropout=embedding_dropout,
            encoder_dropout=encoder_dropout,
            head_dropout=head_dropout,
            lr=lr,
            batch_size=batch_size,
            max_epochs=max_epochs,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            patience=patience,
            train_options=train_options,
            class_weight=class_weight,
            device=device,
            callbacks=callbacks,
            warm_start=warm_start,
            random_state=random_state,
            verbose=verbose,
        )
        self.output = output
        self.cv = cv

    def _make_target(self, y, classes, weights):
        if self._shared:  # a fold may lack a class, or hold integers only
            return self._shared["target"]
        return any_target(y, classes, weights, caller=type(self).__name__)

    def _train(self, plan):
        if self._shared is not None:
            # Nets with the same initial weights end in similar spaces.
            first = self._shared.setdefault("random_state", deepcopy(plan.random_state))
            if "target" in self._shared:
                plan = plan._replace(random_state=deepcopy(first))
        super()._train(plan)

    def fit_transform(
        self,
        X: Input,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: Input | None = None,
        y_val: ArrayLike | None = None,
        **split_params: Any,
    ) -> EmbeddedSequences | SequencePairs | NDArray[np.float32]:
        """Train, and transform the same sequences.

        With `cv`, each sequence is transformed by a net that was not trained on it, so
        the output differs from ``fit(X, y).transform(X)``. Without, the output is the
        same, and what is fitted on it sees vectors that are adapted to their labels.

        Parameters
        ----------
        X : EmbeddedSequences or SequencePairs
            As for `fit`.
        y : array-like
            As for `fit`.
        sample_weight : array-like of shape (n_sequences,), default=None
            As for `fit`. Sequences of weight 0 are in no net's training data.
        X_val : EmbeddedSequences or SequencePairs, default=None
            As for `fit`, in all nets.
        y_val : array-like, default=None
            Their targets.
        **split_params : dict
            Arguments of the splitter `cv`, such as ``groups``.

        Returns
        -------
        EmbeddedSequences, SequencePairs, or ndarray of float32
            As `transform` returns; mixed vectors are at token level with `cv`, because
            a word has a vector in each fold, unless all sources are at sequence level.
        """
        params: dict[str, Any] = {"X_val": X_val, "y_val": y_val}
        if self.cv is None:
            if split_params:
                raise TypeError(
                    f"{type(self).__name__}.fit_transform: {next(iter(split_params))} "
                    "is passed to the splitter of cv, but cv is None. Set cv, for "
                    "example to GroupKFold(5), or leave the argument out."
                )
            params |= {"sample_weight": sample_weight}
            return super().fit_transform(X, y, **params)
        self._validate_params()
        caller, reads_tokens = type(self).__name__, bool(self._pairs())
        X = read_input(X, caller=caller, reads_tokens=reads_tokens)
        if X_val is not None:  # all nets read it
            params["X_val"] = read_input(
                X_val, caller=f"{caller}'s X_val", reads_tokens=reads_tokens
            )
        targets = self._read_target(y, X, caller=caller)
        weights = checked_weights(sample_weight, X, caller=caller)
        folds = self._folds(X, targets, split_params)
        n_rows = np.count_nonzero(weights)
        if n_rows < MIN_ROWS_TO_CROSS_FIT:
            warnings.warn(
                f"{caller}: cv is set for {n_rows} sequences. Below "
                f"{MIN_ROWS_TO_CROSS_FIT}, out-of-fold vectors make the next step "
                "worse, because each net sees too few. Use cv=None.",
                stacklevel=2,
            )
        self._shared = {}
        try:
            self.fit(X, y, sample_weight, **params)
            shared = {**self._shared, "target": self._target}
        finally:
            del self._shared
        nets = self._fold_vectors(X, targets, weights, folds, params, shared)
        return self._cross_fitted(X, nets)

    def _folds(self, X, y, split_params):
        """Return training and held-out rows of each fold."""
        caller = type(self).__name__
        if _routing_enabled():
            routed = process_routing(self, "fit_transform", **split_params)
            split_params = routed.splitter.split
        target = self._make_target(y, None, None)
        return fold_rows(
            self.cv, self.random_state, X, y, target, split_params, caller=caller
        )

    def _fold_vectors(self, X, y, weights, folds, params, shared):
        """Yield the rows of each fold, and the vectors that its net computes for X."""
        for train, test in folds:
            net = self._fold_net(shared)
            net.fit(X[train], y[train], weights[train], **params)
            yield train, test, net._vectors(X)

    def _fold_net(self, shared):
        """Return an unfitted estimator with these parameters, for one fold."""
        from .training._fit import WRITERS

        params = self.get_params(deep=False) | {"cv": None, "warm_start": False}
        fold = clone(type(self)(**params))
        # Files and logs are those of the net fitted on all rows.
        fold.callbacks = [
            callback
            for callback in fold.callbacks or []
            if not isinstance(
                callback[1] if isinstance(callback, tuple) else callback, WRITERS
            )
        ]
        fold._shared = shared
        return fold

    def _cross_fitted(self, X, nets):
        """Return the out-of-fold vectors in the form of `transform`."""
        from .training._predict import cross_fit

        whole = self._vectors(X)
        table, rows, level = cross_fit(whole, nets, X)
        if self.output == "tokens":
            return self._output(X, Block._of_table("dynamic", table, rows, level))
        # Without known words a vector depends on no label.
        unknown = rows[:, None] < 0
        return self._output(X, np.where(unknown, whole.values, table[rows]))

    def transform(
        self, X: Input
    ) -> EmbeddedSequences | SequencePairs | NDArray[np.float32]:
        """Return the mixed word vectors, or the vectors of the encoder.

        Dropout is off: a sequence has the same output each time, alone or in a batch.

        Parameters
        ----------
        X : EmbeddedSequences or SequencePairs
            With the blocks of fit; tokens or texts if fit saw no blocks.

        Returns
        -------
        EmbeddedSequences, SequencePairs, or ndarray of float32
            An array has shape (n_sequences, encoder dim), for pairs (n_pairs, 4 *
            encoder dim). Mixed vectors are at type level if weights depend on the word
            alone and every source is at type level, otherwise at token level. A
            `CharEmbedding` reads the original texts, if X has them, at token level.
        """
        check_is_fitted(self, "net_")
        X = self._read(X, type(self).__name__)
        vectors = self._vectors(X)
        if self.output == "tokens":
            return self._output(X, Block("dynamic", *vectors))
        return self._output(X, vectors.values)

    def _vectors(self, X):
        """Return the `Vectors` of X, before pairs are combined."""
        from .training._predict import Vectors, run_positions, run_sequences

        data = self._encoded(X)
        module = self.net_.module_
        if self.output == "sequence":
            values = run_sequences(self.net_, data, module.encode, module.encoder.dim)
            return Vectors(values, "sequence", data.known_sequences())
        values, level = run_positions(self.net_, data, 0, module.mixer.dim)
        known = data.known_at(level)
        if level == "type":
            known &= data.tokens.type_counts() > 0  # others were not mixed
        return Vectors(values, level, known)

    def _output(self, X, result):
        """Return an array of vectors, or a block, in the form of `transform`."""
        if self.output == "sequence":
            return pair_features(*np.split(result, 2)) if self._reads_pairs else result
        mixed = EmbeddedSequences(all_tokens(X), [result])
        return SequencePairs(mixed) if self._reads_pairs else mixed

    def get_feature_names_out(
        self, input_features: object = None
    ) -> NDArray[np.object_]:
        """Return one name per dimension of the output.

        They name the columns of ``output="sequence"``, also in the data frames of
        `set_output`, and the dimensions of the mixed word vectors.

        Parameters
        ----------
        input_features : ignored
            The dimensions of the output are new ones.

        Returns
        -------
        ndarray of object
            "dynamic" and a number; for vectors of pairs with the prefixes "u__", "v__",
            "absdiff__" and "product__".
        """
        check_is_fitted(self, "net_")
        module = self.net_.module_
        part = module.encoder if self.output == "sequence" else module.mixer
        names = [f"dynamic{i}" for i in range(part.dim)]
        if self._reads_pairs and self.output == "sequence":
            names = [f"{f}__{name}" for f in PAIR_FEATURES for name in names]
        return np.asarray(names, dtype=object)

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the metadata that `fit` requests, and those of the splitter `cv`.

        Returns
        -------
        MetadataRouter
            Arguments of ``cv.split`` are routed from `fit_transform`.
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        mapping = MethodMapping().add(caller="fit_transform", callee="split")
        return router.add(splitter=self.cv, method_mapping=mapping)

    def set_output(
        self, *, transform: Literal["default", "pandas", "polars"] | None = None
    ) -> Self:
        """Set the container of the output of ``output="sequence"``.

        With ``output="tokens"`` the choice is stored until `output` is set to
        "sequence".

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, default=None
            The container of the encoder's vectors.

        Returns
        -------
        estimator instance
            The estimator.
        """
        if self.output == "tokens":
            if transform is not None:  # for when `output` is set to "sequence"
                self._sklearn_output_config = {"transform": transform}
            return self
        return super().set_output(transform=transform)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # no dtype comes in
        return tags

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        cls._sklearn_auto_wrap_output_keys = _WRAPPED


# scikit-learn decides by this attribute whether to wrap what transform returns; here
# that depends on a parameter, so it cannot be one of the class's keyword arguments.
_WRAPPED = property(lambda self: {"transform"} if self.output == "sequence" else set())
DynamicMetaEmbedding._sklearn_auto_wrap_output_keys = _WRAPPED
