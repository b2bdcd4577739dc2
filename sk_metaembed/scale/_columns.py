"""The options `column` and `keep`: names of columns of a source."""

from collections.abc import Iterable


def read_columns(column, keep):
    """Return `column` as None, a str or a list of str, and `keep` as a list of str.

    >>> read_columns("text", ("id", "day", "id")), read_columns(("a", "b"), None)
    (('text', ['id', 'day']), (['a', 'b'], []))
    """
    if not (column is None or isinstance(column, str)):
        column = _unique(column, "column")
    if keep is None or isinstance(keep, str):
        keep = [] if keep is None else [keep]
    return column, _unique(keep, "keep")


def _unique(names, parameter):
    unique = list(dict.fromkeys(names)) if isinstance(names, Iterable) else None
    if unique is None or not all(isinstance(name, str) for name in unique):
        raise TypeError(
            f"{parameter} must be the name of a column (str) or a list of names, got "
            f"{names!r:.60}. Use frame.rename(columns=str) to name numbered columns."
        )
    return unique


def all_names(column, keep):
    """Return the names of both options, each once."""
    columns = [column] if isinstance(column, str) else column or []
    return list(dict.fromkeys([*columns, *keep]))


def check_columns(what, has, column, keep):
    """Raise ValueError unless a source has the columns, whose names are in `has`.

    It is None for a source without columns, which neither option may be passed with.
    """
    if has is None:
        if column or keep:
            raise ValueError(
                f"{what} has no columns, but column={column!r} and keep={keep} were "
                "passed. Omit both, or pass JSON-lines, Parquet or a DataFrame."
            )
        return
    if not column:
        raise ValueError(
            "set column to the name of the one with the texts, or to a list of names "
            f"for a step that accepts DataFrames; {what} has {list(has)}."
        )
    for name in all_names(column, keep):
        if name not in has:
            raise ValueError(f"{what} has no column {name!r}; it has {list(has)}.")
