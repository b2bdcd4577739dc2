"""The report of a fit: an HTML page without scripts, links or other files."""

import warnings
from html import escape
from io import StringIO

import numpy as np
import pandas as pd

from .._version import __version__
from ._data import column_kinds, shorten, summarize

# What the default scores mean.
_MEANINGS = {
    "roc_auc": "0.5 is chance, 1 is perfect: the probability that a row of one class "
    "is ranked above a row of the other.",
    "accuracy": "The share of rows whose class is predicted correctly. Always "
    "predicting the most frequent class gives {most_frequent:.3f}.",
    "r2": "0 is as good as always predicting the mean, 1 is perfect.",
}
_N_WORST = 20
_LONGEST = 200  # characters of a shown text
_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:62em;margin:2em auto;padding:0 1em}
h1{font-size:1.5em;margin-bottom:0}h2{font-size:1.15em;margin:2em 0 .3em}
p{margin:.4em 0}.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:14px;margin:.6em 0}
th,td{padding:3px 14px 3px 0;text-align:left;vertical-align:top;max-width:36em;
border-bottom:1px solid #8886;overflow-wrap:break-word}
.numbers :is(th,td):not(:first-child){text-align:right}
svg{max-width:100%;height:auto;display:block;margin:.6em 0}
pre{font-size:12px;overflow-x:auto}
"""


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
    title = escape(f"Predicting {shorten(target)}")
    sections = [
        f"<h1>{title}</h1>",
        f"<p>{len(X):,} rows, {X.shape[1]} columns of {escape(options['table'])}</p>",
        *_score_section(comparison, y, options["folds"]),
        *_worst_section(comparison, rows, y, kinds, options["id"]),
        "<h2>Columns</h2>",
        _table_html(summarize(rows[[*X, target]], {**kinds, target: "target"})),
        *_settings_section(pipeline, options, comparison.metric),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width">'
        f"<title>{title}</title><style>{_STYLE}</style></head><body>\n"
        + "\n".join(sections)
        + "\n</body></html>\n"
    )


def _score_section(comparison, y, folds):
    """Yield the scores of the candidates and the importances of the columns."""
    table = comparison.frame()
    gains = _with_intervals(table["gain"], table["gain_half_width"], "+.4f")
    scores = pd.DataFrame(
        {
            "columns and sources": table["sources"],
            "score": _with_intervals(table["score"], table["half_width"], ".4f"),
            "everything is better by": [*gains[:-1], ""],
            "seconds per fit": [f"{seconds:.1f}" for seconds in table["seconds"]],
        }
    )
    question = ", and what does each source bring" if len(table) > 1 else ""
    lines = " Each line with texts has all columns." if len(table) > 1 else ""
    shares = pd.Series(y).value_counts(normalize=True)
    meaning = _MEANINGS.get(comparison.metric, f"The score is {comparison.metric}.")
    meaning = meaning.format(most_frequent=shares.iloc[0])
    yield f"<h2>How good are the predictions{question}?</h2>"
    yield (
        f"<p>Scores of rows that were not used for fitting, in {folds} folds. "
        f"{escape(meaning)}{lines}</p>"
    )
    yield _chart(comparison, "sources")
    yield _table_html(scores, "numbers")
    yield (
        "<p>± is half a 95% interval over the folds, corrected for training parts that "
        "overlap (Nadeau and Bengio, 2003); differences are paired by fold.</p>"
    )
    yield "<h2>Which columns matter?</h2>"
    yield (
        "<p>How much the score of everything drops when the values of a column are "
        "shuffled. Columns with the same information have a small drop, since each "
        "replaces the other.</p>"
    )
    yield _chart(comparison, "columns")


def _with_intervals(values, widths, spec):
    return [f"{x:{spec}} ± {w:.4f}" for x, w in zip(values, widths, strict=True)]


def _worst_section(comparison, rows, y, kinds, identifiers):
    """Yield the rows with the largest errors, out of fold."""
    worst = np.argsort(-comparison.errors, kind="stable")[:_N_WORST]
    errors, label = [f"{comparison.errors[i]:.4g}" for i in worst], "error"
    if y.dtype.kind != "f":  # classes
        worst = [i for i in worst if comparison.predictions[i] != y[i]]
        errors = [f"{1 - comparison.errors[i]:.2g}" for i in worst]
        label = "probability of actual"
    yield "<h2>Where is the model most wrong?</h2>"
    if not len(worst):
        yield "<p>Every row is predicted correctly by models that have not seen it.</p>"
        return
    texts = [name for name, kind in kinds.items() if kind == "text"]
    shown = rows[[*identifiers, *texts]].iloc[worst]
    shown.insert(0, "row", [f"{i + 1:,}" for i in shown.index])
    shown["actual"], shown["predicted"] = y[worst], comparison.predictions[worst]
    shown[label] = errors
    yield (
        "<p>Predicted by models that have not seen the row. Some of these rows may "
        "have a wrong target. Rows are numbered from 1, without the header.</p>"
    )
    yield _table_html(shown)


def _settings_section(pipeline, options, metric):
    """Yield the options, versions and the pipeline."""
    import sklearn
    import skrub

    settings = {
        name: " ".join(value) if isinstance(value, list) else value
        for name, value in {**options, "metric": metric}.items()
        if value or type(value) is int  # a seed of 0
    }
    settings |= {
        "sk_metaembed": __version__,
        "scikit-learn": sklearn.__version__,
        "skrub": skrub.__version__,
    }
    yield "<h2>Settings</h2>"
    yield _table_html(pd.DataFrame(settings.items(), columns=["setting", "value"]))
    yield f"<pre>{escape(repr(pipeline))}</pre>"


def _table_html(table, classes=None):
    """Return a DataFrame as HTML, without its index and with long texts cut."""
    cells = table.rename(columns=shorten).astype(object).map(_cell)
    with pd.option_context("display.max_colwidth", None):
        html = cells.to_html(index=False, border=0, classes=classes)
    return f'<div class="wide">{html}</div>'


def _cell(value):
    if pd.isna(value):
        return ""
    return f"{value:.6g}" if isinstance(value, float) else shorten(value, _LONGEST)


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
