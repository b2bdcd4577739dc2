"""ElmoModel: a bidirectional language model from files, loaded once a process.

ElmoForward: sentences through ELMo, to the vectors of their words.

Original texts as ELMo reads them, and the tokens that its words belong to.
"""

import os
import threading
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .._io._handle_cache import HandleCache
from ..elmo._options import read_options
from ..elmo._packing import N_MARKS
from ..elmo._scalar_mix import mixed
from ..elmo._weight_files import check_weights, read_weights
from ..sequences import Tokenizer
from ..vectors._download import kept_at, local_file
from ._batching import BatchRunner
from ._fingerprint import file_digest, fingerprint_of, reopen_model
from ._original_text import OriginalText, distinct_texts, overlapping
from .cache._compute import Layer

_WHOSE = "ElmoEmbedding"
_NAMES = ("options.json", "weights.hdf5")
_handles = HandleCache(maxsize=2)


class ElmoSpec(NamedTuple):
    """What tells one loaded model from another."""

    options: str
    weights: str
    device: str = "cpu"
    dtype: str = "float32"


class ElmoModel:
    """A model from files, shared by all that asked for the same.

    A pickle of it is the files' places and its fingerprint; the weights are read where
    they are first needed.

    Parameters
    ----------
    spec : ElmoSpec
    files : tuple of Path
        Of options and weights.

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
        self._places, self._weights = files, files[1]
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
        """The BiLanguageModel, loaded when it is first asked for."""
        from ..elmo._network import BiLanguageModel

        with self.lock:
            if self._network is None:
                weights = read_weights(self._weights, self.options)
                self._network = BiLanguageModel(
                    weights, self.options, self.spec.device, self.spec.dtype
                )
            return self._network

    @property
    def device_type(self):
        """Where it computes, "cpu" or "cuda", without loading anything."""
        return self.spec.device.partition(":")[0]

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return _reopen, (self.spec, self.fingerprint)

    def _reference(self):
        """Return what a saved file tells of the model."""
        return {**self.spec._asdict(), "fingerprint": self.fingerprint}

    def _files(self, where):
        """Return the files that a saved file takes in, by name."""
        return dict(zip(_NAMES, self._places, strict=True))


def shared_elmo(spec):
    """Return the process's handle on a model, made if it is new or its files changed.

    Parameters
    ----------
    spec : ElmoSpec

    Returns
    -------
    ElmoModel
    """
    files = tuple(local_file(place, caller=_WHOSE) for place in spec[:2])
    spec = spec._replace(options=_absolute(spec.options))
    spec = spec._replace(weights=_absolute(spec.weights))
    key = spec, tuple(map(_signature, files))
    return _handles.get(key, lambda: ElmoModel(spec, files))


def _absolute(place):
    """Return a path as one that means the same in another working directory."""
    if "://" in place:
        return place
    return os.path.abspath(os.path.expanduser(place))


def _signature(file):
    try:
        found = os.stat(file)
    except OSError:  # reading it will say what is wrong
        return None
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns


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
    """Return the handle on a model that a saved file refers to; nothing is fetched.

    Raises
    ------
    FileNotFoundError
        If a file is not here.
    ValueError
        If it holds something else by now.
    """
    spec = ElmoSpec(*(content[name] for name in ElmoSpec._fields))
    for place in spec[:2]:
        if not kept_at(place).is_file():
            raise FileNotFoundError(f"{_WHOSE}: {place} is not on this machine.")
    return _reopen(spec, content["fingerprint"])


def from_files(kind, content, folder):
    """Return the handle on a model that came in a saved file."""
    places = {
        n: os.path.join(folder, f)
        for n, f in zip(ElmoSpec._fields, _NAMES, strict=False)
    }
    content = {**content, **places}
    return from_reference(kind, content)


def words_of(sentences):
    """Return the words that ELMo reads, and of texts where they are.

    Parameters
    ----------
    sentences : list of OriginalText or of sequence of str

    Returns
    -------
    words : list of sequence of str
    spans : list of ndarray of int, shape (n_words, 2), or None
        None for sentences that are words already.
    """
    if not any(isinstance(sentence, OriginalText) for sentence in sentences):
        return sentences, [None] * len(sentences)
    found = _split(sentences)
    spans = found.spans()
    pairs = pairwise(found.offsets.tolist())
    return found.to_list(), [spans[start:stop] for start, stop in pairs]


def _split(sentences):
    # ELMo was trained on text with case and with punctuation as words.
    splitter = Tokenizer(lowercase=False, punctuation=True)
    return splitter.transform([sentence.text for sentence in sentences])


def read_texts(tokens, *, words, whole, merge_equal=True):
    """Return distinct texts that have words, and the sequences where each stands.

    Parameters
    ----------
    tokens, words, whole, together
        As for `distinct_texts`.

    Returns
    -------
    places : list of list of int
    sentences : list of OriginalText
    """
    places, sentences = distinct_texts(
        tokens, words=words, whole=whole, merge_equal=merge_equal
    )
    kept = np.flatnonzero(_split(sentences).lengths)
    return [places[i] for i in kept], [sentences[i] for i in kept]


def mean_of_words(values, sentence, spans):
    """Return a vector per token: the mean of the words that overlap it.

    Parameters
    ----------
    values : ndarray of shape (n_words, dim)
    sentence : OriginalText
    spans : ndarray of int, shape (n_words, 2)
        Of the words.

    Returns
    -------
    values : ndarray of float32, shape (n_tokens, dim)
    known : ndarray of bool, shape (n_tokens,)
    """
    at, tokens = overlapping(sentence.spans, spans)
    counts = np.bincount(tokens, minlength=len(sentence.spans))
    sums = np.zeros((len(counts), values.shape[1]), np.float32)
    np.add.at(sums, tokens, values[at])
    return sums / np.maximum(counts, 1)[:, None].astype(np.float32), counts > 0


class SpelledTokens(NamedTuple):
    """Tokens as the words that the original texts have in their places."""

    words: np.ndarray  # distinct, of all texts
    groups: list  # tuples of words that make up a token together
    rows: np.ndarray  # of each token, in words and groups behind them; -1 for none


def spelled_tokens(tokens):
    """Return the `SpelledTokens` of a TokenSequences that knows its texts."""
    places, sentences = distinct_texts(tokens, words=True, whole=False)
    found = _split(sentences)
    spans, groups = found.spans(), {}
    rows = np.full(tokens.n_tokens, -1, dtype=np.int64)
    for where, sentence, (start, stop) in zip(
        places, sentences, pairwise(found.offsets.tolist()), strict=True
    ):
        at, of = overlapping(sentence.spans, spans[start:stop])
        codes = found.codes[start:stop][at]
        counts = np.bincount(of, minlength=len(sentence.spans))
        own = np.full(len(counts), -1)
        own[of] = codes
        for token in np.flatnonzero(counts > 1):
            group = tuple(codes[of == token].tolist())
            own[token] = found.n_types + groups.setdefault(group, len(groups))
        for i in where:
            rows[tokens.offsets[i] : tokens.offsets[i + 1]] = own
    return SpelledTokens(found.types, list(groups), rows)


class ElmoOutputSpec(NamedTuple):
    """What depends on the context and is wanted.

    Parameters
    ----------
    layers : tuple of int
        LSTM layers, from 1.
    mix : bool
        The mix of all layers, at each token.
    mean : bool
        Its mean over each sentence.
    shares : tuple of float
        Of the layers in the mix.
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
        """How many LSTM layers that takes."""
        if self.mix or self.mean:
            return len(self.shares) - 1
        return max(self.layers, default=0)

    def layers_of(self, dim):
        """Return what a pass gives for a sentence, in its order.

        Parameters
        ----------
        dim : int
            Of a layer.

        Returns
        -------
        dict of Layer
            By kind and number. Their names are keys of a cache, so the mix tells how
            it is mixed.
        """
        found = {("layer", k): Layer(f"layer{k}", dim) for k in self.layers}
        how = f"{list(self.shares)} {self.gamma} {self.layer_norm}"
        if self.mix:
            found["mix", 0] = Layer(f"mix {how}", dim)
        if self.mean:
            found["mean", 0] = Layer(f"mean {how}", dim, "sequence")
        return found


