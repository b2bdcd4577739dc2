"""From sequences and their blocks to batches of tensors, bucketed by length.

Nothing here is padded: a batch is its tokens one behind the other and the lengths.
A table of types or sequences lies on the device once; a batch carries row numbers.

Pairs of sequences in batches: what trains and predicts a net that reads both.

Where the tokens of a batch stand: one behind the other, and in a grid of steps.

Worked out in NumPy and sent along with the batch, so that the network itself never
asks the device for a number: that would stall a GPU and break compiled graphs.

Handing a read-only array to a library that cannot say "read-only".
"""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import torch
from torch.utils.data import Dataset

from ...sequences import SequencePairs
from ...sequences._block import LEVELS
from ...sequences._indexing import span_index
from .._trainable import blocks_of, tokens_of


class Segments(NamedTuple):
    """Some tokens of a batch, sequence after sequence.

    Attributes
    ----------
    lengths : int64 tensor of shape (n_sequences,)
    segments : int64 tensor of shape (n_tokens,)
        The sequence of each token.
    """

    lengths: torch.Tensor
    segments: torch.Tensor


@dataclass(frozen=True)
class Grid:
    """Places of a batch's tokens.

    A grid place without a token holds the number of some other token: what is
    computed there is never read.

    Attributes
    ----------
    lengths : int64 tensor of shape (n_sequences,)
    segments : int64 tensor of shape (n_tokens,)
        The sequence of each token.
    onwards, backwards : int64 tensor of shape (max_length, n_sequences)
        The token at each step, read from each sequence's beginning or end.
    at_onwards, at_backwards : int64 tensor of shape (n_tokens,)
        The place of each token in the flattened grids.
    last : int64 tensor of shape (n_sequences,)
        The place of each sequence's last token in the flattened `onwards`.
    known : Segments
        The tokens that some source knows.
    kept : int64 tensor or None
        Their indices; None if all tokens are known.
    """

    lengths: torch.Tensor
    segments: torch.Tensor
    onwards: torch.Tensor
    backwards: torch.Tensor
    at_onwards: torch.Tensor
    at_backwards: torch.Tensor
    last: torch.Tensor
    known: Segments
    kept: torch.Tensor | None = None

    @classmethod
    def of(cls, lengths, send, known=None):
        """Return the grid of sequences of the given lengths.

        Parameters
        ----------
        lengths : ndarray of int64, shape (n_sequences,)
        send : callable
            Turns an array into a tensor on the device.
        known : ndarray of bool, shape (n_tokens,), default=None
            Which tokens some source knows; None for all.
        """
        n = len(lengths)
        starts = np.cumsum(lengths) - lengths
        longest = int(lengths.max()) if n else 0
        steps = np.arange(longest)[:, None]
        ends = np.maximum(lengths - 1, 0)
        final = max(int(lengths.sum()) - 1, 0)
        segments = np.repeat(np.arange(n), lengths)
        position = np.arange(len(segments)) - starts[segments]
        parts = {
            "lengths": lengths,
            "segments": segments,
            "onwards": np.minimum(starts + np.minimum(steps, ends), final),
            "backwards": np.minimum(starts + np.maximum(ends - steps, 0), final),
            "at_onwards": position * n + segments,
            "at_backwards": (ends[segments] - position) * n + segments,
            "last": ends * n + np.arange(n),
        }
        parts = {name: send(part) for name, part in parts.items()}
        if known is None:
            return cls(**parts, known=Segments(parts["lengths"], parts["segments"]))
        kept = np.flatnonzero(known)
        segments = segments[kept]
        counts = np.bincount(segments, minlength=n)
        return cls(
            **parts, known=Segments(send(counts), send(segments)), kept=send(kept)
        )


class _Borrowed:
    """An array's memory, offered as writable."""

    def __init__(self, array):
        self._array = array
        data = (array.__array_interface__["data"][0], False)
        self.__array_interface__ = {**array.__array_interface__, "data": data}


def borrow(array):
    """Return an array on the same memory that is marked writable.

    The containers' arrays are read-only. torch has no such notion: it warns and
    wraps them all the same. Whoever borrows promises not to write.

    Parameters
    ----------
    array : ndarray

    Returns
    -------
    ndarray
        Contiguous; on the same memory if `array` is.
    """
    return np.asarray(_Borrowed(np.ascontiguousarray(array)))


# Enough tokens to fill a matrix product, few enough to stay in a laptop's memory.
_TOKENS_PER_BATCH = 16_384


