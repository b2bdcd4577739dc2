"""ELMo models loaded from files, and their forward pass over sentences and texts."""

import os
import threading
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .._io._handle_cache import HandleCache
from ..elmo._options import read_options
from ..elmo._packing import N_MARKS
from ..elmo._scalar_mix import scalar_mix
from ..elmo._weight_files import check_weights, read_weights
from ..sequences import Tokenizer
from ..vectors._download import cached_path, local_file
from ._base import used_types
from ._batching import BatchRunner
from ._fingerprint import file_digest, fingerprint_of, reopen_model
from ._original_text import OriginalText, distinct_texts, overlapping
from .cache._compute import Layer

_CALLER = "ElmoEmbedding"
_NAMES = ("options.json", "weights.hdf5")
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
        Of weights, options and precision.
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
        return _reopen, (self.spec, self.fingerprint)

    def _reference(self):
        """Return what a saved file stores about the model."""
        return {**self.spec._asdict(), "fingerprint": self.fingerprint}

    def _files(self, where):
        """Return the files that a saved file may include, by name."""
        return dict(zip(_NAMES, self._paths, strict=True))


def shared_elmo(spec):
    """Return this process's model of an `ElmoSpec`, new if its files changed."""
    files = tuple(local_file(path, caller=_CALLER) for path in spec[:2])
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


def _reopen(spec, fingerprint):
    return reopen_model(
        shared_elmo,
        spec,
        fingerprint,
        what="ELMo",
        where=f"{spec.options} and {spec.weights}",
        parts="options or weights",
    )


def from_reference(kind, content):
    """Return the model that a saved file refers to, without downloading anything."""
    spec = ElmoSpec(*(content[name] for name in ElmoSpec._fields))
    for path in spec[:2]:
        if not cached_path(path).is_file():
            raise FileNotFoundError(f"{_CALLER}: {path} is not on this machine.")
    return _reopen(spec, content["fingerprint"])


def from_files(kind, content, folder):
    """Return the model that is included in a saved file."""
    paths = {
        field: os.path.join(folder, name)
        for field, name in zip(ElmoSpec._fields, _NAMES, strict=False)
    }
    return from_reference(kind, {**content, **paths})


class TextSplitter:
    """Split original texts into the words that ELMo reads.

    The distinct texts of the latest split are remembered, so the steps of one transform
    split each text once.
    """

    def __init__(self):
        self._rows, self._words = {}, None

    def __call__(self, sentences):
        """Return the words of a list of OriginalText, as a TokenSequences."""
        texts = [sentence.text for sentence in sentences]
        if not texts or any(text not in self._rows for text in texts):
            distinct = list(dict.fromkeys(texts))
            # ELMo was trained on cased text with punctuation marks as words.
            tokenizer = Tokenizer(lowercase=False, punctuation=True)
            self._words = tokenizer.transform(distinct)
            self._rows = {text: row for row, text in enumerate(distinct)}
        return used_types(self._words[[self._rows[text] for text in texts]])

    def words_and_spans(self, sentences):
        """Return the list of words of each sentence, and their spans (n_words, 2).

        Sentences that are token lists are returned as they are, with spans of None.
        """
        if not any(isinstance(sentence, OriginalText) for sentence in sentences):
            return sentences, [None] * len(sentences)
        words = self(sentences)
        spans, pairs = words.spans(), pairwise(words.offsets.tolist())
        return words.to_list(), [spans[start:stop] for start, stop in pairs]


def texts_with_words(tokens, *, split, per_token, per_text, merge_equal=True):
    """Return the `distinct_texts` in which `split` finds words, with their groups."""
    groups, sentences = distinct_texts(
        tokens, per_token=per_token, per_text=per_text, merge_equal=merge_equal
    )
    nonempty = np.flatnonzero(split(sentences).lengths)
    return [groups[i] for i in nonempty], [sentences[i] for i in nonempty]


def mean_of_words(values, sentence, spans):
    """Return the mean of the words that overlap each token, and which tokens have any.

    `values` (n_words, dim) and `spans` (n_words, 2) are those of the words.
    """
    at, tokens = overlapping(sentence.spans, spans)
    counts = np.bincount(tokens, minlength=len(sentence.spans))
    sums = np.zeros((len(counts), values.shape[1]), np.float32)
    np.add.at(sums, tokens, values[at])
    return sums / np.maximum(counts, 1)[:, None].astype(np.float32), counts > 0


class AlignedWords(NamedTuple):
    """The words that ELMo reads in place of tokens."""

    words: np.ndarray  # (n_words,) distinct words of all texts
    groups: list  # tuples of words that overlap the same token
    rows: np.ndarray  # (n_tokens,) index into words followed by groups, -1 for none


def align_words(tokens, split):
    """Return the `AlignedWords` of tokens; without original texts, the types."""
    if tokens.texts is None:
        return AlignedWords(tokens.types, [], tokens.codes)
    equal, sentences = distinct_texts(tokens, per_token=True, per_text=False)
    words = split(sentences)
    spans, groups = words.spans(), {}
    rows = np.full(tokens.n_tokens, -1, dtype=np.int64)
    for sequences, sentence, (start, stop) in zip(
        equal, sentences, pairwise(words.offsets.tolist()), strict=True
    ):
        at, of = overlapping(sentence.spans, spans[start:stop])
        codes = words.codes[start:stop][at]
        counts = np.bincount(of, minlength=len(sentence.spans))
        own = np.full(len(counts), -1)
        own[of] = codes
        for token in np.flatnonzero(counts > 1):
            group = tuple(codes[of == token].tolist())
            own[token] = words.n_types + groups.setdefault(group, len(groups))
        for i in sequences:
            rows[tokens.offsets[i] : tokens.offsets[i + 1]] = own
    return AlignedWords(words.types, list(groups), rows)


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
        self._runner = BatchRunner(
            budget, caller="ElmoEmbedding", shorter="", most_rows=most_rows
        )
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
