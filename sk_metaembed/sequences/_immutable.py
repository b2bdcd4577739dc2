"""Objects whose attributes are set once, when they are built, and rows of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

_Row = TypeVar("_Row")


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


class Rows(Immutable, Generic[_Row]):
    """Base of containers with a row per sequence, which an int indexes."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    if TYPE_CHECKING:

        def __len__(self) -> int: ...

        def __getitem__(self, key: int) -> _Row: ...

    @property
    def shape(self) -> tuple[int]:
        """``(n_rows,)``, which scikit-learn's splitters read."""
        return (len(self),)

    def __iter__(self) -> Iterator[_Row]:
        for i in range(len(self)):
            yield self[i]
