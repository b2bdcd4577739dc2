"""Prediction: a trained net applied to all data, in batches and in order."""

from typing import NamedTuple

import numpy as np
import torch
from scipy import linalg

from ...sequences import SequencePairs
from ...sequences._indexing import span_index
from .._trainable import all_tokens
from ._data import BucketLoader, PairData, SequenceData, SequenceDataset, rows_of

# Rows of a type table per forward pass.
_TYPES_PER_BATCH = 16_384
# Of the map between nets, relative to the mean variance of a dimension.
_PENALTY = 0.1


class PrecomputedTypes(list):
    """Pairs (values, known) of a batch that are computed already."""


class TypeVectors:
    """Vectors of all types, instead of the input of a network.

    Parameters
    ----------
    vectors : list of (values, known)
        Tensors with one row per type.
    known : dict of str to ndarray of bool
        Known types, by level.
    """

    def __init__(self, vectors, known):
        self._vectors, self.known = vectors, known

    def batch(self, types, send):
        """Return the `PrecomputedTypes` vectors of some types."""
        rows = send(types)
        return PrecomputedTypes(
            (values[rows], known[rows]) for values, known in self._vectors
        )


def compute_types(net, data):
    """Compute the vectors of trainable type-level sources once per occurring type.

    For prediction only: in training the weights change from batch to batch. Returns
    `data`.
    """
    for i, (of_types, codes) in enumerate(
        zip(data.of_types, data.own_codes, strict=True)
    ):
        used = np.unique(data.tokens.codes if codes is None else codes)
        if of_types and len(used):
            network, pieces = net.module_.trained[i].eval(), data.pieces[i]
            with torch.inference_mode(), net.computing():
                data.pieces[i] = _all_types(network, pieces, used, data)
    return data


def _all_types(network, pieces, used, data):
    whole = []
    for start in range(0, len(used), _TYPES_PER_BATCH):
        types = used[start : start + _TYPES_PER_BATCH]
        outputs = network(pieces.batch(types, data._tensor))
        if not whole:
            n = len(pieces.known["type"])
            whole = [
                [part.new_zeros(n, *part.shape[1:]) for part in v] for v in outputs
            ]
        rows = data._tensor(types)
        for tables, parts in zip(whole, outputs, strict=True):
            for table, part in zip(tables, parts, strict=True):
                table[rows] = part
    return TypeVectors(whole, pieces.known)


def data_for(net, X, trained, per_token=False):
    """Return X, both sides of pairs, as `SequenceData` on the device of the net."""
    sequences = X.sequences if isinstance(X, SequencePairs) else X
    data = SequenceData(sequences, torch.device(net.device), trained, per_token)
    return compute_types(net, data)


def row_data_for(net, X, trained):
    """Return X as `SequenceData` or `PairData`, one row per output."""
    data = rows_of(X, torch.device(net.device), trained)
    compute_types(net, data.sequences if isinstance(data, PairData) else data)
    return data


def run_sequences(net, data, function, dim):
    """Apply a function of batches to sequences or pairs, float32 (n_sequences, dim)."""
    results = np.zeros((len(data), dim), dtype=np.float32)
    for rows, values in net.map_batches(function, _batches(net, data)):
        results[rows] = values
    return results


def mixes_per_type(net, data):
    """Return whether mixed vectors and weights depend on the type of a token only."""
    return data.is_static and net.module_.mixer.attention != "context"


