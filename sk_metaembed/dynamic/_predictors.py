"""DynamicMetaClassifier and DynamicMetaRegressor: the whole network as an estimator."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin

from ._base import BaseDynamicMeta
from ._inputs import Input
from ._parameters import TRAIN_OPTIONS, Attention

# The network and training of Kiela, Wang and Cho (2018).
PUBLISHED_PARAMETERS = {
    "gate": "softmax",
    "projection_dim": 256,
    "activation": "relu",
    "mixer": "published",
    "encoder": "bilstm-max",
    "encoder_dim": 512,
    "hidden_dims": (512, 512),
    "embedding_dropout": 0.2,
    "encoder_dropout": 0.0,
    "head_dropout": 0.2,
    "lr": 4e-4,
    "batch_size": 64,
    "max_epochs": 100,
    "early_stopping": True,
    "n_iter_no_change": 3,
}
_PUBLISHED_OPTIONS = {
    "monitor": "score",
    "weight_decay": 0.0,
    "lr_factor": 0.2,
    "lr_patience": 0,
    "gradient_clip": 5.0,
    "label_smoothing": 0.0,
    "linear_share": 0.0,
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
            `train_options`.

        Returns
        -------
        estimator instance
            All parameters of the paper are set explicitly.
        """
        options = {
            k: v for k, v in _PUBLISHED_OPTIONS.items() if k in cls._train_options
        }
        options |= params.pop("train_options", None) or {}
        params = PUBLISHED_PARAMETERS | params
        return cls(attention, train_options=options, **params)  # type: ignore[call-arg]


