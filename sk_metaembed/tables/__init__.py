"""Tables with text columns, numbers and categories."""

from .._core._public_module import set_public_module
from ._pipelines import make_table_pipeline, make_text_pipeline
from ._predictions import StackedPredictions
from ._search_space import search_space
from ._table_model import TableClassifier, TableRegressor
from ._text_meta_encoder import TextMetaEncoder

__all__ = [
    "TextMetaEncoder",
    "make_table_pipeline",
    "make_text_pipeline",
    "search_space",
]

set_public_module(globals(), StackedPredictions, TableClassifier, TableRegressor)


def __getattr__(name):
    if name == "TableVectorizer":  # for files and pickles; skrub is optional
        from ._table_vectorizer import TableVectorizer

        return TableVectorizer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
