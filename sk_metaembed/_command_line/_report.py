"""The report of a fit: an HTML page without scripts, links or other files."""

import warnings
from html import escape
from importlib.metadata import version
from importlib.resources import files
from io import StringIO
from string import Template

import pandas as pd

from .._version import __version__
from ._data import column_kinds, shorten, summarize

_MEANINGS = {
    "roc_auc": "0.5 is chance, 1 is perfect: the probability that a row of one class "
    "is ranked above a row of the other.",
    "accuracy": "The share of rows whose class is predicted correctly. Always "
    "predicting the most frequent class gives {most_frequent:.3f}.",
    "r2": "0 is as good as always predicting the mean, 1 is perfect.",
}
_WITH_TEXTS = " Each row with texts has all columns."
_WORST = """<p>Predicted by models that have not seen the row. Some of these rows may
have a wrong target. The error is the difference, or 1 minus the probability of the
actual class. Rows are numbered from 1, without the header.</p>"""
_NONE_WORST = "<p>Every row is predicted correctly by models that have not seen it.</p>"
_N_WORST = 20
_LONGEST = 200  # characters of a shown text


def report_html(pipeline, rows, X, y, comparison, options):
    """Return the page.

    Parameters
    ----------
    pipeline : Pipeline
        Fitted on all rows.
    rows : DataFrame
        The rows of X, with all columns of the file.
    X : DataFrame
        The columns that are used.
    y : ndarray of shape (n_rows,)
        The target.
    comparison : SourceComparisonDisplay
        Comparison of the sources.
    options : dict
        Options of the command.
    """
    kinds = column_kinds(pipeline["table"], X)
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
        worst=_worst(comparison, rows, y, kinds, options["id"]),
        summary=_table_html(summarize(rows[[*X, target]], {**kinds, target: "target"})),
        settings=_settings(options),
        pipeline=escape(repr(pipeline)),
    )


def _meaning(comparison, y):
    """Return what the score means."""
    most_frequent = pd.Series(y).value_counts(normalize=True).iloc[0]
    meaning = _MEANINGS.get(comparison.metric, f"The score is {comparison.metric}.")
    meaning = meaning.format(most_frequent=most_frequent)
    return meaning + (_WITH_TEXTS if len(comparison.names) > 1 else "")


def _scores(comparison):
    """Return the table of the scores of the candidates."""
    names = ["columns and sources", "score", "±", "gain", "±", "seconds per fit"]
    return _table_html(comparison.frame().round(4).set_axis(names, axis=1), "numbers")


def _worst(comparison, rows, y, kinds, identifiers):
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
    texts = [name for name, kind in kinds.items() if kind == "text"]
    shown = rows.loc[errors.index, [*identifiers, *texts]]
    return _WORST + _table_html(pd.concat([errors, shown], axis=1))


def _settings(options):
    """Return the table of the options and versions."""
    settings = {**options, "sk_metaembed": __version__}
    settings |= {name: version(name) for name in ("scikit-learn", "skrub")}
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

    n_rows = len(comparison.frame(part))
    figure = Figure((7.6, 1 + 0.3 * n_rows), layout="constrained")
    page = StringIO()
    # Text stays text, for search and screen readers.
    with rc_context({"svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # the browser has more fonts
        comparison.plot(figure.subplots(), part=part)
        figure.savefig(page, format="svg", metadata={"Date": None})
    return page.getvalue().partition("<!DOCTYPE")[2].partition(">")[2]
