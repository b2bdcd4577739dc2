"""Write the report of a fit as one HTML page without scripts and links."""

import warnings
from html import escape
from importlib.metadata import version
from importlib.resources import files
from io import StringIO
from string import Template

import numpy as np
import pandas as pd

from .._version import __version__
from ._summaries import (
    SCORES,
    columns_frame,
    learners_frame,
    reliability_frame,
    shorten,
    summarize,
)

_MEANINGS = {
    "roc_auc": "0.5 is chance, 1 is perfect: the probability that a row of one class "
    "is ranked above a row of the other.",
    "accuracy": "The share of rows whose class is predicted correctly. Always "
    "predicting the most frequent class gives {most_frequent:.3f}.",
    "r2": "0 is as good as always predicting the mean, 1 is perfect.",
}
_WITH_STRINGS = " Each row with strings has all columns."
_RELIABILITY = {
    "numbers": "Rows in five groups by the predicted number: the mean prediction and "
    "the mean of the target. Where they differ, predictions are too high or too low.",
    "two classes": "Rows in five groups by the predicted probability of {second!r}: "
    "the mean probability and the share of rows that are {second!r}.",
    "classes": "Rows in five groups by the probability of the predicted class: the "
    "mean probability and the share of rows that are predicted correctly.",
}
_NOT_SUSPICIOUS = "<p>No leak of the target and no identifier was found.</p>"
_WORST = """<p>Predicted by models that have not seen the row. Some of these rows may
have a wrong target. The error is the difference, or 1 minus the probability of the
actual class. Rows are numbered from 1, without the header.</p>"""
_NONE_WORST = "<p>Every row is predicted correctly by models that have not seen it.</p>"
_N_WORST = 20
_N_SHOWN = 5  # columns of the worst rows, besides strings and identifiers
_LONGEST = 200  # characters of a shown text


def report_html(pipeline, rows, X, y, comparison, suspicious, options):
    """Return the report as HTML.

    `pipeline` is fitted on all rows, X has the columns that the pipeline uses, and
    `rows` all columns of the file. `comparison` is a SourceComparisonDisplay,
    `suspicious` the notes of `find_suspicious`, and `options` the options of the
    command.
    """
    kinds = {column.name: column.kind for column in pipeline["table"].columns_}
    target = options["target"]
    page = files(__package__).joinpath("report.html").read_text(encoding="utf-8")
    return Template(page).substitute(
        title=escape(f"Predicting {shorten(target)}"),
        n_rows=f"{len(X):,}",
        n_columns=X.shape[1],
        table=escape(options["table"]),
        folds=options["folds"],
        meaning=_meaning(comparison, y),
        source_chart=_chart(comparison, "sources"),
        scores=_scores(comparison),
        column_chart=_chart(comparison, "columns"),
        suspicious=_suspicious(suspicious),
        learners=_table_html(learners_frame(pipeline["model"]).round(4), "numbers"),
        learner_score=SCORES[hasattr(pipeline["model"], "classes_")],
        reliability=_reliability(comparison, y),
        worst=_worst(comparison, rows, y, pipeline["table"], options["id"]),
        summary=_table_html(summarize(rows[[*X, target]], {**kinds, target: "target"})),
        encodings=_table_html(columns_frame(pipeline["table"]).round(3)),
        settings=_settings(options),
        pipeline=escape(repr(pipeline)),
    )


def _meaning(comparison, y):
    """Return a sentence that explains the score."""
    most_frequent = pd.Series(y).value_counts(normalize=True).iloc[0]
    meaning = _MEANINGS.get(comparison.metric, f"The score is {comparison.metric}.")
    meaning = meaning.format(most_frequent=most_frequent)
    return meaning + (_WITH_STRINGS if len(comparison.names) > 1 else "")


def _scores(comparison):
    """Return the table of the scores of the candidates."""
    names = ["columns and sources", "score", "±", "gain", "±", "seconds per fit"]
    return _table_html(comparison.frame().round(4).set_axis(names, axis=1), "numbers")


def _suspicious(found):
    """Return the list of suspicious columns."""
    if not found:
        return _NOT_SUSPICIOUS
    items = "\n".join(f"<li>{escape(text)}</li>" for text in found)
    return f"<ul>\n{items}\n</ul>"


def _reliability(comparison, y):
    """Return the table of out-of-fold predictions and outcomes."""
    classes = None if comparison.probabilities is None else np.unique(y)
    table = reliability_frame(
        y, comparison.predictions, comparison.probabilities, classes
    )
    kind = "numbers"
    if classes is not None:
        kind = "two classes" if len(classes) == 2 else "classes"
    second = "" if classes is None else shorten(classes[1])
    text = escape(_RELIABILITY[kind].format(second=second))
    return f"<p>{text}</p>{_table_html(table, 'numbers')}"


def _worst(comparison, rows, y, encoder, identifiers):
    """Return the table of the rows with the largest errors, out of fold."""
    errors = pd.DataFrame(
        {
            "row": rows.index + 1,
            "actual": y,
            "predicted": comparison.predictions,
            "error": comparison.errors,
        },
        index=rows.index,
    )
    errors = errors[errors["actual"] != errors["predicted"]].nlargest(_N_WORST, "error")
    if not len(errors):
        return _NONE_WORST
    shown = {column.name for column in encoder.columns_ if column.is_embedded}
    shown |= {*comparison.frame("columns")["column"][:_N_SHOWN]}
    shown = [name for name in rows if name in shown and name not in identifiers]
    values = rows.loc[errors.index, [*identifiers, *shown]]
    return _WORST + _table_html(pd.concat([errors, values], axis=1))


def _settings(options):
    """Return the table of the options and versions."""
    settings = {**options, "sk_metaembed": __version__}
    settings |= {name: version(name) for name in ("scikit-learn", "pandas")}
    table = pd.DataFrame(settings.items(), columns=["setting", "value"])
    is_given = [bool(value) or type(value) is int for value in table["value"]]
    return _table_html(table[is_given])


def _table_html(table, classes=None):
    """Return a DataFrame as HTML, without its index and with long texts cut."""
    options = {"index": False, "border": 0, "na_rep": "", "classes": classes}
    with pd.option_context("display.max_colwidth", _LONGEST):
        html = table.to_html(float_format="{:.6g}".format, **options)
    return f'<div class="wide">{html}</div>'


def _chart(comparison, part):
    """Return a part of the comparison as SVG."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    size = 7.6, 1 + 0.3 * len(comparison.frame(part))
    figure = Figure(size, layout="constrained")
    page = StringIO()
    # Keep text as text, for search and screen readers.
    with rc_context({"svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # the browser has more fonts
        comparison.plot(figure.subplots(), part=part)
        figure.savefig(page, format="svg", metadata={"Date": None})
    return page.getvalue().partition("<!DOCTYPE")[2].partition(">")[2]
