"""TrainableTransformer: a transformer trained together with a Dynamic* estimator.

Its method `prepare` returns a `TransformerSpec`, from which the estimator makes the
network, a `TrainableModule`, and the `SentenceWindows` of the training data, whose
method `batch` returns the input of the network.
"""

from __future__ import annotations

import warnings
from typing import Literal, NamedTuple

import numpy as np
from sklearn.base import clone

from ..._core._arrays import gather_index, offsets_of
from ..._core._sklearn import COUNT, POSITIVE, StrOptions
from .._base import used_types
from ..transformer._embedding import TransformerEmbedding
from ..transformer._forward import PooledSubwords, Windows, pooled_subwords, windows_of
from . import TrainableSource

_SENTENCES_PER_STEP = 1024


class SubwordBatch(NamedTuple):
    """The input of a network for a batch of sentences, with tensors in `pooled`."""

    windows: Windows
    pooled: PooledSubwords
    n_rows: int  # number of words or texts, with or without subwords


class SentenceWindows:
    """The windows of all sentences, with at most `limit` subwords (None for no limit).

    The model and the options of `source`, a TransformerEmbedding, are resolved. With
    `truncate`, longer sentences are cut.
    """

    def __init__(self, source, tokens, limit, truncate):
        aligner, lock = source._model.aligner(source.prompt_), source._model.lock
        self._output, self._cls = source._spec.output, aligner.special.cls
        by_word, self._lengths = self._output == "words", tokens.lengths
        self._token_offsets = tokens.offsets
        parts = []
        for start in range(0, max(len(tokens), 1), _SENTENCES_PER_STEP):
            part = tokens[start : start + _SENTENCES_PER_STEP]
            groups, sentences = source._find_sentences(part, merge_equal=False)
            with lock:
                subwords = aligner.encode(sentences, as_text=not by_word)
            windows = windows_of(subwords, aligner.special, limit, truncate=truncate)
            # Sequences without a sentence have neither windows nor tokens.
            sequences = start + np.array([i for (i,) in groups], dtype=np.int64)
            parts.append(
                windows._replace(
                    sentences=sequences[windows.sentences],
                    words=windows.words + tokens.offsets[start],
                )
            )
        self._windows = _joined(parts)
        counts = np.bincount(self._windows.sentences, minlength=len(tokens))
        self._firsts = offsets_of(counts)
        self.known = {
            "token": np.zeros(tokens.n_tokens, dtype=bool),
            "sequence": counts > 0,
        }
        self.known["token"][self._windows.words] = True

    def batch(self, rows, send):
        """Return the `SubwordBatch` of sentences; `send` makes tensors of arrays."""
        numbers, bounds = gather_index(self._firsts, rows)
        windows = self._windows.take(numbers)
        owners, n_rows = np.repeat(np.arange(len(rows)), np.diff(bounds)), len(rows)
        if self._output == "words":
            begins = offsets_of(np.diff(self._token_offsets)[rows])
            shifts = (begins[:-1] - self._token_offsets[:-1][rows])[owners]
            words = windows.words + np.repeat(shifts, np.diff(windows.uses))
            windows, n_rows = windows._replace(words=words), int(begins[-1])
        pooled = pooled_subwords(windows, owners, self._output, self._cls)
        pooled = PooledSubwords(*(send(part.astype(np.int64)) for part in pooled))
        return SubwordBatch(windows, pooled, n_rows)


def _joined(parts):
    """Return several Windows as one."""
    offsets, uses = (
        offsets_of(np.concatenate([np.diff(getattr(part, name)) for part in parts]))
        for name in ("offsets", "uses")
    )
    arrays = zip(*parts, strict=True)
    joined = Windows(*(None if a[0] is None else np.concatenate(a) for a in arrays))
    return joined._replace(offsets=offsets, uses=uses)


class TransformerSpec:
    """How a transformer is trained; has no weights, and can be pickled.

    The model and the options of `source`, a TransformerEmbedding, are resolved. `dims`
    and `levels` have an entry for each layer and output, by its name.
    """

    def __init__(self, source, n_layers, lr):
        self.source, self.n_layers, self.lr = source, n_layers, lr
        self.dims = {kind.name: kind.dim for kind in source._spec.kinds}
        self.levels = {kind.name: kind.level for kind in source._spec.kinds}

    def network(self):
        """Return a new network, a torch Module that is called with a `SubwordBatch`."""
        from ._transformer_network import TrainableModule

        return TrainableModule(self)

    def inputs(self, tokens):
        """Return the SentenceWindows of sequences, from which batches are made."""
        source = self.source
        if source._truncate:
            source._warn_if_truncated(*source._find_sentences(tokens), len(tokens))
        return SentenceWindows(source, tokens, source.max_length_, source._truncate)


