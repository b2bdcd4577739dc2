"""Block: the vectors that one source gives to types, tokens or sequences."""

import numpy as np

from .._core._arrays import chunks
from .._io._temp_memmap import is_temp_memmap
from ._token_sequences import _read_only

LEVELS = ("sequence", "type", "token")


class Block:
    """The vectors that one source gives, at one level.

    A block cannot be changed, so that rows, names and levels can share one array of
    values. Combining steps take several of them, side by side in an
    `EmbeddedSequences`.

    Parameters
    ----------
    name : str
        The source, or the layer of a source.
    values : array-like of shape (n_rows, dim)
        Finite float32 or float16; float64 is converted to float32. Rows that are not
        known may hold anything, NaN too: they become zeros.
    level : {"type", "token", "sequence"}
        What a row stands for: a distinct token, one occurrence, or a whole sequence.
    known : array-like of bool, shape (n_rows,), default=None
        Which rows have a vector. None means all. Rows that are not known are left out
        by every step: they are not combined, pooled, attended to or learned from.

    Attributes
    ----------
    name, level : str
    values : ndarray of shape (n_rows, dim)
        Zeros in the rows that are not known.
    known : ndarray of bool, shape (n_rows,)
    dim, n_rows : int
    known_share : float
        Share of rows that are known, 1.0 for no rows.

    Raises
    ------
    TypeError
        If values are no real numbers.
    ValueError
        For a wrong level, shapes that disagree, or known rows that are not finite.

    See Also
    --------
    EmbeddedSequences : Blocks together with the tokens that they belong to.
    PretrainedEmbedding : A source that gives such a block.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_metaembed import Block
    >>> Block("glove", np.ones((3, 2)), "type", known=[True, True, False])
    Block('glove', level='type', shape=(3, 2), known=66.7%)
    """

    __slots__ = ("_source", "known", "level", "name")

    def __init__(self, name, values, level, known=None):
        values = _as_floats(name, values)
        known = (
            np.ones(len(values), dtype=bool)
            if known is None
            else np.asarray(known, dtype=bool)
        )
        _check_shapes(name, values, level, known)
        values = _known_values(values, known)
        _check_finite(name, values)
        self._set(name, values, level, known)

    def _set(self, name, values, level, known, rows=None):
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "_source", (_read_only(values), rows))
        object.__setattr__(self, "level", level)
        object.__setattr__(self, "known", _read_only(known))

    @classmethod
    def _trusted(cls, name, values, level, known):
        """Build without looking through the values again."""
        self = cls.__new__(cls)
        self._set(name, values, level, known)
        return self

    @classmethod
    def _of_table(cls, name, table, rows, level):
        """Build on rows of a table, gathered only if `values` is asked for.

        The table is read-only and finite, float32 or float16. A row -1 stands for
        what is not known: zeros.
        """
        self = cls.__new__(cls)
        self._set(name, table, level, rows >= 0, _read_only(rows))
        return self

    def __setattr__(self, name, value):
        raise AttributeError(f"Block is immutable: cannot set {name!r}.")

    def __delattr__(self, name):
        raise AttributeError(f"Block is immutable: cannot delete {name!r}.")

    def __reduce__(self):
        # ``np.array`` rather than the view, so that no writable base travels along.
        # What was spilled is left to the pickler: joblib's passes the file by name.
        values = self.values
        return type(self)._trusted, (
            self.name,
            values if is_temp_memmap(values) else np.array(values),
            self.level,
            np.array(self.known),
        )

    @property
    def values(self):
        """The vectors, of shape (n_rows, dim).

        Rows that are not known are zeros. A block of rows of a larger table, such as a
        mapped file, gathers them here when they are first asked for, and keeps them.
        The array is read-only.
        """
        values, rows = self._source
        if rows is not None:
            # "clip" is several times faster than the default on a mapped table.
            values = np.take(values, rows, axis=0, mode="clip")
            values[rows < 0] = 0
            values = _read_only(values)
            # One assignment, so that another thread sees both or neither.
            object.__setattr__(self, "_source", (values, None))
        return values

    def indexed(self):
        """Return a table and rows of it that make `values`, without gathering them.

        For steps that compute something for each row of a table once, and then look it
        up: where many blocks point into one large table, nothing is copied.

        Returns
        -------
        table : ndarray of shape (n_table_rows, dim)
            Distinct vectors, or simply `values`.
        rows : ndarray of int, shape (n_rows,), or None
            -1 stands for zeros. None if the table is `values` as it is.
        """
        return self._source

    @property
    def dim(self):
        """Length of one vector.

        It is at hand without gathering the values.
        """
        return self._source[0].shape[1]

    @property
    def n_rows(self):
        """Number of vectors.

        What a row stands for is said by the level: so this is the number of types, of
        tokens or of sequences.
        """
        return len(self.known)

    @property
    def known_share(self):
        """Share of rows that are known, between 0 and 1.

        Rows count alike, however often a word occurs; a source's `coverage_` also
        weighs words by their occurrences. A block without rows has the share 1.
        """
        return float(self.known.mean()) if len(self.known) else 1.0

    def take(self, rows, level=None):
        """Return the block of the given rows, perhaps at another level.

        A type-level block taken by the codes of tokens becomes a token-level one: that
        is how vectors of words come to every occurrence.

        Parameters
        ----------
        rows : slice, mask or index array
            Rows of `values`.
        level : {"type", "token", "sequence"}, default=None
            What the rows taken stand for, the same as before by default.

        Returns
        -------
        Block
            Of the same name.
        """
        level = level or self.level
        table, own_rows = self._source
        if own_rows is None and not isinstance(rows, slice) and is_temp_memmap(table):
            # What spills is zero where it is not known, as rows of a table are.
            own_rows = np.where(self.known, np.arange(len(table)), -1)
        if own_rows is not None:
            return self._of_table(self.name, table, own_rows[rows], level)
        return self._trusted(self.name, table[rows], level, self.known[rows])

    def _at(self, positions):
        """Return the values of some rows, without gathering the others."""
        table, rows = self._source
        if rows is None:
            return table[positions]
        rows = rows[positions]
        values = np.take(table, rows, axis=0, mode="clip")
        values[rows < 0] = 0
        return values

    def rename(self, name):
        """Return the same vectors under another name.

        Names must differ within one `EmbeddedSequences`; `EmbeddingUnion` puts the
        names of its sources on their blocks in this way.

        Parameters
        ----------
        name : str
            The new name.

        Returns
        -------
        Block
            Shares its arrays with this one.
        """
        renamed = type(self).__new__(type(self))
        table, rows = self._source
        renamed._set(name, table, self.level, self.known, rows)
        return renamed

    def __eq__(self, other):
        if not isinstance(other, Block):
            return NotImplemented
        return (
            (self.name, self.level) == (other.name, other.level)
            and np.array_equal(self.values, other.values)
            and np.array_equal(self.known, other.known)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self):
        shape = self.n_rows, self.dim
        return (
            f"Block({self.name!r}, level={self.level!r}, shape={shape}, "
            f"known={self.known_share:.1%})"
        )


