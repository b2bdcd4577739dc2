"""Batch: some rows of a source, and where the next ones begin.

Source of rows of any iterable: lists, containers, generators.

Missing rows (None, NaN, null), and whether a pipeline accepts them.
"""

import zlib
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from ..sequences._row_errors import is_missing


def accepts_missing(estimator):
    """Return whether an estimator or a step of it has ``missing="empty"``.

    Parameters
    ----------
    estimator : estimator

    Returns
    -------
    bool
        False if no step has such a parameter; other steps that accept missing rows
        are not recognized.
    """
    params = estimator.get_params() if hasattr(estimator, "get_params") else {}
    for name, value in params.items():
        if name.rpartition("__")[2] == "missing" and isinstance(value, str):
            if value == "empty":
                return True
        # FrozenEstimator does not list the parameters of the estimator in it.
        elif not isinstance(value, type) and accepts_missing(value):
            return True
    return False


ALLOWED = (
    'Every row must be a text (str) or a list of str; replace missing ones by "", or '
    'set missing="empty" in the step of the pipeline that reads the rows'
)


class Batch(NamedTuple):
    """Rows that go through the pipeline together.

    Parameters
    ----------
    start : int
        Number of the first row, from 0 over the whole source.
    rows : list, TokenSequences or DataFrame
        What the pipeline gets.
    kept : dict of str to sequence, or pyarrow Table, or None
        Columns that are carried along.
    cursor : dict
        Where the rows behind these begin, as JSON has it.
    where : str
        The place in the source, for messages.
    digest : int, default=None
        Of rows that no file stands for.
    """

    start: int
    rows: Any
    kept: Any
    cursor: dict
    where: str
    digest: int | None = None

    @property
    def stop(self):
        """Number of the row behind the last one."""
        return self.start + len(self.rows)


def check_rows(rows, start, where, missing=False):
    """Refuse rows that are neither texts nor token lists, naming the first.

    Parameters
    ----------
    rows : list
    start : int
        Number of the first row.
    where : str
        The source.
    missing : bool, default=False
        Whether rows may be missing.

    Raises
    ------
    TypeError
        If there is one.
    """
    kinds = set(map(type, rows))
    if kinds <= {str} or kinds <= {list, tuple}:
        return
    texts = sum(isinstance(row, str) for row in rows)
    for i, row in enumerate(rows, start):
        if missing and is_missing(row):
            continue
        is_list = isinstance(row, list | tuple) or hasattr(row, "tolist")
        is_list = is_list and not np.isscalar(row)  # numbers of numpy have tolist
        is_text = isinstance(row, str)
        if not (is_text or is_list):
            raise TypeError(
                f"{where}: row {i:,} is {row!r:.60}, of type {type(row).__name__}. "
                f"{ALLOWED}."
            )
        if texts and not is_text:
            raise TypeError(
                f"{where}: row {i:,} is a list and others of its batch are texts. Rows "
                "of str and rows of token lists cannot be mixed."
            )


def digest_of(rows):
    """Return a checksum of texts or token lists, some of which may be missing.

    Examples
    --------
    >>> digest_of(["a b", "c"]) == digest_of([["a b"], ["c"]])
    False
    >>> digest_of(["a b", None]) == digest_of(["a b", ""])
    False
    """
    if hasattr(rows, "to_list"):  # a TokenSequences
        texts, missing, rows = rows.texts, rows.missing, rows.to_list()
        if texts is not None:
            rows = [[text, *row] for text, row in zip(texts, rows, strict=True)]
        if missing is not None:
            pairs = zip(rows, missing, strict=True)
            rows = [None if gone else row for row, gone in pairs]
    if set(map(type, rows)) != {str}:
        rows = [_as_text(row) for row in rows]
    return zlib.crc32("\x1e".join(rows).encode("utf-8", "surrogatepass"))


def _as_text(row):
    if isinstance(row, str):
        return row
    return "\x1d" if is_missing(row) else "\x1f".join(map(str, row)) + "\x1f"


class Rows:
    """Rows of an iterable, that may be one that can be gone through only once.

    Parameters
    ----------
    iterable : iterable of str or of token lists
    missing : bool, default=False
        Whether rows may be missing.
    """

    def __init__(self, iterable, missing=False):
        self._iterable, self._missing = iterable, missing
        self.n_rows = len(iterable) if hasattr(iterable, "__len__") else None

    @property
    def name(self):
        """What messages call it."""
        return f"the {type(self._iterable).__name__} of rows"

    def identity(self):
        """Return what the source is known by: its rows are, by their digests."""
        return ["rows"]

    def no_rows(self):
        """Return the columns that are carried along: none."""

    def batches(self, size, cursor=None):
        """Yield a Batch of up to `size` rows at a time, from a cursor on.

        Rows before the cursor are looked at, for a generator has to pass them: those
        of each batch that was finished must have the digest that they had.
        """
        finished = list((cursor or {}).get("digests", ()))
        start, number = 0, -1
        for number, rows in enumerate(self._pieces(size)):
            check_rows(rows, start, self.name, self._missing)
            digest = digest_of(rows)
            if number >= len(finished):
                stop = start + len(rows)
                where = f"{self.name}, rows {start:,} to {stop - 1:,}"
                yield Batch(start, rows, None, {}, where, digest)
            elif digest != finished[number]:
                raise other_rows(self.name, start, len(rows))
            start += len(rows)
        if number + 1 < len(finished):
            raise other_rows(self.name, start, size)

    def _pieces(self, size):
        if hasattr(self._iterable, "codes"):  # a TokenSequences stays one
            for start in range(0, len(self._iterable), size):
                yield self._iterable[start : start + size]
            return
        rows = iter(self._iterable)
        while some := list(islice(rows, size)):
            yield some


def other_rows(name, start, count):
    """Return the error for a source that is not what it was."""
    return ValueError(
        f"transform_in_batches: {name} gives other rows than before among rows "
        f"{start:,} to {start + count - 1:,}. To go on, it must give the same rows in "
        "the same order again, from the first one on. resume=False begins anew."
    )