class TrainableTransformer(TrainableSource):
    """Fine-tune a transformer jointly with a dynamic meta-embedding.

    Pass this source to the parameter `trainable` of a ``Dynamic*`` estimator, such as
    `DynamicMetaClassifier`: the transformer is trained with the estimator, as one of
    several sources or as the only one. Use it if there are enough labels to train a
    network of millions of weights, and the task differs from what it was pretrained on.
    A frozen `TransformerEmbedding` computes each sentence once; this class computes it
    in every epoch.

    Parameters
    ----------
    source : TransformerEmbedding
        The model and its vectors: layers, pooling of subwords, windows. With
        ``output="sentence"``, texts get the pooling (mean or classification token) and
        the default prompt that the files of a sentence encoder specify ("mean" for
        other models); modules after the pooling are not trained. "auto" is "words".
    n_layers : int or "all", default="all"
        Number of layers to train, counted down from the highest layer in `source`;
        "all" also trains the input table. Fewer layers train faster and forget less.
    lr : float, default=5e-5
        Learning rate of these weights, usually far below the mixer's.

    Raises
    ------
    TypeError
        If `source` is not a TransformerEmbedding.
    ValueError
        If `source` has options that cannot be trained (``static=True``, `preprocess`,
        `truncate_dim`), or the model has fewer layers.

    Warns
    -----
    UserWarning
        If the files of a sentence encoder specify other vectors of texts.

    See Also
    --------
    TransformerEmbedding : The same source with frozen weights.

    Notes
    -----
    The transformer reads the original texts, if X has them, like
    `TransformerEmbedding`.

    Each fit trains a copy with float32 weights, on the device and with the ``dtype`` of
    the estimator; the parameters `device`, `dtype` and `cache` of `source` have no
    effect. The dropout of the model is active during training.

    A pickle of the fitted estimator contains the trained weights; other weights are
    read from the model's folder.
    ``trained_[name].save(folder)`` writes the whole model in the format of
    transformers, for `TransformerEmbedding` and other libraries. The files contain
    neither pooling nor prompt: pass the `output` and the `prompt` of the training.

    An estimator calls one method of a trainable source, ``prepare(tokens)``, so other
    networks can be trained in the same way: see `sk_metaembed.sources.trainable`.

    Examples
    --------
    A tiny BERT with random weights, trained with its classifier:

    >>> from transformers import BertConfig, BertModel, BertTokenizer
    >>> from sk_metaembed import (
    ...     DynamicMetaClassifier, TrainableTransformer, TransformerEmbedding
    ... )
    >>> words = "[PAD] [UNK] [CLS] [SEP] [MASK] good bad film".split()
    >>> tokenizer = BertTokenizer(vocab={word: i for i, word in enumerate(words)})
    >>> size = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2}
    >>> model = BertModel(BertConfig(vocab_size=len(words), **size))
    >>> source = TransformerEmbedding((model, tokenizer))
    >>> clf = DynamicMetaClassifier(
    ...     trainable=TrainableTransformer(source, n_layers=1, lr=1e-3),
    ...     projection_dim=8,
    ...     encoder="mean",
    ...     max_epochs=2,
    ... )
    >>> clf.fit(["good film", "bad film"] * 10, [1, 0] * 10).predict(["good"]).shape
    (1,)
    >>> clf.set_params(trainable__n_layers="all").trainable.n_layers
    'all'
    """

    _parameter_constraints: dict = {
        "source": [TransformerEmbedding],
        "n_layers": [COUNT, StrOptions({"all"})],
        "lr": [POSITIVE],
    }

    def __init__(
        self,
        source: TransformerEmbedding,
        *,
        n_layers: int | Literal["all"] = "all",
        lr: float = 5e-5,
    ) -> None:
        self.source = source
        self.n_layers = n_layers
        self.lr = lr

    def _spec(self, tokens):
        source = clone(self.source)
        if source.output == "auto":  # modules behind the transformer are not trained
            source.set_params(output="words")
        source._validate_params()
        _check_source(source)
        tokens = used_types(tokens)
        if source.output == "sentence":
            set_text_pooling(source)
            source._fit_vectors(tokens, None)
        else:
            source._fit_vectors(tokens, None)
            source._warn_if_output_differs()
        source._readable_types(tokens)  # warns
        return TransformerSpec(source, self.n_layers, self.lr)

    def _validate_params(self):
        if not isinstance(self.source, TransformerEmbedding):
            raise TypeError(
                "source must be a TransformerEmbedding; got "
                f"{type(self.source).__name__}. Other sources cannot be trained on "
                "labels: put them in the EmbeddingUnion before the estimator."
            )
        super()._validate_params()


def _check_source(source):
    reason = None
    if source.static:
        reason = "static=True: the input table is not a separate layer here"
    elif source.preprocess is not None:
        reason = f"preprocess={source.preprocess!r}: the vectors change during training"
    elif source.truncate_dim is not None:
        reason = f"truncate_dim={source.truncate_dim}: all dimensions are trained"
    if reason:
        raise ValueError(
            f"the source has {reason}. Remove it here, and put a second, frozen "
            "TransformerEmbedding with it in the EmbeddingUnion before the estimator."
        )


def set_text_pooling(source):
    """Set output and prompt of a source to those in the files of a sentence encoder.

    The output is "mean" for other models, and with a warning for other poolings.
    """
    model = source._open_model()
    source.set_params(output="mean")
    if not model.has_modules:
        return
    modules = model.modules
    if modules.pooling["modes"] == ["cls"]:
        source.set_params(output="cls")
    if source.prompt is None and source.prompt_name is None:
        source.set_params(prompt=model.settings.prompt(None, None, source.task))
    reason = modules.differs_from(source.output)
    if reason is not None:
        warnings.warn(
            f"The files of the sentence encoder {source.model} say {reason}, which is "
            f"not trained: the training uses output={source.output!r} instead.",
            stacklevel=2,
        )