def run_positions(net, data, pick, dim):
    """Apply the mixer to every type, if that is sufficient, otherwise to every token.

    Parameters
    ----------
    net : SequenceNet
    data : SequenceData
    pick : {0, 1}
        0 for the mixed vectors, 1 for the weights.
    dim : int

    Returns
    -------
    values : ndarray of float32, shape (n_rows, dim)
        Rows are types, tokens or sequences, according to `level`. Types that do not
        occur are zero.
    level : {"type", "token", "sequence"}
    """
    mix = net.module_.mix
    if mixes_per_type(net, data):
        used = np.flatnonzero(data.tokens.type_counts())
        parts = np.array_split(used, max(1, -(-len(used) // _TYPES_PER_BATCH)))
        batches = (data.type_batch(part) for part in parts if len(part))
        values = np.zeros((data.tokens.n_types, dim), dtype=np.float32)
        for rows, result in net.map_batches(lambda b: mix(b)[pick], batches):
            values[rows] = result
        return values, "type"
    values = run_tokens(net, data, lambda b: mix(b)[pick], dim)
    return values, "sequence" if data.level == "sequence" else "token"


def run_tokens(net, data, function, dim):
    """Apply a function of batches to every token, float32 (n_tokens, dim)."""
    values = np.zeros((int(data.offsets[-1]), dim), dtype=np.float32)
    for rows, result in net.map_batches(function, _batches(net, data)):
        values[data.positions(rows)] = result
    return values


def _batches(net, data):
    """Return the batches of all sequences; `rows` of each are its sequences."""
    everything = SequenceDataset(data, np.arange(len(data)))
    return (batch for batch, _ in BucketLoader(everything, net.batch_size))


def attention_frame(net, data, names, *, pairs):
    """Return the weight of each source at each token, as a DataFrame.

    Parameters
    ----------
    net : SequenceNet
    data : SequenceData
    names : list of str
        The sources.
    pairs : bool
        Whether the second half of the sequences are the second sides of pairs.
    """
    values, level = run_positions(net, data, 1, len(names))
    frame = _weights_frame(data.tokens, names, values, level)
    return _by_pair(frame, len(data) // 2) if pairs else frame


def _by_pair(frame, n_pairs):
    """Return rows of all first, then all second sides by pair, with a column side."""
    if "side" in frame:
        raise ValueError(
            "The source name 'side' is also the name of a column of this table of "
            "pairs. Rename the source, for example in EmbeddingUnion."
        )
    rows = frame["sequence"].to_numpy()
    sides = np.where(rows < n_pairs, "first", "second")
    frame = frame.assign(sequence=rows % max(n_pairs, 1))
    frame.insert(1, "side", sides)
    return frame.sort_values("sequence", kind="stable", ignore_index=True)


def _weights_frame(tokens, names, values, level):
    """Return one row per token, with a column per source, from (n_rows, n_sources)."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "attention_weights returns a pandas DataFrame: pip install pandas."
        ) from error
    taken = {"sequence", "position", "token"} & set(names)
    if taken:
        raise ValueError(
            f"The source name {taken.pop()!r} is also the name of a column of this "
            "table. Rename the source, for example in EmbeddingUnion."
        )
    columns = dict(zip(names, values.T, strict=True))
    if level == "sequence":
        return pd.DataFrame({"sequence": np.arange(len(tokens)), **columns})
    if level == "type":
        columns = {name: column[tokens.codes] for name, column in columns.items()}
    rows = tokens.segment_ids()
    return pd.DataFrame(
        {
            "sequence": rows,
            "position": np.arange(tokens.n_tokens) - tokens.offsets[:-1][rows],
            "token": tokens.types[tokens.codes],
            **columns,
        }
    )


class Vectors(NamedTuple):
    """The vectors that a net computes for sequences, or for both sides of pairs.

    Attributes
    ----------
    values : ndarray of float32, shape (n_rows, dim)
    level : {"type", "token", "sequence"}
    known : ndarray of bool, shape (n_rows,)
    """

    values: np.ndarray
    level: str
    known: np.ndarray


def cross_fit(whole, folds, X):
    """Return out-of-fold vectors in the space of the net fitted on all rows.

    Parameters
    ----------
    whole : Vectors
        Those of the net fitted on all rows.
    folds : iterable of (ndarray of int, ndarray of int, Vectors)
        For each fold the rows that its net was trained on, the held-out rows, and the
        vectors that the net computes for all of X.
    X : EmbeddedSequences, TokenSequences or SequencePairs

    Returns
    -------
    table : ndarray of float32, shape (n_table_rows, dim)
    rows : ndarray of int, shape (n_tokens,) or (n_sequences,)
        The row of the table of each token or sequence, -1 where no source knows it.
    level : {"token", "sequence"}
        Types have one vector per fold, so they become tokens.
    """
    tokens = all_tokens(X)
    level = "sequence" if whole.level == "sequence" else "token"
    rows = np.full(len(tokens) if level == "sequence" else tokens.n_tokens, -1)
    tables, size = [], 0
    for train, test, own in folds:
        known = own.known & whole.known
        counts = np.bincount(_rows_at(whole.level, X, train), minlength=len(known))
        learn = np.flatnonzero(counts * known)
        to_whole = alignment(own.values[learn], whole.values[learn], counts[learn])
        used, inverse = np.unique(_rows_at(whole.level, X, test), return_inverse=True)
        tables.append(to_whole(own.values[used]))
        numbers = np.where(known[used], size + np.arange(len(used)), -1)
        rows[_rows_at(level, X, test)] = numbers[inverse]
        size += len(used)
    return np.concatenate(tables), rows, level


def _rows_at(level, X, rows):
    """Return the rows of a level that belong to some rows of X, with repetitions."""
    if isinstance(X, SequencePairs):
        rows = X.sides_of(rows)
    if level == "sequence":
        return rows
    tokens = all_tokens(X)
    positions = span_index(tokens.offsets, rows)[0]
    return tokens.codes[positions] if level == "type" else positions


def alignment(source, target, weights):
    r"""Return a function that maps vectors of one net to the space of another.

    With weighted centered vectors :math:`A` of the source and :math:`B` of the target,
    the map is the ridge regression that shrinks to the best rotation :math:`R`,

    .. math:: \min_W |A W - B|^2 + \lambda |W - R|^2, \qquad
              R = \arg\min_{R^T R = I} |A R - B|^2

    which has the solution :math:`W = R + (A^T A + \lambda I)^{-1} A^T (B - A R)`.

    Parameters
    ----------
    source, target : ndarray of float32, shape (n_rows, dim)
    weights : ndarray of shape (n_rows,)

    Returns
    -------
    callable
        Maps vectors (n, dim) to float32 (n, dim).
    """
    if not len(source):
        return lambda vectors: vectors
    means = [np.average(part, axis=0, weights=weights) for part in (source, target)]
    root = np.sqrt(weights)[:, None]
    a, b = (
        root * (part - mean).astype(np.float64)
        for part, mean in zip((source, target), means, strict=True)
    )
    products, mixed = a.T @ a, a.T @ b
    rotation = linalg.polar(mixed)[0]
    penalty = _PENALTY * np.trace(products) / len(products) or 1.0
    correction = linalg.solve(
        products + penalty * np.eye(len(products)),
        mixed - products @ rotation,
        assume_a="pos",
    )
    matrix = rotation + correction
    return lambda vectors: ((vectors - means[0]) @ matrix + means[1]).astype(np.float32)
