"""FineTuned: a transformer that is trained by the estimator it is given to.

OpenedTransformer: what an estimator that trains a transformer gets of it.

SentencePieces: the windows of many sentences, ready to be cut into batches.
"""

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils._param_validation import Interval, StrOptions

from ..._core._parameters import CheckedParametersMixin
from ...sequences._indexing import span_index
from .._base import used_types
from ._embedding import TransformerEmbedding
from ._forward import padding_id
from ._windows import windows_of

_SENTENCES_AT_ONCE = 1024


class Pooled(NamedTuple):
    """Where the pieces stand that make up some rows of vectors."""

    windows: object  # of the batch, in which each piece is
    positions: object  # of the pieces there
    sizes: object  # how many pieces each row has
    rows: object  # the rows
    n_rows: int  # with those that have no piece
    how: str  # they are pooled


class PieceBatch(NamedTuple):
    """What a network needs for a batch of sentences."""

    ids: list  # of an array a window
    types: list | None  # the same
    outputs: dict  # of Pooled, by the output's kind


class SentencePieces:
    """The windows of all sentences, kept as flat arrays.

    Parameters
    ----------
    tokens : TokenSequences
    model : TransformerModel or LoadedModel
        Whose tokenizer splits the words.
    text : tuple
        Prefix, separator and special tokens, as its aligner takes them.
    wanted : Wanted
    window : tuple of int or None, and bool
        Largest number of pieces a window; whether longer sentences are cut.
    read : callable
        From tokens to sentences and their places, as `distinct_sentences`.
    """

    def __init__(self, tokens, model, text, wanted, window, read):
        self._wanted = wanted
        aligner = model.aligner(*text)
        self._frame = aligner.frame
        self._lengths = tokens.lengths
        windows = []
        for start in range(0, len(tokens), _SENTENCES_AT_ONCE):
            some = tokens[start : start + _SENTENCES_AT_ONCE]
            places, sentences = read(some, merge_equal=False)
            with model.lock:
                encoded = aligner.encode(sentences)
            for (i,), pieces in zip(places, encoded, strict=True):
                windows += windows_of(
                    start + i, pieces, self._frame, window[0], truncate=window[1]
                )
        sentences = np.array([w.sentence for w in windows], dtype=np.int64)
        counts = np.bincount(sentences, minlength=len(tokens))
        self._windows = np.r_[0, np.cumsum(counts)].astype(np.int64)
        self._ids = _Ragged.of([w.ids for w in windows])
        self._types = _Ragged.of([w.types for w in windows])
        self._positions = _Ragged.of([w.positions for w in windows])
        self._words = _Ragged.of([w.words for w in windows])
        self._counted = _Ragged.of([w.counted for w in windows])
        words = np.repeat(tokens.offsets[:-1][sentences], self._words.lengths)
        self.known = {
            "token": np.zeros(tokens.n_tokens, dtype=bool),
            "sequence": counts > 0,
        }
        self.known["token"][words + self._words.values] = True

    def batch(self, rows, send):
        """Return the `PieceBatch` of some sentences.

        Parameters
        ----------
        rows : ndarray of int
        send : callable
            Turns an array into a tensor on the device.
        """
        windows, offsets = span_index(self._windows, rows)
        owners = np.repeat(np.arange(len(rows)), np.diff(offsets))
        parts = {
            "words": lambda: self._of_words(windows, owners, rows),
            "mean": lambda: self._of_sentences(windows, owners),
            "cls": lambda: self._of_frames(windows, owners),
        }
        n_rows = {"words": int(self._lengths[rows].sum())}
        outputs = {}
        for kind in self._wanted.outputs:
            where, positions, owner = parts[kind]()
            order = np.argsort(owner, kind="stable")
            found, sizes = np.unique(owner, return_counts=True)
            arrays = where[order], positions[order], sizes, found
            outputs[kind] = Pooled(
                *(send(array.astype(np.int64)) for array in arrays),
                n_rows.get(kind, len(rows)),
                self._wanted.subword if kind == "words" else "mean",
            )
        types = self._types.rows(windows) if self._frame.typed else None
        return PieceBatch(self._ids.rows(windows), types, outputs)

    # Each returns, piece by piece, the window, the place in it, and the row it is of.

    def _of_words(self, windows, owners, rows):
        where = np.repeat(np.arange(len(windows)), self._words.lengths[windows])
        firsts = np.cumsum(self._lengths[rows]) - self._lengths[rows]
        words = self._words.at(windows) + firsts[owners][where]
        return where, self._positions.at(windows), words

    def _of_sentences(self, windows, owners):
        where = np.repeat(np.arange(len(windows)), self._counted.lengths[windows])
        return where, self._counted.at(windows), owners[where]

    def _of_frames(self, windows, owners):
        cls = self._frame.cls
        ends = self._ids.lengths[windows] if cls < 0 else 0
        return np.arange(len(windows)), np.full(len(windows), cls) + ends, owners


