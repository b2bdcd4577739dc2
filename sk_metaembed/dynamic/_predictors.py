"""DynamicMetaClassifier and DynamicMetaRegressor: the whole network as an estimator."""

from __future__ import annotations

from typing import Any, Self

from .._core._inherited_docs import inherit_docs
from .._targets import TargetClassifierMixin, TargetRegressorMixin
from ._base import Attention, BaseDynamicMeta

# The network and training of Kiela, Wang and Cho (2018).
_PUBLISHED: dict[str, Any] = {
    "projection_dim": 256,
    "encoder": "bilstm-max",
    "encoder_dim": 512,
    "hidden_dims": (512, 512),
    "embedding_dropout": 0.2,
    "head_dropout": 0.2,
    "lr": 4e-4,
    "batch_size": 64,
    "max_epochs": 100,
    "early_stopping": True,
    "network_options": {
        "mixer": "published",
        "gate": "softmax",
        "activation": "relu",
        "encoder_dropout": 0.0,
    },
    "train_options": {
        "n_iter_no_change": 3,
        "monitor": "score",
        "weight_decay": 0.0,
        "lr_factor": 0.2,
        "lr_patience": 0,
        "gradient_clip": 5.0,
        "label_smoothing": 0.0,
        "linear_share": 0.0,
    },
}


class PublishedMixin:
    """The constructor of the published network."""

    _train_options: dict[str, Any]

    @classmethod
    def published(cls, attention: Attention = "word", **params: Any) -> Self:
        """Return an unfitted estimator with the network and training of the paper.

        A BiLSTM with max pooling over time encodes the sequence, weights are scalars,
        sources are not standardized, and the learning rate follows the accuracy on a
        held-out part.

        Parameters
        ----------
        attention : {"word", "context", "task", "uniform"}, default="word"
            "word" for DME, "context" for CDME.
        **params : dict
            Other parameters of the estimator, which take precedence, as do the keys of
            `network_options` and `train_options`.

        Returns
        -------
        estimator instance
            All parameters of the paper are set explicitly.
        """
        published = _PUBLISHED | params
        for name in ("network_options", "train_options"):
            allowed = getattr(cls, f"_{name}")
            options = {k: v for k, v in _PUBLISHED[name].items() if k in allowed}
            published[name] = options | (params.get(name) or {})
        return cls(attention, **published)  # type: ignore[call-arg]


