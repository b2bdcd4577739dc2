"""What a structure requires trust for, read from its nodes: no object is created."""

from functools import cached_property
from types import GetSetDescriptorType, MemberDescriptorType

from ._named import import_class
from ._trusted import is_trusted

# Kinds of nodes that name a class or a function.
_NAMED = ("function", "type", "named tuple", "opaque", "object", "handle")
_TREE = "sklearn.tree._tree.Tree"
# Parameters that let an estimator run code that comes with a model or a pickle;
# scikit-learn keeps pickles in the folder that `memory` names.
_UNSAFE_OPTIONS = ("trusted", "trust_remote_code", "memory")
# Attributes that Python, notebooks and scikit-learn's HTML call or show by themselves.
_SPECIAL = ("__", "_repr_", "_ipython_", "_doc_link")
# Descriptors that an attribute of the instance may hide.
_STORED = cached_property, property, GetSetDescriptorType, MemberDescriptorType


def required_trust(nodes, trusted=()):
    """Return the names of types, functions and options that require trust, three sets.

    `trusted` are names that are trusted already. Raises ValueError for an estimator
    that would pass another width to its tree, and for attributes of trusted classes
    that would be called in place of methods.
    """
    types, functions, options = set(), set(), set()
    for kind, content in nodes:
        cls = None
        if kind in _NAMED:
            name = f"{content['module']}.{content['name']}"
            by_default = is_trusted(kind, content["module"], content["name"])
            if not by_default:
                (functions if kind == "function" else types).add(name)
            if kind == "object" and (by_default or name in trusted):
                cls = import_class(content["module"], content["name"])
                _check_attributes(cls, content["names"])
        types |= _unchecked_types(nodes, content, cls)
        options |= {*_unsafe_options(nodes, kind, content)}
    return [names - {*trusted} for names in (types, functions, options)]


def _check_attributes(cls, names):
    hidden = [n for n in names if n.startswith(_SPECIAL) or _is_method(cls, n)]
    if hidden:
        raise ValueError(
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


def _unchecked_types(nodes, content, cls):
    """Return names of types whose compiled code reads what is not checked.

    `cls` is the class of an object that is trusted, else None.
    """
    bases = {
        f"{base.__module__}.{base.__name__}" for base in getattr(cls, "__mro__", ())
    }
    state = dict(zip(content["names"], content["values"], strict=True)) if cls else {}
    parts = [nodes[i] for value in content.values() for i in references(value)]
    if any(kind == "tree" for kind, _ in parts):
        if "sklearn.tree._classes.BaseDecisionTree" not in bases:
            return {_TREE}
        _, tree = _node(nodes, state.get("tree_"))
        width = state.get("n_features_in_")
        if type(width) is not int or width != tree.get("n_features"):
            raise ValueError(
                f"a {cls.__name__} for {width!r} features, another number of features "
                "than its tree"
            )
    # Writes to as many columns as its array of trees has, whatever its first model is.
    is_boosting = "sklearn.ensemble._gb.BaseGradientBoosting" in bases
    is_unchecked = is_boosting and "estimators_" in state
    if "sklearn.svm._base.BaseLibSVM" in bases and "_n_support" in state:
        # Reads as many columns as it was fitted on, whatever its kernel returns.
        is_unchecked = _node(nodes, state.get("kernel"))[0] not in ("", "text")
    return {f"{cls.__module__}.{cls.__qualname__}"} if is_unchecked else set()


def _unsafe_options(nodes, kind, content):
    """Yield options that allow code to run, as in ``trust_remote_code=True``.

    Those of a dict are what a search would set, as in ``{"embed__trusted": [True]}``.
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
            # Words of a vocabulary have numbers, which a search cannot iterate over.
            if type(value) in (int, float) or part_kind == "scalar":
                continue
            if part_kind in ("list", "tuple"):
                choices = part["items"]
                described = [_described(nodes, choice) for choice in choices]
        # Numbers and arrays could be true as well.
        if not all(choice is None or choice is False for choice in choices):
            yield f"{name}={described}"


def _described(nodes, value):
    """Return an atom, or the kind or type of another value."""
    kind, content = _node(nodes, value)
    return content.get("name", kind) if kind else value


def _node(nodes, value):
    """Return kind and content of the node that a value refers to, if it does."""
    return nodes[value["ref"]] if isinstance(value, dict) else ("", {})
