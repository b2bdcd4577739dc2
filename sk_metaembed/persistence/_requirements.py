"""What a structure requires trust for, read from its nodes: no object is created."""

from ._trusted import is_trusted

# Kinds of nodes that name a class or a function.
_NAMED = ("function", "type", "named tuple", "opaque", "object", "handle")
# Parameters that let an estimator run code that comes with a model or a pickle;
# scikit-learn keeps pickles in the folder that `memory` names.
_UNSAFE_OPTIONS = ("trusted", "trust_remote_code", "memory")
# Attributes that notebooks and scikit-learn's HTML show by themselves.
_SHOWN = ("__", "_repr_", "_ipython_", "_doc_link")


def required_trust(nodes):
    """Return the names of types, functions and options that require trust, three sets.

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
