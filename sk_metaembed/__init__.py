"""Meta-embeddings as scikit-learn steps.

Public names are loaded on first use, so importing the package is fast and does not
import torch, gensim or transformers.
"""

import ast
from importlib import import_module

from ._version import __version__


def _read_stub():
    """Return the room of each public name, and the rooms, from the type stub."""
    home, rooms = {}, []
    with open(f"{__path__[0]}/__init__.pyi", encoding="utf-8") as file:
        stub = ast.parse(file.read())
    for node in stub.body:
        if isinstance(node, ast.ImportFrom):
            names = [alias.name for alias in node.names]
            if node.module is None:
                rooms += names
            elif node.module != "_version":
                home |= dict.fromkeys(names, node.module)
    return home, rooms


_HOME, _ROOMS = _read_stub()

__all__ = ["__version__", *sorted(_HOME)]


def __getattr__(name):
    if name in _HOME:
        value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    elif name in _ROOMS:
        value = import_module(f".{name}", __name__)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *__all__, *_ROOMS})
