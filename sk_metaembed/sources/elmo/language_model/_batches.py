"""Batches of a corpus for truncated backpropagation through time (BPTT).

A batch has one slot per sequence. A slot takes the next row of the corpus when its row
ends, so only the last batches of a corpus have padding. The state of a row that
continues in the next batch is carried over, detached; a new row starts from zeros. A
row therefore gives the same result in any batch, and the model is trained as
`ElmoEmbedding` runs it.
"""

from dataclasses import dataclass

import numpy as np
import torch

from ...._training._device import send
from ....sequences._api import look_up
from .._character_ids import N_MARKS, character_ids, count_truncated, mark_ids
from ._corpus import UNKNOWN, RowsCorpus, StreamCorpus

NO_TARGET = -1  # at steps without a word
_REMEDY = "Set a larger max_characters in architecture, or split them"


@dataclass(frozen=True)
class Batch:
    """Consecutive steps of all slots, forward and backward."""

    inputs: torch.Tensor  # index of each word in `characters`, (2, n_steps, batch_size)
    targets: torch.Tensor  # index of the next word, or `NO_TARGET`
    rows: torch.Tensor  # index in the corpus, (n_steps, batch_size)
    is_first: torch.Tensor  # whether a row starts at the step, (n_steps, batch_size)
    characters: torch.Tensor  # distinct words, (n_distinct, max_characters)
    lengths: np.ndarray  # characters before padding, (n_distinct,)
    n_targets: int  # number per direction

    def __len__(self):
        return self.n_targets


@dataclass(eq=False)
class BPTTBatches(torch.utils.data.IterableDataset):
    """Batches of a corpus; each iteration is one epoch.

    If the rows of the corpus were counted, an epoch with another number raises
    ValueError. With a `seed`, each epoch has the rows in a new random order.
    """

    corpus: RowsCorpus | StreamCorpus
    vocabulary: list  # words of the softmax
    max_characters: int
    batch_size: int
    n_steps: int
    device: torch.device
    seed: int | None = None
    epoch: int = 0  # number of the next epoch

    def __iter__(self):
        rng = None
        if self.seed is not None:
            rng = np.random.default_rng([self.seed, self.epoch])
        self.epoch += 1
        # A new table per epoch: batches must not depend on earlier epochs.
        words = _WordTable(self.vocabulary, self.max_characters)
        slots = _BatchSlots(self._rows(rng), words, self.batch_size)
        while (arrays := slots.next(self.n_steps)) is not None:
            yield words.batch(self.device, *arrays), None

    def _rows(self, rng):
        n_rows = 0
        for row in self.corpus.rows(rng):
            n_rows += 1
            yield row
        expected = self.corpus.count
        if expected is not None and expected.n_rows != n_rows:
            raise ValueError(
                f"the corpus had {expected.n_rows} rows when its words were counted, "
                f"but {n_rows} rows in a later pass. Files must not change during fit; "
                "pass an iterable that can be consumed only once as a list."
            )


class _WordTable:
    """Distinct words seen so far in an epoch, each with a code."""

    def __init__(self, vocabulary, max_characters):
        self._ids = {word: k for k, word in enumerate(vocabulary)}
        self._max_characters = max_characters
        self._unknown = self._ids[UNKNOWN]
        self._codes, self._words = {}, [None] * N_MARKS
        self._targets = list(range(N_MARKS))

    def codes(self, row):
        """Return the codes of a row's words between its two marks, (n_words + 2,)."""
        return np.array([0, *map(self._code, row), 1], dtype=np.int64)

    def _code(self, word):
        """Return the code of a word, a new one the first time."""
        code = self._codes.setdefault(word, len(self._words))
        if code == len(self._words):
            self._words.append(word)
            (target,) = look_up([word], self._ids, self._unknown)
            # A word spelled like a mark is an ordinary word, not the mark.
            self._targets.append(max(target, self._unknown))
        return code

    def batch(self, device, inputs, next_codes, rows, is_first):
        """Return the Batch of arrays of codes, as `_BatchSlots.next` returns them."""
        distinct, positions = np.unique(inputs, return_inverse=True)
        marks = distinct[distinct < N_MARKS]
        ids, lengths = mark_ids(self._max_characters)
        words = [self._words[code] for code in distinct[len(marks) :]]
        count_truncated("ElmoLanguageModel", words, self._max_characters, _REMEDY)
        word_ids, word_lengths = character_ids(words, self._max_characters)
        targets = np.array([*self._targets, NO_TARGET])[next_codes]  # -1 is the last
        return Batch(
            send(positions.reshape(inputs.shape), device),
            send(targets, device),
            send(rows, device),
            send(is_first, device),
            send(np.concatenate([ids[marks], word_ids]), device),
            np.concatenate([lengths[marks], word_lengths]),
            int((targets[0] != NO_TARGET).sum()),
        )


class _BatchSlots:
    """Slots of a batch, each of which reads one row after another."""

    def __init__(self, rows, words, batch_size):
        self._rows, self._words = enumerate(rows), words
        # Per slot: codes of its row, index of the row, and the next position in it.
        self._slots = [(np.zeros(1, np.int64), -1, 0)] * batch_size

    def next(self, n_steps):
        """Return (inputs, next codes, rows, is_first) of a batch; None at the end."""
        batch_size = len(self._slots)
        inputs = np.zeros((2, n_steps, batch_size), dtype=np.int64)
        next_codes = np.full((2, n_steps, batch_size), NO_TARGET)
        rows = np.zeros((n_steps, batch_size), dtype=np.int64)
        is_first = np.zeros((n_steps, batch_size), dtype=bool)
        longest = 0
        for slot in range(batch_size):
            step = 0
            while step < n_steps:
                codes, row, start = self._advance(slot)
                size = min(len(codes) - 1 - start, n_steps - step)
                if size == 0:
                    break
                steps = slice(step, step + size)
                for d, directed in enumerate((codes, codes[::-1])):
                    inputs[d, steps, slot] = directed[start : start + size]
                    next_codes[d, steps, slot] = directed[start + 1 : start + 1 + size]
                rows[steps, slot] = row
                is_first[step, slot] = start == 0
                self._slots[slot] = codes, row, start + size
                step += size
            longest = max(longest, step)
        if not longest:
            return None
        arrays = inputs[:, :longest], next_codes[:, :longest]
        return *arrays, rows[:longest], is_first[:longest]

    def _advance(self, slot):
        """Return a slot's row; the next row of the corpus if it has ended."""
        codes, row, start = self._slots[slot]
        if start == len(codes) - 1:
            row, words = next(self._rows, (-1, None))
            if words is not None:
                self._slots[slot] = self._words.codes(words), row, 0
        return self._slots[slot]