class WordTable:
    """Token vectors of distinct words, each computed once.

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
        """Return the rows of words in `vectors`, which grows by those that are new.

        Parameters
        ----------
        words : sequence of str

        Returns
        -------
        ndarray of int64
        """
        import torch

        new = [word for word in dict.fromkeys(words) if word not in self._rows]
        if new:
            found = self._network.encoder(new)
            for row, word in enumerate(new, start=len(self.vectors)):
                self._rows[word] = row
            self.vectors = torch.cat([self.vectors, found])
        return np.fromiter(map(self._rows.__getitem__, words), np.int64, len(words))


class ElmoForward:
    """Computes what `compute_missing` asks for.

    Parameters
    ----------
    model : ElmoModel
    wanted : ElmoOutputSpec
    budget : int
        Tokens a batch.
    most_rows : int
        Sentences a batch, at most.
    progress : callable, default=None
        Gets the number of tokens of each batch.
    """

    def __init__(self, model, wanted, budget, most_rows, progress=None):
        self.model, self.wanted = model, wanted
        self._table = None
        self._runner = BatchRunner(
            budget, caller="ElmoEmbedding", shorter="", most_rows=most_rows
        )
        self._progress = progress

    @property
    def table(self):
        """The WordTable, begun when it is first asked for."""
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
        """Yield ``(values, known)`` for each layer, mix and mean, a list a sentence.

        Parameters
        ----------
        sentences : list of sequence of str, or of OriginalText
            Each of one word or more.
        states : States, default=None
            Of each sentence, what it goes on from; overwritten with what it ends with.
        """
        read, spans = words_of(sentences)
        sizes = np.array([len(words) for words in read])
        lengths = np.array([len(sentence) for sentence in sentences])
        with self.model.lock:
            rows = self.table.rows([word for words in read for word in words])
        rows = np.split(rows, np.cumsum(sizes)[:-1])
        results = _Results(sizes, self.wanted, 2 * self.model.options.projection_dim)

        def forward(batch):
            before = None if states is None else states.take(batch)
            with self.model.lock:
                layers, after = self.model.network.layers(
                    self.table.vectors,
                    [rows[i] for i in batch],
                    self.wanted.depth,
                    before,
                )
                results.take(batch, layers)
            if states is not None:
                states.put(batch, after)
            if self._progress is not None:
                self._progress(int(lengths[batch].sum()))

        self._runner.run(sizes + N_MARKS, forward)
        for sentence, own, found in zip(
            sentences, spans, results.of_sentences(), strict=True
        ):
            yield found if own is None else _of_tokens(found, sentence, own)


def _of_tokens(found, sentence, spans):
    """Return what was found for the words of a text as that of its tokens."""
    return [
        (values, known)
        if np.ndim(known) == 0
        else mean_of_words(values, sentence, spans)
        for values, known in found
    ]


class _Results:
    """Vectors of sentences, filled batch by batch."""

    def __init__(self, sizes, wanted, dim):
        self._wanted, self._sizes = wanted, sizes
        self._ends = np.cumsum(sizes)
        n_kinds = len(wanted.layers) + wanted.mix
        self._tokens = np.empty((n_kinds, self._ends[-1], dim), np.float32)
        self._means = np.empty((len(sizes), dim), np.float32)

    def take(self, batch, layers):
        """Keep what is wanted of the layers of a batch of sentences."""
        wanted = self._wanted
        kinds = [layers[k] for k in wanted.layers]
        if wanted.mix or wanted.mean:
            mix = mixed(layers, wanted.shares, wanted.gamma, wanted.layer_norm)
            kinds += [mix] * wanted.mix
        spans = [(self._ends[i] - self._sizes[i], self._ends[i]) for i in batch]
        places = np.concatenate([np.arange(*span) for span in spans])
        for out, kind in zip(self._tokens, kinds, strict=True):
            out[places] = kind.cpu().numpy()
        if wanted.mean:
            ends = np.cumsum(self._sizes[batch])
            sums = np.add.reduceat(mix.cpu().numpy(), np.r_[0, ends[:-1]], axis=0)
            self._means[batch] = sums / self._sizes[batch][:, None]

    def of_sentences(self):
        """Yield the list of ``(values, known)`` of each sentence."""
        for i, (size, end) in enumerate(zip(self._sizes, self._ends, strict=True)):
            known = np.ones(size, dtype=bool)
            found = [(values[end - size : end], known) for values in self._tokens]
            yield found + [(self._means[i], True)] * self._wanted.mean
