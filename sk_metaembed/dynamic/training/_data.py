"""Batches of tensors from sequences and their blocks, or from pairs of sequences.

Nothing is padded: a batch holds its tokens one after the other, and their lengths.
Tables of types and sequences are copied to the device once, and a batch contains row
numbers. Positions are computed in NumPy and sent along with the batch, so that the
network never reads a number from the device: this would stall a GPU and break compiled
graphs.
"""

from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch.utils.data import Dataset

from ..._training._device import fits, send
from ...sequences import SequencePairs
from ...sequences._block import LEVELS
from ...sequences._indexing import span_index
from ...sequences._sequence_pairs import tokens_of
from .._trainable import blocks_of
from ._token_positions import Grid


class _Writable:
    """The memory of an array, exposed as writable."""

    def __init__(self, array):
        self._array = array
        data = (array.__array_interface__["data"][0], False)
        self.__array_interface__ = {**array.__array_interface__, "data": data}


def as_writable(array):
    """Return an array on the same memory that is marked writable.

    The arrays of the containers are read-only, which torch does not support: it warns
    and wraps them. The caller must not write.
    """
    return np.asarray(_Writable(np.ascontiguousarray(array)))


# Enough tokens to fill a matrix product, few enough to stay in a laptop's memory.
_TOKENS_PER_BATCH = 16_384


@dataclass(frozen=True)
class Batch:
    """The vectors of some sequences.

    Attributes
    ----------
    values : list of tensor of shape (n_rows_i, dim_i)
        One per source. Sources with the same rows share one entry of `index`.
    known : list of bool tensor of shape (n_rows_i,)
    index : list of int64 tensor of shape (n_tokens,)
        The row of each token, one tensor per source.
    grid : Grid or None
        Positions of the tokens; None if they are not needed.
    rows : ndarray of int64, shape (n_sequences,)
        The sequences of the data in this batch.
    weights : tensor of float32, shape (n_sequences,) or (n_tokens,), or None
        Weight of each sequence, or of each token for a tagger, in the loss.
    pieces : list
        The inputs of the networks of trainable sources.
    pieces_index : list of int64 tensor of shape (n_tokens,)
        The row of each token in the outputs of these networks.
    """

    values: list
    known: list
    index: list
    grid: Grid | None
    rows: np.ndarray
    weights: torch.Tensor | None = None
    pieces: list = field(default_factory=list)
    pieces_index: list = field(default_factory=list)

    def __len__(self):
        return len(self.rows)

    @property
    def shares_rows(self):
        """Whether every source has the same rows, so that mixing is done per row."""
        return all(index is self.index[0] for index in self.index)

    def completed(self, vectors):
        """Return the batch with the (values, known) of trainable sources."""
        values, known = (list(part) for part in zip(*vectors, strict=True))
        # Blocks hold zeros there; a network may return anything.
        values = [
            v.masked_fill(~k[:, None], 0) for v, k in zip(values, known, strict=True)
        ]
        return replace(
            self,
            values=self.values + values,
            known=self.known + known,
            index=self.index + self.pieces_index,
            pieces=[],
            pieces_index=[],
        )


