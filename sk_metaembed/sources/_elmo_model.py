"""ELMo models loaded from files, and their forward pass over sentences and texts."""

import os
import threading
from typing import NamedTuple

import numpy as np

from .._io._handle_cache import HandleCache
from ..elmo._options import read_options
from ..elmo._packing import N_MARKS
from ..elmo._weight_files import check_weights, read_weights
from ..vectors._download import cached_path, local_file
from ._batching import BatchRunner
from ._elmo_texts import mean_of_words
from ._fingerprint import file_digest, fingerprint_of, reopen_model
from ._sentences import Layer

_CALLER = "ElmoEmbedding"
_NAMES = ("options.json", "weights.hdf5")
_KINDS = {"word_emb": "word", "elmo": "mix", "default": "mean"}
_handles = HandleCache(maxsize=2)


class ElmoSpec(NamedTuple):
    """What identifies a loaded model."""

    options: str
    weights: str
    device: str = "cpu"
    dtype: str = "float32"


class ElmoModel:
    """A model loaded from files, shared by all sources of a process that use it.

    A pickle contains the paths and the fingerprint; weights are loaded on first use.

    Parameters
    ----------
    spec : ElmoSpec
    files : tuple of Path
        The options and weights files.

    Attributes
    ----------
    options : ElmoOptions
    fingerprint : str
        Digest of weights, options and precision.
    lock : RLock
    """

    _saved_kind = "elmo"  # in files that `save` writes

    def __init__(self, spec, files):
        self.spec = spec
        self._paths, self._weights_file = files, files[1]
        self.options = read_options(files[0])
        check_weights(files[1], self.options)
        self.fingerprint = fingerprint_of(
            {
                "options": self.options._asdict(),
                "weights": file_digest(files[1]),
                "dtype": spec.dtype,
            }
        )
        self.lock = threading.RLock()
        self._network = None

    @property
    def network(self):
        """The BiLanguageModel, loaded on first use."""
        from ..elmo._network import BiLanguageModel

        with self.lock:
            if self._network is None:
                weights = read_weights(self._weights_file, self.options)
                self._network = BiLanguageModel(
                    weights, self.options, self.spec.device, self.spec.dtype
                )
            return self._network

    @property
    def device_type(self):
        """Type of the device, "cpu" or "cuda"; does not load the model."""
        return self.spec.device.partition(":")[0]

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return reopen_model, (shared_elmo, self.spec, self.fingerprint)

    def _reference(self):
        """Return what a saved file stores about the model."""
        return {**self.spec._asdict(), "fingerprint": self.fingerprint}

    def _files(self, where):
        """Return the files that a saved file may include, by name."""
        return dict(zip(_NAMES, self._paths, strict=True))


def shared_elmo(spec):
    """Return this process's model of an `ElmoSpec`, new if its files changed."""
    files = tuple(local_file(path) for path in spec[:2])
    spec = spec._replace(options=_absolute(spec.options))
    spec = spec._replace(weights=_absolute(spec.weights))
    key = spec, tuple(map(_signature, files))
    return _handles.get(key, lambda: ElmoModel(spec, files))


def _absolute(path):
    """Return a path that is valid in any working directory, or a URL as it is."""
    if "://" in path:
        return path
    return os.path.abspath(os.path.expanduser(path))


def _signature(file):
    try:
        stat = os.stat(file)
    except OSError:  # reported when the file is read
        return None
    return stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns


def from_reference(kind, content):
    """Return the model that a saved file refers to, without downloading anything."""
    spec = ElmoSpec(*(content[name] for name in ElmoSpec._fields))
    for path in spec[:2]:
        if not cached_path(path).is_file():
            raise FileNotFoundError(f"{_CALLER}: {path} is not on this machine.")
    return reopen_model(shared_elmo, spec, content["fingerprint"])


def from_files(kind, content, folder):
    """Return the model that is included in a saved file."""
    paths = {
        field: os.path.join(folder, name)
        for field, name in zip(ElmoSpec._fields, _NAMES, strict=False)
    }
    return from_reference(kind, {**content, **paths})


