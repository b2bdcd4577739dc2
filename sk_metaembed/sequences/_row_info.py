"""Facts about the rows of token sequences: labels, missing rows, original texts.

They travel with the rows, so that results can be joined to the columns they came from
and contextual sources can read the texts as they were written.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ._text_spans import text_spans


class RowInfo(NamedTuple):
    """Facts about rows, each None where it is not known."""

    index: Any = None  # pandas Index
    missing: np.ndarray | None = None  # (n_sequences,) bool
    texts: np.ndarray | None = None  # (n_sequences,) of str objects
    prepare: Callable | None = None  # texts to the texts that were split
    locate: Callable | None = None  # such a text and its tokens to their spans

    def take(self, rows):
        """Return the facts about some rows, by number."""
        chosen = {
            name: values[rows]
            for name in ("index", "missing", "texts")
            if (values := getattr(self, name)) is not None
        }
        return self._replace(**chosen)

    def spans(self, tokens):
        """Return each token's characters in its text, int32 (n_tokens, 2)."""
        parts = [
            text_spans(text, sequence, self.prepare, self.locate)
            for text, sequence in zip(self.texts, tokens, strict=True)
        ]
        none = np.empty((0, 2), dtype=np.int32)
        return np.concatenate([none, *parts], dtype=np.int32)


NO_INFO = RowInfo()


def pandas_index(X):
    """Return the index of a pandas Series or DataFrame, None of anything else."""
    # Lists and tuples have an `index` too: a method.
    return X.index if hasattr(X, "iloc") else None


def as_pandas_index(index, n_rows):
    """Return labels as a pandas Index of n_rows, or raise ValueError; None stays."""
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
