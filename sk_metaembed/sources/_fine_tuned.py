"""FineTuned: a transformer that is trained by the estimator it is given to."""

from numbers import Integral, Real

from sklearn.base import BaseEstimator, clone
from sklearn.utils._param_validation import Interval, StrOptions

from ..sequences._parameters import CheckedParametersMixin
from ._base import used_types
from ._opened_transformer import OpenedTransformer
from ._transformer import TransformerEmbedding

_METHODS = ("full", "lora")


class FineTuned(CheckedParametersMixin, BaseEstimator):
    """Have a transformer trained on labels, together with what mixes and reads it.

    For the parameter `trainable` of `DynamicMetaClassifier`, `DynamicMetaEmbedding` and
    `DynamicMetaRegressor`: the transformer goes through training with them, as one
    source among those that come embedded, or as the only one. Worth it where labels
    are many enough to move a network of millions of weights, and the task is unlike
    what it was trained on; a frozen `TransformerEmbedding` computes each sentence once,
    this one in every epoch.

    Parameters
    ----------
    source : TransformerEmbedding
        The model, and what its vectors are: layers, pooling of pieces, windows.
    n_layers : int or "all", default="all"
        How many layers are trained, counted down from the highest that `source` takes
        vectors from; "all" trains the input table too. Few train faster, forget less.
    method : {"full", "lora"}, default="full"
        "full" trains the weights themselves. "lora" leaves them as they are and trains
        low-rank additions to the linear maps of these layers [1]_, by ``peft``.
    rank : int, default=8
        Rank of the additions. Not used with "full".
    lr : float, default=None
        The learning rate of these weights, usually far below that of the mixer. None
        for 5e-5, and for 1e-3 with "lora".

    Raises
    ------
    TypeError
        If `source` is no TransformerEmbedding.
    ValueError
        If `source` has more than can be trained (``static=True``, `preprocess`), or
        the model has not that many layers.
    ImportError
        If peft is not installed and `method` is "lora".

    See Also
    --------
    TransformerEmbedding : The same source with frozen weights.

    Notes
    -----
    Texts are read as `TransformerEmbedding` reads them: as they were written, where X
    knows them.

    Each fit trains a copy of its own in float32, on the estimator's device and in its
    `dtype`: the parameters `device`, `dtype`, `compile` and `cache` of `source` have no
    effect here. Dropout is the model's own, during training.

    A pickle of the fitted estimator holds the weights that were trained, and twice as
    much of the optimizer's state, to go on from; ``net_.trim_for_prediction()`` drops
    that. Other weights are read again from the model's folder.
    ``trained_[name].save(folder)`` writes the whole model as transformers does, for
    `TransformerEmbedding` and others to load.

    An estimator asks a trainable source for one thing, ``open(tokens)``, so that other
    networks can be trained by it too: see `sk_metaembed.dynamic`.

    References
    ----------
    .. [1] E. Hu et al. (2022). LoRA: Low-rank adaptation of large language models.
       ICLR.

    Examples
    --------
    A BERT with random weights, as small as can be, trained with its classifier:

    >>> from transformers import BertConfig, BertModel, BertTokenizer
    >>> from sk_metaembed import (
    ...     DynamicMetaClassifier, FineTuned, TransformerEmbedding
    ... )
    >>> words = "[PAD] [UNK] [CLS] [SEP] [MASK] good bad film".split()
    >>> tokenizer = BertTokenizer(vocab={word: i for i, word in enumerate(words)})
    >>> size = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2}
    >>> model = BertModel(BertConfig(vocab_size=len(words), **size))
    >>> tuned = FineTuned(TransformerEmbedding((model, tokenizer)), n_layers=1, lr=1e-3)
    >>> clf = DynamicMetaClassifier(
    ...     trainable=tuned, projection_dim=8, encoder="mean", max_epochs=2
    ... )
    >>> clf.fit(["good film", "bad film"] * 10, [1, 0] * 10).predict(["good"]).shape
    (1,)
    >>> clf.set_params(trainable__n_layers="all").trainable.n_layers
    'all'
    """

    _parameter_constraints: dict = {
        "source": [TransformerEmbedding],
        "n_layers": [Interval(Integral, 1, None, closed="left"), StrOptions({"all"})],
        "method": [StrOptions(set(_METHODS))],
        "rank": [Interval(Integral, 1, None, closed="left")],
        "lr": [Interval(Real, 0, None, closed="neither"), None],
    }

    def __init__(self, source, *, n_layers="all", method="full", rank=8, lr=None):
        self.source = source
        self.n_layers = n_layers
        self.method = method
        self.rank = rank
        self.lr = lr

    def open(self, tokens):
        """Return what an estimator trains; nothing is trained or loaded yet.

        The ``Dynamic*`` estimators call it in fit, with the texts they learn from. The
        source is cloned, and its weights are read when training begins.

        Parameters
        ----------
        tokens : TokenSequences
            The training fold.

        Returns
        -------
        OpenedTransformer
            With the names, dimensions and levels of its vectors, the pieces of
            sequences and the network.

        See Also
        --------
        CharEmbedding.open : The same for characters.
        DynamicMetaClassifier : Trains what it gives.

        Examples
        --------
        >>> from transformers import BertConfig, BertModel, BertTokenizer
        >>> from sk_metaembed import FineTuned, TokenSequences, TransformerEmbedding
        >>> words = "[PAD] [UNK] [CLS] [SEP] [MASK] good".split()
        >>> tokenizer = BertTokenizer(vocab={word: i for i, word in enumerate(words)})
        >>> size = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
        >>> model = BertModel(BertConfig(vocab_size=len(words), **size))
        >>> tuned = FineTuned(TransformerEmbedding((model, tokenizer)))
        >>> tuned.open(TokenSequences.from_lists([["good"]])).dims
        {'layer1': 8}
        """
        if not isinstance(self.source, TransformerEmbedding):
            raise TypeError(
                "FineTuned takes a TransformerEmbedding, got "
                f"{type(self.source).__name__}. Other sources cannot be trained on "
                "labels: put them in the EmbeddingUnion before the estimator."
            )
        self._validate_params()
        source = clone(self.source)
        source._validate_params()
        _check_source(source)
        tokens = used_types(tokens)
        source._fit_vectors(tokens, None)
        source._types_read(tokens)  # warns
        lr = {"full": 5e-5, "lora": 1e-3}[self.method] if self.lr is None else self.lr
        return OpenedTransformer(source, self.n_layers, self.method, self.rank, lr)


def _check_source(source):
    wrong = None
    if source.static:
        wrong = "static=True: the input table is no layer of its own here"
    elif source.preprocess is not None:
        wrong = (
            f"preprocess={source.preprocess!r}: vectors change while they are trained"
        )
    if wrong:
        raise ValueError(
            f"FineTuned: the source has {wrong}. Leave it out here, and put a second, "
            "frozen TransformerEmbedding with it in the EmbeddingUnion before the "
            "estimator."
        )
