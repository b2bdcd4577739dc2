"""Name objects by their room, not by the private file that defines them.

Pickles, saved files and tracebacks name a class by its ``__module__``. If this is the
room, a class can move to another private file and old files can still be loaded.
"""


def set_public_module(namespace, *private):
    """Set ``__module__`` of a room's public objects to the room.

    `namespace` is the ``globals()`` of the room's ``__init__``; `private` are objects
    that saved files contain and ``__all__`` does not. `load` trusts these classes: an
    instance must be created by setting attributes, or be a named tuple.
    """
    for thing in (*map(namespace.get, namespace["__all__"]), *private):
        if hasattr(thing, "__module__"):
            thing.__module__ = namespace["__name__"]
        if "__firstlineno__" in getattr(thing, "__dict__", ()):
            del thing.__firstlineno__  # inspect would read that line of the room's file
