"""Meta-embeddings as scikit-learn steps.

Public names are loaded on first use, so importing the package is fast and does not
import torch, gensim or transformers.
"""

from importlib import import_module

from ._version import __version__


def _read_stub():
    """Return the room of each public name, and the rooms, from the type stub.

    Importing a parser would take longer than everything else here.
    """
    home, rooms = {}, []
    with open(f"{__path__[0]}/__init__.pyi", encoding="utf-8") as file:
        statements = file.read().split("\nfrom .")[1:]
    for statement in statements:
        room, _, names = statement.partition(" import ")
        end = ")" if names.startswith("(") else "\n"
        names = names.strip("(").partition(end)[0].split(",")
        names = [name.split(" as ")[0].strip() for name in names if name.strip()]
        if not room:
            rooms += names
        elif room != "_version":
            home |= dict.fromkeys(names, room)
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
