"""Parse commands and options, and print errors without a traceback."""

import argparse
import io
import sys
import warnings

_PROGRAM = "python -m sk_metaembed"
_INVALID = 2  # exit status, as in argparse
_INTERRUPTED = 130
_TABLE = "a table: .csv, .tsv, .parquet, .json or .jsonl; .gz after a suffix is read"
_FIT = """\
Learn to predict one column of a table from the others: numbers, dates, categories,
names, codes and texts. Writes a model file, and with --report a page on its quality."""
_PREDICT = "Predict the rows of a table with a model file; writes a CSV file."
_DESCRIBE = "Show the columns of a table, or what a model file expects and contains."
_COLUMNS = {"nargs": "+", "default": [], "metavar": "COLUMN"}
_OUTPUT = """file to write (default: the name of TABLE with .skm or .predictions.csv,
in the current folder)"""
_TASK = "predict classes or a number; auto decides by the target's values"
_REPORT = "write an HTML page: takes --folds times as long for each source"
_SOURCES = """embeddings of strings, in addition to n-grams: minilm, mpnet,
glove, a file of word vectors, or the folder of a transformer"""
_ID = "columns that identify a row: left out, and copied to the predictions and report"
_GROUPS = """column whose equal values are rows that belong together, such as those of
one patient: left out, and held out together in scores"""
_SEPARATOR = """separator of a CSV file: one character, or tab, comma, semicolon or pipe
(default: the one by which the rows agree with the header)"""
_METRIC = """scikit-learn's name of a score for the report (default: roc_auc for two
classes, accuracy for more, r2 for numbers)"""
_BUNDLE = "put the sources' files into the model file, to use it elsewhere"


def main(arguments=None):
    """Run a command and return its exit status.

    Parameters
    ----------
    arguments : list of str, default=None
        The arguments after ``python -m sk_metaembed``. None reads the command line.

    Returns
    -------
    int
        0, or 2 with a message on stderr if the arguments or the data are invalid.
    """
    options = _parser().parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A console may not be able to encode the names and texts of a table.
        sys.stdout.reconfigure(errors="backslashreplace")
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            from . import _commands

            getattr(_commands, options.command)(options)
        except (OSError, ValueError, TypeError, ImportError) as error:
            sys.stderr.write(f"{_PROGRAM} {options.command}: error: {error}\n")
            return _INVALID
        except KeyboardInterrupt:
            sys.stderr.write("interrupted\n")
            return _INTERRUPTED
    return 0


def _show_warning(message, *_):
    sys.stderr.write(f"warning: {message}\n")


def _parser():
    parser = argparse.ArgumentParser(
        _PROGRAM, description="Tables with text columns: fit, predict, describe."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    reads = argparse.ArgumentParser(add_help=False)
    reads.add_argument("--separator", metavar="CHARACTER", help=_SEPARATOR)
    shared = argparse.ArgumentParser(add_help=False, parents=[reads])
    shared.add_argument("--output", metavar="FILE", help=_OUTPUT)
    shared.add_argument("--id", help=_ID, **_COLUMNS)
    fit = commands.add_parser(
        "fit", help="learn from a table", description=_FIT, parents=[shared]
    )
    predict = commands.add_parser(
        "predict", help="predict rows", description=_PREDICT, parents=[shared]
    )
    describe = commands.add_parser(
        "describe",
        help="show a table or a model",
        description=_DESCRIBE,
        parents=[reads],
    )
    _add_fit(fit.add_argument)
    predict.add_argument("model", help="model file, written by fit")
    predict.add_argument("table", help=_TABLE)
    describe.add_argument("file", help=f"a model file, or {_TABLE}")
    return parser


def _add_fit(option):
    """Add the options of fit; `option` is the `add_argument` of its parser."""
    option("table", help=_TABLE)
    option("--target", required=True, metavar="COLUMN", help="the column to predict")
    tasks = ("auto", "classifier", "regressor")
    option("--task", choices=tasks, default="auto", help=_TASK)
    option("--report", metavar="FILE", help=_REPORT)
    option("--sources", nargs="+", default=[], metavar="SOURCE", help=_SOURCES)
    option("--drop", help="columns to leave out", **_COLUMNS)
    option("--groups", metavar="COLUMN", help=_GROUPS)
    option("--metric", help=_METRIC)
    option("--folds", type=int, default=5, help="of the report (default: 5)")
    option("--seed", type=int, default=0, help="random seed (default: 0)")
    option("--jobs", type=int, help="columns and learners in parallel; -1: all")
    option("--bundle", action="store_true", help=_BUNDLE)
