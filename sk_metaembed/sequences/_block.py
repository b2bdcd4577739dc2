"""Block: the vectors of one source, per type, token or sequence."""

from __future__ import annotations

from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._core._arrays import Immutable, chunks, immutable, infinite_rows, read_only
from .._io._temp_memmap import is_temp_memmap

LEVELS = ("sequence", "type", "token")


Level: TypeAlias = Literal["sequence", "type", "token"]


class Block(Immutable):
    """The vectors of one source, at one level.

    A block is immutable, so blocks of other rows, names and levels can share its array
    of values. An `EmbeddedSequences` holds several of them, one per source.

    Parameters
    ----------
    name : str
        The source, or the layer of a source.
    values : array-like of shape (n_rows, dim)
        Finite float32 or float16; other numbers are converted to float32. Unknown rows
        may hold anything, including NaN, and become zeros. They are copied, unless
        their memory is read-only, as in a file mapped with ``mmap_mode="r"``.
    level : {"type", "token", "sequence"}
        What each row represents: a distinct token, one occurrence of it, or a whole
        sequence.
    known : array-like of bool, shape (n_rows,), default=None
        Which rows have a vector. None means all. No step combines, pools, attends to or
        learns from unknown rows.
    copy : bool, default=True
        Whether to copy the arrays. False is for arrays that the caller will not use
        again.

    Attributes
    ----------
    name, level : str
    values : ndarray of shape (n_rows, dim)
        Zeros in unknown rows.
    known : ndarray of bool, shape (n_rows,)
    dim, n_rows : int
    known_share : float
        Share of rows that are known, 1.0 for no rows.

    Raises
    ------
    TypeError
        If the values are not real numbers.
    ValueError
        If the level is unknown, shapes disagree, or known rows are not finite.

    See Also
    --------
    EmbeddedSequences : Blocks and the tokens that they belong to.
    PretrainedEmbedding : A source that returns such a block.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_metaembed import Block
    >>> block = Block("glove", np.eye(3), "type", known=[True, True, False])
    >>> block
    Block('glove', level='type', shape=(3, 3), known=66.7%)
    >>> block.values[2].tolist(), round(block.known_share, 2)
    ([0.0, 0.0, 0.0], 0.67)

    Word vectors become token vectors by the codes of the tokens:

    >>> block.take([1, 0, 1, 1], level="token").rename("copy")
    Block('copy', level='token', shape=(4, 3), known=100.0%)
    """

    name: str
    level: Level
    known: NDArray[np.bool_]
    # A table, and the index of each row of `values` in the table (-1 for zeros) or None
    # if `values` is the table. If blocks share a table, steps compute once per row of
    # the table.
    _table_rows: tuple[NDArray[Any], NDArray[Any] | None]

    __slots__ = ("_table_rows", "known", "level", "name")

    def __init__(
        self,
        name: str,
        values: ArrayLike,
        level: Level,
        known: ArrayLike | None = None,
        *,
        copy: bool = True,
    ) -> None:
        floats = _as_floats(name, values, immutable if copy else np.asarray)
        if known is None:
            mask = np.ones(len(floats), bool)
        else:
            mask = np.array(known, bool) if copy else np.asarray(known, bool)
        _check_shapes(name, floats, level, mask)
        unknown = np.flatnonzero(~mask)
        if any(floats[unknown[part]].any() for part in chunks(len(unknown))):
            floats = np.array(floats)  # rarely needed
            floats[unknown] = 0
        bad = infinite_rows(floats)
        if len(bad):
            raise ValueError(
                f"Block {name!r}: values must be finite, but {len(bad)} rows hold NaN "
                f"or infinity, the first is row {bad[0]}. Replace them, or mark the "
                "rows as unknown (known=False)."
            )
        table_rows = read_only(floats), None
        self._assign(name=name, level=level, known=mask, _table_rows=table_rows)

    @classmethod
    def _of_table(cls, name, table, level, known, rows=None):
        """Build a block from checked arrays: a table of values, or `rows` of the table.

        Rows of a table are gathered when `values` is read. Row -1 is unknown, zeros.
        """
        self = cls.__new__(cls)
        rows = None if rows is None else read_only(rows)
        table_rows = read_only(table), rows
        self._assign(name=name, level=level, known=known, _table_rows=table_rows)
        return self

    def __reduce__(self):
        # A copy: a read-only view would be pickled together with its writable base.
        # A memory map is left to the pickler: joblib's passes the file by name.
        values = self.values
        return type(self)._of_table, (
            self.name,
            values if is_temp_memmap(values) else np.array(values),
            self.level,
            np.array(self.known),
        )

    @property
    def values(self) -> NDArray[Any]:
        """The vectors, read-only, of shape (n_rows, dim); unknown rows are zeros."""
        values, rows = self._table_rows
        if rows is not None:
            values = read_only(_gathered(values, rows))
            # One assignment, so that other threads see both values change together.
            self._assign(_table_rows=(values, None))
        return values

    @property
    def dim(self) -> int:
        """Number of dimensions of the vectors."""
        return self._table_rows[0].shape[1]

    @property
    def n_rows(self) -> int:
        """Number of vectors."""
        return len(self.known)

    @property
    def known_share(self) -> float:
        """Share of rows that are known, 1.0 for a block without rows."""
        return float(self.known.mean()) if len(self.known) else 1.0

    def take(self, rows: Any, level: Level | None = None) -> Self:
        """Return the block of the given rows, possibly at another level.

        Parameters
        ----------
        rows : slice, mask or index array
            Rows of `values`.
        level : {"type", "token", "sequence"}, default=None
            The level of the result. None keeps the level.

        Returns
        -------
        Block
            Has the same name.
        """
        level = level or self.level
        table, own_rows = self._table_rows
        if own_rows is None and not isinstance(rows, slice) and is_temp_memmap(table):
            # Unknown rows of a memory map are zeros, like row -1 of a table.
            own_rows = np.where(self.known, np.arange(len(table)), -1)
        if own_rows is not None:
            own_rows = own_rows[rows]
            return self._of_table(self.name, table, level, own_rows >= 0, own_rows)
        return self._of_table(self.name, table[rows], level, self.known[rows])

    def _at(self, positions):
        """Return the values of some rows, without gathering the others."""
        table, rows = self._table_rows
        return table[positions] if rows is None else _gathered(table, rows[positions])

    def rename(self, name: str) -> Block:
        """Return a block of the same vectors with another name.

        Parameters
        ----------
        name : str
            The new name.

        Returns
        -------
        Block
            Shares its arrays with this one.
        """
        table, rows = self._table_rows
        return self._of_table(name, table, self.level, self.known, rows)

    def __eq__(self, other):
        if not isinstance(other, Block):
            return NotImplemented
        return (
            (self.name, self.level) == (other.name, other.level)
            and np.array_equal(self.values, other.values)
            and np.array_equal(self.known, other.known)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shape = self.n_rows, self.dim
        return (
            f"Block({self.name!r}, level={self.level!r}, shape={shape}, "
            f"known={self.known_share:.1%})"
        )


def _gathered(table, rows):
    """Return rows of a table, with zeros for row -1."""
    if not len(table):
        return np.zeros((len(rows), *table.shape[1:]), table.dtype)
    # "clip" is several times faster than the default on a mapped table.
    values = np.take(table, rows, axis=0, mode="clip")
    values[rows < 0] = 0
    return values


def _as_floats(name, values, take):
    try:
        values = np.asarray(np.ma.filled(values, np.nan))
        if values.dtype in (np.float32, np.float16):
            return take(values)
        if values.dtype.kind in "fiubO":
            with np.errstate(over="ignore"):  # refused later, as infinity
                return values.astype(np.float32)
        problem = f"got dtype {values.dtype}"
    except (TypeError, ValueError) as error:
        problem = str(error)
    raise TypeError(
        f"Block {name!r}: values must be real numbers of shape (n_rows, dim): "
        f"{problem}."
    )


def _check_shapes(name, values, level, known):
    if not isinstance(name, str):
        raise TypeError(f"A block's name must be a str, got {type(name).__name__}.")
    if level not in LEVELS:
        raise ValueError(
            f"Block {name!r}: level must be one of {LEVELS}, got {level!r}."
        )
    if values.ndim != 2:
        raise ValueError(
            f"Block {name!r}: values must have shape (n_rows, dim), got {values.shape}."
        )
    if known.shape != (len(values),):
        raise ValueError(
            f"Block {name!r}: known must have one entry per row ({len(values)}), "
            f"got shape {known.shape}."
        )


# Builds a block from checked arrays that the caller will not use again.
block_of_table = Block._of_table
