"""Docstrings of classes whose parameters a base class documents."""

import inspect
import re
from collections.abc import Callable
from itertools import chain
from typing import TypeVar

_Class = TypeVar("_Class", bound=type)
_SECTION = re.compile(r"^([A-Z][A-Za-z ]+)\n-+\n", flags=re.MULTILINE)
_ENTRY = re.compile(r"^(?=\w)", flags=re.MULTILINE)


def inherit_docs(*bases: type) -> Callable[[_Class], _Class]:
    """Return a decorator that adds what a base class documents to a docstring.

    A class documents only the parameters and attributes that the base class does not,
    or that differ. They are in the order of the signature, with its defaults.
    """

    def decorate(cls):
        if cls.__doc__ is None:  # with ``python -OO``
            return cls
        summary, own = _sections(cls)
        sections = [*(_sections(base)[1] for base in bases), own]
        entries = {
            name: dict(chain(*(_entries(s.pop(name, "")).items() for s in sections)))
            for name in ("Parameters", "Attributes")
        }
        entries["Parameters"] = {
            name: _with_default(entries["Parameters"][name], parameter.default)
            for name, parameter in inspect.signature(cls).parameters.items()
        }
        texts = {
            name: "\n".join(each.values()) for name, each in entries.items() if each
        }
        sections = [f"{n}\n{'-' * len(n)}\n{text}" for n, text in (texts | own).items()]
        cls.__doc__ = "\n\n".join([summary, *sections]) + "\n"
        return cls

    return decorate


def _sections(cls):
    """Return the text before the sections, and the text of each by name."""
    summary, *parts = _SECTION.split(inspect.cleandoc(cls.__doc__))
    texts = [part.rstrip() for part in parts[1::2]]
    return summary.rstrip(), dict(zip(parts[::2], texts, strict=True))


def _entries(text):
    """Return the text of each parameter or attribute of a section by its name."""
    entries = [entry.rstrip() for entry in _ENTRY.split(text) if entry]
    return {entry.split()[0]: entry for entry in entries}


def _with_default(entry, default):
    """Return the text of a parameter with the default of the signature."""
    head, line, text = entry.partition("\n")
    shown = f'"{default}"' if isinstance(default, str) else repr(default)
    return re.sub(", default=.*", f", default={shown}", head) + line + text
