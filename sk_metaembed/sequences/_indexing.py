"""Rows: indexing of containers with a row per sequence; and of ragged arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Self, SupportsIndex, TypeVar, overload

import numpy as np

from .._core._checked_parameters import is_integer
from .._core._immutable import Immutable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

_Row = TypeVar("_Row")

_CHUNK = 1 << 16  # bytes gathered at once


class Rows(Immutable, Generic[_Row]):
    """Base of containers with a row per sequence.

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
        if is_integer(key):
            if not -n_rows <= key < n_rows:
                raise IndexError(f"Row {key} is out of range for {n_rows} sequences.")
            return self._row(int(key) % n_rows)
        rows = np.arange(n_rows)[key]
        if rows.ndim > 1:
            raise IndexError(
                f"Sequences have one axis, but the index {key!r} gives {rows.ndim}. "
                "Use an int, a slice, a mask or an array of row numbers."
            )
        return self._take(rows) if rows.ndim else self._row(int(rows))


def span_index(offsets, rows):
    """Return the positions of some rows of a ragged array, and their new offsets."""
    lengths = np.diff(offsets)[rows]
    new_offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    shift = np.repeat(offsets[:-1][rows] - new_offsets[:-1], lengths)
    return np.arange(new_offsets[-1]) + shift, new_offsets


def gather_spans(buffer, starts, ends, separator):
    """Return the bytes of spans, each followed by a separator, and their offsets."""
    offsets = np.concatenate([[0], np.cumsum(ends - starts + 1)])
    gathered = np.empty(offsets[-1], dtype=buffer.dtype)
    # In chunks, because the position of each byte takes 8 bytes.
    marks = np.searchsorted(offsets, np.arange(0, offsets[-1], _CHUNK))
    bounds = np.unique([*marks, len(starts)]).tolist()
    for first, last in zip(bounds[:-1], bounds[1:], strict=True):
        begin, end = offsets[first], offsets[last]
        sizes = np.diff(offsets[first : last + 1])
        positions = np.repeat(starts[first:last] - offsets[first:last], sizes)
        positions += np.arange(begin, end)
        buffer.take(positions, out=gathered[begin:end], mode="clip")
    gathered[offsets[1:] - 1] = separator
    return gathered, offsets