class DynamicMetaClassifier(PublishedMixin, ClassifierMixin, BaseDynamicMeta):
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

    Parameters
    ----------
    attention : {"word", "context", "task", "uniform"}, default="word"
        What the weight of a source depends on. "word": the word (DME). "context": the
        sequence, read by a small BiLSTM (CDME). "task": nothing, one weight per source
        and a factor gamma (ELMo's scalar mix). "uniform": no weights, a plain sum.
    trainable : trainable source, or list of (str, source), default=None
        Sources whose own weights are trained too, at their own learning rates, in
        addition to the blocks of X or alone. `TrainableTokens` learns a vector per
        token or n-gram, `TrainableCharacters` word vectors from characters;
        `TrainableTransformer` wraps a `TransformerEmbedding`. None is
        ``TrainableTokens()`` if X has no blocks, but texts, token lists or
        TokenSequences, with `TrainablePositions` if 90 % have the same length.
    gate : {"softmax", "sigmoid"}, default="softmax"
        Weights sum to 1 over the sources that know the word, or are independent.
    projection_dim : int or None, default=256
        Dimension that all sources are projected to. None mixes the vectors without
        projection; their dimensions must then be equal.
    activation : {"relu"} or None, default="relu"
        Applied to the mixed vectors.
    layer_norm : bool, default=False
        Normalize the projected vector of each word and source to mean 0 and variance 1
        before weighting, so that sources with longer vectors do not dominate.
    mix_penalty : float, default=0.0
        Regularization of ``attention="task"`` towards equal weights: lambda in the
        penalty lambda * abs(s)^2 on the scores of the softmax. With 0.001 weights can
        differ, with 1 they are close to the mean. Ignored by other attentions.
    mixer : {"standardized", "published"}, default="standardized"
        "standardized" subtracts the mean of each dimension of a source and divides by
        its standard deviation, both over the distinct words of the training fold that
        the source knows, and with "word" and "context" weights each dimension of the
        projected vectors separately: a weight is a vector instead of a scalar.
        Trainable sources are not standardized. "published" does neither, as in [1]_.
    encoder : {"conv", "bilstm-max", "gru", "mean", "max"}, default="conv"
        Encodes the mixed vectors of a sequence as one vector. "conv": the maximum and
        the mean over the tokens of their vectors and of filters that read a token and
        its neighbors. "bilstm-max": a bidirectional LSTM with max pooling over time.
        "gru": the last state of a GRU. "mean" and "max" read no order; they skip tokens
        that no source knows, as `Pooling` does. The other encoders read such tokens as
        zeros. A sequence without known tokens gives zeros.
    encoder_dim : int or tuple of int, default=128
        Number of filters of each width, or size of the recurrent layer (one direction).
        A tuple has the sizes of stacked layers.
    conv_widths : tuple of int, default=(3, 5)
        How many tokens the filters of ``encoder="conv"`` read. They are centered at
        each token of the sequence; even widths read one token more after it than
        before it. Neighbors beyond the ends of the sequence are zeros.
    hidden_dims : tuple of int, default=(512, 512)
        Sizes of the head's hidden layers; empty for a linear head.
    embedding_dropout, encoder_dropout, head_dropout : float, default=0.2, 0.0, 0.5
        Dropout on mixed vectors, on the input of convolutional or recurrent layers, and
        in the head: on hidden layers, and on its input with ``encoder="conv"``.
    lr : float, default=1e-3
        Learning rate of Adam.
    batch_size : int or "auto", default="auto"
        Approximate number of sequences per step. A batch has sequences of similar
        length. "auto" is 32, and above 2,500 sequences grows with the square root of
        their number, up to 256, unless there are trainable networks.
    max_epochs : int or "auto", default="auto"
        Maximum number of passes over the data. "auto" is 100 with early stopping.
        Without, it is the number of epochs with about 400 steps, or 16 per class if
        that is more, and 5 at least.
    early_stopping : bool, default=False
        Hold out a part of the data, and restore the weights of the epoch with the
        smallest loss on it. False trains on all data for `max_epochs`, while the
        learning rate falls linearly to 0.
    validation_fraction : float, default=0.1
        Fraction of the data to hold out, stratified by class. ``fit`` also accepts
        `X_val`.
    n_iter_no_change : int, default=10
        Epochs without improvement before training stops.
    train_options : dict or None, default=None
        Further options of training; keys that are missing have their defaults:

        - ``monitor`` : {"loss", "score"}, default="loss". What early stopping and the
          learning rate follow on the held-out part: the loss, or the accuracy, which
          says little where one class is frequent. Label sets have no score.
        - ``lr_factor`` : float, default=0.5. Multiplies the learning rate after
          ``lr_patience`` epochs without improvement.
        - ``lr_patience`` : int, default=3. Epochs without improvement before
          the learning rate is reduced.
        - ``weight_decay`` : float or "auto", default="auto". L2 penalty of Adam.
          "auto" is the larger, the less a linear model explains of y: see the Notes.
        - ``linear_share`` : float or "auto", default="auto". Share of a linear model of
          mean vectors and n-grams in the outputs; 0 is the network alone. "auto" is the
          larger, the less is explained of y, and the more n-grams add, and 0.4 without
          vectors: see the Notes.
        - ``gradient_clip`` : float or None, default=5.0. Largest norm of the
          gradient.
        - ``label_smoothing`` : float, default=0.01. Share of the target that is spread
          evenly over the labels, so that probabilities of nets with few rows are less
          extreme [2]_. For label sets, half of it is added to each label: the targets
          are 0.005 and 0.995.
        - ``dtype`` : {"float32", "bfloat16"}, default="float32". "bfloat16" computes
          matrix products in mixed precision; weights stay float32.
    class_weight : dict, list of dict, "balanced" or None, default=None
        Weight of each label in the loss and in the held-out score; labels that are not
        named have weight 1, and "balanced" gives rare labels larger weights. For label
        sets a list with one dict per column; the weights of a sequence are multiplied.
        Must be None if y holds numbers.
    device : str, default="auto"
        "auto" uses a GPU if torch finds one; otherwise a torch device name. "cuda:auto"
        gives each process of joblib a GPU in turn.
    callbacks : list of skorch callbacks, default=None
        Additional callbacks, or (name, callback) pairs. A skorch ``LRScheduler``
        replaces the linear decrease of the learning rate. scikit-learn's own callbacks
        are set with ``set_callbacks``.
    random_state : int, RandomState or None, default=None
        Seeds weights, batches, dropout and the held-out part.
    verbose : int, default=0
        1 prints a row per epoch.

    Attributes
    ----------
    dims_in_ : dict of str to int
        Dimension of each block in fit, by name.
    layer_weights_ : dict of str to float
        Weight of each layer or source with ``attention="task"``; they sum to 1 with the
        softmax gate. For other attentions see `attention_weights`.
    gamma_ : float
        Factor of the scalar mix with ``attention="task"``.
    trained_ : dict of str to torch Module
        The networks of `trainable`, by the names of the sources ("transformer" for a
        single transformer, which has ``save(folder)``).
    linear_share_ : float
        Share of the linear model in the outputs, 0 without one.
    net_ : skorch.NeuralNet
        The trained net. ``net_.module_.mixer`` has the projections and the attention.
    history_ : skorch History
        One record per epoch: losses, held-out score, duration.
    n_iter_ : int
        Number of epochs trained.
    classes_ : ndarray of shape (n_classes,)
        Only if y holds labels.

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
    words and triples of words, on 100,000 sequences at most, which are drawn at random,
    with the weights of the loss (document frequencies count all sequences alike). Its
    penalty, the length of the n-grams and their share have the largest leave-one-out
    :math:`R^2` on 1,000 of them, relative to the mean of the other sequences, in which
    copies of a sequence are one sequence; a factor calibrates its probabilities. With
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

    Without blocks in X, the linear model reads n-grams alone. Its share is 0.4, and
    :math:`R_c^2` is that of its n-grams.

    "auto" is 0 for pairs, and with trainable networks. With early stopping, the
    held-out score is that of the network alone.

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

    _target_kind = "classes"
    # Without label smoothing, nets trained on few rows are overconfident.
    _train_options = {
        **TRAIN_OPTIONS,
        "monitor": "loss",
        "weight_decay": "auto",
        "linear_share": "auto",
        "label_smoothing": 0.01,
    }

    def predict(self, X: Input) -> NDArray[Any]:
        """Return the predicted labels.

        With one label per sequence, the most probable label is returned even if no
        source knows a word of the sequence. Of label sets, the labels with a
        probability above one half are returned, possibly none.

        Parameters
        ----------
        X : EmbeddedSequences or SequencePairs
            With the blocks of fit; tokens or texts if fit saw no blocks.

        Returns
        -------
        ndarray of shape (n_sequences,) or (n_sequences, n_labels)
            In the format of y.
        """
        outputs = self._outputs(X)
        return self._target.decode(outputs)

    def predict_proba(self, X: Input) -> NDArray[np.float32]:
        """Return the probabilities of labels.

        Probabilities are not calibrated; networks trained for many epochs tend to be
        overconfident.

        Parameters
        ----------
        X : EmbeddedSequences or SequencePairs
            With the blocks of fit; tokens or texts if fit saw no blocks.

        Returns
        -------
        ndarray of shape (n_sequences, n_classes)
            Columns are in the order of `classes_`. Rows sum to 1 for one label per
            sequence; for label sets each column is an independent probability.
        """
        outputs = self._outputs(X)
        return self._target.probabilities(outputs)

    def decision_function(self, X: Input) -> NDArray[np.float32]:
        """Return the outputs of which probabilities are computed.

        Parameters
        ----------
        X : EmbeddedSequences or SequencePairs
            With the blocks of fit; tokens or texts if fit saw no blocks.

        Returns
        -------
        ndarray of shape (n_sequences,) or (n_sequences, n_classes)
            The log odds of the second of two classes; for more classes log
            probabilities up to a constant per row; for label sets the log odds of each
            label.
        """
        outputs = self._outputs(X)
        return self._target.decision_values(outputs)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags


class DynamicMetaRegressor(PublishedMixin, RegressorMixin, BaseDynamicMeta):
    """Predict numbers from sequences with dynamic meta-embeddings.

    The sources are the blocks of X, as `EmbeddingUnion` returns them, or vectors of
    tokens that are learned with the network, if X contains texts or token lists. The
    network is the same as in `DynamicMetaClassifier`, with the squared error as its
    loss. Targets are standardized for training, and predictions are on the original
    scale. Pairs are read as by the classifier, for example to rate their similarity.

    Parameters
    ----------
    attention : {"word", "context", "task", "uniform"}, default="word"
        What the weight of a source depends on. "word": the word (DME). "context": the
        sequence, read by a small BiLSTM (CDME). "task": nothing, one weight per source
        and a factor gamma (ELMo's scalar mix). "uniform": no weights, a plain sum.
    trainable : trainable source, or list of (str, source), default=None
        Sources whose own weights are trained too, at their own learning rates, in
        addition to the blocks of X or alone. `TrainableTokens` learns a vector per
        token or n-gram, `TrainableCharacters` word vectors from characters;
        `TrainableTransformer` wraps a `TransformerEmbedding`. None is
        ``TrainableTokens()`` if X has no blocks, but texts, token lists or
        TokenSequences, with `TrainablePositions` if 90 % have the same length.
    gate : {"softmax", "sigmoid"}, default="softmax"
        Weights sum to 1 over the sources that know the word, or are independent.
    projection_dim : int or None, default=256
        Dimension that all sources are projected to. None mixes the vectors without
        projection; their dimensions must then be equal.
    activation : {"relu"} or None, default="relu"
        Applied to the mixed vectors.
    layer_norm : bool, default=False
        Normalize the projected vector of each word and source to mean 0 and variance 1
        before weighting, so that sources with longer vectors do not dominate.
    mix_penalty : float, default=0.0
        Regularization of ``attention="task"`` towards equal weights: lambda in the
        penalty lambda * abs(s)^2 on the scores of the softmax. With 0.001 weights can
        differ, with 1 they are close to the mean. Ignored by other attentions.
    mixer : {"standardized", "published"}, default="standardized"
        "standardized" subtracts the mean of each dimension of a source and divides by
        its standard deviation, both over the distinct words of the training fold that
        the source knows, and with "word" and "context" weights each dimension of the
        projected vectors separately: a weight is a vector instead of a scalar.
        Trainable sources are not standardized. "published" does neither, as in [1]_.
    encoder : {"conv", "bilstm-max", "gru", "mean", "max"}, default="conv"
        Encodes the mixed vectors of a sequence as one vector. "conv": the maximum and
        the mean over the tokens of their vectors and of filters that read a token and
        its neighbors. "bilstm-max": a bidirectional LSTM with max pooling over time.
        "gru": the last state of a GRU. "mean" and "max" read no order; they skip tokens
        that no source knows, as `Pooling` does. The other encoders read such tokens as
        zeros. A sequence without known tokens gives zeros.
    encoder_dim : int or tuple of int, default=128
        Number of filters of each width, or size of the recurrent layer (one direction).
        A tuple has the sizes of stacked layers.
    conv_widths : tuple of int, default=(3, 5)
        How many tokens the filters of ``encoder="conv"`` read. They are centered at
        each token of the sequence; even widths read one token more after it than
        before it. Neighbors beyond the ends of the sequence are zeros.
    hidden_dims : tuple of int, default=(512, 512)
        Sizes of the head's hidden layers; empty for a linear head.
    embedding_dropout, encoder_dropout, head_dropout : float, default=0.2, 0.0, 0.5
        Dropout on mixed vectors, on the input of convolutional or recurrent layers, and
        in the head: on hidden layers, and on its input with ``encoder="conv"``.
    lr : float, default=1e-3
        Learning rate of Adam.
    batch_size : int or "auto", default="auto"
        Approximate number of sequences per step. A batch has sequences of similar
        length. "auto" is 32, and above 2,500 sequences grows with the square root of
        their number, up to 256, unless there are trainable networks.
    max_epochs : int or "auto", default="auto"
        Maximum number of passes over the data. "auto" is 100 with early stopping.
        Without, it is the number of epochs with about 400 steps, or 16 per class if
        that is more, and 5 at least.
    early_stopping : bool, default=False
        Hold out a part of the data, and restore the weights of the epoch with the
        smallest loss on it. False trains on all data for `max_epochs`, while the
        learning rate falls linearly to 0.
    validation_fraction : float, default=0.1
        Fraction of the data to hold out, stratified by class. ``fit`` also accepts
        `X_val`.
    n_iter_no_change : int, default=10
        Epochs without improvement before training stops.
    train_options : dict or None, default=None
        Further options of training; keys that are missing have their defaults:

        - ``lr_factor`` : float, default=0.5. Multiplies the learning rate after
          ``lr_patience`` epochs without improvement.
        - ``lr_patience`` : int, default=3. Epochs without improvement before
          the learning rate is reduced.
        - ``weight_decay`` : float or "auto", default="auto". L2 penalty of Adam.
          "auto" is the larger, the less a linear model explains of y: see the Notes.
        - ``linear_share`` : float or "auto", default="auto". Share of a linear model of
          mean vectors and n-grams in the outputs; 0 is the network alone. "auto" is the
          larger, the less is explained of y, and the more n-grams add, and 0.4 without
          vectors: see the Notes.
        - ``gradient_clip`` : float or None, default=5.0. Largest norm of the
          gradient.
        - ``dtype`` : {"float32", "bfloat16"}, default="float32". "bfloat16" computes
          matrix products in mixed precision; weights stay float32.
    class_weight : dict, list of dict, "balanced" or None, default=None
        Weight of each label in the loss and in the held-out score; labels that are not
        named have weight 1, and "balanced" gives rare labels larger weights. For label
        sets a list with one dict per column; the weights of a sequence are multiplied.
        Must be None if y holds numbers.
    device : str, default="auto"
        "auto" uses a GPU if torch finds one; otherwise a torch device name. "cuda:auto"
        gives each process of joblib a GPU in turn.
    callbacks : list of skorch callbacks, default=None
        Additional callbacks, or (name, callback) pairs. A skorch ``LRScheduler``
        replaces the linear decrease of the learning rate. scikit-learn's own callbacks
        are set with ``set_callbacks``.
    random_state : int, RandomState or None, default=None
        Seeds weights, batches, dropout and the held-out part.
    verbose : int, default=0
        1 prints a row per epoch.

    Attributes
    ----------
    dims_in_ : dict of str to int
        Dimension of each block in fit, by name.
    layer_weights_ : dict of str to float
        Weight of each layer or source with ``attention="task"``; they sum to 1 with the
        softmax gate. For other attentions see `attention_weights`.
    gamma_ : float
        Factor of the scalar mix with ``attention="task"``.
    trained_ : dict of str to torch Module
        The networks of `trainable`, by the names of the sources ("transformer" for a
        single transformer, which has ``save(folder)``).
    linear_share_ : float
        Share of the linear model in the outputs, 0 without one.
    net_ : skorch.NeuralNet
        The trained net. ``net_.module_.mixer`` has the projections and the attention.
    history_ : skorch History
        One record per epoch: losses, held-out score, duration.
    n_iter_ : int
        Number of epochs trained.
    classes_ : ndarray of shape (n_classes,)
        Only if y holds labels.

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
    Outputs are averaged with a linear model as by `DynamicMetaClassifier`, and the
    option ``weight_decay="auto"`` is as there, with the exponent 6 and :math:`w` = 0.3
    divided by the number of columns of y.

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

    _target_kind = "numbers"
    _train_options = {**TRAIN_OPTIONS, "weight_decay": "auto", "linear_share": "auto"}

    def predict(self, X: Input) -> NDArray[np.float64]:
        """Return the predicted numbers.

        Predictions are not limited to the range of the training targets.

        Parameters
        ----------
        X : EmbeddedSequences or SequencePairs
            With the blocks of fit; tokens or texts if fit saw no blocks.

        Returns
        -------
        ndarray of shape (n_sequences,) or (n_sequences, n_outputs)
            On the scale of y.
        """
        outputs = self._outputs(X)
        return self._target.decode(outputs * self._target.scale)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.regressor_tags.poor_score = True  # a net on a few rows is a poor model
        return tags
