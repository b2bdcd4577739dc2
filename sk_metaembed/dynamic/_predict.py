"""Prediction: a trained net applied to all data, in batches and in order."""

import numpy as np

from .._core._arrays import gather_index
from ..sequences._api import token_columns
from ._batches import BucketLoader, SequenceDataset

# Rows of a type table per forward pass.
_TYPES_PER_BATCH = 16_384


def predict_rows(net, data, function, dim, *, per_token=False):
    """Return a function of batches for all rows of a `SequenceData`, float32.

    The function returns a tensor of `dim` columns with one row per sequence or pair, or
    per token.
    """
    n_rows = int(data.offsets[-1]) if per_token else len(data)
    values = np.zeros((n_rows, dim), dtype=np.float32)
    everything = SequenceDataset(data, np.arange(len(data)))
    batches = (batch for batch, _ in BucketLoader(everything, net.batch_size))
    for rows, result in net.map_batches(function, batches):
        values[gather_index(data.offsets, rows)[0] if per_token else rows] = result
    return values


def run_mixer(net, data, pick, dim):
    """Return the mixed vectors (`pick` 0) or weights (1) of a `SequenceData`.

    They are float32 (n_rows, dim), and the level of the rows is returned with them:
    types, if that is sufficient, with zeros for those that do not occur; otherwise
    tokens or sequences.
    """

    def mix(batch):
        return net.module_.mix(batch)[pick]

    if not data.is_static or net.module_.mixer.attention == "context":
        level = "sequence" if data.level == "sequence" else "token"
        return predict_rows(net, data, mix, dim, per_token=True), level
    used = np.flatnonzero(data.tokens.type_counts())
    parts = np.array_split(used, max(1, -(-len(used) // _TYPES_PER_BATCH)))
    batches = (data.type_batch(part) for part in parts if len(part))
    values = np.zeros((data.tokens.n_types, dim), dtype=np.float32)
    for rows, result in net.map_batches(mix, batches):
        values[rows] = result
    return values, "type"


def attention_frame(net, data, names, *, pairs):
    """Return the weight of each source at each token, as a DataFrame.

    With `pairs`, the second half of the sequences are the second sides of pairs.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "attention_weights returns a pandas DataFrame: pip install pandas."
        ) from error
    taken = {"sequence", "position", "token", *(["side"] if pairs else [])} & {*names}
    if taken:
        raise ValueError(
            f"The source name {taken.pop()!r} is also the name of a column of this "
            "table. Rename the source, for example in EmbeddingUnion."
        )
    values, level = run_mixer(net, data, 1, len(names))
    if level == "sequence":
        columns = {"sequence": np.arange(len(data.tokens))}
    else:
        columns = token_columns(data.tokens)
        values = values[data.tokens.codes] if level == "type" else values
    frame = pd.DataFrame({**columns, **dict(zip(names, values.T, strict=True))})
    if not pairs:
        return frame
    n_pairs, rows = len(data) // 2, frame["sequence"]
    frame.insert(1, "side", np.where(rows < n_pairs, "first", "second"))
    frame["sequence"] = rows % max(n_pairs, 1)
    return frame.sort_values("sequence", kind="stable", ignore_index=True)
