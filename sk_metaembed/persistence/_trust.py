"""Classes and functions that files may contain without the caller's trust, by name.

A class is listed once a review has shown that creating an instance from any attributes
runs nothing: it opens no file, imports nothing and calls nothing from the file. All
estimators and splitters that scikit-learn and this package export are trusted, and so
are the ufuncs of NumPy and SciPy, and the functions of scikit-learn's named scorers.
The names that a structure requires are read from its nodes before an object is created.

A file names a class of this package by its subpackage, not by the file that defines it:
a class can move to another file, and older files can still be loaded.
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

from ._archive import UntrustedError

# Classes of this package that fitted estimators contain, besides estimators, by the
# file that defines them. They are created by setting attributes or are named tuples.
CLASSES = {
    "_stacking._linear": ("LabelRegression",),
    "_targets._predictor_outputs": ("PerColumn", "PerLabel"),
    "_targets._tags": ("TagTarget",),
    "_targets._target": ("LabelTarget", "MultilabelTarget", "NumberTarget"),
    "dynamic._linear_model": ("LinearModel",),
    "dynamic._inputs": ("PreparedSources",),
    "meta._autoencoded": ("Layer",),
    "meta._linear": ("SourceMap",),
    "meta._neighbors": ("SharedRows",),
    "meta._ngram_features": (
        *("CharacterFeatures", "NgramFeatures", "PositionFeatures", "WordFeatures"),
    ),
    "pooling._modes": ("Part",),
    "sequences._ngrams": ("Ngrams", "Positions"),
    "sequences._token_sequences": ("RowInfo",),
    "sources._base": ("Preprocessing",),
    "sources.distillation._distilled": ("Student",),
    "sources.elmo._options": ("ElmoOptions",),
    "sources.trainable._characters": ("CharacterSpec",),
    "sources.trainable._positions": ("PositionSpec",),
    "sources.trainable._tokens": ("TokenSpec",),
    "sources.trainable._transformer": ("TransformerSpec",),
    "sources.transformer._forward": ("OutputSpec",),
    "sources.words._fasttext": ("NgramVectors",),
    "tables._column_encoder": ("Column", "ColumnEncoder"),
    "tables._column_format": ("ColumnFormat",),
    "tables._dates": ("DateFormat",),
    "tables._learners": ("DenseScaler", "Trees"),
    "tables._numbers": ("NumberFormat", "NumbersInside"),
    "tables._string_features": ("StringFeatures",),
    "tables._text_meta_encoder": ("StackedPredictions",),
}
# Stores and models, which are opened from a reference.
HANDLES = {
    "sources.elmo._model": ("ElmoModel",),
    "sources.static_subword._model": ("LoadedStaticModel", "StaticModel"),
    "sources.transformer._loaded_model": ("LoadedModel",),
    "sources.transformer._model": ("TransformerModel",),
    "vectors._word_vectors": ("WordVectors",),
}
# Classes that scikit-learn does not export. They are created by setting attributes,
# without calling the constructor.
OBJECTS = {
    "sklearn.ensemble._hist_gradient_boosting.binning": ("_BinMapper",),
    "sklearn.metrics._scorer": ("_MultimetricScorer", "_PassthroughScorer", "_Scorer"),
}
# Classes in estimators that were fitted with scikit-learn 1.6.
_OF_OLD_VERSIONS = {
    "sklearn.compose._column_transformer": ("_RemainderColsList",),
    "sklearn.utils._metadata_requests": ("MetadataRequest", "MethodMetadataRequest"),
}
# Functions in fitted estimators: gradient boosting wraps this one in a
# FunctionTransformer.
FUNCTIONS = {"sklearn.utils.validation.check_array"}
_UFUNCS = {"numpy": np, "scipy.special": special}
# Modules whose classes are all trusted: links and losses of gradient boosting and of
# linear models.
MODULES = ("sklearn._loss.link", "sklearn._loss.loss")
_PLAIN = (bool, int, float, str, list, tuple, set, dict, OrderedDict)
_TYPES = {
    f"{kind.__module__}.{kind.__name__}" for kind in (*_PLAIN, *np.sctypeDict.values())
}
_PACKAGE = __name__.partition(".")[0]


def _by_subpackage(listed):
    """Return the file of each class, by its subpackage and name."""
    return {
        (f"{_PACKAGE}.{file.partition('.')[0]}", name): f"{_PACKAGE}.{file}"
        for file, names in listed.items()
        for name in names
    }


_OWN_OBJECTS, _OWN_HANDLES = _by_subpackage(CLASSES), _by_subpackage(HANDLES)
# Parts of scikit-learn that are not public or import other libraries.
_EXCLUDED = {
    *("tests", "externals", "setup", "conftest", "experimental", "estimator_checks"),
}


def saved_name(cls):
    """Return the module and name by which files name a class."""
    parts = cls.__module__.split(".")
    is_own = parts[0] == _PACKAGE
    return ".".join(parts[:2] if is_own else parts), cls.__qualname__


def module_of(module, name):
    """Return the module to import a class from, by its name in a file."""
    return (_OWN_OBJECTS | _OWN_HANDLES).get((module, name), module)


def is_trusted(kind, module, name):
    """Return whether a node may name a class or function without the caller's trust."""
    full = f"{module}.{name}"
    if kind in ("object", "named tuple"):
        listed = (*OBJECTS.get(module, ()), *_OF_OLD_VERSIONS.get(module, ()))
        return (
            name in listed
            or (module, name) in _OWN_OBJECTS
            or _is_defined(module, name)
            or is_estimator(module, name)
        )
    if kind == "function":
        return full in FUNCTIONS or _is_ufunc(module, name) or _is_score(module, name)
    if kind == "handle":
        return (module, name) in _OWN_HANDLES
    return kind == "type" and full in _TYPES