class SequenceData:
    """All blocks of sequences, to be divided into batches.

    Parameters
    ----------
    X : EmbeddedSequences, or TokenSequences if all sources are trainable
    device : torch.device
        Tables of types and sequences are copied to it once, if they fit into its
        memory. Other tables, and token-level blocks, stay in host memory, and the rows
        of a batch are sent with it.
    trained : TrainedSources, default=None
    per_token : bool, default=False
        Whether there is a position for each token even if all sources are at sequence
        level.
    """

    def __init__(self, X, device, trained=None, per_token=False):
        self.device = device
        self.tokens = tokens = tokens_of(X)
        self.blocks = blocks_of(X)
        self._opened = trained.opened if trained else []
        self.pieces = [opened.pieces(tokens) for opened in self._opened]
        self.own_codes = [getattr(pieces, "codes", None) for pieces in self.pieces]
        self.of_types = [set(o.levels.values()) == {"type"} for o in self._opened]
        levels = {block.level for block in self.blocks}
        levels.update(level for level, _ in self._trained_kinds())
        if per_token:
            levels.add("token")
        self.level = max(levels, key=LEVELS.index)
        if self.level == "sequence":  # no token is looked at: one position a sequence
            self.offsets = np.arange(len(tokens) + 1)
            self.codes = np.zeros(len(tokens), dtype=np.int64)
        else:
            self.offsets = tokens.offsets
            self.codes = tokens.codes.astype(np.int64)
        self.tables = [self._table(block) for block in self.blocks]
        known = self.known_at("sequence" if self.level == "sequence" else "token")
        self._known = None if known.all() else known

    def _trained_kinds(self):
        """Return level and own type codes of each kind of trained vectors."""
        return [
            (level, codes)
            for opened, codes in zip(self._opened, self.own_codes, strict=True)
            for level in opened.levels.values()
        ]

    def __len__(self):
        return len(self.offsets) - 1

    @property
    def lengths(self):
        """Number of positions of each sequence."""
        return np.diff(self.offsets)

    def _table(self, block):
        if block.level == "token" or not fits(block.values, self.device):
            return None
        return (
            torch.from_numpy(as_writable(block.values)).to(self.device),
            torch.from_numpy(as_writable(block.known)).to(self.device),
        )

    def positions(self, rows):
        """Return the token positions of some sequences, in their order."""
        return span_index(self.offsets, rows)[0]

    def batch(self, rows):
        """Return the `Batch` of the given sequences."""
        positions, offsets = span_index(self.offsets, rows)
        lengths = np.diff(offsets)
        places = _Places(self, rows, positions, lengths)
        parts = [
            places.of(block, table)
            for block, table in zip(self.blocks, self.tables, strict=True)
        ]
        values, known, index = ([part[i] for part in parts] for i in range(3))
        return Batch(
            values,
            known,
            index,
            Grid.of(lengths, self._tensor, self._known_of(positions)),
            rows,
            pieces=self._pieces_of(rows, places),
            pieces_index=[places.rows(*kind)[1] for kind in self._trained_kinds()],
        )

    def _known_of(self, positions):
        """Return which positions any source knows, None where all are known."""
        return None if self._known is None else self._known[positions]

    def _pieces_of(self, rows, places):
        return [
            pieces.batch(places.types(codes) if of_types else rows, self._tensor)
            for pieces, codes, of_types in zip(
                self.pieces, self.own_codes, self.of_types, strict=True
            )
        ]

    @property
    def is_static(self):
        """Whether every source has one vector per type."""
        blocks = all(block.level == "type" for block in self.blocks)
        shares_types = all(codes is None for codes in self.own_codes)
        return blocks and all(self.of_types) and shares_types

    def type_batch(self, types):
        """Return a `Batch` of types, for results that do not depend on a sequence."""
        rows = self._tensor(types)
        index = torch.arange(len(types), device=self.device)
        tables = zip(self.blocks, self.tables, strict=True)
        parts = [self.vectors_of(*pair, types, rows) for pair in tables]
        return Batch(
            [values for values, _ in parts],
            [known for _, known in parts],
            [index] * len(self.tables),
            None,
            types,
            pieces=[pieces.batch(types, self._tensor) for pieces in self.pieces],
            pieces_index=[index] * len(self._trained_kinds()),
        )

    def vectors_of(self, block, table, rows, rows_there):
        """Return values and known rows of a block, from the device or the host.

        `rows` are in host memory, and `rows_there` the same on the device.
        """
        if table is not None:
            values, known = table
            return values[rows_there].float(), known[rows_there]
        values = block._at(rows).astype(np.float32, copy=False)
        return self._tensor(values), self._tensor(block.known[rows])

    def statistics(self, rows):
        """Return mean and standard deviation of each block over some sequences.

        Over the distinct words of a block of types, the tokens of a block of tokens,
        and sequences, where the source has a vector. Arrays of float32, shape (dim,).
        """
        positions = self.positions(rows) if self.level != "sequence" else None
        results = []
        for block in self.blocks:
            used = rows if block.level == "sequence" else positions
            if block.level == "type":
                used = np.unique(self.codes[positions])
            results.append(mean_and_std(block, used[block.known[used]]))
        return results

    def known_at(self, level):
        """Return which types, tokens or sequences any source knows."""
        known = [
            self._spread(block.known, block.level, level, None) for block in self.blocks
        ]
        for pieces, opened, codes in zip(
            self.pieces, self._opened, self.own_codes, strict=True
        ):
            known += [
                self._spread(pieces.known[own], own, level, codes)
                for own in opened.levels.values()
            ]
        return np.logical_or.reduce(known)

    def known_sequences(self):
        """Return which sequences have a token or vector that some source knows."""
        if self.level == "sequence":
            return self.known_at("sequence")
        rows = self.tokens.segment_ids()[self.known_at("token")]
        return np.bincount(rows, minlength=len(self)) > 0

    def _spread(self, known, own, level, codes):
        if own == level:
            return known
        tokens = self.tokens
        if own == "sequence":
            return known[tokens.segment_ids()]
        return known[tokens.codes if codes is None else codes]

    def _tensor(self, array):
        return send(array, self.device)


