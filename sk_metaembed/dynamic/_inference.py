"""Running a trained net over all the data, in batches, in the data's order."""

import numpy as np
import torch

from ._data import BucketLoader, SequenceData, SequenceDataset

# Rows of the type table that are mixed at once.
_TYPES_PER_BATCH = 16_384


def run_sequences(net, embedded, function, dim):
    """Apply a function of batches to every sequence.

    Parameters
    ----------
    net : SequenceNet
    embedded : EmbeddedSequences
    function : callable
        Batch to tensor of shape (n_sequences, dim).
    dim : int

    Returns
    -------
    ndarray of float32, shape (n_sequences, dim)
    """
    data = SequenceData(embedded, torch.device(net.device))
    results = np.zeros((len(data), dim), dtype=np.float32)
    for rows, values in net.map_batches(function, _batches(net, data)):
        results[rows] = values
    return results


def mixes_per_type(net, embedded):
    """Whether mixed vectors and weights depend on a token's type alone."""
    is_static = all(block.level == "type" for block in embedded.blocks)
    return is_static and net.module_.mixer.attention != "context"


def run_positions(net, embedded, pick, dim):
    """Apply the mixer to every type, if that is enough, else to every token.

    Parameters
    ----------
    net : SequenceNet
    embedded : EmbeddedSequences
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
    data = SequenceData(embedded, torch.device(net.device))
    mixer = net.module_.mixer
    if mixes_per_type(net, embedded):
        used = np.flatnonzero(embedded.tokens.type_counts())
        parts = np.array_split(used, max(1, -(-len(used) // _TYPES_PER_BATCH)))
        batches = (data.type_batch(part) for part in parts if len(part))
        values = np.zeros((embedded.tokens.n_types, dim), dtype=np.float32)
        for rows, result in net.map_batches(lambda b: mixer.mix(b)[pick], batches):
            values[rows] = result
        return values, "type"
    batches = _batches(net, data)
    values = np.zeros((int(data.offsets[-1]), dim), dtype=np.float32)
    for rows, result in net.map_batches(lambda b: mixer.mix(b)[pick], batches):
        values[data.positions(rows)] = result
    return values, "sequence" if embedded.level == "sequence" else "token"


def _batches(net, data):
    """Return the batches of all sequences; their rows say which they hold."""
    everything = SequenceDataset(data, np.arange(len(data)))
    return (batch for batch, _ in BucketLoader(everything, net.batch_size))
