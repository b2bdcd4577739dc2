"""DynamicMetaEmbedding: DME and CDME as a transformer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from .._core._arrays import PAIR_FEATURES, pair_features
from ..sequences import Block, EmbeddedSequences, SequencePairs
from ._base import BaseDynamicMeta
from ._parameters import Attention, ClassWeight, Encoder, describe
from ._targets import any_target
from ._trainable import TransformingMixin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from .._core._typing import RandomState
    from ._trainable import Input


@describe(encoder="mean", hidden_dims="()", lr="1e-3")
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
    >>> tokens = TokenSequences.from_lists([["good"], ["bad"]] * 20)
    >>> X = EmbeddedSequences(
    ...     tokens,
    ...     [Block("a", np.eye(2), "type"), Block("b", np.ones((2, 3)), "type")],
    ... )
    >>> dme = DynamicMetaEmbedding(projection_dim=4, max_epochs=2, random_state=0)
    >>> dme.fit(X, [1, 0] * 20).transform(X)
    EmbeddedSequences(40 sequences, 40 tokens, 2 types; dynamic: type 4d)
    >>> dme.attention_weights(X[:1]).columns.tolist()
    ['sequence', 'position', 'token', 'a', 'b']

    The scalar mix has one weight per source and a factor:

    >>> mix = DynamicMetaEmbedding("task", projection_dim=4, max_epochs=1)
    >>> weights = mix.fit(X, [1, 0] * 20).layer_weights_
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
        gate: Literal["softmax", "sigmoid"] = "softmax",
        projection_dim: int | None = 256,
        activation: Literal["relu"] | None = "relu",
        layer_norm: bool = False,
        mix_penalty: float = 0.0,
        encoder: Encoder = "mean",
        encoder_dim: int | Sequence[int] = 512,
        hidden_dims: Sequence[int] = (),
        embedding_dropout: float = 0.2,
        encoder_dropout: float = 0.0,
        head_dropout: float = 0.2,
        lr: float = 1e-3,
        batch_size: int = 64,
        max_epochs: int = 100,
        early_stopping: bool = True,
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
    ) -> None:
        super().__init__(
            attention,
            trainable=trainable,
            gate=gate,
            projection_dim=projection_dim,
            activation=activation,
            layer_norm=layer_norm,
            mix_penalty=mix_penalty,
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

    def _make_target(self, y, classes, weights):
        return any_target(y, classes, weights, caller=type(self).__name__)

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
        from .training._predict import run_positions, run_sequences

        data = self._data(X)
        module = self.net_.module_
        if self.output == "sequence":
            vectors = run_sequences(self.net_, data, module.encode, module.encoder.dim)
            return (
                pair_features(*np.split(vectors, 2)) if self._reads_pairs else vectors
            )
        values, level = run_positions(self.net_, data, 0, module.mixer.dim)
        known = data.known_at(level)
        if level == "type":
            known &= data.tokens.type_counts() > 0  # others were not mixed
        block = Block("dynamic", values, level, known)
        mixed = EmbeddedSequences(data.tokens, [block])
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
