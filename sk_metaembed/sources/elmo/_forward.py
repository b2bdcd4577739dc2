"""The forward pass of an ELMo model over sentences and texts."""

from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from .._contextual import BatchRunner
from .._sentences import VectorKind
from ._character_ids import N_MARKS
from ._texts import mean_of_words


class ElmoOutputSpec(NamedTuple):
    """Specification of the returned vectors.

    Parameters
    ----------
    output : str
    layers : tuple of int
        LSTM layers to return as they are, from 1.
    shares : tuple of float
        Weights of the layers in the mix.
    gamma : float
    layer_norm : bool
    """

    output: str
    layers: tuple
    shares: tuple
    gamma: float
    layer_norm: bool

    @property
    def block_names(self):
        """Names of the blocks: the words, if they are returned, come first."""
        if self.output == "layers":
            return ["layer0", *(f"layer{k}" for k in self.layers)]
        return [self.output]

    @property
    def has_words(self):
        """Whether the words without context are returned."""
        return self.output in ("layers", "word_emb")

    @property
    def mixes(self):
        """Whether the mix or its mean is returned."""
        return self.output in ("elmo", "default")

    @property
    def depth(self):
        """Number of LSTM layers to run."""
        return len(self.shares) - 1 if self.mixes else max(self.layers, default=0)

    def kinds(self, dim):
        """Return the VectorKind of contextual outputs; `dim` is a layer's dimension.

        Names are cache keys, so the name of the mix contains its options.
        """
        if not self.mixes:
            return [VectorKind(f"layer{k}", dim) for k in self.layers]
        options = f"{list(self.shares)} {self.gamma} {self.layer_norm}"
        level = "token" if self.output == "elmo" else "sequence"
        return [VectorKind(f"{self.output} {options}", dim, level)]


def make_output_spec(output, mix_weights, gamma, layer_norm, n_layers):
    """Return the `ElmoOutputSpec` for a model of n LSTM layers.

    Examples
    --------
    >>> spec = make_output_spec("layers", None, 1.0, False, 2)
    >>> spec.block_names, spec.depth
    (['layer0', 'layer1', 'layer2'], 2)
    """
    layers = {f"lstm_outputs{k}": (k,) for k in range(1, n_layers + 1)}
    layers["layers"] = tuple(range(1, n_layers + 1))
    allowed = [*layers, "word_emb", "elmo", "default"]
    if output not in allowed:
        raise ValueError(
            f"output must be one of {allowed}; got {output!r}. The model has "
            f"{n_layers} LSTM layers."
        )
    shares = tuple(_mix_shares(mix_weights, n_layers + 1).tolist())
    returned = layers.get(output, ())
    return ElmoOutputSpec(output, returned, shares, float(gamma), bool(layer_norm))


def _mix_shares(weights, n_layers):
    """Return the softmax of weights, (n_layers,); equal shares for None."""
    try:
        array = np.zeros(n_layers) if weights is None else np.asarray(weights, float)
    except (TypeError, ValueError):
        array = np.array(np.nan)
    if array.shape != (n_layers,) or not np.isfinite(array).all():
        raise ValueError(
            f"mix_weights must be {n_layers} finite numbers, one for the words and one "
            f"per layer; got {weights!r}. They are passed through a softmax: use "
            "np.log(shares) for given shares."
        )
    return softmax(array)


class WordTable:
    """Context-independent vectors of distinct words, each computed once.

    Parameters
    ----------
    model : ElmoModel

    Attributes
    ----------
    vectors : tensor of shape (N_MARKS + n_words, projection_dim)
    """

    def __init__(self, model):
        self._model, self._network = model, model.network
        self.vectors = self._network.encoder.marks()
        self._rows = {}

    def rows(self, words):
        """Return the rows of words in `vectors`, (n_words,); new words are added."""
        import torch

        new = [word for word in dict.fromkeys(words) if word not in self._rows]
        if new:
            self._model.count_truncated(new)
            vectors = self._network.encoder(new)
            for row, word in enumerate(new, start=len(self.vectors)):
                self._rows[word] = row
            self.vectors = torch.cat([self.vectors, vectors])
        return np.fromiter(map(self._rows.__getitem__, words), np.int64, len(words))


