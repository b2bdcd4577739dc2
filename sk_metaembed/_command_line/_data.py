"""Tables: split into columns and target, and summarized."""

import numpy as np
import pandas as pd

_MAX_CLASSES = 20  # a target of more distinct integers is a number
_N_EXAMPLES = 3
MISSING = "empty, NA, None, null or nan"  # as pandas reads text files, among others


def check_columns(table, names, option):
    """Raise ValueError unless a table has all columns of an option."""
    missing = [name for name in names if name not in table]
    if missing:
        raise ValueError(
            f"{option}: the table has no column {', '.join(map(repr, missing))}. Its "
            f"columns are {', '.join(map(repr, table.columns))}."
        )


def split_target(table, target, dropped):
    """Return the rows with a target: (X, y)."""
    for option, names in (("--target", [target]), ("--drop, --id", dropped)):
        check_columns(table, names, option)
    table = table[table[target].notna()]
    if not len(table):
        raise ValueError(f"--target: all values of {target!r} are missing.")
    X = table.drop(columns=[target, *dropped])
    if not X.shape[1]:
        raise ValueError("No columns are left to predict from.")
    return X, table[target]


def read_target(y, task):
    """Return the task and the target as an array of classes or numbers.

    The task "auto" becomes "classifier" or "regressor", by the values.
    """
    y = y.convert_dtypes()  # integers are read as float if some are missing
    kind = y.dtype.kind
    if task == "auto":
        is_amount = kind == "f" or (kind in "iu" and y.nunique() > _MAX_CLASSES)
        task = "regressor" if is_amount else "classifier"
    if task == "regressor" or kind == "f":
        y = _read_numbers(y)
    if task == "regressor":
        return task, y.to_numpy()
    if kind not in "biuf":
        y = y.astype(str)
    if y.nunique() < 2:
        raise ValueError(f"--target: column {y.name!r} has only one value.")
    return task, y.to_numpy()


def _read_numbers(y):
    try:
        y = y.astype(float)
    except (TypeError, ValueError):
        raise ValueError(
            f"--task regressor: column {y.name!r} has values that are not numbers."
        ) from None
    infinite = y.index[np.isinf(y)]
    if len(infinite):
        raise ValueError(
            f"--target: column {y.name!r} has an infinite number in row "
            f"{infinite[0] + 1:,}. Remove the row, or correct the number."
        )
    return y


def summarize(table, kinds):
    """Return a DataFrame with a row per column: kind, missing, distinct, examples."""
    counts = [table[name].dropna().astype(str).value_counts() for name in table]
    examples = [map(shorten, count.index[:_N_EXAMPLES]) for count in counts]
    return pd.DataFrame(
        {
            "column": list(table),
            "kind": [kinds[name] for name in table],
            "missing": [f"{share:.1%}" for share in table.isna().mean()],
            "distinct": [f"{len(count):,}" for count in counts],
            "most frequent": list(map(" | ".join, examples)),
        }
    )


def shorten(value, length=40):
    """Return a value as one line of text, cut to a length."""
    text = " ".join(str(value).split())
    return text if len(text) <= length else text[: length - 1] + "…"
