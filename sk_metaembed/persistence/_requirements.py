"""What a structure requires trust for, read from its nodes: no object is created."""

from functools import cached_property
from types import GetSetDescriptorType, MemberDescriptorType

from ._codecs import MalformedEntryError, entry
from ._functions import full_name, imported_class
from ._trusted import NAMES, is_estimator, is_trusted

_TREE = "sklearn.tree._tree.Tree"
# Parameters that let an estimator run code that comes with a model or a pickle;
# scikit-learn keeps pickles in the folder that `memory` names.
_UNSAFE_OPTIONS = ("trusted", "trust_remote_code", "memory")
# Attributes that Python, notebooks and scikit-learn's HTML call or show by themselves.
_SPECIAL = ("__", "_repr_", "_ipython_", "_doc_link")
# Descriptors of a class beside which an instance may have an attribute of the name.
_STORED = cached_property, property, GetSetDescriptorType, MemberDescriptorType


def required_trust(nodes, trusted=()):
    """Return the names of types, functions and options that require trust, three sets.

    `trusted` are names that are trusted already. Raises MalformedEntryError for an
    estimator that would pass another width to its tree, and for attributes of trusted
    classes that would be called in place of methods.
    """
    types, functions, options = set(), set(), set()
    for kind, content in nodes:
        types |= _unchecked_types(nodes, kind, content, trusted)
        if kind in NAMES:
            name = full_name(content)
            by_default = is_trusted(kind, content["module"], content["name"])
            if not by_default:
                (functions if kind == "function" else types).add(name)
            if kind == "object" and (by_default or name in trusted):
                _check_attributes(imported_class(content), content["names"])
        options |= _unsafe_options(nodes, kind, content)
    return [names - {*trusted} for names in (types, functions, options)]


def _check_attributes(cls, names):
    hidden = [name for name in names if name.startswith(_SPECIAL)]
    hidden += [name for name in names if _is_method(cls, name)]
    if hidden:
        raise MalformedEntryError(
            f"a {cls.__name__} with the attributes {hidden} in place of methods"
        )


def _is_method(cls, name):
    owner = next((base for base in cls.__mro__ if name in vars(base)), None)
    own = None if owner is None else vars(owner)[name]
    return hasattr(own, "__get__") and not isinstance(own, _STORED)


def references(value):
    """Return the numbers of the nodes that a value of a content refers to."""
    values = value if isinstance(value, list) else [value]
    return [part["ref"] for part in values if isinstance(part, dict)]


def _unchecked_types(nodes, kind, content, trusted):
    """Return names of types whose compiled code reads trees that are not checked."""
    names = content["names"] if kind == "object" else ()
    parts = [nodes[i] for value in content.values() for i in references(value)]
    trees = [part for part_kind, part in parts if part_kind == "tree"]
    if not trees and "estimators_" not in names:
        return set()
    bases = set()
    if kind == "object":
        name = full_name(content)
        if name in trusted or is_estimator(content["module"], content["name"]):
            cls = imported_class(content)
            bases = {f"{base.__module__}.{base.__name__}" for base in cls.__mro__}
    if trees and "sklearn.tree._classes.BaseDecisionTree" not in bases:
        return {_TREE}
    if trees:
        _check_width(cls, nodes, content)
    # Writes to as many columns as its array of trees has, whatever its first model is.
    return {name} if "sklearn.ensemble._gb.BaseGradientBoosting" in bases else set()


def _check_width(cls, nodes, content):
    attributes = dict(zip(content["names"], content["values"], strict=True))
    _, tree = _node(nodes, attributes.get("tree_"))
    if entry(attributes, "n_features_in_", int) != tree.get("n_features"):
        raise MalformedEntryError(
            f"a {cls.__name__} for another number of features than its tree"
        )


def _unsafe_options(nodes, kind, content):
    """Return options that allow code to run, as in ``trust_remote_code=True``.

    Those of a dict are what a search would set, as in ``{"embed__trusted": [True]}``.
    """
    items = content.items()
    if kind in ("dict", "object"):
        names = entry(content, "keys" if kind == "dict" else "names", list)
        items = zip(names, entry(content, "values", list), strict=True)
    options = set()
    for name, value in items:
        name = _text(nodes, name)
        if name.rpartition("__")[2] not in _UNSAFE_OPTIONS:
            continue
        choices, described = [value], _described(nodes, value)
        if kind == "dict":
            part_kind, part = _node(nodes, value)
            # Words of a vocabulary have numbers, which a search cannot iterate over.
            if type(value) in (int, float) or part_kind == "scalar":
                continue
            if part_kind in ("list", "tuple"):
                choices = entry(part, "items", list)
                described = [_described(nodes, choice) for choice in choices]
        # Numbers and arrays could be true as well.
        if not all(choice is None or choice is False for choice in choices):
            options.add(f"{name}={described}")
    return options


def _text(nodes, key):
    """Return a key that is a str or a NumPy str, "" for others."""
    kind, content = _node(nodes, key)
    text = content.get("text") if kind == "text" else key
    return text if isinstance(text, str) else ""


def _described(nodes, value):
    """Return an atom, or the kind or type of another value."""
    kind, content = _node(nodes, value)
    return content.get("name", kind) if kind else value


def _node(nodes, value):
    """Return kind and content of the node that a value refers to, if it does."""
    return nodes[value["ref"]] if isinstance(value, dict) else ("", {})
