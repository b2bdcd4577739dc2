"""CharEmbedding: word vectors from characters, learned with the net that uses them."""

from numbers import Integral, Real

from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions

from ..sequences._parameters import CheckedParametersMixin, is_integer
from ._opened_characters import OpenedCharacters

_POSITIVE = Interval(Integral, 1, None, closed="left")


class CharEmbedding(CheckedParametersMixin, BaseEstimator):
    """Learn words' vectors from their characters, along with what reads them.

    For the parameter `trainable` of the ``Dynamic*`` estimators. What a word is spelled
    with, its capitals, digits, prefixes and endings, tells much about words that no
    file of vectors has: names, hashtags, inflected forms, identifiers. A tagger of
    names hardly does without. The vectors depend on the word alone, so that they are
    computed once a distinct word of a batch, and are mixed like any other source.
    Words are read as the original texts spell them, in their own case, whatever a
    `Tokenizer` made of them for other sources; token lists are read as they are.

    Parameters
    ----------
    kind : {"cnn", "bilstm"}, default="cnn"
        "cnn": filters over a few neighbouring characters, and the maximum of each over
        the word [1]_. "bilstm": the last states of an LSTM in each direction [2]_,
        which sees the whole word in order and takes longer.
    char_dim : int, default=30
        Dimension of a character's vector.
    filters : sequence of (int, int), default=((2, 30), (3, 30), (4, 30))
        Width and number of the filters of "cnn". The vectors' dimension is the sum of
        the numbers.
    hidden_dim : int, default=25
        Size of the state of "bilstm" in one direction. The vectors' dimension is twice
        that.
    dropout : float, default=0.25
        On the characters' vectors.
    max_chars : int, default=50
        What is read of a word, in bytes: an English letter has one. The end of a longer
        word is left out; ``trained_[name].n_cut_words`` counts these.
    lowercase : bool, default=False
        Read words in lower case. Capitals are then not seen.
    lr : float, default=1e-3
        Adam's learning rate for these weights.

    Raises
    ------
    ValueError
        If `filters` is empty or holds something else than widths and numbers.

    See Also
    --------
    FastTextEmbedding : Subword vectors, learned without labels.
    ElmoEmbedding : Characters and context, learned from much text without labels.
    FineTuned : A transformer as a trained source.

    Notes
    -----
    A word is the bytes of its UTF-8, between two marks, as in ELMo: there is no
    vocabulary that could lack a character. A byte that the training fold lacks has the
    vector zero. An empty word is unknown.

    Filters are centred on each character and see zeros beyond the marks, and padding
    takes part in no maximum and no state: a word has the same vector alone and in any
    batch.

    References
    ----------
    .. [1] X. Ma, E. Hovy (2016). End-to-end sequence labeling via bi-directional
       LSTM-CNNs-CRF. ACL.
    .. [2] G. Lample et al. (2016). Neural architectures for named entity recognition.
       NAACL.

    Examples
    --------
    Verbs in "-ing" are told by their ending, those unseen too:

    >>> from sk_metaembed import CharEmbedding, DynamicMetaClassifier
    >>> ends = ["ing", "ed"] * 20
    >>> X = [f"{stem}{end}" for stem, end in zip("bcdfghjklmnpqrstvwxz" * 2, ends)]
    >>> clf = DynamicMetaClassifier(
    ...     trainable=CharEmbedding(char_dim=8, filters=((3, 8),), lr=0.02),
    ...     projection_dim=8,
    ...     encoder="mean",
    ...     hidden_dims=(),
    ...     lr=0.02,
    ...     early_stopping=False,
    ...     max_epochs=30,
    ...     random_state=0,
    ... )
    >>> clf.fit(X, ends).predict(["walking", "jumped"]).tolist()
    ['ing', 'ed']
    """

    _parameter_constraints: dict = {
        "kind": [StrOptions({"cnn", "bilstm"})],
        "char_dim": [_POSITIVE],
        "filters": [tuple, list],
        "hidden_dim": [_POSITIVE],
        "dropout": [Interval(Real, 0, 1, closed="left")],
        "max_chars": [_POSITIVE],
        "lowercase": ["boolean"],
        "lr": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        kind="cnn",
        *,
        char_dim=30,
        filters=((2, 30), (3, 30), (4, 30)),
        hidden_dim=25,
        dropout=0.25,
        max_chars=50,
        lowercase=False,
        lr=1e-3,
    ):
        self.kind = kind
        self.char_dim = char_dim
        self.filters = filters
        self.hidden_dim = hidden_dim
        self.dropout = dropout
        self.max_chars = max_chars
        self.lowercase = lowercase
        self.lr = lr

    def open(self, tokens):
        """Return what an estimator trains; nothing is trained yet.

        The ``Dynamic*`` estimators call it in fit, with the texts they learn from.
        Weights are drawn later, by the estimator's `random_state`.

        Parameters
        ----------
        tokens : TokenSequences
            The training fold.

        Returns
        -------
        OpenedCharacters
            With the dimension and level of its vectors, the characters of words and
            the network.

        See Also
        --------
        FineTuned.open : The same for a transformer.
        DynamicMetaClassifier : Trains what it gives.

        Examples
        --------
        >>> from sk_metaembed import CharEmbedding, TokenSequences
        >>> opened = CharEmbedding().open(TokenSequences.from_lists([["walking"]]))
        >>> opened.dims, opened.levels
        ({'char': 90}, {'char': 'type'})
        """
        self._validate_params()
        if self.kind == "cnn":
            size = _checked_filters(self.filters)
        else:
            size = int(self.hidden_dim)
        return OpenedCharacters(
            self.kind,
            int(self.char_dim),
            size,
            float(self.dropout),
            int(self.max_chars),
            bool(self.lowercase),
            lr=self.lr,
            tokens=tokens,
        )


def _checked_filters(filters):
    """Return the filters as a tuple of pairs of int."""
    for pair in filters:
        whole = isinstance(pair, tuple | list) and len(pair) == 2
        if not whole or not all(is_integer(n) and n >= 1 for n in pair):
            raise ValueError(
                "CharEmbedding: filters must hold pairs of a width and a number, "
                f"integers of 1 or more, such as (3, 30); got {pair!r}."
            )
    if not len(filters):
        raise ValueError(
            "CharEmbedding: filters is empty. Give at least one pair of a width and a "
            "number, such as ((3, 30),)."
        )
    return tuple((int(width), int(number)) for width, number in filters)
