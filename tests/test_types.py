"""Public functions, methods and constructors have complete and correct annotations.

mypy checks that the annotations agree with the code, see `make lint`.
"""

import ast
import inspect
import runpy
import types
import typing
from pathlib import Path

import pytest
from sklearn.utils._param_validation import StrOptions

import sk_metaembed
from sk_metaembed._core import _typing

from .test_public import METHODS, OBJECTS, ROOT

OPERATORS = ("call", "contains", "enter", "exit", "getitem", "init", "iter", "len")
GENERIC = {"Callable", "Iterable", "Iterator", "Mapping", "Sequence"}
GENERIC |= {"dict", "frozenset", "list", "set", "tuple", "NDArray"}


def functions():
    """Return the public functions, methods and operators, by their dotted names."""
    results = {p: thing for p, thing in OBJECTS.items() if not isinstance(thing, type)}
    for owner in owners():
        for name, member in vars(owner).items():
            function = written(member) if is_public(name) else None
            if function is not None:
                results[f"{owner.__module__}.{owner.__qualname__}.{name}"] = function
    return dict(sorted(results.items()))


def owners():
    """Return the public classes and their bases in this package."""
    classes = [thing for thing in OBJECTS.values() if isinstance(thing, type)]
    bases = {base for cls in classes for base in cls.__mro__}
    return [base for base in bases if base.__module__.startswith("sk_metaembed.")]


def is_public(name):
    return not name.startswith("_") or name in {f"__{name}__" for name in OPERATORS}


def written(member):
    """Return the function behind a class member, None for data and generated code."""
    for behind in ("fget", "func", "fn", "__func__"):
        member = getattr(member, behind, member)
    function = inspect.unwrap(member) if callable(member) else None
    if not inspect.isfunction(function):
        return None
    return function if Path(function.__code__.co_filename).exists() else None


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


class Unknown:
    """Placeholder for a name that only type checkers import."""

    def __call__(self):
        """Make `typing` accept the placeholder as a type."""

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return self

    def __getitem__(self, items):
        return self

    def __or__(self, other):
        return typing.Union[self, other]  # noqa: UP007

    __ror__ = __or__


class Names(dict):
    def __missing__(self, name):
        return Unknown()


def parts(annotation):
    """Return the members of a union, or the type itself."""
    is_union = typing.get_origin(annotation) in (typing.Union, types.UnionType)
    return typing.get_args(annotation) if is_union else [annotation]


def choices(annotation, module):
    """Return the strings of the Literals in an annotation."""
    names = Names({**vars(typing), **vars(_typing), **vars(module)})
    value = eval(annotation, {}, names) if isinstance(annotation, str) else None
    literals = [p for p in parts(value) if typing.get_origin(p) is typing.Literal]
    words = {word for literal in literals for word in typing.get_args(literal)}
    return {word for word in words if isinstance(word, str)}


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


FUNCTIONS = functions()
ESTIMATORS = [
    cls
    for path, cls in sorted(OBJECTS.items())
    if hasattr(cls, "_parameter_constraints")
]


def test_functions_include_all_public_methods():
    assert set(METHODS) <= set(FUNCTIONS)


@pytest.mark.parametrize("path", sorted(FUNCTIONS))
def test_public_function_is_annotated(path):
    assert gaps(FUNCTIONS[path]) == []


def test_literals_match_the_parameter_constraints():
    assert [gap for cls in ESTIMATORS for gap in mismatches(cls)] == []


def test_planted_mismatch_is_caught():
    class Planted:
        _parameter_constraints = {
            "a": [StrOptions({"x", "y"}), None],
            "b": [StrOptions({"x"}), str],
            "c": [StrOptions({"x", "y"})],
            "d": [StrOptions({"x"})],
        }

        def __init__(self, a: "Literal['x', 'z'] | None", b: "str", c: "str", d): ...  # noqa: F821

    assert mismatches(Planted) == ["Planted.a", "Planted.c", "Planted.d"]


@pytest.mark.parametrize(
    ("annotation", "typed"),
    [
        ("int | None", True),
        ("list[str]", True),
        ("Mapping[str, list[int]]", True),
        ("dict", False),
        ("tuple[list, int]", False),
        ("dict[str, Callable]", False),
        ("Iterable | None", False),
    ],
)
def test_planted_bare_generic_is_caught(annotation, typed):
    assert is_typed(annotation) is typed


def test_planted_gap_is_caught():
    def planted(self, a: "int", b, *args: int, c: "list" = (), **kwargs): ...

    assert gaps(planted) == ["b", "args", "c", "kwargs", "return"]


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        ("Literal['a', 'b'] | int | None", {"a", "b"}),
        ("ArrayLike | Literal['a'] | Literal['b', 3]", {"a", "b"}),
        ("Literal['a'] | Callable[[str], npt.NDArray[np.float32]]", {"a"}),
        ("str | None", set()),
    ],
)
def test_choices_are_read_from_an_annotation(annotation, words):
    assert choices(annotation, ast) == words


def test_stub_lists_the_top_level_names():
    """Every room has an import in the stub, and `__all__` names what is imported."""
    stub = ast.parse((ROOT / "__init__.pyi").read_text(encoding="utf-8"))
    (listed,) = [node.value for node in stub.body if isinstance(node, ast.Assign)]
    assert ast.literal_eval(listed) == sk_metaembed.__all__
    rooms = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert {name for name in rooms if name[0] != "_"} == set(sk_metaembed._ROOMS)
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    home = {alias.name: node.module for node in imports for alias in node.names}
    rooms = dict.fromkeys(sk_metaembed._ROOMS)
    assert home == {"__version__": "_version", **sk_metaembed._HOME, **rooms}


def test_sample_returns_the_types_it_asserts(monkeypatch):
    seen = []

    def assert_type(value, expected):
        seen.append(expected)
        kinds = tuple(typing.get_origin(part) or part for part in parts(expected))
        assert isinstance(value, kinds)
        return value

    monkeypatch.setattr(typing, "assert_type", assert_type)
    runpy.run_path(str(Path(__file__).with_name("typing_sample.py")))
    assert seen
