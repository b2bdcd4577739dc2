"""Attention weights as a table."""

import numpy as np


def by_pair(frame, n_pairs):
    """Return the table of both sides' sequences as one of pairs, pair by pair.

    Parameters
    ----------
    frame : pandas.DataFrame
        As `weights_frame` gives it of all first and then all second sides.
    n_pairs : int

    Returns
    -------
    pandas.DataFrame
        With a column ``side``; ``sequence`` is the number of the pair.
    """
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


def weights_frame(tokens, names, values, level):
    """Return one row a token with the sources' weights.

    Parameters
    ----------
    tokens : TokenSequences
    names : list of str
        The sources.
    values : ndarray of shape (n_rows, n_sources)
    level : {"type", "token", "sequence"}
        What the rows of `values` stand for.

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    ValueError
        If a source has the name of one of the other columns.
    """
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
