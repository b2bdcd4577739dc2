"""Batches of a language model: rows of words, laid side by side and cut into steps.

Each of `n_lanes` lanes takes the next row when its last one has ended, so that a batch
has no padding but at the corpus' end. A row that goes on from one batch to the next has
its state carried, detached; a new one begins from zeros. So a row gives the same in any
batch, and what is trained is what `ElmoEmbedding` computes.
"""

from dataclasses import dataclass, replace
from itertools import count

import numpy as np
import torch

from ._characters import character_ids, mark_ids
from ._corpus import UNKNOWN
from ._packing import N_MARKS

NOTHING = -1  # the target where there is no word


@dataclass(frozen=True)
class Batch:
    """Some steps of all lanes.

    Parameters
    ----------
    inputs, targets : int64 tensor of shape (2, n_steps, n_lanes)
        Forward and backward: the distinct word that is read, and the number of the
        word of the vocabulary that comes next.
    rows : int64 tensor of shape (n_steps, n_lanes)
        The row, counted as the corpus gave them.
    fresh : bool tensor of shape (n_steps, n_lanes)
        Where a row begins.
    some_fresh : list of bool
        Whether any does, for each step.
    characters : int64 tensor of shape (n_distinct, max_characters)
    lengths : ndarray of int64, shape (n_distinct,)
    n_targets : int
        In one direction.
    """

    inputs: torch.Tensor
    targets: torch.Tensor
    rows: torch.Tensor
    fresh: torch.Tensor
    some_fresh: list
    characters: torch.Tensor
    lengths: np.ndarray
    n_targets: int

    def __len__(self):
        return self.n_targets

    def to(self, device):
        """Return the batch on a device."""
        names = ("inputs", "targets", "rows", "fresh", "characters")
        return replace(self, **{n: getattr(self, n).to(device) for n in names})


class GridStream(torch.utils.data.IterableDataset):
    """Batches of a corpus, an epoch at a time.

    Parameters
    ----------
    corpus : corpus, as `read_corpus` gives it
    vocabulary : Vocabulary
    max_characters : int
    n_lanes, n_steps : int
    device : torch.device
    seed : int, default=None
        Of the rows' order, which is another one each epoch; None for that in which
        they come.
    n_rows : int, default=None
        That the corpus had when it was counted; None for any.

    Attributes
    ----------
    epoch : int
        Of the next pass.
    skip : int
        Batches that the next pass leaves out, because they were trained on.

    Raises
    ------
    ValueError
        In a pass that comes upon another number of rows.
    """

    def __init__(
        self,
        corpus,
        vocabulary,
        max_characters,
        n_lanes,
        n_steps,
        device,
        seed=None,
        n_rows=None,
    ):
        self._corpus, self._seed, self._device = corpus, seed, device
        self._n_lanes, self._n_steps = n_lanes, n_steps
        self._reads, self._n_rows = (vocabulary, max_characters), n_rows
        self.epoch = self.skip = 0

    def __iter__(self):
        rng = None
        if self._seed is not None:
            rng = np.random.default_rng([self._seed, self.epoch])
        skip, self.skip = self.skip, 0
        self.epoch += 1
        # Begun anew: batches must not depend on the epochs that came before.
        words = _Words(*self._reads)
        lanes = _Lanes(self._rows(rng), words, self._n_lanes)
        for k in count():
            grid = lanes.next(self._n_steps)
            if grid is None:
                return
            if k >= skip:
                yield words.batch(*grid).to(self._device), None

    def _rows(self, rng):
        n_rows = 0
        for row in self._corpus.rows(rng):
            n_rows += 1
            yield row
        if self._n_rows not in (None, n_rows):
            raise ValueError(
                f"ElmoLanguageModel: a corpus had {self._n_rows} rows when its words "
                f"were counted, and {n_rows} when it was gone through again. Files "
                "must stay as they are; what can be gone through only once is taken "
                "as a list, list(...)."
            )


class _Words:
    """Distinct words by code, those of the corpus so far."""

    def __init__(self, vocabulary, max_characters):
        self._numbers, self._longest = vocabulary.numbers, max_characters
        self._unknown = self._numbers[UNKNOWN]
        self._codes, self._words = {}, [None] * N_MARKS
        self._targets = list(range(N_MARKS))

    def codes(self, words):
        """Return the codes of a row's words, between those of its marks."""
        known, found = self._codes, [0]
        for word in words:
            code = known.get(word)
            if code is None:
                code = known[word] = len(self._words)
                self._words.append(word)
                number = self._numbers.get(word, self._unknown)
                # A word that is spelled as a mark is none.
                self._targets.append(max(number, self._unknown))
            found.append(code)
        found.append(1)
        return np.array(found, dtype=np.int64)

    def batch(self, inputs, nexts, rows, fresh):
        """Return the batch of a grid of codes."""
        distinct, places = np.unique(inputs, return_inverse=True)
        marks = distinct[distinct < N_MARKS]
        ids, lengths = mark_ids(self._longest)
        words = [self._words[code] for code in distinct[len(marks) :]]
        more, sizes = character_ids(words, self._longest)
        numbers = np.array([*self._targets, NOTHING])  # the last is that of code -1
        targets = numbers[nexts]
        return Batch(
            torch.from_numpy(places.reshape(inputs.shape)),
            torch.from_numpy(targets),
            torch.from_numpy(rows),
            torch.from_numpy(fresh),
            fresh.any(axis=1).tolist(),
            torch.from_numpy(np.concatenate([ids[marks], more])),
            np.concatenate([lengths[marks], sizes]),
            int((targets[0] != NOTHING).sum()),
        )


class _Lanes:
    """Rows side by side, each lane in its own."""

    def __init__(self, rows, words, n_lanes):
        self._rows, self._words = enumerate(rows), words
        # Of each lane: codes of its row, the row's number, and the next place in it.
        self._lanes = [(np.zeros(1, np.int64), -1, 0)] * n_lanes

    def next(self, n_steps):
        """Return inputs, what comes next, rows and beginnings; None at the end."""
        n_lanes = len(self._lanes)
        inputs = np.zeros((2, n_steps, n_lanes), dtype=np.int64)
        nexts = np.full((2, n_steps, n_lanes), NOTHING)
        rows = np.zeros((n_steps, n_lanes), dtype=np.int64)
        fresh = np.zeros((n_steps, n_lanes), dtype=bool)
        longest = 0
        for lane in range(n_lanes):
            step = 0
            while step < n_steps:
                codes, row, at = self._lane(lane)
                size = min(len(codes) - 1 - at, n_steps - step)
                if size == 0:
                    break
                to, back = slice(step, step + size), codes[::-1]
                for d, marked in enumerate((codes, back)):
                    inputs[d, to, lane] = marked[at : at + size]
                    nexts[d, to, lane] = marked[at + 1 : at + 1 + size]
                rows[to, lane] = row
                fresh[step, lane] = at == 0
                self._lanes[lane] = codes, row, at + size
                step += size
            longest = max(longest, step)
        if not longest:
            return None
        return inputs[:, :longest], nexts[:, :longest], rows[:longest], fresh[:longest]

    def _lane(self, lane):
        """Return a lane's row; another one if it has ended and there is one."""
        codes, row, at = self._lanes[lane]
        if at == len(codes) - 1:
            row, words = next(self._rows, (-1, None))
            if words is not None:
                codes, at = self._words.codes(words), 0
                self._lanes[lane] = codes, row, at
        return self._lanes[lane]
