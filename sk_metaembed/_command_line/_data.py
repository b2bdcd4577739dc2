"""Tables: split into columns and target, and summarized."""

import pandas as pd

_N_EXAMPLES = 3
MISSING = "empty, NA, None, null or nan"  # as pandas reads text files, among others


def check_columns(table, names, option):
    """Raise ValueError unless a table has all columns of an option."""
    missing = [name for name in names if name not in table]
    if missing:
        raise ValueError(
            f"{option}: the table has no column {', '.join(map(repr, missing))}. Its "
            f"columns are {', '.join(map(repr, table.columns)) or 'none'}."
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


def group_numbers(column):
    """Return the number of the group of each row; missing ones are groups alone."""
    numbers = pd.factorize(column)[0].astype("int64")
    absent = (numbers < 0).nonzero()[0]
    numbers[absent] = -1 - absent
    return numbers


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