def mean_and_std(block, rows):
    """Return mean and standard deviation of some rows of a block, 0 and 1 for none."""
    total = square = 0.0
    # Two passes would read the rows of a memory-mapped block twice.
    shift = block._at(rows[:1]).astype(np.float64)
    for start in range(0, len(rows), _ROWS_PER_PART):
        part = block._at(rows[start : start + _ROWS_PER_PART]) - shift
        total, square = total + part.sum(0), square + np.square(part).sum(0)
    if len(rows) == 0:
        return np.zeros(block.dim, np.float32), np.ones(block.dim, np.float32)
    mean = total / len(rows)
    variance = np.maximum(square / len(rows) - np.square(mean), 0)
    mean, std = mean + shift[0], np.sqrt(variance)
    return mean.astype(np.float32), std.astype(np.float32)


_ROWS_PER_PART = 4096


class _Places:
    """The rows of a batch in the tables of each level, computed once per level.

    Rows of types are computed once more for each source with its own type codes.
    """

    def __init__(self, data, rows, positions, lengths):
        self._data = data
        self._rows = rows
        self._positions = positions
        self._lengths = lengths
        self._made = {}

    def rows(self, level, codes=None):
        if level == "type":
            return self._type(codes)[1:]
        if level not in self._made:
            self._made[level] = getattr(self, f"_{level}")()
        return self._made[level]

    def of(self, block, table):
        there, index = self.rows(block.level)
        rows = {"token": self._positions, "sequence": self._rows}.get(block.level)
        rows = self.types() if rows is None else rows
        return *self._data.vectors_of(block, table, rows, there), index

    def types(self, codes=None):
        """Return the types that occur, in the order of their rows."""
        return self._type(codes)[0]

    def _type(self, codes):
        key = "type", id(codes)
        if key not in self._made:
            codes = self._data.codes if codes is None else codes
            types, index = np.unique(codes[self._positions], return_inverse=True)
            to = self._data._tensor
            self._made[key] = types, to(types), to(index)
        return self._made[key]

    def _sequence(self):
        index = np.repeat(np.arange(len(self._rows)), self._lengths)
        return self._data._tensor(self._rows), self._data._tensor(index)

    def _token(self):
        index = torch.arange(len(self._positions), device=self._data.device)
        return None, index


