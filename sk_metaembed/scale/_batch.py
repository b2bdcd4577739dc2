"""Batch: some rows of a source, and where the next ones begin."""

import zlib
from typing import Any, NamedTuple

import numpy as np

from ._missing import is_missing

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
