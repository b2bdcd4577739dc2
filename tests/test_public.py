"""Every public name is there, documented and annotated in full."""

import ast
import inspect
import re
import runpy
import types
import typing
from importlib import import_module
from pathlib import Path

import pytest
from numpydoc.validate import validate
from sklearn.utils._param_validation import StrOptions

import sk_metaembed

ROOT = Path(sk_metaembed.__file__).parent
SUBPACKAGES = [
    "utils.estimator_checks" if subpackage == "utils" else subpackage
    for subpackage in sk_metaembed._SUBPACKAGES
]
# Of a property's docstring: what it is, its shape and unit.
PROPERTY_LINES = 5
OPERATORS = ("call", "contains", "enter", "exit", "getitem", "init", "iter", "len")
OPERATORS = {f"__{name}__" for name in OPERATORS}
GENERIC = {"Callable", "Iterable", "Iterator", "Mapping", "Sequence"}
GENERIC |= {"dict", "frozenset", "list", "set", "tuple", "NDArray"}


def subpackage(name):
    return import_module(f"sk_metaembed.{name}")


def dotted(thing):
    return f"{thing.__module__}.{thing.__qualname__}"


def public_objects():
    """Return the public classes and functions, each once, by the path of its home."""
    named = [(sk_metaembed, name) for name in sk_metaembed.__all__]
    named += [
        (subpackage(r), name) for r in SUBPACKAGES for name in subpackage(r).__all__
    ]
    results = [getattr(home, name) for home, name in named]
    return {dotted(thing): thing for thing in results if callable(thing)}


def functions_of(cls):
    """Yield the names and functions of what a class itself defines in its source."""
    for name, member in vars(cls).items():
        for behind in ("fget", "func", "fn", "__func__"):
            member = getattr(member, behind, member)
        function = inspect.unwrap(member) if callable(member) else None
        if (
            inspect.isfunction(function)
            and Path(function.__code__.co_filename).exists()
        ):
            yield name, function


OBJECTS = public_objects()
CLASSES = [thing for thing in OBJECTS.values() if isinstance(thing, type)]
OWNERS = {
    owner
    for cls in CLASSES
    for owner in cls.__mro__
    if owner.__module__.startswith("sk_metaembed.")
}
METHODS = {
    f"{dotted(owner)}.{name}": function
    for owner in OWNERS
    for name, function in functions_of(owner)
    if not name.startswith("_") or name in OPERATORS
}


def complaints(path):
    return [f"{path}: {code} {text}" for code, text in validate(path)["errors"]]


def test_rooms_list_their_names():
    for name in SUBPACKAGES:
        module = subpackage(name)
        assert module.__doc__
        assert list(module.__all__) == sorted(module.__all__)
        assert all(hasattr(module, name) for name in module.__all__)
    for name in set(sk_metaembed.__all__) - {"__version__"}:
        assert name in subpackage(sk_metaembed._HOMES[name]).__all__
        assert name in dir(sk_metaembed)


def test_stub_exports_the_top_level_names_once():
    """Type checkers take `import x as x` alone for a public name."""
    stub = ast.parse((ROOT / "__init__.pyi").read_text(encoding="utf-8"))
    listed = [(name, node.module) for node in stub.body[1:] for name in node.names]
    assert all(name.name == name.asname for name, _ in listed)
    homes = [(name.name, home or "") for name, home in listed]
    assert homes == list(sk_metaembed._HOMES.items())
    subpackages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert {name for name in subpackages if name[0] != "_"} == set(
        sk_metaembed._SUBPACKAGES
    )


@pytest.mark.parametrize("name", SUBPACKAGES)
def test_classes_and_functions_are_documented_with_examples(name):
    module = subpackage(name)
    things = [getattr(module, name) for name in module.__all__]
    paths = [dotted(thing) for thing in things if callable(thing)]
    assert [text for path in paths for text in complaints(path)] == []