class _Ragged(NamedTuple):
    """Rows of different lengths, one behind the other."""

    values: np.ndarray
    offsets: np.ndarray

    @classmethod
    def of(cls, rows):
        offsets = np.r_[0, np.cumsum([len(row) for row in rows])].astype(np.int64)
        values = np.concatenate([np.zeros(0, np.int32), *rows]).astype(np.int32)
        return cls(values, offsets)

    @property
    def lengths(self):
        return np.diff(self.offsets)

    def at(self, rows):
        """Return the values of some rows, one behind the other."""
        return self.values[span_index(self.offsets, rows)[0]]

    def rows(self, rows):
        return [self.values[self.offsets[i] : self.offsets[i + 1]] for i in rows]


class OpenedTransformer:
    """A transformer to be trained: light, without weights, fit for pickles.

    Parameters
    ----------
    source : TransformerEmbedding
        That knows its model and its options.
    n_layers : int or "all"
    method : {"full", "lora"}
    rank : int
    lr : float

    Attributes
    ----------
    dims : dict of str to int
        Dimension of the vectors of each layer and output, by its name.
    levels : dict of str to str
        "token" or "sequence", by the same names.
    """

    def __init__(self, source, n_layers, method, rank, lr):
        self.source = source
        self.n_layers, self.method, self.rank, self.lr = n_layers, method, rank, lr
        kinds = source._kinds(source.layers_)
        self.dims = {kind.name: kind.dim for kind in kinds}
        self.levels = {kind.name: kind.level for kind in kinds}

    def network(self):
        """Return a network of one's own, a torch Module that is called with pieces."""
        from ._fine_tuned_module import TunedTransformer

        return TunedTransformer(self)

    def pieces(self, tokens):
        """Return the pieces of sequences, to be cut into batches.

        Parameters
        ----------
        tokens : TokenSequences

        Returns
        -------
        SentencePieces
        """
        source = self.source
        source._tell_of_long(tokens)
        return SentencePieces(
            tokens,
            source._model,
            source._text,
            source._wanted,
            (source.max_length_, source._truncate),
            source._reader(tokens),
        )

    @property
    def padding_id(self):
        """The id that shorter sequences of a batch are filled up with."""
        return padding_id(self.source._model)

    def __eq__(self, other):
        return isinstance(other, OpenedTransformer) and self._key == other._key

    __hash__ = None  # type: ignore[assignment]

    @property
    def _key(self):
        """All that the network is made of; a learning rate can change."""
        rank = self.rank if self.method == "lora" else None
        options = self.n_layers, self.method, rank
        return self.source.fingerprint_, self.source._wanted, *options

    def __repr__(self):
        return (
            f"FineTuned({self.source!r}, n_layers={self.n_layers!r}, "
            f"method={self.method!r}, rank={self.rank})"
        )


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
        source._readable_types(tokens)  # warns
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
