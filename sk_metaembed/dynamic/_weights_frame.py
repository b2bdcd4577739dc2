"""Attention weights as a table."""

import numpy as np


def weights_frame(embedded, values, level):
    """Return one row a token with the sources' weights.

    Parameters
    ----------
    embedded : EmbeddedSequences
    values : ndarray of shape (n_rows, n_sources)
    level : {"type", "token", "sequence"}
        What the rows of `values` stand for.

    Returns
    -------
    pandas.DataFrame
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "attention_weights returns a pandas DataFrame: pip install pandas."
        ) from error
    tokens = embedded.tokens
    if level == "sequence":
        return pd.DataFrame(
            {"sequence": np.arange(len(tokens)), **_columns(embedded, values)}
        )
    if level == "type":
        values = values[tokens.codes]
    rows = tokens.segment_ids()
    return pd.DataFrame(
        {
            "sequence": rows,
            "position": np.arange(tokens.n_tokens) - tokens.offsets[:-1][rows],
            "token": tokens.types[tokens.codes],
            **_columns(embedded, values),
        }
    )


def _columns(embedded, values):
    return dict(zip(embedded.names, values.T, strict=True))
