"""Training reads a plan: nothing in it knows the private parts of an estimator."""

import ast
from pathlib import Path

import pytest

from sk_metaembed import dynamic

ROOM = Path(dynamic.__file__).parent
ESTIMATORS = ("_base", "_embedding", "_predictors", "_tagger")


def is_private(name):
    return name.startswith("_") and not name.endswith("__")


def private_parts():
    """Return the private attributes and methods of the Dynamic* estimators."""
    names = set()
    for file in ESTIMATORS:
        tree = ast.parse((ROOM / f"{file}.py").read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                names |= {f.name for f in node.body if isinstance(f, ast.FunctionDef)}
            elif isinstance(node, ast.Attribute) and is_self(node.value):
                names.add(node.attr)
    return set(filter(is_private, names))


def is_self(node):
    return isinstance(node, ast.Name) and node.id == "self"


def reaches(source, names):
    """Return the names that a module takes from an object other than self."""
    result = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and not is_self(node.value):
            result.add(node.attr)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in (
            "getattr",
            "setattr",
            "hasattr",
        ):
            name = node.args[1]
            result.add(name.value if isinstance(name, ast.Constant) else None)
    return result & names


@pytest.mark.parametrize(
    "path",
    sorted([*ROOM.glob("training/*.py"), *ROOM.glob("nets/*.py")]),
    ids=lambda path: path.stem,
)
def test_training_reads_no_private_part_of_an_estimator(path):
    assert reaches(path.read_text(encoding="utf-8"), private_parts()) == set()


@pytest.mark.parametrize(
    ("planted", "expected"),
    [
        ("def train(estimator):\n    return estimator._target", {"_target"}),
        ("def train(estimator):\n    estimator._torch_parts()", {"_torch_parts"}),
        ("def train(estimator):\n    estimator._random = 1", {"_random"}),
        ("getattr(estimator, '_trained', None)", {"_trained"}),
        ("class Data:\n    def f(self):\n        return self._target", set()),
        ("def train(estimator):\n    return estimator.lr", set()),
    ],
)
def test_planted_reach_is_caught(planted, expected):
    assert reaches(planted, private_parts()) == expected
