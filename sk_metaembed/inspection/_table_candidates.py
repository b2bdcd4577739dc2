"""Candidates of `compare_sources` for a pipeline of tables."""

import numpy as np
from sklearn.base import clone

from .._core._sklearn import safe_indexing
from .._pipelines import flat_steps


class TableCandidates:
    """A pipeline without its strings, with one source for them, and as it is.

    Parameters
    ----------
    pipeline : Pipeline
        The result of `make_table_pipeline`.
    X : DataFrame of pandas or polars, shape (n_rows, n_columns)

    Attributes
    ----------
    features : ndarray of shape (n_rows, n_features)
        By which copies of rows are found.
    """

    def __init__(self, pipeline, X):
        self.X = X
        encoder = flat_steps(pipeline)[0]
        active = encoder.active
        names = encoder.source_names if active is None else active
        names = [names] if isinstance(names, str) else [*names]
        # N-grams encode all strings that some source encodes.
        kinds = clone(encoder).set_params(active="ngrams", n_components=1)
        self.features = np.asarray(kinds.fit_transform(X))
        columns = [each for each in kinds.columns_ if each.n_features]
        embedded = [column.is_embedded for column in columns]
        models = {}
        if names and any(embedded) and not all(embedded):
            models["without strings"] = ()
        if len(names) > 1 and any(embedded):
            models |= {f"strings by {name}": (name,) for name in names}
        models["everything"] = active
        self._active, self._pipeline, self.names = models, pipeline, [*models]

    def parts(self, train, test, y):
        """Yield (model, training rows, test rows, seconds spent) of each candidate."""
        rows, held_out = (safe_indexing(self.X, part) for part in (train, test))
        for active in self._active.values():
            model = clone(self._pipeline)
            flat_steps(model)[0].set_params(active=active)
            yield model, rows, held_out, 0.0


def reads_tables(pipeline):
    """Return whether a pipeline begins with a TableEncoder."""
    first = flat_steps(pipeline)[0]
    return hasattr(first, "source_names") and hasattr(first, "active")
