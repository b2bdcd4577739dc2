"""Encode one column, as tests of cells do."""

import warnings

import pandas as pd
import polars as pl

from sk_metaembed import TableEncoder


def as_frame(column):
    """Return a table of one column named "x", in the library of the column."""
    if isinstance(column, pl.Series):
        return column.to_frame("x")
    return pd.DataFrame({"x": column})


def fit(column):
    """Return a fitted encoder; warnings about odd cells are ignored."""
    with warnings.catch_warnings(action="ignore"):
        return TableEncoder(random_state=0).fit(as_frame(column))


def encode(encoder, cells):
    """Return the features of cells; warnings about them are ignored."""
    with warnings.catch_warnings(action="ignore"):
        return encoder.transform(as_frame(cells))
