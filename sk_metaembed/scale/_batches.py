"""Batches of rows: their checks and digests."""

import zlib
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
    where : str
        The place in the source, for messages.
    """

    start: int
    rows: Any
    copied: Any
    where: str


def check_rows(rows, place, missing=False):
    """Raise TypeError for the first row that is neither a text nor a token list.

    ``place(i)`` names row i in the message; `missing` allows missing rows.
    """
    kinds = set(map(type, rows))
    if kinds <= {str} or kinds <= {list, tuple}:
        return
    texts = any(isinstance(row, str) for row in rows)
    for i, row in enumerate(rows):
        if isinstance(row, str) or missing and is_missing(row):
            continue
        is_list = isinstance(row, list | tuple) or hasattr(row, "tolist")
        if not is_list or np.isscalar(row):  # NumPy scalars have tolist
            raise TypeError(
                f"{place(i)} is {row!r:.60}, of type {type(row).__name__}. {ALLOWED}."
            )
        if texts:
            raise TypeError(
                f"{place(i)} is a list, but other rows of its batch are texts. Texts "
                "and token lists cannot be mixed."
            )


def digest_rows(rows):
    """Return a checksum of texts or token lists, some of which may be missing.

    >>> digest_rows(["a b", "c"]) == digest_rows([["a b"], ["c"]])
    False
    >>> digest_rows(["a b", None]) == digest_rows(["a b", ""])
    False
    """
    if hasattr(rows, "itertuples"):  # a frame
        rows = [str(row) for row in rows.itertuples(index=False)]
    elif hasattr(rows, "to_list"):  # a TokenSequences
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


def unfinished(source, size, finished):
    """Yield a Batch and its digest for each batch of a source that is not finished.

    `finished` holds the number of rows and the digest of each finished batch. A file is
    known by its identity, so its finished rows are skipped and digests are None. Other
    rows are read again, since a generator cannot skip them, and compared.
    """
    n_finished = sum(rows for rows, _ in finished)
    if source.in_files:
        for batch in source.batches(size, skip=n_finished):
            yield batch, None
        return
    n_rows = 0
    for number, batch in enumerate(source.batches(size)):
        digest, n_rows = digest_rows(batch.rows), batch.start + len(batch.rows)
        if number >= len(finished):
            yield batch, digest
        elif digest != finished[number][1]:
            raise _changed_rows_error(source.name, batch.start, len(batch.rows))
    if n_rows < n_finished:
        raise _changed_rows_error(source.name, n_rows, size)


def _changed_rows_error(name, start, count):
    return ValueError(
        f"transform_in_batches: {name} has other rows than before among rows "
        f"{start:,} to {start + count - 1:,}. To resume, it must return the same rows "
        "in the same order, from the first one on. Pass resume=False to start over."
    )
