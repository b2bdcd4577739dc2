"""The forward pass of an ELMo model over sentences and texts."""

import numpy as np

from ..._core._estimators import is_integer
from .._contextual import BatchRunner
from ._character_ids import N_MARKS
from ._texts import mean_of_words


def check_layers(layers, n_layers):
    """Return the requested layers in ascending order; None means all.

    >>> check_layers(None, 2), check_layers([2, 0], 2)
    ((0, 1, 2), (0, 2))
    """
    if layers is None:
        return tuple(range(n_layers + 1))
    numbers = [k for k in layers if is_integer(k) and 0 <= k <= n_layers]
    if not numbers or len(set(numbers)) < len(layers):
        raise ValueError(
            "layers must be distinct integers, at least one, from 0 for the words to "
            f"{n_layers} for the last LSTM layer of the model; got {layers!r}."
        )
    return tuple(sorted(map(int, numbers)))


class ElmoForward:
    """Compute the vectors of sentences; the `compute` of `sentence_blocks`.

    `layers` are the LSTM layers to return, from 1. Batches have at most `budget` tokens
    and `most_rows` sentences; `progress` is called with their numbers of tokens.
    """

    def __init__(self, model, layers, split, budget, most_rows, progress=None):
        self.model, self._layers, self._split = model, layers, split
        self._runner = BatchRunner(budget, most_rows=most_rows)
        self._progress = progress
        # The vectors of distinct words, each computed once.
        self._table, self._rows = None, {}

    def _look_up(self, words):
        """Return the rows of words in the table, (n_words,), after adding new words."""
        import torch

        encoder = self.model.network.encoder
        if self._table is None:
            self._table = encoder.marks()
        new = [word for word in dict.fromkeys(words) if word not in self._rows]
        if new:
            self.model.count_truncated(new)
            self._rows |= {w: row for row, w in enumerate(new, start=len(self._table))}
            self._table = torch.cat([self._table, encoder(new)])
        return np.fromiter(map(self._rows.__getitem__, words), np.int64, len(words))

    def words(self, sentences):
        """Return ``[(vectors, known)]`` of sentences of one word, without context."""
        with self.model.lock:
            rows = self._look_up([word for (word,) in sentences])
            return [_all_known(self._table[rows].cpu().numpy())]

    def __call__(self, sentences):
        """Return a list of ``(values, known)``, one per layer.

        Each sentence must have at least one word.
        """
        words, spans = self._split.words_and_spans(sentences)
        sizes = np.array([len(sentence) for sentence in words])
        lengths = np.array([len(sentence) for sentence in sentences])
        with self.model.lock:
            rows = self._look_up([word for sentence in words for word in sentence])
        rows = np.split(rows, np.cumsum(sizes)[:-1])
        results = [[] for _ in sentences]

        def forward(batch):
            with self.model.lock:
                layers = self.model.network.layers(
                    self._table, [rows[i] for i in batch], max(self._layers)
                )
                outputs = [layers[k].cpu().numpy() for k in self._layers]
            for output in outputs:
                parts = np.split(output, np.cumsum(sizes[batch])[:-1])
                for i, values in zip(batch, parts, strict=True):
                    results[i].append(values)
            if self._progress is not None:
                self._progress(int(lengths[batch].sum()))

        self._runner.run(sizes + N_MARKS, forward)
        by_output = zip(*results, strict=True)
        if spans[0] is None:
            return [_all_known(np.concatenate(parts)) for parts in by_output]
        aligned = (map(mean_of_words, parts, sentences, spans) for parts in by_output)
        return [tuple(map(np.concatenate, zip(*p, strict=True))) for p in aligned]


def _all_known(values):
    return values, np.ones(len(values), dtype=bool)
