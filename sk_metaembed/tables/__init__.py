"""Tables with text columns, numbers and categories."""

from ._pipelines import make_table_pipeline, make_text_pipeline
from ._table_encoder import TableEncoder
from ._table_model import TableClassifier, TableRegressor
from ._text_meta_encoder import TextMetaEncoder

__all__ = [
    "TableClassifier",
    "TableEncoder",
    "TableRegressor",
    "TextMetaEncoder",
    "make_table_pipeline",
    "make_text_pipeline",
]
