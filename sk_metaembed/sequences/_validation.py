"""Validation of texts, token lists and columns of them; errors name the row.

scikit-learn's ``check_array`` is not used, because it is made for numbers: it converts
token lists of equal length to a matrix, and accepts None and integers as text.
"""

from __future__ import annotations

import numbers
import os
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Set
from typing import Literal

import numpy as np

from .._core._errors import plural, short_repr
from .._core._frames import (
    as_list,
    column_names,
    is_missing,
    pandas_index,
    plain_container,
    plain_str,
    read_frame,
)
from .._core._typing import Texts
from ._embedded_sequences import EmbeddedSequences
from ._row_errors import (
    NUMBERS,
    TEXT,
    TEXT_OR_TOKENS,
    TOKEN_LIST,
    is_token_list,
    kind,
    plain_tokens,
    row_error,
)
from ._split import prepare_texts, words_splitter
from ._token_sequences import TokenSequences

_FILE_NAME = re.compile(r"\S+\.[A-Za-z]\w{0,4}|(~|\.{0,2})/\S+")
_MAX_PATH = 1000  # characters
_ALLOWED = (
    "Allowed are a list, tuple, array, generator, or a pandas or polars Series or "
    "one-column DataFrame, of str or of lists of str; or a TokenSequences"
)
_ALLOWED_COLUMNS = (
    "Allowed are a pandas or polars DataFrame, an Arrow table, an array of shape "
    "(n_rows, n_columns) or a list of rows, whose cells are str or lists of str; or "
    "one column of str as a list, array or Series"
)


def refuse_other_input(X, allowed=_ALLOWED):
    """Raise a TypeError for anything but a collection of rows, such as a dict."""
    if isinstance(X, str | bytes | os.PathLike):
        is_path = isinstance(X, os.PathLike)
        received = "path" if is_path else f"single {type(X).__name__}"
        remedy = "" if is_path else " Put it in a list: [text]."
        if str(X).endswith((".npz", ".npy")):
            remedy += (
                " Load arrays with numpy.load; vectors of words are a source: "
                "PretrainedEmbedding(WordVectors.from_arrays(words, matrix))."
            )
        elif is_path or _names_file(X):
            remedy += (
                " Read a file first, for example its lines with "
                "pathlib.Path(...).read_text().splitlines()."
            )
        raise TypeError(
            f"expected a collection of rows, got a {received}: {short_repr(X)}."
            f"{remedy} {allowed}."
        )
    is_rows = isinstance(X, Iterable) or hasattr(X, "columns")  # an Arrow table
    if not is_rows or isinstance(X, Mapping | Set):
        received = f"{type(X).__name__}: {short_repr(X)}"
        remedy = " Convert columns by pandas.DataFrame." * isinstance(X, Mapping)
        raise TypeError(
            f"expected a collection of rows, got {received}.{remedy} {allowed}."
        )


def _names_file(text):
    """Return whether a str may be meant as a path: it exists, or ends like a file."""
    if isinstance(text, bytes) or len(text) > _MAX_PATH or "\0" in text:
        return False
    return _FILE_NAME.fullmatch(text) is not None or os.path.exists(text)


def read_rows(X):
    """Return the rows of any supported collection as a list, unchecked."""
    X = plain_container(X)
    refuse_other_input(X)
    if getattr(X, "ndim", 1) == 2 or hasattr(X, "columns"):
        _check_one_column(X)
        return read_frame(X)[0]
    if getattr(X, "ndim", 1) != 1:
        received = f"{type(X).__name__} of shape {X.shape}"
        raise TypeError(f"expected a collection of rows, got {received}. {_ALLOWED}.")
    return as_list(X)


def _check_one_column(X):
    if hasattr(X, "tocsr"):
        raise TypeError(
            f"X is a {type(X).__name__}, a sparse matrix of numbers. If it is "
            "the output of a vectorizer, remove the vectorizer, or use it as a source: "
            f"EstimatorEmbedding(vectorizer, as_text=True). {_ALLOWED}."
        )
    n_columns = X.shape[1]
    if n_columns != 1:
        if holds_numbers(X):
            raise ValueError(
                f"expected one column of texts, got {n_columns} columns of "
                f"numbers (shape {tuple(X.shape)}). Select the column of texts. If a "
                "step before this one, such as Pooling, converts texts to numbers, the "
                "order of the steps is wrong."
            )
        names = getattr(X, "column_names", getattr(X, "columns", None))
        named = "" if names is None else f", names {short_repr(list(names))}"
        raise ValueError(
            f"expected one column of texts, got {n_columns} columns "
            f"(shape {tuple(X.shape)}{named}). Encode several columns by a "
            "TextMetaEncoder, or select columns by name: "
            'ColumnTransformer([("text", step, "name of the column")]). If each row is '
            "a sequence, with one column per position, convert the rows to lists of "
            "str: [row.dropna().astype(str).tolist() for _, row in "
            "pandas.DataFrame(X).iterrows()]. NumPy stacks token lists of equal length "
            "to such an array: pass X.tolist()."
            + (" For pairs of texts use PairEncoder." if n_columns == 2 else "")
        )


