"""Every public name is there, documented in full, and in a file of readable size."""

import ast
import inspect
from importlib import import_module
from pathlib import Path

import pytest
from numpydoc.validate import validate

import sk_metaembed

ROOT = Path(sk_metaembed.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
ROOMS = [
    "adapters",
    "datasets",
    "dynamic",
    "elmo",
    "inspection",
    "meta",
    "metrics",
    "persistence",
    "pooling",
    "scale",
    "sequences",
    "sources",
    "utils.estimator_checks",
    "vectors",
]


# Of a property's docstring: what it is, its shape and unit.
PROPERTY_LINES = 5


def room(name):
    return import_module(f"sk_metaembed.{name}")


def public_objects():
    """Return the public classes and functions, each once, by the path of its home."""
    named = [(sk_metaembed, name) for name in sk_metaembed.__all__]
    named += [(room(r), name) for r in ROOMS for name in room(r).__all__]
    results = [getattr(home, name) for home, name in named]
    return {
        f"{thing.__module__}.{thing.__qualname__}": thing
        for thing in results
        if callable(thing)
    }


def methods(cls):
    """Yield the names of a class's public methods that are written here."""
    for name, member in vars(cls).items():
        written = inspect.isfunction(member) or isinstance(
            member, property | classmethod | staticmethod
        )
        if written and not name.startswith("_"):
            yield name


OBJECTS = public_objects()
METHODS = {
    f"{owner.__module__}.{owner.__qualname__}.{name}": vars(owner)[name]
    for cls in OBJECTS.values()
    if isinstance(cls, type)
    for owner in cls.__mro__
    if owner.__module__.startswith("sk_metaembed.")
    for name in methods(owner)
}


def complaints(path):
    return [f"{code}: {text}" for code, text in validate(path)["errors"]]


@pytest.mark.parametrize("name", sk_metaembed.__all__)
def test_public_name_is_there(name):
    assert getattr(sk_metaembed, name) is not None
    assert name in dir(sk_metaembed)


@pytest.mark.parametrize("path", sorted(OBJECTS))
def test_class_or_function_is_documented_with_examples(path):
    assert complaints(path) == []


@pytest.mark.parametrize("path", sorted(METHODS))
def test_method_is_documented(path):
    for_classes = ("ES01", "EX01", "SA01")
    assert [c for c in complaints(path) if not c.startswith(for_classes)] == []


@pytest.mark.parametrize("path", sorted(METHODS))
def test_method_leaves_examples_to_its_class(path):
    # Doctests of classes are collected from the room, which misses their methods.
    docstring = inspect.getdoc(METHODS[path])
    assert ">>>" not in docstring
    if isinstance(METHODS[path], property):
        assert len(docstring.splitlines()) <= PROPERTY_LINES


@pytest.mark.parametrize("name", ROOMS)
def test_room_lists_its_names(name):
    module = room(name)
    assert module.__doc__
    assert list(module.__all__) == sorted(module.__all__)
    assert all(hasattr(module, name) for name in module.__all__)


def test_top_level_names_are_those_of_the_rooms():
    for name, home in sk_metaembed._HOME.items():
        assert name in room(home).__all__


# Files of several public classes with one idea.
SHARED = {"_errors", "_mixins", "_predictors", "_stacked"}


def is_named_after(stem, name):
    """Return whether the words of a file's name are words of a class's name."""
    return all(word in name.lower() for word in stem.strip("_").split("_"))


def classes_by_file():
    """Return the file of each class of the package."""
    return {
        node.name: path
        for path in FILES
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    }


def test_public_classes_are_in_files_named_after_them():
    files = classes_by_file()
    # A named tuple is defined with the function that returns it.
    stems = {
        thing.__name__: files[thing.__name__].stem
        for thing in OBJECTS.values()
        if isinstance(thing, type) and not issubclass(thing, tuple)
    }
    wrong = {
        name: stem
        for name, stem in stems.items()
        if stem not in SHARED and not is_named_after(stem, name)
    }
    assert wrong == {}
    assert not is_named_after("_stuff", "Pooling")


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_module_says_what_it_is_for(path):
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