def _is_defined(module, name):
    """Return whether one of MODULES defines a class instead of importing it."""
    cls = vars(import_module(module)).get(name) if module in MODULES else None
    return isinstance(cls, type) and cls.__module__ == module


def is_estimator(module, name):
    """Return whether scikit-learn or this package exports an estimator or splitter."""
    cls = _exported(module, name)
    return (
        cls not in (None, BaseEstimator)
        and (issubclass(cls, BaseEstimator) or hasattr(cls, "split"))
        and not inspect.isabstract(cls)
    )


@cache
def _exported(module, name):
    """Return a class by its name in a public module of scikit-learn or this package."""
    parts = module.split(".")
    public = takewhile(lambda part: not part.startswith("_"), parts)
    is_known = parts[0] in (_PACKAGE, "sklearn") and not {*parts} & _EXCLUDED
    if not is_known or name.startswith("_"):
        return None
    cls = None
    with suppress(ImportError, AttributeError):
        cls = getattr(import_module(".".join(public)), name)
    is_own = isinstance(cls, type) and saved_name(cls) == (module, name)
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


# Kinds of nodes that name a class or a function.
_NAMED = ("function", "type", "named tuple", "opaque", "object", "handle")
# Parameters that let an estimator run code that comes with a model or a pickle;
# scikit-learn keeps pickles in the folder that `memory` names.
_UNSAFE_OPTIONS = ("trusted", "trust_remote_code", "memory")
# Prefixes of attributes that notebooks and scikit-learn's HTML display.
_SHOWN = ("__", "_repr_", "_ipython_", "_doc_link")


def required_trust(nodes):
    """Return three sets of names that require trust: types, functions and options.

    Raises ValueError for attributes that would be shown as HTML.
    """
    types, functions, options = set(), set(), set()
    for kind, content in nodes:
        if kind in _NAMED and not is_trusted(kind, content["module"], content["name"]):
            name = f"{content['module']}.{content['name']}"
            (functions if kind == "function" else types).add(name)
        if kind == "object":
            shown = [n for n in content["names"] if str(n).startswith(_SHOWN)]
            if shown:
                raise ValueError(f"an object with the attributes {shown}")
        options |= {*_unsafe_options(nodes, kind, content)}
    return types, functions, options


def _unsafe_options(nodes, kind, content):
    """Yield options that allow code to run, as in ``trust_remote_code=True``.

    A dict may have options that a search would set: ``{"embed__trusted": [True]}``.
    """
    items = content.items()
    if kind in ("dict", "object"):
        names = content["keys" if kind == "dict" else "names"]
        items = zip(names, content["values"], strict=True)
    for key, value in items:
        name = str(_node(nodes, key)[1].get("text", key))
        if name.rpartition("__")[2] not in _UNSAFE_OPTIONS:
            continue
        choices, described = [value], _described(nodes, value)
        if kind == "dict":
            part_kind, part = _node(nodes, value)
            # A number is the index of a vocabulary word; a search cannot iterate over
            # it.
            if type(value) in (int, float) or part_kind == "scalar":
                continue
            if part_kind in ("list", "tuple"):
                choices = part["items"]
                described = [_described(nodes, choice) for choice in choices]
        # Numbers and arrays can be true, too.
        if not all(choice is None or choice is False for choice in choices):
            yield f"{name}={described}"


def _described(nodes, value):
    """Return an atom, or the kind or type of another value."""
    kind, content = _node(nodes, value)
    return content.get("name", kind) if kind else value


def _node(nodes, value):
    """Return the kind and content of the node that a value refers to, if any."""
    return nodes[value["ref"]] if isinstance(value, dict) else ("", {})


def untrusted(types, functions, options):
    """Return the error for lists of names that are not trusted."""
    kinds = {
        "objects of types that are not trusted: {}. Creating and using them can run "
        "code outside this library.": types,
        "functions to be imported and called: {}.": functions,
        "estimators with {}, which allows them to run code that comes with a model or "
        "a pickle.": options,
    }
    found = [text.format(", ".join(names)) for text, names in kinds.items() if names]
    names = [*types, *functions, *options]
    return UntrustedError(
        f"The file contains {' It contains '.join(found)} If you know where the file "
        f"comes from and what this does, pass trusted={names!r} to sk_metaembed.load.",
        names,
    )
