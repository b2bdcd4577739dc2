"""Batches of tensors from sequences and their blocks, or from pairs of sequences.

Nothing is padded: a batch holds its tokens one after the other, and their lengths.
Tables of types and sequences are copied to the device once, and a batch contains row
numbers. Positions are computed in NumPy and sent to the device, so that the network
never reads a number from it: this would stall a GPU and break compiled graphs.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import torch
from torch.utils.data import Dataset

from .._core._arrays import gather_index, offsets_of, standardization
from .._training._device import fits, send
from ..sequences import SequencePairs
from ..sequences._api import LEVELS
from ._inputs import tokens_and_blocks


def tensor_of(array):
    """Return a tensor that shares a read-only array's memory, and must not be changed.

    torch warns of read-only arrays, so the tensor is made of a view that is writable.
    """
    array = np.ascontiguousarray(array)
    interface = array.__array_interface__
    interface["data"] = interface["data"][0], False
    view = SimpleNamespace(array=array, __array_interface__=interface)
    return torch.from_numpy(np.asarray(view))


# Enough tokens to fill a matrix product, few enough to stay in a laptop's memory.
_TOKENS_PER_BATCH = 16_384
# Combinations of types are mixed, not tokens, if each occurs this often on average.
_TOKENS_PER_COMBINATION = 2
# The maximum number of positions in a dense grid if most of them hold no token.
# Recurrent layers of 512 units need 6 KB per position.
MAX_POSITIONS = 65_536


@dataclass(frozen=True)
class Steps:
    """Some consecutive sequences of a batch as a dense grid, for recurrences.

    A grid position without a token has the number of another token: what is computed
    there is never read. Tokens are numbered from the first one of these sequences.

    Attributes
    ----------
    tokens : slice
        The tokens of these sequences in the batch.
    forward_index, backward_index : int64 tensor of shape (max_length, n_sequences)
        The token at each step, read from the start or the end of each sequence.
    forward_position, backward_position : int64 tensor of shape (n_tokens,)
        The position of each token in the flattened grids.
    last : int64 tensor of shape (n_sequences,)
        The position of each sequence's last token in the flattened `forward_index`.
    """

    tokens: slice
    forward_index: torch.Tensor
    backward_index: torch.Tensor
    forward_position: torch.Tensor
    backward_position: torch.Tensor
    last: torch.Tensor

    @classmethod
    def of(cls, lengths, first, send):
        """Return the steps of sequences of the given lengths.

        `first` is the number of their first token in the batch, and `send` turns an
        array into a tensor on the device.
        """
        n, n_tokens = len(lengths), int(lengths.sum())
        starts = np.cumsum(lengths) - lengths
        steps = np.arange(lengths.max(initial=0))[:, None]
        ends = np.maximum(lengths - 1, 0)
        final = max(n_tokens - 1, 0)
        segments = np.repeat(np.arange(n), lengths)
        position = np.arange(n_tokens) - starts[segments]
        parts = {
            "forward_index": np.minimum(starts + np.minimum(steps, ends), final),
            "backward_index": np.minimum(starts + np.maximum(ends - steps, 0), final),
            "forward_position": position * n + segments,
            "backward_position": (ends[segments] - position) * n + segments,
            "last": ends * n + np.arange(n),
        }
        parts = {name: send(part) for name, part in parts.items()}
        return cls(slice(first, first + n_tokens), **parts)


@dataclass(frozen=True)
class Grid:
    """Positions of the tokens of a batch.

    Attributes
    ----------
    lengths : int64 tensor of shape (n_sequences,)
    segments : int64 tensor of shape (n_tokens,)
        The sequence of each token.
    n_known : int64 tensor of shape (n_sequences,)
        The number of tokens that some source knows.
    unknown : bool tensor of shape (n_tokens,) or None
        The tokens that no source knows; None if there are none.
    longest : int
        The number of tokens of the longest sequence.
    """

    lengths: torch.Tensor
    segments: torch.Tensor
    n_known: torch.Tensor
    unknown: torch.Tensor | None
    longest: int
    _lengths: np.ndarray
    _send: Callable

    @classmethod
    def of(cls, lengths, send, known=None):
        """Return the grid of sequences of the given lengths.

        `send` turns an array into a tensor on the device. `known`, (n_tokens,), marks
        the tokens that some source knows; None for all.
        """
        segments, n_known = np.repeat(np.arange(len(lengths)), lengths), lengths
        if known is not None:
            n_known = np.bincount(segments[known], minlength=len(lengths))
            known = send(~known)
        parts = [send(part) for part in (lengths, segments, n_known)]
        return cls(*parts, known, int(lengths.max(initial=0)), lengths, send)

    @cached_property
    def steps(self):
        """The `Steps` of all sequences, in several parts if lengths differ."""
        cuts = grid_parts(self._lengths)
        firsts = offsets_of(self._lengths)
        return [
            Steps.of(self._lengths[start:stop], int(firsts[start]), self._send)
            for start, stop in zip(cuts[:-1], cuts[1:], strict=True)
        ]

    def map_steps(self, function, *tensors):
        """Return ``function(*tensors, steps)`` for all `Steps`, one after the other.

        Tensors and results have one row per token. There must be at least one token.
        """
        if len(self.steps) == 1:
            return function(*tensors, self.steps[0])
        parts = [
            function(*(tensor[steps.tokens] for tensor in tensors), steps)
            for steps in self.steps
            if steps.tokens.start < steps.tokens.stop
        ]
        return torch.cat(parts)


def grid_parts(lengths):
    """Return where sequences are divided into dense grids, ndarray of (n_parts + 1,).

    A grid has at most `MAX_POSITIONS` positions, or two for each token.
    """
    cuts, longest, n_tokens = [0], 0, 0
    if len(lengths) * int(lengths.max(initial=0)) <= MAX_POSITIONS:
        return [0, len(lengths)]
    for i, length in enumerate(lengths.tolist()):
        longest, n_tokens = max(longest, length), n_tokens + length
        n_positions = (i + 1 - cuts[-1]) * longest
        if n_positions > max(MAX_POSITIONS, 2 * n_tokens) and i > cuts[-1]:
            cuts.append(i)
            longest = n_tokens = length
    return [*cuts, len(lengths)]


@dataclass(frozen=True)
class Batch:
    """The vectors of some sequences.

    Attributes
    ----------
    values : list of tensor of shape (n_rows_i, dim_i)
        One per source. Sources with the same rows share one entry of `index`.
    known : list of bool tensor of shape (n_rows_i,)
    index : list of int64 tensor of shape (n_tokens,)
        The row of each token, one tensor per source. With `joint`, the row of each
        distinct combination of types instead, (n_combinations,).
    grid : Grid or None
        Positions of the tokens; None if they are not needed.
    rows : ndarray of int64, shape (n_sequences,)
        The sequences of the data in this batch.
    weights : tensor of float32, shape (n_sequences,) or (n_tokens,), or None
        Weight of each sequence, or of each token for a tagger, in the loss.
    inputs : list
        The inputs of the networks of trainable sources.
    outputs_index : list of int64 tensor of shape (n_tokens,)
        The row of each token in the outputs of these networks.
    joint : int64 tensor of shape (n_tokens,) or None
        If sources have different types, such as tokens and positions, and tokens
        repeat combinations of them: the combination of each token.
    """

    values: list
    known: list
    index: list
    grid: Grid | None
    rows: np.ndarray
    weights: torch.Tensor | None = None
    inputs: list = field(default_factory=list)
    outputs_index: list = field(default_factory=list)
    joint: torch.Tensor | None = None

    def __len__(self):
        return len(self.rows)

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
            index=self.index + self.outputs_index,
            inputs=[],
            outputs_index=[],
        )


class TrainableInput(NamedTuple):
    """The input of the network of a trainable source."""

    inputs: object  # with the method ``batch(rows, send)``
    levels: list  # of each kind of vectors
    codes: np.ndarray  # (n_tokens,), types in the data or numbered by the source itself

    @property
    def reads_types(self):
        """Whether the network reads types, not sequences."""
        return "type" in self.levels


class SequenceData:
    """All sources of sequences, or of both sides of pairs, to be divided into batches.

    A batch of pairs holds the first sides of its pairs, then the second sides, so that
    mixer and encoder read them in one pass. Its rows are numbers of pairs.

    Parameters
    ----------
    X : EmbeddedSequences, or TokenSequences if all sources are trainable, or pairs
    device : torch.device
        Tables of types and sequences are copied to it once, if they fit into its
        memory. Other tables, and token-level blocks, stay in host memory, and the rows
        of a batch are sent with it.
    sources : PreparedSources
    per_token : bool, default=False
        Whether there is a position for each token even if all sources are at sequence
        level.

    Attributes
    ----------
    send : callable
        Returns an array as a tensor on the device.
    """

    def __init__(self, X, device, sources, per_token=False):
        self.device, self.pairs = device, isinstance(X, SequencePairs)
        self.send = partial(send, device=device)
        self.tokens, self.blocks = tokens_and_blocks(X)
        levels = {"token"} if per_token else set()
        levels.update([block.level for block in self.blocks], sources.levels)
        self.level = max(levels, key=LEVELS.index)
        if self.level == "sequence":  # tokens are not read: one position per sequence
            self.offsets = np.arange(len(self.tokens) + 1)
            self.codes = np.zeros(len(self.tokens), dtype=np.int64)
        else:
            self.offsets = self.tokens.offsets
            self.codes = self.tokens.codes.astype(np.int64)
        self.trainable_inputs = []
        for source in sources.prepared:
            inputs = source.inputs(self.tokens)
            codes = getattr(inputs, "codes", None)
            codes = self.codes if codes is None else codes
            levels = [*source.levels.values()]
            self.trainable_inputs.append(TrainableInput(inputs, levels, codes))
        self._tables = [self._table(block) for block in self.blocks]
        self._joint_codes = self._distinct_combinations()
        known = self.known_at("sequence" if self.level == "sequence" else "token")
        self._known = None if known.all() else known

    def __len__(self):
        return len(self.tokens) // 2 if self.pairs else len(self.tokens)

    @property
    def lengths(self):
        """Number of positions of each sequence, or of the longer side of each pair."""
        lengths = np.diff(self.offsets)
        return lengths.reshape(2, -1).max(axis=0) if self.pairs else lengths

    def _table(self, block):
        """Return values and known rows on the device; None if they stay on the host."""
        if block.level == "token" or not fits(block.values, self.device):
            return None
        return (
            tensor_of(block.values).to(self.device),
            tensor_of(block.known).to(self.device),
        )

    def _sequences(self, rows):
        """Return the sequences of some rows: for pairs, both sides of each."""
        return np.concatenate([rows, rows + len(self)]) if self.pairs else rows

    def batch(self, rows):
        """Return the `Batch` of the given rows."""
        sequences = self._sequences(rows)
        positions, offsets = gather_index(self.offsets, sequences)
        lengths, made = np.diff(offsets), {}
        # Types are read at all positions, or at one for each distinct combination.
        read, joint = positions, None
        if self._joint_codes is not None:
            joint_codes = self._joint_codes[positions]
            _, first, index = np.unique(
                joint_codes, return_index=True, return_inverse=True
            )
            if _TOKENS_PER_COMBINATION * len(first) <= len(positions):
                read, joint = positions[first], self.send(index)

        def places(level, codes=self.codes):
            """Return the rows of a level in this batch, on the host and the device.

            The third result is the index of each token among these rows, on the device.
            """
            # Trainable sources may have types and codes of their own.
            key = level, id(codes) if level == "type" else None
            if key not in made:
                if level == "token":
                    used, index = positions, np.arange(len(positions))
                elif level == "sequence":
                    index = np.repeat(np.arange(len(sequences)), lengths)
                    used = sequences
                else:
                    used, index = np.unique(codes[read], return_inverse=True)
                made[key] = used, self.send(used), self.send(index)
            return made[key]

        known = None if self._known is None else self._known[positions]
        grid = Grid.of(lengths, self.send, known)
        return replace(self._batch(places, rows, sequences, grid), joint=joint)

    def _distinct_combinations(self):
        """Return the code of each token's combination of types, or None.

        None if all sources have the same types, or one has vectors of tokens or
        sequences.
        """
        inputs = self.trainable_inputs
        of_types = all(block.level == "type" for block in self.blocks)
        if not of_types or not all(source.reads_types for source in inputs):
            return None
        codes = [self.codes] * bool(self.blocks) + [source.codes for source in inputs]
        combined, *others = {id(each): each for each in codes}.values()
        for other in others:
            pairs = combined * (other.max(initial=0) + 1) + other
            combined = np.unique(pairs, return_inverse=True)[1]
        return combined if others else None

    @property
    def is_static(self):
        """Whether every source has one vector per type."""
        return all(block.level == "type" for block in self.blocks) and all(
            source.reads_types and source.codes is self.codes
            for source in self.trainable_inputs
        )

    def type_batch(self, types):
        """Return a `Batch` of types, for results that do not depend on a sequence."""
        place = types, self.send(types), self.send(np.arange(len(types)))
        return self._batch(lambda level, codes=None: place, types, types, None)

    def _batch(self, places, rows, sequences, grid):
        """Return a `Batch`; `places` returns the rows of a level and its index."""
        vectors = [
            self._vectors(block, table, *places(block.level)[:2])
            for block, table in zip(self.blocks, self._tables, strict=True)
        ]
        inputs, outputs_index = [], []
        for source in self.trainable_inputs:
            read = places("type", source.codes)[0] if source.reads_types else sequences
            inputs.append(source.inputs.batch(read, self.send))
            outputs_index += [places(each, source.codes)[2] for each in source.levels]
        return Batch(
            [values for values, _ in vectors],
            [known for _, known in vectors],
            [places(block.level)[2] for block in self.blocks],
            grid,
            rows,
            inputs=inputs,
            outputs_index=outputs_index,
        )

    def _vectors(self, block, table, rows, rows_there):
        """Return values and known rows of a block, from the device or the host.

        `rows` is in host memory, and `rows_there` is its copy on the device.
        """
        if table is not None:
            values, known = table
            return values.index_select(0, rows_there).float(), known[rows_there]
        values = block._at(rows).astype(np.float32, copy=False)
        return self.send(values), self.send(block.known[rows])

    def type_inputs(self, rows):
        """Return the inputs of the types of some rows, per trainable source.

        None for sources of tokens or sequences.
        """
        positions = gather_index(self.offsets, self._sequences(rows))[0]
        return [
            source.inputs.batch(np.unique(source.codes[positions]), torch.from_numpy)
            if source.reads_types
            else None
            for source in self.trainable_inputs
        ]

    def statistics(self, rows):
        """Return the `standardization` of each block over some rows.

        It is computed over the distinct words, tokens or sequences, by the level of the
        block, for which the source has a vector.
        """
        sequences = self._sequences(rows)
        used = {
            "sequence": sequences,
            "token": gather_index(self.offsets, sequences)[0],
        }
        used["type"] = np.unique(self.codes[used["token"]])
        return [
            standardization(block._at, rows[block.known[rows]], name=block.name)
            for block in self.blocks
            for rows in [used[block.level]]
        ]

    def known_at(self, level):
        """Return which types, tokens or sequences at least one source knows."""
        parts = [(block.known, block.level, self.codes) for block in self.blocks]
        for inputs, levels, codes in self.trainable_inputs:
            parts += [(inputs.known[own], own, codes) for own in levels]
        masks = []
        for known, own, codes in parts:
            if own != level:  # `level` is finer
                known = known[self.tokens.segment_ids() if own == "sequence" else codes]
            masks.append(known)
        return np.logical_or.reduce(masks)


@dataclass(frozen=True, eq=False)
class SequenceDataset(Dataset):
    """Some rows of a `SequenceData` with their targets.

    Attributes
    ----------
    data : SequenceData
    rows : ndarray of int64
        The rows of this part, such as the training part.
    target : ndarray of shape (n_data,) or (n_data, n_outputs), default=None
        Targets of all rows of `data`; or `TokenRows`, one target per token.
    weights : ndarray of shape (n_data,), default=None
        Or a `TokenRows` with one weight per token.
    mean_weight : float, default=1.0
        The sum of the weights that have a loss, divided by the number of rows of this
        part. Weights are divided by it.
    """

    data: SequenceData
    rows: np.ndarray
    target: object = None
    weights: object = None
    mean_weight: float = 1.0

    def __len__(self):
        return len(self.rows)

    def batch(self, rows):
        """Return the `Batch` of some rows and their targets (or None)."""
        batch = self.data.batch(rows)
        if self.target is None:
            return batch, None
        send = self.data.send
        weights = (self.weights[rows] / self.mean_weight).astype(np.float32)
        return replace(batch, weights=send(weights)), send(self.target[rows])


def count_batches(n_rows, batch_size):
    """Return the number of batches of training rows."""
    # Rounded, because a batch of one remaining sequence would be a noisy step.
    return max(1, round(n_rows / batch_size))


class BucketLoader:
    """Batches of sequences of similar length.

    Sorting by length leaves almost no padding in the grids of recurrent encoders.
    Sequences of equal length are shuffled, and so is the order of the batches; without
    `shuffle` the order is fixed and batches are filled up to a number of tokens.

    Parameters
    ----------
    dataset : SequenceDataset
    batch_size : int
        Sequences per batch; without `shuffle`, the minimum for sequences that are not
        very long.
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
        n_batches = count_batches(len(rows), self.batch_size)
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
            size = max(1, min(size, MAX_POSITIONS // longest))
            yield rows[start : start + size]
            start += size
