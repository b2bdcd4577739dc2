"""Run fit, predict and describe with parsed options."""

import re
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics import get_scorer

try:
    import pandas as pd
except ImportError as error:
    raise ImportError(
        "Tables require pandas: pip install 'sk_metaembed[tables]'."
    ) from error

from .. import (
    PretrainedEmbedding,
    TableEncoder,
    TransformerEmbedding,
    load,
    make_embedding,
    make_table_pipeline,
    save,
)
from .._core._optional import progress_bar
from .._io._atomic import check_parent, file_path
from .._pipelines import fitted_steps
from ..inspection import compare_sources
from ..tables._api import find_kinds
from ._read_table import READERS, read_table, read_target, split_suffix
from ._report import report_html
from ._summaries import SCORES, columns_frame, learners_frame, shorten, summarize
from ._suspicious import find_suspicious

_PREDICT_ROWS = 100_000  # at a time, which bounds the memory of features
_MISSING = "empty, NA, None, null or nan"  # missing values for pandas, among others


def fit(options):
    """Fit a pipeline on a table; write a model file, and a report if requested."""
    output = _output(options, ".skm")
    report = _report_path(options.report) if options.report else None
    table = _read_rows(options.table, options.separator, options.id)
    left_out = [*options.drop, *options.id]
    if options.groups:
        _check_columns(table, [options.groups], "--groups")
        left_out = list(dict.fromkeys([*left_out, options.groups]))
    X, target = _split_target(table, options.target, left_out)
    groups, of_steps = None, {}
    if options.groups:
        groups = _group_numbers(table[options.groups][X.index])
        of_steps = {"table__groups": groups, "model__groups": groups}
    if n_left_out := len(table) - len(X):
        _say(f"left out, without a target ({_MISSING}): {n_left_out:,} rows")
    if options.folds < 2:
        raise ValueError(f"--folds must be at least 2, got {options.folds}.")
    options.task, y = read_target(target, options.task)
    if options.metric:
        get_scorer(options.metric)  # raises ValueError
    _say(f"{len(X):,} rows, {X.shape[1]} columns; {options.task} of {target.name!r}")
    sources = [_source(name) for name in options.sources]
    pipeline = _pipeline(sources, options)
    _say("Fitting on all rows ...")
    save(pipeline.fit(X, y, **of_steps), output, bundle=options.bundle)
    _say(f"Wrote {output}")
    suspicious = find_suspicious(pipeline, X, y, groups)
    for text in suspicious:
        _say(f"note: {text}")
    if report is None:
        return
    with tempfile.TemporaryDirectory(prefix="sk_metaembed-") as cache:
        for _, source in sources:
            if isinstance(source, TransformerEmbedding):
                source.set_params(cache=cache)
        comparison = compare_sources(
            _pipeline(sources, options),
            X,
            y,
            cv=options.folds,
            scoring=options.metric,
            groups=groups,
            random_state=options.seed,
            verbose=True,
        )
    page = report_html(
        pipeline, table.loc[X.index], X, y, comparison, suspicious, vars(options)
    )
    report.write_text(page, encoding="utf-8")
    score = comparison.frame().iloc[-1]
    _say(f"{comparison.metric}: {score['score']:.3f} ± {score['half_width']:.3f}")
    _say(f"Wrote {report}")


def predict(options):
    """Write the predictions of a model for the rows of a table."""
    output = _output(options, ".predictions.csv")
    model = load(options.model)
    if not hasattr(model, "feature_names_in_"):
        raise ValueError(f"{options.model!r} does not contain a model for tables.")
    encoders = [step for step in fitted_steps(model) if isinstance(step, TableEncoder)]
    # pandas would read "007" as 7 in a file that has no other codes.
    texts = [c.name for each in encoders for c in each.columns_ if c.is_string]
    table = read_table(options.table, options.separator, texts=texts, ids=options.id)
    columns = list(model.feature_names_in_)
    if not len(table) and not table.shape[1]:  # without records, no columns are named
        table = pd.DataFrame(columns=[*dict.fromkeys([*columns, *options.id])])
    _check_columns(table, columns, options.model)
    _check_columns(table, options.id, "--id")
    ids = table[[*dict.fromkeys(options.id)]]
    labels = getattr(model, "classes_", ())
    probabilities = [f"probability_{label}" for label in labels]
    names = ["prediction", *probabilities]
    if taken := [name for name in ids if name in names]:
        raise ValueError(
            f"--id: predict writes a column named {taken[0]!r} itself. Rename that "
            "column of the table, or leave it out of --id."
        )
    parts = [pd.DataFrame(columns=names)] * (not len(table))
    starts = range(0, len(table), _PREDICT_ROWS)
    for start in progress_bar(starts, desc="predict", disable=None):
        X = table.iloc[start : start + _PREDICT_ROWS][columns]
        parts.append(pd.DataFrame({"prediction": model.predict(X)}))
        if hasattr(model, "predict_proba"):
            with warnings.catch_warnings(action="ignore"):  # predict has issued them
                parts[-1][probabilities] = model.predict_proba(X)
    result = pd.concat(parts, ignore_index=True)
    pd.concat([ids, result], axis=1).to_csv(output, index=False)
    _say(f"Wrote {output}: {len(result):,} rows")


