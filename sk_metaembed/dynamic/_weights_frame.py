"""Attention weights as a table."""

import numpy as np


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