def test_methods_are_documented_and_leave_examples_to_their_class():
    for_classes = re.compile(r".*: (ES01|EX01|SA01) ")
    public = {p: f for p, f in METHODS.items() if f.__name__ not in OPERATORS}
    found = [text for path in public for text in complaints(path)]
    assert [text for text in found if not for_classes.match(text)] == []
    # Doctests of classes are collected from the subpackage, which misses their methods.
    assert [path for path, f in public.items() if ">>>" in inspect.getdoc(f)] == []


def test_properties_are_documented_in_few_lines():
    for cls in OWNERS:
        for name, member in vars(cls).items():
            if isinstance(member, property) and not name.startswith("_"):
                lines = inspect.getdoc(member).splitlines()
                assert len(lines) <= PROPERTY_LINES, f"{dotted(cls)}.{name}"


def gaps(function):
    """Return the parameters without an annotation or with a bare generic in it."""
    signature = inspect.signature(function)
    annotations = {p.name: p.annotation for p in signature.parameters.values()}
    annotations["return"] = signature.return_annotation
    own = ("self", "cls")
    return [n for n, each in annotations.items() if n not in own and not is_typed(each)]


def is_typed(annotation):
    if not isinstance(annotation, str):  # missing, or evaluated at run time
        return False
    nodes = list(ast.walk(ast.parse(annotation, mode="eval")))
    filled = {id(node.value) for node in nodes if isinstance(node, ast.Subscript)}
    names = [node for node in nodes if isinstance(node, ast.Name)]
    return not any(node.id in GENERIC and id(node) not in filled for node in names)


def test_public_functions_are_annotated():
    """mypy checks that the annotations agree with the code; see `make lint`."""
    functions = {p: f for p, f in OBJECTS.items() if not isinstance(f, type)} | METHODS
    assert {path: gaps(f) for path, f in functions.items() if gaps(f)} == {}


def parts(kind):
    """Return the members of a union, or the type itself."""
    is_union = typing.get_origin(kind) in (typing.Union, types.UnionType)
    return typing.get_args(kind) if is_union else [kind]


def choices(annotation, module):
    """Return the strings of the Literals in an annotation, a union of types."""
    node = ast.parse(annotation, mode="eval").body if isinstance(annotation, str) else 0
    found, nodes = set(), [node]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.BinOp):
            nodes += [node.left, node.right]
        elif isinstance(node, ast.Name):  # perhaps an alias
            kinds = parts(getattr(module, node.id, None))
            kinds = [
                kind for kind in kinds if typing.get_origin(kind) is typing.Literal
            ]
            found = found.union(*map(typing.get_args, kinds))
        elif isinstance(node, ast.Subscript) and node.value.id == "Literal":
            found |= {each.value for each in getattr(node.slice, "elts", [node.slice])}
    return {word for word in found if isinstance(word, str)}


def options(constraint):
    """Return the strings that a constraint allows, none if it allows any str."""
    given = constraint if isinstance(constraint, list) else [constraint]
    if str in given:
        return set()
    listed = [each.options for each in given if isinstance(each, StrOptions)]
    return set().union(*listed)


def mismatches(cls):
    """Return the parameters whose Literals differ from the constraint's strings."""
    parameters = inspect.signature(cls).parameters
    module = inspect.getmodule(cls.__init__)
    return [
        f"{cls.__name__}.{name}"
        for name, constraint in cls._parameter_constraints.items()
        if name in parameters  # a base class has none of its own
        and choices(parameters[name].annotation, module) != options(constraint)
    ]


def test_literals_match_the_parameter_constraints():
    estimators = [cls for cls in CLASSES if hasattr(cls, "_parameter_constraints")]
    assert len(estimators) > 20
    assert [gap for cls in estimators for gap in mismatches(cls)] == []


def test_sample_returns_the_types_it_asserts(monkeypatch):
    seen = []

    def assert_type(value, expected):
        seen.append(expected)
        # NumPy 2.5 has aliases of types.
        kinds = [getattr(part, "__value__", part) for part in parts(expected)]
        kinds = tuple(typing.get_origin(kind) or kind for kind in kinds)
        assert isinstance(value, kinds)
        return value

    monkeypatch.setattr(typing, "assert_type", assert_type)
    runpy.run_path(str(Path(__file__).with_name("typing_sample.py")))
    assert seen
