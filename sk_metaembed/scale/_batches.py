"""Batches of rows, their checks and digests, and the source for iterables."""

import zlib
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from ..sequences._lines import Lines
from ..sequences._row_errors import is_missing
from ..sequences._tokenizer import Tokenizer


def accepts_missing(estimator):
    """Return whether an estimator or a step of it has ``missing="empty"``.

    Other steps that accept missing rows are not recognized.
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


def pipeline_rows(rows, pipeline):
    """Return rows as an estimator takes them: `Lines` for a `Tokenizer` only."""
    if not isinstance(rows, Lines):
        return rows
    from sklearn.pipeline import Pipeline

    first = pipeline.steps[0][1] if isinstance(pipeline, Pipeline) else pipeline
    return rows if type(first) is Tokenizer else rows.to_list()


ALLOWED = (
    'Every row must be a text (str) or a list of str; replace missing rows by "" or '
    'set missing="empty" in the step of the pipeline that reads the rows'
)


class Batch(NamedTuple):
    """Rows that are passed to the pipeline together.

    Parameters
    ----------
    start : int
        Number of the first row in the source, from 0.
    rows : list, Lines, TokenSequences or DataFrame
        The input of the pipeline.
    copied : dict of str to sequence, or pyarrow Table, or None
        Columns to be copied to the output.
    cursor : dict
        Where the next rows start, for JSON.
    where : str
        The place in the source, for messages.
    digest : int, default=None
        Checksum of rows that do not come from a file.
    """

    start: int
    rows: Any
    copied: Any
    cursor: dict
    where: str
    digest: int | None = None

    @property
    def stop(self):
        """Number of the row after the last one."""
        return self.start + len(self.rows)


def check_rows(rows, start, where, missing=False):
    """Raise TypeError for the first row that is neither a text nor a token list.

    `start` is the number of the first row, `where` the source; `missing` allows
    missing rows.
    """
    kinds = set(map(type, rows))
    if kinds <= {str} or kinds <= {list, tuple}:
        return
    texts = sum(isinstance(row, str) for row in rows)
    for i, row in enumerate(rows, start):
        if missing and is_missing(row):
            continue
        is_list = isinstance(row, list | tuple) or hasattr(row, "tolist")
        is_list = is_list and not np.isscalar(row)  # NumPy scalars have tolist
        is_text = isinstance(row, str)
        if not (is_text or is_list):
            raise TypeError(
                f"{where}: row {i:,} is {row!r:.60}, of type {type(row).__name__}. "
                f"{ALLOWED}."
            )
        if texts and not is_text:
            raise TypeError(
                f"{where}: row {i:,} is a list, but other rows of its batch are texts. "
                "Texts and token lists cannot be mixed."
            )


def digest_rows(rows):
    """Return a checksum of texts or token lists, some of which may be missing.

    >>> digest_rows(["a b", "c"]) == digest_rows([["a b"], ["c"]])
    False
    >>> digest_rows(["a b", None]) == digest_rows(["a b", ""])
    False
    """
    if hasattr(rows, "to_list"):  # a TokenSequences
        texts, missing, rows = rows.texts, rows.missing, rows.to_list()
        if texts is not None:
            rows = [[text, *row] for text, row in zip(texts, rows, strict=True)]
        if missing is not None:
            pairs = zip(rows, missing, strict=True)
            rows = [None if is_empty else row for row, is_empty in pairs]
    if set(map(type, rows)) != {str}:
        rows = [_as_text(row) for row in rows]
    return zlib.crc32("\x1e".join(rows).encode("utf-8", "surrogatepass"))


def _as_text(row):
    if isinstance(row, str):
        return row
    return "\x1d" if is_missing(row) else "\x1f".join(map(str, row)) + "\x1f"


class IterableRows:
    """Rows of an iterable of texts or token lists, which may be a generator."""

    def __init__(self, iterable, missing=False):
        self._iterable, self._missing = iterable, missing
        self.n_rows = len(iterable) if hasattr(iterable, "__len__") else None

    @property
    def name(self):
        """Name in messages."""
        return f"the {type(self._iterable).__name__} of rows"

    def identity(self):
        """Return what identifies the source; its rows are identified by digests."""
        return ["rows"]

    def no_rows(self):
        """Return None: there are no columns to be copied."""

    def batches(self, size, cursor=None):
        """Yield a Batch per `size` rows, from a cursor on.

        Rows before the cursor are read again, since a generator cannot skip them; each
        finished batch must have the same digest as before.
        """
        finished = list((cursor or {}).get("digests", ()))
        start, number = 0, -1
        for number, rows in enumerate(self._slices(size)):
            check_rows(rows, start, self.name, self._missing)
            digest = digest_rows(rows)
            if number >= len(finished):
                stop = start + len(rows)
                where = f"{self.name}, rows {start:,} to {stop - 1:,}"
                yield Batch(start, rows, None, {}, where, digest)
            elif digest != finished[number]:
                raise changed_rows_error(self.name, start, len(rows))
            start += len(rows)
        if number + 1 < len(finished):
            raise changed_rows_error(self.name, start, size)

    def _slices(self, size):
        if hasattr(self._iterable, "codes"):  # slices of a TokenSequences are too
            for start in range(0, len(self._iterable), size):
                yield self._iterable[start : start + size]
            return
        rows = iter(self._iterable)
        while some := list(islice(rows, size)):
            yield some


def changed_rows_error(name, start, count):
    """Return the error for a source with other rows than before."""
    return ValueError(
        f"transform_in_batches: {name} has other rows than before among rows "
        f"{start:,} to {start + count - 1:,}. To resume, it must return the same rows "
        "in the same order, from the first one on. Pass resume=False to start over."
    )
