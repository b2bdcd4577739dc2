"""Name objects by their room, not by the private file they are written in.

Pickles, saved files and tracebacks name a class by its ``__module__``. With the room
there, a class may move from one private file to another and old files still load.
"""


def set_public_module(namespace, *private):
    """Set ``__module__`` of what a room exports to the name of the room.

    Parameters
    ----------
    namespace : dict
        The ``globals()`` of the room's ``__init__``.
    *private : classes and functions
        What saved files contain and ``__all__`` does not.
    """
    for thing in (*map(namespace.get, namespace["__all__"]), *private):
        if hasattr(thing, "__module__"):
            thing.__module__ = namespace["__name__"]