def holds_numbers(X):
    """Return whether X is an array or frame of numbers, such as Pooling's output."""
    if len(getattr(X, "shape", ())) != 2:
        return False
    dtype = getattr(X, "dtype", None)
    dtype = dtype if hasattr(dtype, "kind") else np.asarray(X).dtype
    return dtype.kind in "biufc" and X.shape[1] > 0


def check_cells(
    columns,
    labels,
    *,
    part="row",
    reader="Tokenizer",
    texts=True,
    lists=True,
    missing="raise",
):
    """Return the cells of columns of equal length, one column after the other.

    Also return which cells are missing, or None if ``missing="raise"``; missing cells
    become empty. In messages, `labels` are the names of the columns, or "", `part` is
    the name of a cell, and `reader` is a step that accepts missing cells. `texts` and
    `lists` say whether cells may be texts and token lists. Raises a TypeError for any
    other cell, and if texts and token lists are mixed.
    """
    cells = [cell for column in columns for cell in column]
    absent = np.zeros(len(cells), dtype=bool) if missing == "empty" else None
    if texts and {*map(type, cells)} <= {str}:
        return cells, absent
    names = {"part": part, "reader": reader}
    for label, column in zip(labels, columns, strict=True):
        i, first = first_present(column)
        if isinstance(first, NUMBERS):  # probably the wrong column
            raise row_error(first, _where(i, label), TEXT_OR_TOKENS, **names)
    _, known = first_present(cells)
    expected = TEXT
    if lists and not (texts and isinstance(known, str)):
        is_list = not texts or any(map(is_token_list, cells))
        expected = TOKEN_LIST if is_list else TEXT_OR_TOKENS
    if absent is not None:
        empty = "" if expected == TEXT else []
        absent[:] = [is_missing(cell) for cell in cells]
        pairs = zip(cells, absent.tolist(), strict=True)
        cells = [empty if is_absent else cell for cell, is_absent in pairs]
        if expected == TEXT and {*map(type, cells)} <= {str}:
            return cells, absent
    checked, n_rows = [], len(columns[0]) if columns else 0
    for i, cell in enumerate(cells):
        where = _where(i % n_rows, labels[i // n_rows])
        if expected == TEXT and isinstance(cell, str):
            checked.append(plain_str(cell))
        elif expected == TOKEN_LIST and is_token_list(cell):
            checked.append(plain_tokens(as_list(cell), where))
        else:
            raise row_error(cell, where, expected, **names)
    return checked, absent


def _where(i, label):
    return f"row {i}, {label}" if label else f"row {i}"


def first_present(rows):
    """Return the number and value of the first row that is not missing, or 0 and ""."""
    present = ((i, row) for i, row in enumerate(rows) if not is_missing(row))
    return next(present, (0, ""))


def _column_label(X):
    """Return the name of the only column of X for messages, "" if it has no name."""
    if hasattr(X, "columns"):
        name = getattr(X, "column_names", X.columns)[0]  # Arrow's columns are data
    else:
        name = getattr(X, "name", None)
    named = isinstance(name, str | numbers.Integral) and name != ""
    return f"column {name!r}" if named else ""


def check_tokens(
    X: Texts,
    *,
    split: Callable[[list[str]], TokenSequences] | None = None,
    missing: Literal["raise", "empty"] = "raise",
) -> TokenSequences:
    """Return texts, token lists or containers as a TokenSequences.

    For your own steps that take the same input as `Tokenizer`.

    Parameters
    ----------
    X : TokenSequences, or a collection of str or of token lists
        Texts are split as `Tokenizer` does by default.
    split : callable, default=None
        Converts a list of str to a TokenSequences, instead of the default splitting.
    missing : {"raise", "empty"}, default="raise"
        Whether missing rows (None, NaN, null) are an error or empty sequences.

    Returns
    -------
    TokenSequences
        X itself if it is one. Otherwise it has the index of X, if X is a pandas Series
        or DataFrame, and with ``missing="empty"`` records which rows were missing.

    Raises
    ------
    TypeError
        If X is a single string or not a collection, a row is neither a str nor a list
        of str, or the rows are mixed; or if X is an EmbeddedSequences, whose vectors
        would be lost.
    ValueError
        If X has several columns.

    See Also
    --------
    sk_metaembed.sources.BaseEmbedding : Base class of sources, which calls it.

    Examples
    --------
    >>> from sk_metaembed.sequences import check_tokens
    >>> check_tokens(["To be, or not"]).to_list()
    [['to', 'be', 'or', 'not']]
    >>> check_tokens([["add-to-cart", "pay"], []]).lengths.tolist()
    [2, 0]
    >>> check_tokens(["To be", None], missing="empty").lengths.tolist()
    [2, 0]
    """
    if isinstance(X, EmbeddedSequences):
        raise TypeError(
            f"this step takes texts or tokens, got EmbeddedSequences: the vectors of "
            f"{list(X.names)} would be lost. Pass X.tokens to embed the tokens again, "
            "or combine both sources in an EmbeddingUnion."
        )
    if isinstance(X, TokenSequences):
        return X
    X = plain_container(X)
    given = read_rows(X)
    rows, absent = check_cells([given], [_column_label(X)], missing=missing)
    if rows and isinstance(rows[0], str):
        split = split or words_splitter(punctuation=False, prepare=prepare_texts)
        tokens = split(rows)
    else:
        _warn_of_pairs(given)
        tokens = TokenSequences.from_lists(rows)
    return tokens._with_row_info(index=pandas_index(X), missing=absent)


def _warn_of_pairs(rows):
    """Warn about token lists that are tuples of two texts, probably pairs."""
    _, first = first_present(rows)
    if not isinstance(first, tuple):
        return
    pairs = [row for row in rows if not is_missing(row)]
    if {*map(len, pairs)} != {2}:
        return
    n_phrases = sum(len(text.split()) > 1 for pair in pairs for text in pair)
    if n_phrases > len(pairs):
        warnings.warn(
            f"the rows are tuples of two texts, such as {short_repr(first)}, and each "
            "row is read as two tokens. For pairs of texts, wrap the steps that read "
            "them in a PairEncoder, or put PairEncoder(Tokenizer()) before a network; "
            "for tokens, pass lists instead of tuples.",
            stacklevel=2,
        )


def count_missing(rows):
    """Return the number of missing rows of a TokenSequences or RowInfo."""
    return 0 if rows.missing is None else int(rows.missing.sum())


def refuse_other_rows(X, *, rows, allowed):
    """Raise a TypeError for containers and anything but a collection of rows."""
    if isinstance(X, TokenSequences | EmbeddedSequences):
        raise TypeError(
            f"this step takes {rows}, got single sequences: {X!r}. {allowed}."
        )
    refuse_other_input(X, allowed)
    if hasattr(X, "tocsr"):
        raise TypeError(f"got {type(X).__name__}, a sparse matrix. {allowed}.")


def distinct_cells(cells):
    """Return the distinct texts or token lists, and each cell's index among them."""
    keys = [cell if isinstance(cell, str) else tuple(cell) for cell in cells]
    distinct = dict(zip(keys, cells, strict=True))
    numbers = dict(zip(distinct, range(len(distinct)), strict=True))
    return list(distinct.values()), np.array([numbers[key] for key in keys], np.int64)


def read_columns(X):
    """Return columns of texts or token lists as lists, unchecked, and their names.

    The names are None if X does not name all of its columns by str. Raises a ValueError
    if rows have different numbers of cells, or X has three dimensions.
    """
    refuse_other_rows(X, rows="columns of texts", allowed=_ALLOWED_COLUMNS)
    if hasattr(X, "columns") and hasattr(X, "shape"):
        return read_frame(X), column_names(X)
    n_dimensions = getattr(X, "ndim", 1)
    if n_dimensions == 2:
        return read_frame(X), None
    if n_dimensions != 1:
        raise ValueError(f"got an array of shape {X.shape}. {_ALLOWED_COLUMNS}.")
    rows = as_list(X)
    # A Series or Arrow array is one column, also of token lists.
    if hasattr(X, "to_list") or hasattr(X, "to_pylist"):
        name = getattr(X, "name", None)
        return [rows], [name] if isinstance(name, str) and name else None
    if isinstance(first_present(rows)[1], str):
        return [rows], None
    return [list(column) for column in zip(*rows_of_cells(rows), strict=True)], None


def rows_of_cells(rows, allowed=_ALLOWED_COLUMNS, *, expected="a row of cells"):
    """Return rows as sequences of equal length, or raise for the first that is not."""
    results = []
    for i, row in enumerate(rows):
        if not is_token_list(row):
            remedy = "; convert records by pandas.DataFrame" * isinstance(row, Mapping)
            raise TypeError(
                f"row {i} is {kind(row)} ({short_repr(row)}), not {expected}. "
                f"{allowed}{remedy}."
            )
        results.append(row.to_list() if hasattr(row, "to_list") else row)
        if len(results[i]) != len(results[0]):
            raise ValueError(
                f"row {i} has {plural(len(results[i]), 'cell')}, but row 0 has "
                f"{len(results[0])}, one per column. For a single column of token "
                "lists pass a Series, or a DataFrame of one column."
            )
    return results
