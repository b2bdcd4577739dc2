"""Meta-embeddings as scikit-learn steps.

Public names are loaded on first use, so importing the package is fast and does not
import torch, gensim or transformers. CONTRIBUTING.md describes the subpackages.
"""

from importlib import import_module


def _read_stub():
    """Return where each public name is, "" for subpackages, from the type stub.

    A line imports one name; to import `ast` would take longer than everything here.
    """
    # The loader also reads from a zip file; `importlib.resources` loads slowly.
    stub = __loader__.get_data(f"{__path__[0]}/__init__.pyi").decode()
    imports = [line.split() for line in stub.splitlines() if line.startswith("from ")]
    return {name: home.removeprefix(".") for _, home, _, name, *_ in imports}


_HOMES = _read_stub()
_SUBPACKAGES = [name for name, home in _HOMES.items() if not home]

__all__ = sorted(_HOMES.keys() - set(_SUBPACKAGES))


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES[name]
    value = import_module(f".{home or name}", __name__)
    if home:
        value = getattr(value, name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_HOMES})
