"""Classes and functions that files may contain without the caller's trust, by name.

A class is listed once a review has shown that creating an instance from any attributes
runs nothing: it opens no file, imports nothing and calls nothing from the file. All
estimators and splitters that scikit-learn and the rooms export are trusted.
"""

import inspect
from collections import OrderedDict
from functools import cache
from importlib import import_module
from itertools import takewhile

import numpy as np
from sklearn.base import BaseEstimator

# Classes that are not exported, and created without calling
# the constructor: attributes are set directly.
OBJECTS = {
    "sk_metaembed.dynamic": (
        *("ColumnsTarget", "IndicatorTarget", "LabelTarget", "NumberTarget"),
        *("TagTarget", "TrainedSources"),
    ),
    "sk_metaembed.meta": ("WordFeatures", "CharacterFeatures", "PerLabel", "Target"),
    "sk_metaembed.sources": (
        *("BytePairs", "CharacterSpec", "NgramVectors", "OOVPolicy", "TransformerSpec"),
    ),
    "sk_metaembed.tables": (
        *("StackedPredictions", "TableClassifier", "TableRegressor"),
        "TableVectorizer",
    ),
    # Held by fitted gradient boosting and linear models.
    "sklearn._loss.link": (
        *("HalfLogitLink", "IdentityLink", "Interval"),
        *("LogitLink", "LogLink", "MultinomialLogit"),
    ),
    "sklearn._loss.loss": (
        *("AbsoluteError", "ExponentialLoss", "HalfBinomialLoss", "HalfGammaLoss"),
        *("HalfMultinomialLoss", "HalfPoissonLoss", "HalfSquaredError"),
        *("HuberLoss", "PinballLoss"),
    ),
    "sklearn.ensemble._hist_gradient_boosting.binning": ("_BinMapper",),
    "polars.datatypes.classes": ("Datetime",),
    "sklearn.metrics._scorer": ("_MultimetricScorer", "_PassthroughScorer", "_Scorer"),
    # skrub's TableVectorizer, which fits clones of these steps on selected columns
    "skrub._apply_to_each_col": ("ApplyToEachCol",),
    "skrub._check_input": ("CheckInputDataFrame",),
    "skrub._clean_categories": ("CleanCategories",),
    "skrub._clean_null_strings": ("CleanNullStrings",),
    "skrub._datetime_encoder": ("DatetimeEncoder", "_SplineEncoder"),
    "skrub._drop_uninformative": ("DropUninformative",),
    "skrub._duration_to_float": ("DurationToFloat",),
    "skrub._gap_encoder": ("GapEncoder",),
    "skrub._minhash_encoder": ("MinHashEncoder",),
    "skrub._similarity_encoder": ("SimilarityEncoder",),
    "skrub._squashing_scaler": ("SquashingScaler", "_MinMaxScaler"),
    "skrub._string_encoder": ("StringEncoder",),
    "skrub._table_vectorizer": ("PassThrough", "ShortReprDict", "TableVectorizer"),
    "skrub._to_categorical": ("ToCategorical",),
    "skrub._to_datetime": ("ToDatetime",),
    "skrub._to_float": ("ToFloat",),
    "skrub._to_str": ("ToStr",),
    "skrub._utils": ("LRUDict",),
    "skrub.selectors._base": ("All", "And", "Cols", "Filter", "Sub"),
}
# Held by what scikit-learn 1.6 fits: columns, and metadata that are requested; and by
# TableVectorizer before skrub 0.8. In newer releases, ApplyToCols is public, and its
# __getattr__ only raises errors.
_OF_OLD_VERSIONS = {
    "sklearn.compose._column_transformer": ("_RemainderColsList",),
    "sklearn.utils._metadata_requests": ("MetadataRequest", "MethodMetadataRequest"),
    "skrub._apply_to_cols": ("ApplyToCols",),
    "skrub._to_float32": ("ToFloat32",),
}
# Named tuples: created by their constructor, which only stores its arguments.
TUPLES = {
    "sk_metaembed.elmo": ("ElmoOptions",),
    "sk_metaembed.meta": ("Layer", "SharedRows", "SourceMap"),
    "sk_metaembed.pooling": ("Part",),
    "sk_metaembed.sequences": ("Ngrams",),
    "sk_metaembed.sources": (
        *("ElmoOutputSpec", "Preprocessing", "OutputSpec", "Student"),
    ),
}
# Functions that fitted estimators hold: they convert an array (gradient boosting) or
# return whether a column is of a kind (TableVectorizer).
FUNCTIONS = {
    "sklearn.utils.validation.check_array",
    "skrub._dataframe._common.is_any_date",
    "skrub._dataframe._common.is_categorical",
    "skrub._dataframe._common.is_numeric",
    "skrub._table_vectorizer._created_by_predicate",
    "skrub.selectors._selectors._cardinality_below",
}


def names_of(classes):
    """Return the full names of classes listed by module."""
    return {f"{module}.{name}" for module, names in classes.items() for name in names}


_PLAIN = (bool, int, float, str, list, tuple, set, dict, OrderedDict)
_SCALARS = [kind for kind in np.sctypeDict.values() if kind.__module__ == "numpy"]
# By the kind of node that may name them; those of the kind "opaque" need trust.
NAMES = {
    "object": names_of(OBJECTS | _OF_OLD_VERSIONS),
    "named tuple": names_of(TUPLES),
    "type": {f"{kind.__module__}.{kind.__name__}" for kind in (*_PLAIN, *_SCALARS)},
    "function": FUNCTIONS,
    "opaque": set(),
}
# Parts of scikit-learn that are not public or import other libraries.
_EXCLUDED = {
    *("tests", "externals", "setup", "conftest", "experimental", "estimator_checks"),
}


def is_trusted(kind, module, name):
    """Return whether a node may name a class or function without the caller's trust."""
    is_listed = f"{module}.{name}" in NAMES[kind]
    return is_listed or (kind == "object" and is_estimator(module, name))


@cache
def is_estimator(module, name):
    """Return whether scikit-learn or a room exports a class of estimators or splits."""
    parts = module.split(".")
    public = list(takewhile(lambda part: not part.startswith("_"), parts))
    is_known = parts[0] in ("sk_metaembed", "sklearn") and not {*parts} & _EXCLUDED
    if not is_known or name.startswith("_"):
        return False
    try:
        cls = getattr(import_module(".".join(public)), name)
    except (ImportError, AttributeError):
        return False
    return (
        isinstance(cls, type)
        and (issubclass(cls, BaseEstimator) or hasattr(cls, "split"))
        and cls is not BaseEstimator
        and (cls.__module__, cls.__name__) == (module, name)
        and not inspect.isabstract(cls)
    )
