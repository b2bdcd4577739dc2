"""Classes and functions that files may contain without the caller's trust, by name.

A class is listed once a review has shown that creating an instance from any attributes
runs nothing: it opens no file, imports nothing and calls nothing from the file. All
estimators and splitters that scikit-learn and the rooms export are trusted, and so are
the classes that rooms pass to `set_public_module`, the ufuncs of NumPy and SciPy, and
the functions of scikit-learn's named scorers.
"""

import inspect
from collections import OrderedDict
from contextlib import suppress
from functools import cache
from importlib import import_module
from itertools import takewhile

import numpy as np
from scipy import special
from sklearn.base import BaseEstimator

from .._io._handle import Handle

# Classes of other libraries that are not exported, and created without calling the
# constructor: attributes are set directly.
OBJECTS = {
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
# In estimators fitted with scikit-learn 1.6, or with skrub before 0.8. In newer
# releases, ApplyToCols is public, and its __getattr__ only raises errors.
_OF_OLD_VERSIONS = {
    "sklearn.compose._column_transformer": ("_RemainderColsList",),
    "sklearn.utils._metadata_requests": ("MetadataRequest", "MethodMetadataRequest"),
    "skrub._apply_to_cols": ("ApplyToCols",),
    "skrub._to_float32": ("ToFloat32",),
}
# Functions in fitted estimators: they convert an array (gradient boosting) or return
# whether a column is of a kind (TableVectorizer).
FUNCTIONS = {
    "sklearn.utils.validation.check_array",
    "skrub._dataframe._common.is_any_date",
    "skrub._dataframe._common.is_categorical",
    "skrub._dataframe._common.is_numeric",
    "skrub._table_vectorizer._created_by_predicate",
    "skrub.selectors._selectors._cardinality_below",
}
_UFUNCS = {"numpy": np, "scipy.special": special}
# Every class of these is trusted: links and losses of gradient boosting and of linear
# models.
MODULES = ("sklearn._loss.link", "sklearn._loss.loss")
_PLAIN = (bool, int, float, str, list, tuple, set, dict, OrderedDict)
_TYPES = {
    f"{kind.__module__}.{kind.__name__}" for kind in (*_PLAIN, *np.sctypeDict.values())
}
# Private subpackages that declare classes of saved files.
PRIVATE = {"_targets"}
# Parts of scikit-learn that are not public or import other libraries.
_EXCLUDED = {
    *("tests", "externals", "setup", "conftest", "experimental", "estimator_checks"),
}


def is_trusted(kind, module, name):
    """Return whether a node may name a class or function without the caller's trust."""
    full = f"{module}.{name}"
    if kind in ("object", "named tuple"):
        listed = (*OBJECTS.get(module, ()), *_OF_OLD_VERSIONS.get(module, ()))
        is_listed = name in listed or _is_defined(module, name)
        is_listed = is_listed or is_of_room(module, name)
        return is_listed or is_estimator(module, name)
    if kind == "function":
        return full in FUNCTIONS or _is_ufunc(module, name) or _is_score(module, name)
    if kind == "handle":
        return _is_handle(module, name)
    return kind == "type" and full in _TYPES


def _is_defined(module, name):
    """Return whether one of MODULES defines a class; it imports others."""
    cls = vars(import_module(module)).get(name) if module in MODULES else None
    return isinstance(cls, type) and cls.__module__ == module


def is_of_room(module, name):
    """Return whether a room declares a class to be in files, by set_public_module."""
    package, _, room = module.partition(".")
    is_room = package == "sk_metaembed" and "." not in room
    is_own = is_room and _exported(module, name) is not None
    is_own = is_own and not _is_handle(module, name)
    return is_own and name not in import_module(module).__all__


def _is_handle(module, name):
    """Return whether a room exports a class of stores or models.

    They are opened from what describes them, and not created by setting attributes.
    """
    cls = _exported(module, name)
    return cls is not None and issubclass(cls, Handle) and cls is not Handle


def is_estimator(module, name):
    """Return whether scikit-learn or a room exports a class of estimators or splits."""
    cls = _exported(module, name)
    return (
        cls not in (None, BaseEstimator)
        and (issubclass(cls, BaseEstimator) or hasattr(cls, "split"))
        and not inspect.isabstract(cls)
    )


@cache
def _exported(module, name):
    """Return the class of a name in a public module of these libraries, else None."""
    parts = module.split(".")
    public = takewhile(lambda p: p in PRIVATE or not p.startswith("_"), parts)
    is_known = parts[0] in ("sk_metaembed", "sklearn") and not {*parts} & _EXCLUDED
    if not is_known or name.startswith("_"):
        return None
    cls = None
    with suppress(ImportError, AttributeError):
        cls = getattr(import_module(".".join(public)), name)
    is_own = isinstance(cls, type) and (cls.__module__, cls.__name__) == (module, name)
    return cls if is_own else None


def _is_ufunc(module, name):
    return isinstance(getattr(_UFUNCS.get(module), name, None), np.ufunc)


@cache
def _is_score(module, name):
    """Return whether one of scikit-learn's named scorers calls a function."""
    if not module.startswith("sklearn.metrics."):
        return False
    from sklearn.metrics import get_scorer, get_scorer_names

    scores = [get_scorer(scorer)._score_func for scorer in get_scorer_names()]
    return any((f.__module__, f.__name__) == (module, name) for f in scores)
