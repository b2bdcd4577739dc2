"""The page of a fit: an HTML file without scripts, links or other files."""

from html import escape

import numpy as np
import pandas as pd

from .._version import __version__
from ..inspection._source_comparison import METRICS, bounds, interval
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
:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:62em;margin:2em auto;padding:0 1em}
h1{font-size:1.5em;margin-bottom:0}h2{font-size:1.15em;margin:2em 0 .3em}
p{margin:.4em 0}.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:14px;margin:.6em 0}
th,td{padding:3px 14px 3px 0;text-align:left;vertical-align:top;max-width:36em;
border-bottom:1px solid rgba(128,128,128,.4);overflow-wrap:break-word}
.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
svg{max-width:100%;height:auto;display:block;margin:.6em 0}
pre{font-size:12px;overflow-x:auto}
"""


def report_html(pipeline, table, X, y, comparison, metric, options, task, minutes):
    """Return the page.

    Parameters
    ----------
    pipeline : Pipeline
        Fitted on all rows.
    table : DataFrame
        The rows of X, with all columns of the file.
    X : DataFrame
        The columns that are used.
    y : ndarray of shape (n_rows,)
        The target.
    comparison : SourceComparisonDisplay
        Comparison of the sources.
    metric : str
        The name of the score.
    options : dict
        Options of the command.
    task : str
        "classifier" or "regressor".
    minutes : float
        Duration of the command.
    """
    kinds = column_kinds(pipeline["table"], X)
    target = options["target"]
    counts = pd.Series(y).value_counts(normalize=True)
    meaning = _MEANINGS.get(metric, "").format(most_frequent=counts.iloc[0])
    sections = [
        f"<h1>Predicting {escape(shorten(target))}</h1>",
        f"<p>{len(X):,} rows, {X.shape[1]} columns of {escape(options['table'])}</p>",
        *_score_section(comparison, metric, meaning, options),
        *_importance_section(comparison.importances, kinds),
        *_worst_section(comparison, table, y, kinds, options, task),
        "<h2>Columns</h2>",
        _table_html(summarize(X, kinds), numeric=("missing", "distinct")),
        *_target_section(y, task, target),
        *_settings_section(pipeline, options, task, metric, minutes),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width">'
        f"<title>Predicting {escape(shorten(target))}</title>"
        f"<style>{_STYLE}</style></head><body>\n" + "\n".join(sections) + "\n"
        "</body></html>\n"
    )


def _score_section(comparison, metric, meaning, options):
    """Yield the scores of the candidates, as a chart and as a table."""
    table = comparison.frame()
    has_texts, last = len(table) > 1, len(table) - 1
    rows = [
        {
            "columns and sources": row.sources,
            "score": f"{row.score:.4f} ± {row.half_width:.4f}",
            "everything is better by": ""
            if i == last
            else f"{row.gain:+.4f} ± {row.gain_half_width:.4f}",
            "seconds per fit": f"{row.seconds:.1f}",
        }
        for i, row in enumerate(table.itertuples())
    ]
    question = ", and what does each source bring" if has_texts else ""
    lines = " Each line with texts has all columns." if has_texts else ""
    yield f"<h2>How good are the predictions{question}?</h2>"
    yield (
        f"<p>{escape(METRICS.get(metric, metric))} of rows that were not used for "
        f"fitting, in {options['folds']} folds. {escape(meaning)}{lines}</p>"
    )
    results = zip(table["score"], table["half_width"], strict=True)
    intervals = dict(zip(table["sources"], results, strict=True))
    yield _chart(intervals, limits=bounds(metric))
    yield _table_html(pd.DataFrame(rows), numeric=list(rows[0])[1:])
    yield (
        "<p>± is half a 95% interval over the folds, corrected for training parts that "
        "overlap (Nadeau and Bengio, 2003); differences are paired by fold.</p>"
    )


def _importance_section(importances, kinds):
    """Yield a chart of how much the score drops without each column."""
    results = {
        f"{name} ({kinds[name]})": interval(drops)
        for name, drops in importances.items()
    }
    ordered = dict(sorted(results.items(), key=lambda item: -item[1][0]))
    yield "<h2>Which columns matter?</h2>"
    yield (
        "<p>How much the score of everything drops when the values of a column are "
        "shuffled. Columns that tell the same count for little, since each replaces "
        "the other.</p>"
    )
    yield _chart(ordered, baseline=0.0)


def _worst_section(comparison, table, y, kinds, options, task):
    """Yield the rows with the largest errors, out of fold."""
    worst = np.argsort(-comparison.errors, kind="stable")[:_N_WORST]
    if task == "classifier":
        worst = [i for i in worst if comparison.predictions[i] != y[i]]
    yield "<h2>Where is the model most wrong?</h2>"
    if not len(worst):
        yield "<p>Every row is predicted correctly by models that have not seen it.</p>"
        return
    texts = [name for name, kind in kinds.items() if kind == "text"]
    shown = {"row": [f"{table.index[i] + 1:,}" for i in worst]}
    for name in [*options["id"], *texts]:
        shown[name] = [_cell(value) for value in table[name].iloc[worst]]
    shown["actual"] = [_cell(y[i]) for i in worst]
    shown["predicted"] = [_cell(comparison.predictions[i]) for i in worst]
    if task == "classifier":
        label = "probability of actual"
        shown[label] = [f"{1 - comparison.errors[i]:.2g}" for i in worst]
    else:
        label = "error"
        shown[label] = [f"{comparison.errors[i]:.4g}" for i in worst]
    yield (
        "<p>Predicted by models that have not seen the row. Some of these rows may "
        "have a wrong target. Rows are numbered from 1, without the header.</p>"
    )
    yield _table_html(pd.DataFrame(shown), numeric=("row", label))


def _target_section(y, task, target):
    """Yield how the target is distributed."""
    yield f"<h2>Target: {escape(shorten(target))}</h2>"
    if task == "classifier":
        counts = pd.Series(y).value_counts()
        rows = {
            "class": [shorten(label) for label in counts.index],
            "rows": [f"{count:,}" for count in counts],
            "share": [f"{count / len(y):.1%}" for count in counts],
        }
        yield _table_html(pd.DataFrame(rows), numeric=("rows", "share"))
    else:
        places = {"minimum": 0, "median": 0.5, "maximum": 1}
        rows = {name: [f"{np.quantile(y, q):.6g}"] for name, q in places.items()}
        yield _table_html(pd.DataFrame({"mean": [f"{y.mean():.6g}"], **rows}))


def _settings_section(pipeline, options, task, metric, minutes):
    """Yield the options, versions and the pipeline."""
    import sklearn
    import skrub

    settings = {**options, "task": task, "metric": metric}
    rows = [
        (key, _setting(value))
        for key, value in settings.items()
        if value or type(value) is int  # a seed of 0
    ]
    rows += [
        ("minutes", f"{minutes:.1f}"),
        ("sk_metaembed", __version__),
        ("scikit-learn", sklearn.__version__),
        ("skrub", skrub.__version__),
    ]
    yield "<h2>Settings</h2>"
    yield _table_html(pd.DataFrame(rows, columns=["setting", "value"]))
    yield f"<pre>{escape(repr(pipeline))}</pre>"


def _setting(value):
    return " ".join(value) if isinstance(value, list) else str(value)


def _cell(value):
    if isinstance(value, float | np.floating):
        return "" if np.isnan(value) else f"{value:.6g}"
    return "" if value is None or value is pd.NA else shorten(value, _LONGEST)


def _table_html(table, numeric=()):
    """Return a DataFrame of str as HTML, columns in `numeric` to the right."""
    tags = ['<td class="n">' if name in numeric else "<td>" for name in table]
    head = "".join(
        f"{tag.replace('<td', '<th')}{escape(shorten(name))}</th>"
        for tag, name in zip(tags, table, strict=True)
    )
    body = "\n".join(
        "<tr>"
        + "".join(
            f"{tag}{escape(cell)}</td>" for tag, cell in zip(tags, row, strict=True)
        )
        + "</tr>"
        for row in table.itertuples(index=False, name=None)
    )
    return (
        f'<div class="wide"><table><thead><tr>{head}</tr></thead>\n'
        f"<tbody>{body}</tbody></table></div>"
    )


_WIDTH, _LABELS, _ROW, _AXIS = 760, 260, 24, 26  # pixels


def _chart(intervals, baseline=None, limits=(-np.inf, np.inf)):
    """Return an SVG of points with intervals, one row per name.

    Parameters
    ----------
    intervals : dict of str to (float, float)
        Mean and half the width.
    baseline : float, default=None
        A value with a vertical line.
    limits : tuple of (float, float), default=(-inf, inf)
        Where intervals are cut.
    """
    means, widths = np.array(list(intervals.values())).T
    starts, stops = np.clip([means - widths, means + widths], *limits)
    ends = [*starts, *stops, *([] if baseline is None else [baseline])]
    low, high = min(ends), max(ends)
    margin = 0.04 * (high - low) or 0.01
    low, high = low - margin, high + margin
    left, right = _LABELS, _WIDTH - 70

    def place(value):
        return left + (value - low) / (high - low) * (right - left)

    bottom = _ROW * len(intervals)
    parts = []
    for tick in _ticks(low, high):
        x = place(tick)
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{bottom}" '
            'stroke="currentColor" stroke-opacity="0.15"/>'
            f'<text x="{x:.1f}" y="{bottom + 17}" text-anchor="middle" '
            f'fill="currentColor">{tick:.4g}</text>'
        )
    if baseline is not None:
        x = place(baseline)
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{bottom}" '
            'stroke="currentColor" stroke-opacity="0.7" stroke-dasharray="3 3"/>'
        )
    lines = zip(intervals, means, starts, stops, strict=True)
    for i, (name, mean, start, stop) in enumerate(lines):
        y = _ROW * (i + 0.5)
        parts.append(
            f'<text x="{left - 12}" y="{y + 4:.1f}" text-anchor="end" '
            f'fill="currentColor">{escape(shorten(name, 36))}</text>'
            f'<line x1="{place(start):.1f}" x2="{place(stop):.1f}" '
            f'y1="{y}" y2="{y}" stroke="#2a78d6" stroke-width="2"/>'
            f'<circle cx="{place(mean):.1f}" cy="{y}" r="4.5" fill="#2a78d6"/>'
            f'<text x="{_WIDTH}" y="{y + 4:.1f}" text-anchor="end" '
            f'fill="currentColor">{round(mean, 3) + 0.0:.3f}</text>'
        )
    return (
        f'<svg viewBox="0 0 {_WIDTH} {bottom + _AXIS}" width="{_WIDTH}" '
        f'height="{bottom + _AXIS}" font-size="13" role="img" '
        f'aria-label="Points with intervals">{"".join(parts)}</svg>'
    )


def _ticks(low, high):
    """Return about five round numbers between two."""
    raw = (high - low) / 5
    power = 10.0 ** np.floor(np.log10(raw))
    step = power * min((1, 2, 5, 10), key=lambda factor: abs(factor - raw / power))
    first = np.ceil(low / step)
    return [step * i + 0.0 for i in np.arange(first, np.floor(high / step) + 1)]
