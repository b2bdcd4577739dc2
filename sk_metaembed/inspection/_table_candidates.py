"""Candidates of `compare_sources` for a pipeline of tables."""

from sklearn.base import clone

from .._core._sklearn import _safe_indexing

_KINDS = ("numeric", "datetime", "low_cardinality", "high_cardinality")


class TableCandidates:
    """A pipeline without its text columns, with one source for them, and as it is.

    Parameters
    ----------
    pipeline : Pipeline
        The result of `make_table_pipeline`.
    X : DataFrame of shape (n_rows, n_columns)
    """

    def __init__(self, pipeline, X):
        self.X = X
        kinds = find_kinds(pipeline[0], X).column_to_kind_
        everything = [*X.columns]
        texts = [
            name
            for name in everything
            if kinds.get(name) in ("high_cardinality", "specific")
        ]
        others = [name for name in everything if name not in texts]
        models = {}
        if texts and others:
            bare = clone(pipeline)
            bare[0].set_params(specific_transformers=())
            models["without texts"] = bare, others
        for name in _source_names(pipeline[0].high_cardinality) if texts else ():
            alone = clone(pipeline)
            for encoder in _encoders(alone[0]):
                encoder.set_params(active=name)
            models[f"texts by {name}"] = alone, everything
        models["everything"] = pipeline, everything
        self._models, self.names = models, [*models]

    def parts(self, train, test, y):
        """Yield (model, training rows, test rows, seconds spent) of each candidate."""
        rows, held_out = (_safe_indexing(self.X, part) for part in (train, test))
        for model, columns in self._models.values():
            yield model, rows[columns], held_out[columns], 0.0


def reads_tables(pipeline):
    """Return whether a pipeline begins with a TableVectorizer that embeds texts."""
    return hasattr(getattr(pipeline[0], "high_cardinality", None), "source_names")


def find_kinds(vectorizer, X):
    """Return a copy of a TableVectorizer, fitted to find kinds of columns only."""
    bare = clone(vectorizer)
    columns = [names for _, names in bare.specific_transformers]
    bare.set_params(
        **dict.fromkeys(_KINDS, "passthrough"),
        specific_transformers=[("passthrough", names) for names in columns],
    )
    return bare.fit(X)


def _source_names(encoder):
    active = encoder.active
    if active is None:
        return encoder.source_names
    return [active] if isinstance(active, str) else [*active]


def _encoders(vectorizer):
    own = [encoder for encoder, _ in vectorizer.specific_transformers]
    return [
        each for each in (vectorizer.high_cardinality, *own) if hasattr(each, "active")
    ]
