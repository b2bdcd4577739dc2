"""Running a trained net over all the data, in batches, in the data's order.

Vectors of types from sources that are trained along, computed once a type.
"""

import numpy as np
import torch

from ._data import BucketLoader, PairData, SequenceData, SequenceDataset, rows_of

# What a network for types is given at once.
_TYPES_AT_ONCE = 16_384


class Computed(list):
    """Pairs (values, known) of a batch that no network need compute any more."""


class TypeVectors:
    """All types' vectors, in place of what a network would be given.

    Parameters
    ----------
    vectors : list of (values, known)
        Tensors whose rows are the types.
    known : dict of str to ndarray of bool
        By level, as pieces have it.
    """

    def __init__(self, vectors, known):
        self._vectors, self.known = vectors, known

    def batch(self, types, send):
        """Return the `Computed` vectors of some types."""
        rows = send(types)
        return Computed((values[rows], known[rows]) for values, known in self._vectors)


def settle(net, data):
    """Have trained sources of one vector a type compute each type that occurs once.

    For predicting, where weights rest; in training they change from batch to batch.

    Parameters
    ----------
    net : SequenceNet
    data : SequenceData

    Returns
    -------
    SequenceData
        The same.
    """
    net.module_.eval()
    for i, (of_types, codes) in enumerate(
        zip(data.of_types, data.own_codes, strict=True)
    ):
        used = np.unique(data.tokens.codes if codes is None else codes)
        if of_types and len(used):
            network, pieces = net.module_.trained[i], data.pieces[i]
            with torch.inference_mode(), net.computing():
                data.pieces[i] = _all_types(network, pieces, used, data)
    return data


def _all_types(network, pieces, used, data):
    whole = []
    for start in range(0, len(used), _TYPES_AT_ONCE):
        types = used[start : start + _TYPES_AT_ONCE]
        found = network(pieces.batch(types, data._tensor))
        if not whole:
            n = len(pieces.known["type"])
            whole = [[part.new_zeros(n, *part.shape[1:]) for part in v] for v in found]
        rows = data._tensor(types)
        for tables, parts in zip(whole, found, strict=True):
            for table, part in zip(tables, parts, strict=True):
                table[rows] = part
    return TypeVectors(whole, pieces.known)


# Rows of the type table that are mixed at once.
_TYPES_PER_BATCH = 16_384


def data_for(net, X, trained, per_token=False):
    """Return X as the net reads it, on the net's device.

    Parameters
    ----------
    net : SequenceNet
    X : EmbeddedSequences or TokenSequences
    trained : TrainedSources
    per_token : bool, default=False
        As `SequenceData` takes it.

    Returns
    -------
    SequenceData
    """
    data = SequenceData(X, torch.device(net.device), trained, per_token)
    return settle(net, data)


def row_data_for(net, X, trained):
    """Return X as the net reads it, one row an output: of pairs, both sides at once.

    Parameters
    ----------
    net : SequenceNet
    X : EmbeddedSequences, TokenSequences or SequencePairs
    trained : TrainedSources

    Returns
    -------
    SequenceData or PairData
    """
    data = rows_of(X, torch.device(net.device), trained)
    settle(net, data.sequences if isinstance(data, PairData) else data)
    return data


def run_sequences(net, data, function, dim):
    """Apply a function of batches to every sequence, or to every pair.

    Parameters
    ----------
    net : SequenceNet
    data : SequenceData or PairData
    function : callable
        Batch to tensor of shape (n_sequences, dim).
    dim : int

    Returns
    -------
    ndarray of float32, shape (n_sequences, dim)
    """
    results = np.zeros((len(data), dim), dtype=np.float32)
    for rows, values in net.map_batches(function, _batches(net, data)):
        results[rows] = values
    return results


def mixes_per_type(net, data):
    """Whether mixed vectors and weights depend on a token's type alone."""
    return data.is_static and net.module_.mixer.attention != "context"


def run_positions(net, data, pick, dim):
    """Apply the mixer to every type, if that is enough, else to every token.

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
        Rows are types, tokens or sequences, as `level` says. Types that no sequence
        uses are zero.
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
    """Apply a function of batches to every token.

    Parameters
    ----------
    net : SequenceNet
    data : SequenceData
    function : callable
        Batch to tensor of shape (n_tokens, dim).
    dim : int

    Returns
    -------
    ndarray of float32, shape (n_tokens, dim)
    """
    values = np.zeros((int(data.offsets[-1]), dim), dtype=np.float32)
    for rows, result in net.map_batches(function, _batches(net, data)):
        values[data.positions(rows)] = result
    return values


def _batches(net, data):
    """Return the batches of all sequences; their rows say which they hold."""
    everything = SequenceDataset(data, np.arange(len(data)))
    return (batch for batch, _ in BucketLoader(everything, net.batch_size))


def attention_frame(net, data, names, *, pairs):
    """Return the weight of each source at each token.

    Parameters
    ----------
    net : SequenceNet
    data : SequenceData
    names : list of str
        The sources.
    pairs : bool
        Whether the second half of the sequences are the second sides of pairs.

    Returns
    -------
    pandas.DataFrame
    """
    values, level = run_positions(net, data, 1, len(names))
    frame = _weights_frame(data.tokens, names, values, level)
    return _by_pair(frame, len(data) // 2) if pairs else frame


def _by_pair(frame, n_pairs):
    """Return rows of all first, then all second sides by pair, with a column side."""
    if "side" in frame:
        raise ValueError(
            "A source is named 'side', which is a column of its own in this table of "
            "pairs. Give the source another name, for example in EmbeddingUnion."
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
            f"A source is named {taken.pop()!r}, which is a column of its own in this "
            "table. Give the source another name, for example in EmbeddingUnion."
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
