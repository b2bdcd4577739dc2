"""DynamicMetaEmbedding: DME and CDME as a transformer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._core._arrays import PAIR_FEATURES, pair_features
from .._core._estimators import fit_context
from .._core._inherited_docs import inherit_docs
from .._core._sklearn import StrOptions
from .._core._typing import RandomState
from ..sequences import Block, EmbeddedSequences, SequencePairs
from ._base import Attention, BaseDynamicMeta, ClassWeight, Encoder
from ._inputs import Input, read_fit_input


@inherit_docs(BaseDynamicMeta)
class DynamicMetaEmbedding(TransformerMixin, BaseDynamicMeta):
    r"""Combine embeddings by attention trained on y (DME and CDME).

    The sources are the blocks of X, as `EmbeddingUnion` returns them, or vectors of
    tokens that are learned with the network, if X contains texts or token lists. They
    are projected to a common dimension, weighted per word, and summed. The weights are
    trained on the labels with an encoder and a linear head; then `transform` returns
    the mixed word vectors, for `Pooling` and any classifier, or the vectors of the
    encoder.

    Use it when you have labels and several embeddings to choose from: it learns which
    source is useful for which word. The default encoder is the mean, because mixed
    vectors are usually pooled by their mean.

    Parameters
    ----------
    output : {"tokens", "sequence"}, default="tokens"
        "tokens" returns EmbeddedSequences with one block of mixed vectors; "sequence"
        returns the vectors of the encoder as an array. For pairs, "tokens" returns
        SequencePairs, the input of a `PairEncoder` of a `Pooling`; "sequence" returns
        [u; v; abs(u-v); u*v]. One fitted network has both: it can be changed after fit.

    Raises
    ------
    TypeError
        If X is neither sequences nor texts, or has no blocks but had them in fit.
    ValueError
        If y is missing or has missing values, or if X has other blocks than in fit.

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

    with initial values :math:`s = 0` and :math:`\gamma = 1`, and ``mix_penalty`` times
    :math:`|s|^2` added to the loss. The published form has neither projection nor ReLU
    nor standardization: ``projection_dim=None`` and
    ``network_options={"activation": None, "mixer": "published"}``.

    A classifier behind the net is fitted on vectors that are adapted to its own labels:
    a net that fits the training data too well makes it overconfident, in particular if
    it consists of trees.
    The pipeline's probabilities are then not calibrated; `DynamicMetaClassifier`, or
    scikit-learn's `CalibratedClassifierCV` of the whole pipeline, avoids this. Vectors
    from other folds would not help: the dimensions of two networks differ, so that one
    classifier cannot read both. Out-of-fold predictions come from a
    `StackedMetaClassifier` with a network among its `models`.

    References
    ----------
    .. [1] D. Kiela, C. Wang, K. Cho. "Dynamic Meta-Embeddings for Improved Sentence
       Representations". EMNLP 2018.
    .. [2] M. Peters et al. "Deep contextualized word representations". NAACL 2018.

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
    """

    _parameter_constraints: dict = {
        **BaseDynamicMeta._parameter_constraints,
        "output": [StrOptions({"tokens", "sequence"})],
    }

    def __init__(
        self,
        attention: Attention = "word",
        *,
        trainable: Any = None,
        projection_dim: int | None = 256,
        encoder: Encoder = "mean",
        encoder_dim: int | Sequence[int] = 128,
        hidden_dims: Sequence[int] = (),
        embedding_dropout: float = 0.2,
        head_dropout: float = 0.2,
        network_options: dict[str, Any] | None = None,
        lr: float = 1e-3,
        batch_size: int | Literal["auto"] = "auto",
        max_epochs: int | Literal["auto"] = "auto",
        early_stopping: bool = False,
        train_options: dict[str, Any] | None = None,
        class_weight: ClassWeight = None,
        device: str = "auto",
        callbacks: Sequence[Any] | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
        output: Literal["tokens", "sequence"] = "tokens",
    ) -> None:
        super().__init__(
            attention,
            trainable=trainable,
            projection_dim=projection_dim,
            encoder=encoder,
            encoder_dim=encoder_dim,
            hidden_dims=hidden_dims,
            embedding_dropout=embedding_dropout,
            head_dropout=head_dropout,
            network_options=network_options,
            lr=lr,
            batch_size=batch_size,
            max_epochs=max_epochs,
            early_stopping=early_stopping,
            train_options=train_options,
            class_weight=class_weight,
            device=device,
            callbacks=callbacks,
            random_state=random_state,
            verbose=verbose,
        )
        self.output = output

    @fit_context
    def fit_transform(
        self,
        X: Input,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: Input | None = None,
        y_val: ArrayLike | None = None,
    ) -> EmbeddedSequences | SequencePairs | NDArray[np.float32]:
        """Train, and transform the same sequences.

        An estimator that is fitted on the output sees vectors adapted to their labels.
        Networks of other folds would not help, because their dimensions differ. For
        out-of-fold predictions, make a predictor a member of a stack:
        ``StackedMetaClassifier(models=[("net", DynamicMetaClassifier())])``.

        Parameters
        ----------
        X : EmbeddedSequences or SequencePairs
            As for `fit`.
        y : array-like
            As for `fit`.
        sample_weight : array-like of shape (n_sequences,), default=None
            As for `fit`.
        X_val : EmbeddedSequences or SequencePairs, default=None
            As for `fit`.
        y_val : array-like, default=None
            Targets of `X_val`.

        Returns
        -------
        EmbeddedSequences, SequencePairs, or ndarray of float32
            As `transform` returns.
        """
        # Read X once: a generator is exhausted after one pass.
        X = read_fit_input(X)
        return self.fit(X, y, sample_weight, X_val=X_val, y_val=y_val).transform(X)

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
            alone and every source is at type level, otherwise at token level.
            `TrainableCharacters` reads the original texts, if X has them, at token
            level.
        """
        from ._predict import predict_rows, run_mixer

        check_is_fitted(self, "net_")
        data = self._net_input(X, joins_pairs=False)
        module = self.net_.module_
        if self.output == "sequence":
            values = predict_rows(self.net_, data, module.encode, module.encoder.dim)
            return pair_features(*np.split(values, 2)) if self._reads_pairs else values
        values, level = run_mixer(self.net_, data, 0, module.mixer.dim)
        known = data.known_at(level)
        if level == "type":
            known &= data.tokens.type_counts() > 0  # others were not mixed
        block = Block("dynamic", values, level, known, copy=False)
        mixed = EmbeddedSequences(data.tokens, [block])
        return SequencePairs(mixed) if self._reads_pairs else mixed

    def get_feature_names_out(
        self, input_features: object = None
    ) -> NDArray[np.object_]:
        """Return one name per dimension of the output.

        These are the names of the columns of ``output="sequence"``, including data
        frames of `set_output`, and of the dimensions of mixed word vectors.

        Parameters
        ----------
        input_features : ignored
            Not used, because the output has new dimensions.

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
        tags.transformer_tags.preserves_dtype = []  # the input has no dtype
        return tags

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        cls._sklearn_auto_wrap_output_keys = _WRAPPED


# scikit-learn decides by this attribute whether to wrap what transform returns; here
# that depends on a parameter, so it cannot be one of the class's keyword arguments.
_WRAPPED = property(lambda self: {"transform"} if self.output == "sequence" else set())
DynamicMetaEmbedding._sklearn_auto_wrap_output_keys = _WRAPPED
