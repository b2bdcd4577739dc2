"""Objects whose attributes are set once, when they are built."""


class Immutable:
    """Base of containers that many users share: their attributes cannot be set."""

    __slots__ = ()

    def _assign(self, **values):
        """Set attributes, for constructors and results that are computed later."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name, value):
        delattr(self, name)

    def __delattr__(self, name):
        raise AttributeError(
            f"{type(self).__name__} is immutable: cannot change {name!r}. Build a new "
            "one."
        )