class ElmoForward:
    """Compute the vectors of sentences; the `compute` of `sentence_blocks`.

    Parameters
    ----------
    model : ElmoModel
    spec : ElmoOutputSpec
    split : TextSplitter
    budget : int
        Tokens per batch.
    most_rows : int
        Maximum number of sentences per batch.
    progress : callable, default=None
        Called with the number of tokens of each batch.
    """

    def __init__(self, model, spec, split, budget, most_rows, progress=None):
        self.model, self.spec, self._split = model, spec, split
        self._runner = BatchRunner(budget, most_rows=most_rows)
        self._progress = progress

    @cached_property
    def table(self):
        """The WordTable, created on first use."""
        return WordTable(self.model)

    def words(self, sentences):
        """Return ``[(vectors, known)]`` of sentences of one word, without context."""
        with self.model.lock:
            rows = self.table.rows([word for (word,) in sentences])
            return [_all_known(self.table.vectors[rows].cpu().numpy())]

    def __call__(self, sentences, states=None):
        """Return a list of ``(values, known)``, one per contextual output.

        Parameters
        ----------
        sentences : list of sequence of str, or of OriginalText
            Each with at least one word.
        states : ndarray of float32, default=None
            Initial LSTM states of each sentence, (n_layers, 2, n_sentences, dim), with
            hidden states before cells; overwritten with the final states.
        """
        words, spans = self._split.words_and_spans(sentences)
        sizes = np.array([len(sentence) for sentence in words])
        lengths = np.array([len(sentence) for sentence in sentences])
        with self.model.lock:
            rows = self.table.rows([word for sentence in words for word in sentence])
        rows = np.split(rows, np.cumsum(sizes)[:-1])
        results = [[] for _ in sentences]

        def forward(batch):
            initial = None if states is None else states[:, :, batch]
            with self.model.lock:
                layers, final = self.model.network.layers(
                    self.table.vectors,
                    [rows[i] for i in batch],
                    self.spec.depth,
                    initial,
                )
                outputs = [output.cpu().numpy() for output in self._outputs(layers)]
            for output in outputs:
                parts = np.split(output, np.cumsum(sizes[batch])[:-1])
                for i, values in zip(batch, parts, strict=True):
                    results[i].append(values)
            if states is not None:
                states[: len(final), :, batch] = final
            if self._progress is not None:
                self._progress(int(lengths[batch].sum()))

        self._runner.run(sizes + N_MARKS, forward)
        by_output = zip(*results, strict=True)
        if self.spec.output == "default":
            means = [values.mean(axis=0) for (values,) in results]
            return [_all_known(np.stack(means))]
        if spans[0] is None:
            return [_all_known(np.concatenate(parts)) for parts in by_output]
        aligned = (map(mean_of_words, parts, sentences, spans) for parts in by_output)
        return [tuple(map(np.concatenate, zip(*p, strict=True))) for p in aligned]

    def _outputs(self, layers):
        """Return the contextual outputs of a batch, each (n_tokens, dim)."""
        spec = self.spec
        if spec.mixes:
            return [scalar_mix(layers, spec.shares, spec.gamma, spec.layer_norm)]
        return [layers[k] for k in spec.layers]


def _all_known(values):
    return values, np.ones(len(values), dtype=bool)


def scalar_mix(layers, shares, gamma, layer_norm):
    """Return gamma times the weighted sum of layers, each of shape (n_tokens, dim).

    With `layer_norm` each vector is first scaled to mean 0 and variance 1 by itself, so
    that no token depends on another.
    """
    import torch

    mix = torch.zeros_like(layers[0])
    for share, layer in zip(shares, layers, strict=True):
        if layer_norm:
            layer = torch.nn.functional.layer_norm(layer, layer.shape[-1:], eps=1e-12)
        mix.add_(layer, alpha=float(gamma * share))
    return mix
