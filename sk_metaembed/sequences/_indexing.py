"""Rows: indexing of containers with one row per sequence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Integral
from typing import TYPE_CHECKING, Any, Generic, Self, SupportsIndex, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from .._core._arrays import Immutable

_Row = TypeVar("_Row")


class Rows(Immutable, Generic[_Row]):
    """Base class of containers with one row per sequence.

    Subclasses have ``_row(i)``, and ``_take(rows)`` for an array of row numbers.
    """

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    if TYPE_CHECKING:
        _row: Callable[[int], _Row]
        _take: Callable[[NDArray[Any]], Self]

        def __len__(self) -> int: ...

    @property
    def shape(self) -> tuple[int]:
        """``(n_rows,)``, which scikit-learn's splitters read."""
        return (len(self),)

    def __iter__(self) -> Iterator[_Row]:
        return map(self._row, range(len(self)))

    @overload
    def __getitem__(self, key: SupportsIndex) -> _Row: ...

    @overload
    def __getitem__(self, key: Any) -> Self: ...

    def __getitem__(self, key: Any) -> _Row | Self:
        # scikit-learn also indexes with ``X[key, ...]``.
        n_rows = len(self)
        if isinstance(key, Integral) and not isinstance(key, bool):
            i = int(key)
            if not -n_rows <= i < n_rows:
                raise IndexError(f"Row {i} is out of range for {n_rows} sequences.")
            return self._row(i % n_rows)
        rows = np.arange(n_rows)[key]
        if rows.ndim > 1:
            raise IndexError(
                f"Sequences have one axis, but the index {key!r} gives {rows.ndim}. "
                "Use an int, a slice, a mask or an array of row numbers."
            )
        return self._take(rows) if rows.ndim else self._row(int(rows))
