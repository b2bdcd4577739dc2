"""DynamicMetaTagger: one tag per token, by the whole network."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .._core._inherited_docs import inherit_docs
from .._core._sklearn import StrOptions
from .._core._typing import RandomState
from .._targets import TagTarget, allowed_tags, weighted_span_f1
from ..sequences import SequencePairs
from ..sequences._api import (
    SCHEMES,
    TaggerMixin,
    check_scheme,
    decode_tags,
    read_tags,
)
from ._base import Attention, BaseDynamicMeta
from ._inputs import Input, tokens_and_blocks


@inherit_docs(BaseDynamicMeta)
class DynamicMetaTagger(TaggerMixin, BaseDynamicMeta):
    r"""Tag tokens with dynamic meta-embeddings (DME and CDME).

    The sources are the blocks of X, as `EmbeddingUnion` returns them, or vectors of
    tokens that are learned with the network, if X contains texts or token lists. They
    are projected, weighted per word and summed. A BiLSTM reads the sentence in both
    directions, or convolutions read the neighbors of each token. A linear layer scores
    the tags of each token; a CRF adds scores of adjacent tags and predicts the best
    sequence. This is the usual model for named entities, parts of speech or
    chunks, with word vectors mixed from several sources; `trainable` adds a character
    network.

    Parameters
    ----------
    encoder : {"bilstm", "conv"}, default="bilstm"
        Reads the sentence: a bidirectional LSTM, or filters whose values at a token,
        for it and its neighbors, are the state of the token. Tokens that no source
        knows are read as zeros.
    encoder_dim : int or tuple of int, default=200
        Size of the BiLSTM (one direction), or number of filters of each width. A tuple
        has the sizes of stacked layers.
    head_dropout : float, default=0.5
        Dropout in the head: on the states of tokens and on hidden layers.
    max_epochs : int or "auto", default="auto"
        Maximum number of passes over the data. "auto" is 100 with early stopping.
        Without it, training takes about 800 steps, or 16 steps per class if that is
        more, but at least 15 epochs.
    early_stopping : bool, default=False
        Hold out a part of the sentences, and restore the weights of the epoch with the
        smallest loss on it; ``fit`` also accepts `X_val`. False trains on all data for
        `max_epochs`, while the learning rate falls linearly to 0.
    class_weight : dict, "balanced" or None, default=None
        Weight of each tag in the loss and in the held-out score, where a span has the
        weight of its first token; tags that are not named have weight 1, and "balanced"
        gives rare tags larger weights. See the Notes for its meaning in a CRF.
    scheme : {"IOB2", "IOBES"}, default=None
        Tagging scheme: y must follow it, and tag sequences that it does not allow are
        not predicted. None allows any sequence.

    Raises
    ------
    TypeError
        If X is neither sequences nor texts, or has no blocks but had them in fit.
    ValueError
        If y has more or fewer tags than tokens, does not follow the scheme, or has tags
        that were not seen in training; or if X has other blocks than in fit.

    See Also
    --------
    DynamicMetaClassifier : The same mixing for one label per sequence.
    sk_metaembed.sequences.convert_tags : Converts tags between schemes.

    Notes
    -----
    With scores :math:`s_t` of the tags of token :math:`t`, and learned transitions
    :math:`T`, the CRF's probability of tags :math:`y` is

    .. math:: p(y \mid x) \propto \exp \sum_t \big(s_t[y_t] + T[y_{t-1}, y_t]\big)

    with extra states before the first and after the last token. The best sequence
    (Viterbi) and the marginals (forward-backward) are exact. The loss is the mean over
    tokens of :math:`-w_{y_t} \log p(y_t \mid y_{t-1}, x)`, whose sum is the negative
    log-likelihood if all weights are 1. So `class_weight` weights the contribution of
    each tag to the likelihood, given the tag before it and the whole sentence.

    A scheme forbids transitions: only B-person and I-person can precede I-person. The
    CRF excludes them in training too; ``decoder="softmax"`` ignores them in training
    and predicts the most probable allowed sequence. If no sequence of the training tags
    is allowed, the one with the fewest violations is predicted.

    Sequence-level sources have the same vector for all tokens of a sequence.
    scikit-learn does not treat the tagger as a classifier, because lists are not class
    labels: use ``scoring=make_scorer(span_f1_score)`` in a search; splitters keep
    sentences whole.

    References
    ----------
    .. [1] D. Kiela, C. Wang, K. Cho. "Dynamic Meta-Embeddings for Improved Sentence
       Representations". EMNLP 2018.
    .. [2] G. Lample et al. "Neural Architectures for Named Entity Recognition".
       NAACL 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_metaembed import Block, DynamicMetaTagger, EmbeddedSequences
    >>> from sk_metaembed import TokenSequences
    >>> sentences = [["in", "New", "York"], ["in", "Bonn", "today"]] * 20
    >>> tokens = TokenSequences.from_lists(sentences)
    >>> X = EmbeddedSequences(tokens, [Block("one-hot", np.eye(5), "type")])
    >>> y = [["O", "B-place", "I-place"], ["O", "B-place", "O"]] * 20
    >>> tagger = DynamicMetaTagger(
    ...     scheme="IOB2",
    ...     projection_dim=8,
    ...     encoder_dim=8,
    ...     lr=0.05,
    ...     max_epochs=20,
    ...     early_stopping=False,
    ...     random_state=0,
    ... )
    >>> tagger.fit(X, y).predict(X[:1]).tolist()
    [['O', 'B-place', 'I-place']]
    >>> tagger.predict_proba(X[:1])[0].shape  # three tokens, three tags
    (3, 3)
    """

    _parameter_constraints: dict = {
        **BaseDynamicMeta._parameter_constraints,
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "encoder": [StrOptions({"bilstm", "conv"})],
        "scheme": [StrOptions(set(SCHEMES)), None],
    }
    _network_options = {**BaseDynamicMeta._network_options, "decoder": "crf"}
    _n_steps, _min_epochs = 800, 15

    def __init__(
        self,
        attention: Attention = "word",
        *,
        trainable: Any = None,
        projection_dim: int | None = 256,
        encoder: Literal["bilstm", "conv"] = "bilstm",
        encoder_dim: int | Sequence[int] = 200,
        hidden_dims: Sequence[int] = (),
        embedding_dropout: float = 0.5,
        head_dropout: float = 0.5,
        network_options: dict[str, Any] | None = None,
        lr: float = 1e-3,
        batch_size: int | Literal["auto"] = "auto",
        max_epochs: int | Literal["auto"] = "auto",
        early_stopping: bool = False,
        train_options: dict[str, Any] | None = None,
        class_weight: dict[str, float] | Literal["balanced"] | None = None,
        device: str = "auto",
        callbacks: Sequence[Any] | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
        scheme: Literal["IOB2", "IOBES"] | None = None,
    ) -> None:
        super().__init__(
            attention,
            trainable=trainable,
            projection_dim=projection_dim,
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
        self.encoder = encoder  # type: ignore[assignment]
        self.scheme = scheme

    def predict(self, X: Input) -> NDArray[np.object_]:
        """Return the best tag sequence of each sentence.

        With a CRF or a scheme it is the best sequence as a whole (Viterbi), which may
        differ from the best tag of each token.

        Parameters
        ----------
        X : EmbeddedSequences
            With the blocks of fit; tokens or texts if fit saw no blocks.

        Returns
        -------
        ndarray of object, shape (n_sequences,)
            Each entry is a list of str, one tag per token.
        """
        from ._predict import predict_rows

        data, net = self._net_input(X), self.net_
        codes = predict_rows(net, data, net.module_.decode, 1, per_token=True)
        codes = codes[:, 0].astype(np.int64)
        return decode_tags(codes, self.classes_, data.offsets)

    def predict_proba(self, X: Input) -> list[NDArray[np.float32]]:
        """Return the probability of each tag at each token.

        Parameters
        ----------
        X : EmbeddedSequences
            With the blocks of fit; tokens or texts if fit saw no blocks.

        Returns
        -------
        list of ndarray of float32, shape (n_tokens_i, n_classes)
            One array per sentence; rows sum to 1. With a CRF, and with a scheme, they
            are marginals over all tag sequences, by the forward-backward algorithm.
        """
        from ._predict import predict_rows

        data, net = self._net_input(X), self.net_
        function, n_tags = net.module_.probabilities, len(self.classes_)
        shares = predict_rows(net, data, function, n_tags, per_token=True)
        return np.split(shares, data.offsets[1:-1]) if len(data) else []

    def _tokens_of(self, X):
        check_is_fitted(self, "net_")
        return tokens_and_blocks(self._read_fitted(X))[0]

    def _read_target(self, y, X):
        if isinstance(X, SequencePairs):
            raise TypeError(
                f"X must hold single sequences, got {X!r}. Pass X.first or X.second."
            )
        tags = read_tags(y, tokens_and_blocks(X)[0])
        if self.scheme is not None:
            check_scheme(tags, self.scheme)
        return tags

    def _make_target(self, y, weights):
        if y.n_tokens == 0:
            raise ValueError(
                "y has no tags because all sentences are empty; at least one token is "
                "required."
            )
        score = "valid_acc" if self.scheme is None else "valid_f1"
        loss = self._options("network_options")["decoder"]
        return TagTarget(y, self.class_weight, loss=loss, score=score)

    def _torch_modules(self):
        from ._crf import TaggingNet, TagLoss

        network = {
            **self._network_parameters(),
            "learns_chain": self._target.loss == "crf",
            "allowed": allowed_tags(self._target.classes, self.scheme),
        }
        return (TaggingNet, TagLoss), network, {"kind": self._target.loss}

    def _held_out_score(self, valid_set):
        """Return the `HeldOutScore`, and warn if the held-out part has no spans."""
        from ._crf import decode_batch, score_tags
        from ._skorch_net import HeldOutScore

        # The tags of training, followed by those of y_val only.
        classes = np.array([*self._target.classes, *self._target.unseen])
        if self.scheme is not None:
            rows = valid_set.rows
            tags, weights = valid_set.target[rows], valid_set.weights[rows]
            scoring = valid_set.data.lengths[rows], classes, self.scheme
            if weighted_span_f1(tags, tags, weights, *scoring) is None:
                warnings.warn(
                    "The held-out sentences have no spans and thus no F1: valid_f1 is "
                    "the accuracy of their tags, which improves in the first epochs "
                    "only. Early stopping with monitor='score' follows it: hold out "
                    "more sentences, or set monitor='loss'.",
                    stacklevel=2,
                )
        score = partial(score_tags, classes=classes, scheme=self.scheme)
        return HeldOutScore(self._target.score, decode_batch, score)
