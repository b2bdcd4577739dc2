"""Information on the rows of token sequences: labels, missing rows, original texts.

It stays with the rows in subsets, so that results can be joined to the input's other
columns, and contextual sources can read the original texts.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ._text_spans import text_spans


class RowInfo(NamedTuple):
    """Information on rows, each field None if unknown."""

    index: Any = None  # pandas Index
    missing: np.ndarray | None = None  # (n_sequences,) bool
    texts: np.ndarray | None = None  # (n_sequences,) of str objects
    prepare: Callable | None = None  # original texts -> the texts that were split
    locate: Callable | None = None  # such a text and its tokens -> their spans

    def take(self, rows):
        """Return the information on some rows, by number."""
        subset = {
            name: values[rows]
            for name in ("index", "missing", "texts")
            if (values := getattr(self, name)) is not None
        }
        return self._replace(**subset)

    def spans(self, tokens):
        """Return the characters of each token in its text, int32 (n_tokens, 2)."""
        parts = [
            text_spans(text, sequence, self.prepare, self.locate)
            for text, sequence in zip(self.texts, tokens, strict=True)
        ]
        empty = np.empty((0, 2), dtype=np.int32)
        return np.concatenate([empty, *parts], dtype=np.int32)


NO_INFO = RowInfo()


def pandas_index(X):
    """Return the index of a pandas Series or DataFrame, None of anything else."""
    # Lists and tuples have an `index` too: a method.
    return X.index if hasattr(X, "iloc") else None


def as_pandas_index(index, n_rows):
    """Return labels as a pandas Index of n_rows, or raise ValueError; None for None."""
    if index is None:
        return None
    if not hasattr(index, "get_indexer"):
        import pandas as pd

        index = pd.Index(index)
    if len(index) != n_rows:
        raise ValueError(
            f"index must have one label per sequence: got {len(index)} labels for "
            f"{n_rows} sequences."
        )
    return index