@dataclass(frozen=True)
class Batch:
    """Some sequences' vectors.

    Attributes
    ----------
    values : list of tensor of shape (n_rows_i, dim_i)
        One a source. Sources whose rows agree share one entry of `index`.
    known : list of bool tensor of shape (n_rows_i,)
    index : list of int64 tensor of shape (n_tokens,)
        The row of each token, one a source.
    grid : Grid or None
        Where the tokens stand; None where none is needed.
    rows : ndarray of int64, shape (n_sequences,)
        Which sequences of the data these are.
    weights : tensor of float32, shape (n_sequences,) or (n_tokens,), or None
        How much each sequence, or each token of a tagger, counts in the loss.
    pieces : list
        What each source needs that is trained along and computes its vectors itself.
    pieces_index : list of int64 tensor of shape (n_tokens,)
        The row of each token in the vectors that these sources will give.
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
        """Return the batch with the vectors of the sources that are trained along.

        Parameters
        ----------
        vectors : list of (values, known)
        """
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
    """All blocks of sequences, ready to be cut into batches.

    Parameters
    ----------
    X : EmbeddedSequences, or TokenSequences where all sources are trained
    device : torch.device
        Where tables of types and of sequences are put, once. Token-level blocks stay
        on the host and travel batch by batch.
    trained : TrainedSources, default=None
        Those that are trained along.
    per_token : bool, default=False
        Whether there is a position for each token even if no source looks at tokens.
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
        """Return level and own codes of each kind of vectors that is trained."""
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
        if block.level == "token":
            return None
        return (
            torch.from_numpy(borrow(block.values)).to(self.device),
            torch.from_numpy(borrow(block.known)).to(self.device),
        )

    def positions(self, rows):
        """Return where the tokens of some sequences stand, sequence by sequence."""
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
        """Whether every source has one vector a type."""
        blocks = all(block.level == "type" for block in self.blocks)
        shares_types = all(codes is None for codes in self.own_codes)
        return blocks and all(self.of_types) and shares_types

    def type_batch(self, types):
        """Return a `Batch` of types, for what does not depend on a sequence."""
        rows = self._tensor(types)
        index = torch.arange(len(types), device=self.device)
        return Batch(
            [values[rows].float() for values, _ in self.tables],
            [known[rows] for _, known in self.tables],
            [index] * len(self.tables),
            None,
            types,
            pieces=[pieces.batch(types, self._tensor) for pieces in self.pieces],
            pieces_index=[index] * len(self._trained_kinds()),
        )

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
        """Return which sequences have anything that some source knows."""
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
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)


class _Places:
    """Where each level's rows of a batch come from, computed once per level.

    Types are computed once more for each source with type codes of its own.
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
        rows, index = self.rows(block.level)
        if table is None:
            values = block._at(self._positions).astype(np.float32, copy=False)
            known = block.known[self._positions]
            to = self._data._tensor
            return to(values), to(known), index
        values, known = table
        return values[rows].float(), known[rows], index

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

    def batch(self, rows):
        """Return the `Batch` of some sequences and their targets (or None)."""
        batch = self.data.batch(rows)
        if self.target is None:
            return batch, None
        to = self.data._tensor
        return replace(batch, weights=to(self.weights[rows])), to(self.target[rows])


class BucketLoader:
    """Batches of sequences of about equal length.

    Sorting by length leaves next to nothing to pad, which is most of what a
    recurrent encoder's time depends on. Ties are shuffled, and so is the order of
    the batches; without `shuffle` the order is fixed and batches are filled up to a
    number of tokens.

    Parameters
    ----------
    dataset : SequenceDataset
    batch_size : int
        Sequences in a batch; without `shuffle`, the smallest number.
    shuffle : bool
    rng : numpy RandomState, default=None
    """

    def __init__(self, dataset, batch_size, shuffle=False, rng=None):
        self.dataset = dataset
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.rng = rng

    def __iter__(self):
        for rows in self.row_batches():
            yield self.dataset.batch(rows)

    def row_batches(self):
        """Return which rows each batch of an epoch has."""
        return self._shuffled() if self.shuffle else self._filled()

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
    """Both sides of pairs, ready to be cut into batches of pairs.

    A batch holds the first sides of its pairs, then the second ones, so that mixer and
    encoder read them as any other sequences, in one go. Its rows are numbers of pairs.

    Parameters
    ----------
    X : SequencePairs
    device : torch.device
    trained : TrainedSources, default=None
        As `SequenceData` takes it.
    """

    def __init__(self, X, device, trained=None):
        self.sequences = SequenceData(X.sequences, device, trained)
        self._tensor = self.sequences._tensor

    def __len__(self):
        return len(self.sequences) // 2

    @property
    def lengths(self):
        """Length of the longer side of each pair, which decides on a batch's steps."""
        return self.sequences.lengths.reshape(2, -1).max(axis=0)

    def batch(self, rows):
        """Return the `Batch` of the given pairs."""
        sides = np.concatenate([rows, rows + len(self)])
        return replace(self.sequences.batch(sides), rows=rows)


def rows_of(X, device, trained, per_token=False):
    """Return the data whose rows have a target each: sequences, or pairs.

    Parameters
    ----------
    X : EmbeddedSequences, TokenSequences or SequencePairs
    device : torch.device
    trained : TrainedSources
    per_token : bool, default=False
        As `SequenceData` takes it.

    Returns
    -------
    SequenceData or PairData
    """
    if isinstance(X, SequencePairs):
        return PairData(X, device, trained)
    return SequenceData(X, device, trained, per_token)
