"""The commands read any table, or say what is wrong with it."""

import numpy as np
import pandas as pd
import pytest

from sk_metaembed._command_line import _commands
from sk_metaembed._command_line._main import _parser

from ..tables.check_case import is_own
from ..tables.random_tables import random_case
from .command import quick_pipeline

N_CASES, PER_TEST = 10, 5
NIGHTLY, PER_NIGHTLY_TEST = 2000, 100


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    """Fit models of one learner, a small tree."""
    monkeypatch.setattr(_commands, "make_table_pipeline", quick_pipeline)


def write(rng, table, name):
    """Write a table in a random format, and return the name of the file."""
    kind = str(rng.choice(["csv", "csv", "csv.gz", "tsv", "parquet", "json", "jsonl"]))
    path = f"{name}.{kind}"
    try:
        if kind == "parquet":
            table.to_parquet(path)
        elif kind.startswith("json"):
            table.to_json(path, orient="records", lines=kind == "jsonl")
        else:
            raise TypeError
    except Exception:  # the format does not take such a table
        path = f"{name}.csv"
        table.to_csv(
            path,
            index=bool(rng.random() < 0.1),
            sep=str(rng.choice([*",;\t|"])),
            encoding=str(rng.choice(["utf-8", "utf-8-sig", "utf-16"])),
            errors="replace",
            quoting=int(rng.choice([0, 1])),
        )
    return path


def run(*arguments):
    """Run a command; return False if it says what is wrong."""
    options = _parser().parse_args([*map(str, arguments)])
    try:
        getattr(_commands, options.command)(options)
    except Exception as error:
        if not is_own(error):
            raise
        return False
    return True


def check(seed):
    """Fit, describe and predict the table of a seed."""
    case = random_case(seed, only_pandas=True)
    rng = np.random.default_rng(seed)
    table = case.X.copy()
    table.insert(table.shape[1], "target", None, allow_duplicates=True)
    is_column = isinstance(case.y, list) or getattr(case.y, "ndim", 0) == 1
    if is_column and len(case.y) == len(table):
        table["target"] = pd.Series([*case.y], table.index, dtype=object)
    path = write(rng, table, "t")
    new = write(rng, case.new, "new")
    first = str(table.columns[0])
    options = [[], ["--task", case.task], ["--id", first], ["--drop", first]]
    chosen = options[rng.integers(len(options))]
    run("describe", path)
    if not run("fit", path, "--target", "target", "--output", "t.skm", *chosen):
        return False
    run("describe", "t.skm")
    if not run("predict", "t.skm", new, "--output", "p.csv"):
        return False
    predicted = pd.read_csv("p.csv", skip_blank_lines=False)
    assert len(predicted) == len(case.new)
    assert predicted["prediction"].notna().all()
    return True


def check_all(seeds):
    results = []
    for seed in seeds:
        try:
            results.append(check(seed))
        except Exception as error:
            parts = random_case(seed, only_pandas=True).parts
            error.add_note(f"random_case({seed}, True): {', '.join(parts)}")
            raise
    return results


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("start", range(0, N_CASES, PER_TEST))
def test_random_files(start, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert any(check_all(range(start, start + PER_TEST)))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("start", range(N_CASES, NIGHTLY, PER_NIGHTLY_TEST))
def test_many_random_files(start, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_all(range(start, min(start + PER_NIGHTLY_TEST, NIGHTLY)))