class ElmoBlock(NamedTuple):
    """A block of the output.

    Parameters
    ----------
    name : str
    kind : {"word", "twice", "layer", "mix", "mean"}
        The word vector, once or concatenated with itself; an LSTM layer; the mix of
        layers; the mean of the mix.
    layer : int, default=0
        The LSTM layer, from 1.
    """

    name: str
    kind: str
    layer: int = 0


def parse_output(output, n_layers):
    """Return the `ElmoBlock` list that `output` names, for a model of n LSTM layers.

    Examples
    --------
    >>> [block.name for block in parse_output(("layers", "default"), 2)]
    ['layer0', 'layer1', 'layer2', 'default']
    """
    names = [output] if isinstance(output, str) else list(output)
    lstms = {f"lstm_outputs{k}": k for k in range(1, n_layers + 1)}
    allowed = ["layers", "word_emb", *lstms, "elmo", "default"]
    unknown = [name for name in names if name not in allowed]
    if unknown or not names or len(set(names)) < len(names):
        raise ValueError(
            f"ElmoEmbedding: output must be distinct names among {allowed}; got "
            f"{output!r}. The model has {n_layers} LSTM layers."
        )
    blocks = []
    for name in names:
        if name == "layers":
            blocks.append(ElmoBlock("layer0", "twice"))
            blocks += [ElmoBlock(f"layer{k}", "layer", k) for k in lstms.values()]
        elif name in lstms:
            blocks.append(ElmoBlock(name, "layer", lstms[name]))
        else:
            blocks.append(ElmoBlock(name, _KINDS[name]))
    return blocks


class ElmoOutputSpec(NamedTuple):
    """The contextual outputs that are needed.

    Parameters
    ----------
    layers : tuple of int
        LSTM layers, from 1.
    mix : bool
        Whether to return the mix of all layers, per token.
    mean : bool
        Whether to return the mean of the mix, per sentence.
    shares : tuple of float
        Weights of the layers in the mix.
    gamma : float
    layer_norm : bool
    """

    layers: tuple
    mix: bool
    mean: bool
    shares: tuple
    gamma: float
    layer_norm: bool

    @property
    def depth(self):
        """Number of LSTM layers to run."""
        if self.mix or self.mean:
            return len(self.shares) - 1
        return max(self.layers, default=0)

    def cache_layers(self, dim):
        """Return the `Layer` of each output by kind and number, in output order.

        `dim` is that of a layer. Names are cache keys, so those of the mix contain its
        options.
        """
        layers = {("layer", k): Layer(f"layer{k}", dim) for k in self.layers}
        options = f"{list(self.shares)} {self.gamma} {self.layer_norm}"
        if self.mix:
            layers["mix", 0] = Layer(f"mix {options}", dim)
        if self.mean:
            layers["mean", 0] = Layer(f"mean {options}", dim, "sequence")
        return layers


def make_output_spec(outputs, mix_weights, gamma, layer_norm, n_layers):
    """Return the `ElmoOutputSpec` of blocks and of the options of the mix."""
    kinds = [output.kind for output in outputs]
    return ElmoOutputSpec(
        tuple(sorted({o.layer for o in outputs if o.kind == "layer"})),
        "mix" in kinds,
        "mean" in kinds,
        tuple(_mix_shares(mix_weights, n_layers + 1).tolist()),
        float(gamma),
        bool(layer_norm),
    )