class SequenceDataset(Dataset):
    """Some sequences of a `SequenceData` with their targets.

    Parameters
    ----------
    data : SequenceData
    rows : ndarray of int64
        The sequences that belong to this part, such as the training part.
    target : ndarray of shape (n_data,) or (n_data, n_outputs), default=None
        Targets of all sequences of `data`; or `TokenRows`, those of their tokens.
    weights : ndarray of shape (n_data,), default=None
        Or `TokenRows` too.
    """

    def __init__(self, data, rows, target=None, weights=None):
        self.data = data
        self.rows = rows
        self.target = target
        self.weights = weights

    def __len__(self):
        return len(self.rows)

    def part(self, rows):
        """Return the data set of other rows."""
        return SequenceDataset(self.data, rows, self.target, self.weights)

    def batch(self, rows):
        """Return the `Batch` of some sequences and their targets (or None)."""
        batch = self.data.batch(rows)
        if self.target is None:
            return batch, None
        to = self.data._tensor
        return replace(batch, weights=to(self.weights[rows])), to(self.target[rows])


class BucketLoader:
    """Batches of sequences of similar length.

    Sorting by length leaves almost no padding in the grids of recurrent encoders.
    Sequences of equal length are shuffled, and so is the order of the batches; without
    `shuffle` the order is fixed and batches are filled up to a number of tokens.

    Parameters
    ----------
    dataset : SequenceDataset
    batch_size : int
        Sequences per batch; without `shuffle`, the minimum.
    shuffle : bool
    rng : numpy RandomState, default=None
    """

    def __init__(self, dataset, batch_size, shuffle=False, rng=None):
        self.dataset = dataset
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.rng = rng

    def __iter__(self):
        for rows in self._shuffled() if self.shuffle else self._filled():
            yield self.dataset.batch(rows)

    def _shuffled(self):
        rows = self.rng.permutation(self.dataset.rows)
        rows = rows[np.argsort(self.dataset.data.lengths[rows], kind="stable")]
        # A remainder of one sequence would be a noisy step: it joins the others.
        n_batches = max(1, round(len(rows) / self.batch_size))
        batches = np.array_split(rows, n_batches)
        return [batches[i] for i in self.rng.permutation(n_batches)]

    def _filled(self):
        lengths = self.dataset.data.lengths
        rows = self.dataset.rows
        rows = rows[np.argsort(-lengths[rows], kind="stable")]
        start = 0
        while start < len(rows):
            longest = max(1, int(lengths[rows[start]]))
            size = max(self.batch_size, _TOKENS_PER_BATCH // longest)
            yield rows[start : start + size]
            start += size


class PairData:
    """Both sides of pairs, to be divided into batches of pairs.

    A batch holds the first sides of its pairs, then the second sides, so that mixer and
    encoder read them in one pass. Its rows are numbers of pairs.

    Parameters
    ----------
    X : SequencePairs
    device : torch.device
    trained : TrainedSources, default=None
    """

    def __init__(self, X, device, trained=None):
        self.device = device
        self.sequences = SequenceData(X.sequences, device, trained)
        self._tensor = self.sequences._tensor

    def __len__(self):
        return len(self.sequences) // 2

    @property
    def lengths(self):
        """Length of the longer side of each pair, which is the steps of a batch."""
        return self.sequences.lengths.reshape(2, -1).max(axis=0)

    def statistics(self, rows):
        """Return those of both sides of some pairs."""
        return self.sequences.statistics(np.concatenate([rows, rows + len(self)]))

    def batch(self, rows):
        """Return the `Batch` of the given pairs."""
        sides = np.concatenate([rows, rows + len(self)])
        return replace(self.sequences.batch(sides), rows=rows)


def rows_of(X, device, trained, per_token=False):
    """Return the data of X with one row per target: `SequenceData` or `PairData`."""
    if isinstance(X, SequencePairs):
        return PairData(X, device, trained)
    return SequenceData(X, device, trained, per_token)
