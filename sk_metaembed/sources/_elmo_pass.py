"""ElmoPass: sentences through ELMo, to the vectors of their words."""

from typing import NamedTuple

import numpy as np

from ..elmo._mix import mixed
from ..elmo._packing import N_MARKS
from ._batching import BatchRunner
from ._elmo_texts import mean_of_words, words_of
from ._sentence_rows import Layer


class ElmoWanted(NamedTuple):
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


class ElmoPass:
    """Computes what `compute_missing` asks for.

    Parameters
    ----------
    model : ElmoModel
    wanted : ElmoWanted
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
            budget, whose="ElmoEmbedding", shorter="", most_rows=most_rows
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
        sentences : list of sequence of str, or of WrittenText
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
