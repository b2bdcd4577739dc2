"""Summarize a table and a fitted pipeline in DataFrames."""

import numpy as np
import pandas as pd

SCORES = {
    True: "accuracy on rows that were not used for fitting",
    False: "R² on rows that were not used for fitting",
}
_N_EXAMPLES = 3
_N_GROUPS = 5


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


def columns_frame(encoder):
    """Return a DataFrame with a row per column of a fitted TableEncoder."""
    table = pd.DataFrame(encoder.columns_).astype({"r2": float})
    table["encodings"] = [", ".join(each) or "not used" for each in table["encodings"]]
    names = "column", "kind", "encoded by", "features", "distinct", "missing", "r2"
    return table.set_axis(names, axis=1)


def learners_frame(model):
    """Return a DataFrame with a row per learner of a table's model, and a row "sum"."""
    return pd.DataFrame(
        {
            "learner": [*model.scores_],
            "weight": [model.weights_.get(name, np.nan) for name in model.scores_],
            "score": [*model.scores_.values()],
        }
    )


def reliability_frame(y, predictions, probabilities, classes):
    """Return a DataFrame that compares predictions with targets by groups of rows.

    Rows are sorted by the probability of the second of two classes, by the probability
    of the predicted class if there are more, or by the predicted number, and split into
    groups of equal size. `probabilities`, (n_rows, n_classes), and `classes` are None
    for numbers.
    """
    if probabilities is None:
        predicted, actual = predictions.astype(float), y.astype(float)
    elif len(classes) == 2:
        predicted, actual = probabilities[:, 1], y == classes[1]
    else:
        predicted, actual = probabilities.max(axis=1), y == predictions
    order = np.argsort(predicted, kind="stable")
    groups = [rows for rows in np.array_split(order, _N_GROUPS) if len(rows)]
    return pd.DataFrame(
        {
            "rows": [len(rows) for rows in groups],
            "from": [predicted[rows].min() for rows in groups],
            "to": [predicted[rows].max() for rows in groups],
            "predicted": [predicted[rows].mean() for rows in groups],
            "actual": [actual[rows].mean() for rows in groups],
        }
    )
