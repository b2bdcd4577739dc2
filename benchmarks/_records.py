"""Results that are written line by line, so that an interrupted run resumes."""

import json
from pathlib import Path

import numpy as np
from scipy.stats import t


def read_records(path):
    """Return the records of a file, none if there is no file."""
    path = Path(path)
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def append_record(path, record):
    """Write a record as the last line of a file."""
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


def complete(path, names, cases, measure):
    """Append the records that a file lacks; return those of all cases.

    A case has a value for each of the `names`. ``measure(*case)`` returns the other
    fields of its record.
    """
    done = {tuple(r[name] for name in names): r for r in read_records(path)}
    for case in cases:
        if case not in done:
            done[case] = dict(zip(names, case, strict=True)) | measure(*case)
            append_record(path, done[case])
    return [done[case] for case in cases]


def interval(differences):
    """Return the mean, half of its 95 % interval, and the p-value of Student's t."""
    differences = np.asarray(differences)
    n, mean = len(differences), np.mean(differences)
    if n < 2:
        return mean, np.nan, np.nan
    error = max(np.std(differences, ddof=1) / np.sqrt(n), 1e-12)
    return mean, error * t.ppf(0.975, n - 1), 2 * t.sf(abs(mean / error), n - 1)
