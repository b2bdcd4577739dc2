"""Tables: split into columns and target, and summarized."""

import numpy as np
import pandas as pd

_MAX_CLASSES = 20  # a target of more distinct integers is a number
_N_EXAMPLES = 3
MISSING = "empty, NA, None, null or nan"  # as pandas reads text files, among others
# Of skrub; ToFloat32 before release 0.7.
_CONVERSIONS = ("ToDatetime", "DurationToFloat", "ToFloat", "ToFloat32")
# skrub's kinds of columns, in words.
_KINDS = {
    "numeric": "number",
    "datetime": "date",
    "low_cardinality": "category",
    "high_cardinality": "text",
    "specific": "text",
}


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


def read_target(y, task, n_rows):
    """Return the task and the target as an array of classes or numbers.

    The task "auto" becomes "classifier" or "regressor", by the values. Classes must
    have `n_rows` rows.
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
    counts = y.value_counts()
    if len(counts) < 2:
        raise ValueError(f"--target: column {y.name!r} has only one value.")
    rare = counts[counts < n_rows]
    if len(rare):
        label, count = str(rare.index[-1]), int(rare.iloc[-1])
        raise ValueError(
            f"--target: each class needs at least {n_rows} rows, but column {y.name!r} "
            f"has {count} of {label!r}. Remove or merge rare classes, or pass --task "
            "regressor if the values are amounts."
        )
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


def column_kinds(vectorizer, columns):
    """Return the kind of each column in words, by a fitted TableVectorizer."""
    kinds = vectorizer.column_to_kind_
    return {name: _KINDS[kinds[name]] if name in kinds else "empty" for name in columns}


def unread_values(model, table):
    """Yield a message per column with values that a model reads as missing.

    skrub converts the columns that were numbers or dates in fit, and what cannot be
    converted becomes missing.
    """
    if "table" not in getattr(model, "named_steps", ()):
        return
    vectorizer = model["table"]
    for name, kind in column_kinds(vectorizer, model.feature_names_in_).items():
        if kind not in ("number", "date"):
            continue
        values = given = table[name]
        for step in vectorizer.all_processing_steps_[name]:
            if type(step).__name__ == "CleanNullStrings":
                values = given = step.transform(values)
            elif type(step).__name__ in _CONVERSIONS:
                values = step.transform(values)
        unread = given[given.notna() & values.isna()]
        if len(unread):
            examples = unread.astype(str).unique()[:_N_EXAMPLES]
            yield (
                f"column {name!r} was a {kind} in fit; {len(unread):,} of "
                f"{len(table):,} values are none and count as missing: "
                f"{', '.join(repr(shorten(value)) for value in examples)}."
            )


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
