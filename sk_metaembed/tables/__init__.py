"""Tables with text columns, numbers and categories."""

from .._core._public_module import set_public_module
from ._column_encoder import Column, ColumnEncoder
from ._column_kinds import ColumnKind
from ._date_parts import DateFormat
from ._learners import DenseScaler, Trees
from ._numbers import NumberFormat
from ._numbers_inside import NumberPlan
from ._pipelines import make_table_pipeline, make_text_pipeline
from ._predictions import StackedPredictions
from ._string_features import StringFeatures
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

set_public_module(
    globals(),
    Column,
    ColumnEncoder,
    ColumnKind,
    DateFormat,
    DenseScaler,
    NumberFormat,
    NumberPlan,
    StackedPredictions,
    StringFeatures,
    Trees,
)