def _as_floats(name, values):
    try:
        values = np.asarray(values)
        if values.dtype in (np.float32, np.float16):
            return values
        if values.dtype.kind in "fiubO":
            with np.errstate(over="ignore"):  # told later, as infinity
                return values.astype(np.float32)
        came = f"dtype {values.dtype}"
    except (TypeError, ValueError) as error:
        came = str(error)
    raise TypeError(
        f"Block {name!r}: values must be real numbers of shape (n_rows, dim): {came}."
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
            f"Block {name!r}: known must have one entry a row ({len(values)}), "
            f"got shape {known.shape}."
        )


def _known_values(values, known):
    """Return the values with zeros in the rows that are not known."""
    unknown = np.flatnonzero(~known)
    if any(values[unknown[part]].any() for part in chunks(len(unknown))):
        values = np.array(values)  # only here: most values are zeros there already
        values[unknown] = 0
    return values


def _check_finite(name, values):
    # A sum is finite unless some entry is not (or it overflows, then look again).
    if not np.isfinite(values.sum(dtype=np.float64)):
        bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
        if len(bad):
            raise ValueError(
                f"Block {name!r}: values must be finite, but {len(bad)} rows hold NaN "
                f"or infinity, the first is row {bad[0]}. Replace them, or mark the "
                "rows as unknown (known=False)."
            )
