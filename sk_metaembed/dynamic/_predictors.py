"""DynamicMetaClassifier and DynamicMetaRegressor: the net end to end."""

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from ._base import BaseDynamicMeta
from ._parameters import describe
from ._targets import ColumnsTarget, NumberTarget, check_target, classification_target


@describe(encoder="bilstm-max", hidden_dims="(512, 512)", lr="4e-4")
class DynamicMetaClassifier(ClassifierMixin, BaseDynamicMeta):
    """Classify sequences by a net over dynamic meta-embeddings (DME and CDME).

    The published model end to end: sources are projected, weighted and summed word by
    word, a BiLSTM with a maximum over time reads the sequence, and a multi-layer head
    decides. Take it where the encoder itself should be the classifier; take
    `DynamicMetaEmbedding` to put another classifier behind the meta-embedding.

    `SequencePairs`, as `PairEncoder` gives them, are read by one mixer and encoder, and
    the head gets [u; v; abs(u-v); u*v] of their vectors: the published model of
    natural language inference. Where y has several columns of labels, they share mixer
    and encoder, and each has a head of its own; the loss is the mean of theirs.

    Parameters
    ----------
    %(common)s

    Attributes
    ----------
    %(attributes)s

    Raises
    ------
    TypeError
        If X is not an EmbeddedSequences or SequencePairs of them, and there are not
        trainable sources alone; or is of single sequences after a fit on pairs.
    ValueError
        If y is missing or has gaps, or the blocks are not those of fit.

    See Also
    --------
    DynamicMetaEmbedding : The same mixing as a transformer; its Notes give the formula.
    DynamicMetaRegressor : The same net for numbers.
    PairEncoder : Makes pairs of two columns of texts.

    Notes
    -----
    A matrix y of 0 and 1 alone is taken as label sets, each label a probability of its
    own. For several columns of two classes each, give the classes names. Where columns
    have labels of several types, scikit-learn's searches need their splitter spelled
    out, ``cv=KFold(5)``: they cannot tell what kind of labels these are.

    References
    ----------
    .. [1] D. Kiela, C. Wang, K. Cho. "Dynamic Meta-Embeddings for Improved Sentence
       Representations". EMNLP 2018.

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
    """

    def _make_target(self, y, classes, weights):
        return classification_target(y, classes, caller=type(self).__name__)

    def predict(self, X):
        """Return the most probable label or labels, or indicators of likely ones.

        Where each sequence has one label, or several columns have, some label is always
        given, even where no source knows a word. Of label sets come those with a
        probability above one half, which may be none.

        Parameters
        ----------
        X : EmbeddedSequences or SequencePairs
            With the blocks that fit saw; tokens or texts if it saw none.

        Returns
        -------
        ndarray of shape (n_sequences,) or (n_sequences, n_labels)
            Of the kind that y was; of dtype object where y's columns have labels of
            several types.
        """
        outputs = self._outputs(X)
        return self._target.decode(outputs)

    def predict_proba(self, X):
        """Return probabilities of labels.

        Columns are in the order of `classes_`. They are not calibrated: a net that has
        trained for long is mostly surer than it is right.

        Parameters
        ----------
        X : EmbeddedSequences or SequencePairs
            With the blocks that fit saw; tokens or texts if it saw none.

        Returns
        -------
        ndarray of shape (n_sequences, n_classes), or list of them
            Rows sum to 1 for one label a sequence; for label sets each column is a
            probability of its own. For several columns of labels a list, one array a
            column.
        """
        outputs = self._outputs(X)
        return self._target.probabilities(outputs)

    def score(self, X, y, sample_weight=None):
        """Return the share of sequences that are labelled right.

        It is what searches compare candidates by unless they are given a ``scoring``.
        Where classes are of very different size, take another, such as
        ``scoring="f1_macro"``.

        Parameters
        ----------
        X : EmbeddedSequences or SequencePairs
            With the blocks that fit saw; tokens or texts if it saw none.
        y : array-like of shape (n_sequences,) or (n_sequences, n_outputs)
            The right labels.
        sample_weight : array-like of shape (n_sequences,), default=None
            How much each sequence counts.

        Returns
        -------
        float
            In [0, 1]. Of label sets, and of several columns of labels, all of a
            sequence's must be right, as in scikit-learn's multi-output classifiers.
        """
        check_is_fitted(self, "net_")
        if not isinstance(self._target, ColumnsTarget):
            return super().score(X, y, sample_weight)
        found = self.predict(X)
        y = check_target(y, len(found), caller=type(self).__name__)
        self._target.check_shape(y, caller=type(self).__name__)
        # As objects, so that labels of another type are wrong and no error.
        right = (found.astype(object) == y.astype(object)).all(axis=1)
        return float(np.average(right, weights=sample_weight))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags


@describe(encoder="bilstm-max", hidden_dims="(512, 512)", lr="4e-4")
class DynamicMetaRegressor(RegressorMixin, BaseDynamicMeta):
    """Predict numbers from sequences by a net over dynamic meta-embeddings.

    `DynamicMetaClassifier`'s net with the squared error. Targets are standardised for
    training and predictions given on their own scale. It reads pairs, for example to
    rate their similarity, as the classifier does.

    Parameters
    ----------
    %(common)s

    Attributes
    ----------
    %(attributes)s

    Raises
    ------
    TypeError
        If X is not an EmbeddedSequences, and there are not trainable sources alone.
    ValueError
        If y is missing, has gaps or is not numeric, or the blocks are not those of
        fit.

    See Also
    --------
    DynamicMetaClassifier : The same net for labels.
    DynamicMetaEmbedding : The same mixing as a transformer; its Notes give the formula.

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

    def _make_target(self, y, classes, weights):
        return NumberTarget(y, weights)

    def predict(self, X):
        """Return the predicted numbers.

        The net itself gives standardised numbers; mean and scale of the training
        targets are put back. Nothing keeps a result within the range of those targets.

        Parameters
        ----------
        X : EmbeddedSequences or SequencePairs
            With the blocks that fit saw; tokens or texts if it saw none.

        Returns
        -------
        ndarray of shape (n_sequences,) or (n_sequences, n_outputs)
            On the scale of y.
        """
        outputs = self._outputs(X)
        return self._target.decode(outputs)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.regressor_tags.poor_score = True  # a net on a few rows is no good model
        return tags