def describe(options):
    """Write the columns of a table, or the contents of a model, to stdout."""
    if split_suffix(options.file)[1] in READERS:
        lines = _describe_table(_read_rows(options.file, options.separator))
    else:
        lines = _describe_model(load(options.file))
    sys.stdout.writelines(f"{line}\n" for line in lines)


def _describe_table(table):
    summary = summarize(table, find_kinds(table))
    yield f"{len(table):,} rows, {table.shape[1]} columns"
    yield from _aligned(summary)


def _describe_model(model):
    labels = map(shorten, getattr(model, "classes_", ["a number"]))
    yield f"predicts: {', '.join(labels)}"
    for step in fitted_steps(model):
        if hasattr(step, "columns_"):
            yield from ("", *_aligned(columns_frame(step)))
        if hasattr(step, "scores_") and hasattr(step, "weights_"):
            yield from ("", *_aligned(learners_frame(step)))
            yield f"score: {SCORES[hasattr(step, 'classes_')]}"
    yield from ("", repr(model))


def _aligned(table):
    """Yield the lines of a DataFrame in columns, numbers with three decimals."""
    rows = [["" if pd.isna(cell) else cell for cell in row] for row in table.to_numpy()]
    rows = [
        [f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in row]
        for row in rows
    ]
    cells = np.array([[*table], *rows], dtype=str)
    for row in np.strings.ljust(cells, np.strings.str_len(cells).max(axis=0)):
        yield "  ".join(row).rstrip()


def _read_rows(path, separator, ids=()):
    """Return the table in a file, or raise ValueError if it has no rows."""
    table = read_table(path, separator, ids=ids)
    if not len(table):
        raise ValueError(f"{path!r} has no rows.")
    return table


def _check_columns(table, names, option):
    """Raise ValueError unless a table has all columns of an option."""
    missing = [name for name in names if name not in table]
    if missing:
        raise ValueError(
            f"{option}: the table has no column {', '.join(map(repr, missing))}. Its "
            f"columns are {', '.join(map(repr, table.columns)) or 'none'}."
        )


def _split_target(table, target, dropped):
    """Return the rows with a target: (X, y)."""
    for option, names in (("--target", [target]), ("--drop, --id", dropped)):
        _check_columns(table, names, option)
    table = table[table[target].notna()]
    if not len(table):
        raise ValueError(f"--target: all values of {target!r} are missing.")
    X = table.drop(columns=[target, *dropped])
    if not X.shape[1]:
        raise ValueError("No columns are left to predict from.")
    return X, table[target]


def _group_numbers(column):
    """Return the group number of each row; a row without a group is its own group."""
    numbers = pd.factorize(column)[0].astype("int64")
    absent = (numbers < 0).nonzero()[0]
    numbers[absent] = -1 - absent
    return numbers


def _output(options, suffix):
    """Return the path of --output, by default the name of the table with a suffix."""
    name = split_suffix(options.table)[0] + suffix
    return _writable(options.output or name, "--output")


def _writable(path, option):
    """Return the path of a file to write; check that its folder exists."""
    path = file_path(path, option)
    check_parent(path, option)
    return path


def _report_path(path):
    """Return the path of the report, or raise ImportError without matplotlib."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "--report requires matplotlib: pip install 'sk_metaembed[plot]'."
        ) from error
    return _writable(path, "--report")


def _source(name):
    """Return the (name, source) that an argument of --sources names."""
    from ..datasets import encoder_path, load_glove_6b_50d

    if name == "glove":
        return name, PretrainedEmbedding(load_glove_6b_50d())
    is_encoder = name in ("minilm", "mpnet")
    path = Path(encoder_path(name) if is_encoder else name).expanduser()
    if not path.exists():
        raise ValueError(
            f"--sources: {name!r} is not minilm, mpnet or glove, a file of word "
            "vectors, or the folder of a transformer."
        )
    label = name if is_encoder else re.sub(r"[\W_]+", "_", path.stem).strip("_")
    source = make_embedding(path)
    if isinstance(source, TransformerEmbedding):
        other = is_encoder or not (path / "modules.json").exists()
        source.set_params(output="mean" if other else "sentence")
    return label, source


def _pipeline(sources, options):
    """Return the unfitted pipeline."""
    return make_table_pipeline(
        options.task, sources, n_jobs=options.jobs, random_state=options.seed
    )


def _say(text):
    sys.stderr.write(f"{text}\n")