@inherit_docs(BaseDynamicMeta)
class DynamicMetaClassifier(PublishedMixin, TargetClassifierMixin, BaseDynamicMeta):
    r"""Classify sequences with dynamic meta-embeddings (DME and CDME).

    The sources are the blocks of X, as `EmbeddingUnion` returns them, or vectors of
    tokens that are learned with the network, if X contains texts or token lists. They
    are standardized, projected, weighted per word and dimension, and summed; the
    maximum and the mean over the words, and over convolutions of neighbors, are the
    input of a multi-layer head, which predicts the label. A linear model of mean
    vectors and words has a share in the prediction. `published` returns the network of
    the paper. Use `DynamicMetaEmbedding` instead to put another classifier after the
    meta-embedding.

    `SequencePairs`, the output of a `PairEncoder`, are read by one mixer and encoder,
    and the head reads [u; v; abs(u-v); u*v] of their vectors, as the published model
    for natural language inference.

    Attributes
    ----------
    linear_share_ : float
        Share of the linear model in the outputs, 0 without one.

    Raises
    ------
    TypeError
        If X is neither sequences, pairs nor texts, has no blocks but had them in fit,
        or has single sequences after a fit on pairs.
    ValueError
        If y is missing or has missing values, or if X has other blocks than in fit.

    See Also
    --------
    DynamicMetaEmbedding : The same mixing as a transformer; its Notes give the formula.
    DynamicMetaRegressor : The same network for numbers.
    PairEncoder : Makes pairs from two columns of texts.
    sk_metaembed.inspection.TokenWeightsDisplay : Shows attention weights per word.

    Notes
    -----
    A matrix y of only 0 and 1 is read as label sets, with an independent
    probability per label.

    Outputs are

    .. math:: (1 - s) f(x) + s g(x)

    with the network :math:`f` and a linear model :math:`g`: ridge regression of the
    labels on the mean vector of each source, standardized over the sequences and then
    scaled to unit length, and on the TF-IDF of the 20,000 most frequent words, pairs of
    words and triples of words. It is fitted on at most 100,000 sequences, drawn at
    random, with the weights of the loss (document frequencies are not weighted). The
    penalty, the length of the n-grams and their share maximize the leave-one-out
    :math:`R^2` on 1,000 of the sequences, relative to the mean of the other sequences,
    with copies merged into one sequence. A factor calibrates the probabilities. With
    :math:`R_v^2` of the vectors alone, :math:`R_c^2` of these if copies are left out
    one by one, all 0 if they are negative, the noise
    :math:`e = 1 - \min(\max(R^2, R_c^2) / 0.7, 1)` and :math:`k` classes, labels or
    columns, the option ``linear_share="auto"`` is

    .. math::

        s = \min\left(0.2 + 0.7 e^2 \min(k / 7, 1)
        + \frac{R^2 - R_v^2}{\max(R^2, 0.05)}, 0.7\right)

    A net that is trained without weight decay on texts that say little about y learns
    the noise. The option ``weight_decay="auto"`` is :math:`w e_v^3 \min(1, 400 / n)`
    with :math:`n` sequences to train on and the noise :math:`e_v` by :math:`R_c^2`.
    :math:`w` is 0.1 for 4 classes at most, 0.067 and 0.033 for 5 and 6, and 0 for more;
    for label sets these are divided by the number of labels. The value that was used
    is ``net_.optimizer__weight_decay``.

    The labels are smoothed as in [2]_ by the option ``label_smoothing``. Probabilities
    are not calibrated; networks trained for many epochs tend to be overconfident. A
    sequence without known words gets the most probable label, too.

    Without blocks in X, the linear model reads n-grams alone. Its share is 0.4, and
    :math:`R_c^2` is that of its n-grams.

    "auto" is 0 for pairs, and with trainable networks. With early stopping, the
    held-out score is that of the network alone.

    Figures in the parameters are from data sets of texts: see "Defaults of the
    Dynamic* estimators", "Labels" and "Training DME and CDME" in the benchmarks.

    References
    ----------
    .. [1] D. Kiela, C. Wang, K. Cho. "Dynamic Meta-Embeddings for Improved Sentence
       Representations". EMNLP 2018.
    .. [2] C. Szegedy, V. Vanhoucke, S. Ioffe, J. Shlens, Z. Wojna. "Rethinking the
       Inception Architecture for Computer Vision". CVPR 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_metaembed import Block, DynamicMetaClassifier, EmbeddedSequences
    >>> from sk_metaembed import TokenSequences
    >>> tokens = TokenSequences.from_lists([["good", "film"], ["bad", "film"]] * 20)
    >>> X = EmbeddedSequences(tokens, [Block("one-hot", np.eye(3), "type")])
    >>> y = ["pos", "neg"] * 20
    >>> clf = DynamicMetaClassifier(
    ...     projection_dim=8,
    ...     encoder_dim=8,
    ...     hidden_dims=(),
    ...     lr=0.05,
    ...     max_epochs=20,
    ...     early_stopping=False,
    ...     random_state=0,
    ... )
    >>> clf.fit(X, y).predict(X[:2]).tolist()
    ['pos', 'neg']
    >>> clf.attention_weights(X[:1]).columns.tolist()
    ['sequence', 'position', 'token', 'one-hot']

    Without vectors, those of tokens are learned:

    >>> clf = DynamicMetaClassifier(max_epochs=20, random_state=0)
    >>> clf.fit([["A", "C"], ["A", "G"]] * 20, y).predict([["G"]]).tolist()
    ['neg']

    Other trainable sources read texts too:

    >>> from sk_metaembed import TrainableCharacters
    >>> clf = DynamicMetaClassifier(
    ...     trainable=TrainableCharacters(), encoder="mean", max_epochs=1
    ... )
    >>> _ = clf.fit(["good", "bad"], [1, 0], X_val=["good"], y_val=[1])
    >>> list(clf.trained_), clf.get_params()["trainable__char_dim"]
    (['characters'], 30)
    """

    # Without label smoothing, nets trained on few rows are overconfident.
    _train_options = {
        **BaseDynamicMeta._train_options,
        "weight_decay": "auto",
        "linear_share": "auto",
        "label_smoothing": 0.01,
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


@inherit_docs(BaseDynamicMeta)
class DynamicMetaRegressor(PublishedMixin, TargetRegressorMixin, BaseDynamicMeta):
    """Predict numbers from sequences with dynamic meta-embeddings.

    The sources are the blocks of X, as `EmbeddingUnion` returns them, or vectors of
    tokens that are learned with the network, if X contains texts or token lists. The
    network is the same as in `DynamicMetaClassifier`, with the squared error as its
    loss. Targets are standardized for training, and predictions are on the original
    scale. Pairs are read as by the classifier, for example to rate their similarity.

    Attributes
    ----------
    linear_share_ : float
        Share of the linear model in the outputs, 0 without one.

    Raises
    ------
    TypeError
        If X is neither sequences nor texts, or has no blocks but had them in fit.
    ValueError
        If y is missing, has missing values or is not numeric, or if X has other blocks
        than in fit.

    See Also
    --------
    DynamicMetaClassifier : The same network for labels.
    DynamicMetaEmbedding : The same mixing as a transformer; its Notes give the formula.

    Notes
    -----
    Outputs are averaged with those of a linear model as in `DynamicMetaClassifier`. The
    option ``weight_decay="auto"`` has the same formula with the exponent 6 and
    :math:`w` = 0.3 divided by the number of columns of y.

    References
    ----------
    .. [1] D. Kiela, C. Wang, K. Cho. "Dynamic Meta-Embeddings for Improved Sentence
       Representations". EMNLP 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_metaembed import Block, DynamicMetaRegressor, EmbeddedSequences
    >>> from sk_metaembed import TokenSequences
    >>> tokens = TokenSequences.from_lists([["hot"], ["cold"]] * 20)
    >>> X = EmbeddedSequences(tokens, [Block("one-hot", np.eye(2), "type")])
    >>> model = DynamicMetaRegressor(
    ...     projection_dim=8, encoder="mean", hidden_dims=(), lr=0.05, random_state=0
    ... )
    >>> model.fit(X, [30.0, -10.0] * 20).predict(X[:2]).round(-1)
    array([ 30., -10.])
    """

    _train_options = {
        **BaseDynamicMeta._train_options,
        "weight_decay": "auto",
        "linear_share": "auto",
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # a net on a few rows is a poor model
        return tags