def _mix_shares(weights, n_layers):
    if weights is not None:
        try:
            array = np.asarray(weights, dtype=float)
        except (TypeError, ValueError):
            array = np.array(np.nan)
        if array.shape != (n_layers,) or not np.isfinite(array).all():
            raise ValueError(
                f"ElmoEmbedding: mix_weights must be {n_layers} finite numbers, one "
                f"for the words and one per layer; got {weights!r}. They are passed "
                "through a softmax: use np.log(shares) for given shares."
            )
    return layer_shares(weights, n_layers)


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
        self._network = model.network
        self.vectors = self._network.encoder.marks()
        self._rows = {}

    def rows(self, words):
        """Return the rows of words in `vectors`, (n_words,); new words are added."""
        import torch

        new = [word for word in dict.fromkeys(words) if word not in self._rows]
        if new:
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
        self._table = None
        self._runner = BatchRunner(budget, most_rows=most_rows)
        self._progress = progress

    @property
    def table(self):
        """The WordTable, created on first use."""
        if self._table is None:
            self._table = WordTable(self.model)
        return self._table

    def words(self, sentences):
        """Yield ``[(vector, known)]`` for sentences of one word, without context."""
        with self.model.lock:
            rows = self.table.rows([word for (word,) in sentences])
            vectors = self.table.vectors[rows].cpu().numpy()
        for vector in vectors:
            yield [(vector[None], [True])]

    def __call__(self, sentences, states=None):
        """Yield a list of ``(values, known)`` per sentence: layers, mix and mean.

        Parameters
        ----------
        sentences : list of sequence of str, or of OriginalText
            Each with at least one word.
        states : States, default=None
            Initial LSTM states of each sentence; overwritten with the final states.
        """
        words, spans = self._split.words_and_spans(sentences)
        sizes = np.array([len(sentence) for sentence in words])
        lengths = np.array([len(sentence) for sentence in sentences])
        with self.model.lock:
            rows = self.table.rows([word for sentence in words for word in sentence])
        rows = np.split(rows, np.cumsum(sizes)[:-1])
        results = _Results(sizes, self.spec, 2 * self.model.options.projection_dim)

        def forward(batch):
            initial = None if states is None else states.take(batch)
            with self.model.lock:
                layers, final = self.model.network.layers(
                    self.table.vectors,
                    [rows[i] for i in batch],
                    self.spec.depth,
                    initial,
                )
                results.store(batch, layers)
            if states is not None:
                states.put(batch, final)
            if self._progress is not None:
                self._progress(int(lengths[batch].sum()))

        self._runner.run(sizes + N_MARKS, forward)
        for sentence, word_spans, entry in zip(
            sentences, spans, results.by_sentence(), strict=True
        ):
            yield (
                entry if word_spans is None else _to_tokens(entry, sentence, word_spans)
            )


def _to_tokens(entry, sentence, spans):
    """Return the word-level results of a text at the level of its tokens."""
    return [
        (values, known)
        if np.ndim(known) == 0
        else mean_of_words(values, sentence, spans)
        for values, known in entry
    ]


class _Results:
    """Vectors of sentences, filled batch by batch."""

    def __init__(self, sizes, spec, dim):
        self._spec, self._sizes = spec, sizes
        self._ends = np.cumsum(sizes)
        n_kinds = len(spec.layers) + spec.mix
        self._tokens = np.empty((n_kinds, self._ends[-1], dim), np.float32)
        self._means = np.empty((len(sizes), dim), np.float32)

    def store(self, batch, layers):
        """Store the required outputs of a batch of sentences."""
        spec = self._spec
        kinds = [layers[k] for k in spec.layers]
        if spec.mix or spec.mean:
            mix = scalar_mix(layers, spec.shares, spec.gamma, spec.layer_norm)
            kinds += [mix] * spec.mix
        spans = [(self._ends[i] - self._sizes[i], self._ends[i]) for i in batch]
        rows = np.concatenate([np.arange(*span) for span in spans])
        for out, kind in zip(self._tokens, kinds, strict=True):
            out[rows] = kind.cpu().numpy()
        if spec.mean:
            ends = np.cumsum(self._sizes[batch])
            sums = np.add.reduceat(mix.cpu().numpy(), np.r_[0, ends[:-1]], axis=0)
            self._means[batch] = sums / self._sizes[batch][:, None]

    def by_sentence(self):
        """Yield the list of ``(values, known)`` of each sentence."""
        for i, (size, end) in enumerate(zip(self._sizes, self._ends, strict=True)):
            known = np.ones(size, dtype=bool)
            entry = [(values[end - size : end], known) for values in self._tokens]
            yield entry + [(self._means[i], True)] * self._spec.mean


def layer_shares(weights, n_layers):
    """Return the softmax of weights, (n_layers,); equal shares for None.

    >>> layer_shares(None, 4).tolist()
    [0.25, 0.25, 0.25, 0.25]
    >>> layer_shares(np.log([0.2, 0.3, 0.5]), 3).round(3).tolist()
    [0.2, 0.3, 0.5]
    """
    weights = np.zeros(n_layers) if weights is None else np.asarray(weights, float)
    shares = np.exp(weights - weights.max())
    return shares / shares.sum()


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
