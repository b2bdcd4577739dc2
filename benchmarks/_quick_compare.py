"""Ratios with intervals, noise, and the comparison of runs, for `quick.py`.

Pure functions of numbers. A run is a dict with `processor`, `ratios` (by workload: the
ratio and the two ends of its interval) and facts of the machine, one line of the file
of records.
"""

import json
import math
from itertools import combinations
from statistics import median
from typing import NamedTuple

LEAST_NOISE = 0.05  # in units of log: 5 %
MARGIN = 2
VERSIONS = ("python", "numpy", "scikit-learn", "torch")


class Change(NamedTuple):
    """How a workload's ratio moved; `verdict` is what its line says."""

    name: str
    ratio: float
    before: float
    threshold: float
    verdict: str

    @property
    def moved(self):
        """Return +1 for slower, -1 for faster, 0 for unchanged or not comparable."""
        return {"slower": 1, "faster": -1}.get(self.verdict.split()[0], 0)


def summarize(ratios):
    """Return the median of the rounds' ratios and its 95 % interval.

    The interval is that of order statistics, which assumes no distribution: of n
    rounds, the k-th smallest and largest enclose the median with probability
    ``1 - 2 P(B < k)``, B binomial with n and 1/2. Fewer than 6 rounds give their range.
    """
    ordered, n = sorted(ratios), len(ratios)
    k, outside = 1, 2 * 0.5**n
    while True:
        outside += 2 * math.comb(n, k) * 0.5**n
        if outside > 0.05 or 2 * k >= n - 1:
            return median(ordered), ordered[k - 1], ordered[n - k]
        k += 1


def learn_noise(runs):
    """Return the noise of each workload from runs of one commit, in units of log.

    Twice the largest difference between two runs, at least 5 %: two later runs of one
    commit should not differ by more. The range of five or six runs underestimates what
    happens in a hundred.
    """
    noise = {}
    for name in sorted({name for run in runs for name in run["ratios"]}):
        logs = [math.log(r["ratios"][name][0]) for r in runs if name in r["ratios"]]
        apart = [abs(a - b) for a, b in combinations(logs, 2)]
        if apart:
            noise[name] = round(max(LEAST_NOISE, MARGIN * max(apart)), 4)
    return noise


def baseline(records, processor):
    """Return, by workload, the newest record of a processor that has it, and a note.

    Records of other processors are not compared: their ratios differ for that reason
    alone.
    """
    same = [record for record in records if record["processor"] == processor]
    note = ""
    if records and not same:
        note = (
            f"No record is from this processor ({processor}), so nothing is compared. "
            "To compare two commits here, measure the older one in a git worktree with "
            "--checkout and --record."
        )
    newest = {}
    for record in same:
        newest.update(dict.fromkeys(record["ratios"], record))
    return newest, note


def compare(current, newest, noise):
    """Return a `Change` per workload of a run, against its newest record.

    A ratio moved if it differs by more than the workload's noise and the intervals of
    the two runs do not overlap.
    """
    widest = max([LEAST_NOISE, *noise.values()])
    changes = []
    for name, (ratio, low, high) in current["ratios"].items():
        if name not in newest:
            changes.append(Change(name, ratio, math.nan, math.nan, "new"))
            continue
        before, before_low, before_high = newest[name]["ratios"][name]
        threshold = noise.get(name, widest)
        apart = math.log(ratio / before)
        verdict = "unchanged"
        if apart > threshold and low > before_high:
            verdict = f"slower by {ratio / before - 1:.0%}"
        elif apart < -threshold and high < before_low:
            verdict = f"faster by {1 - ratio / before:.0%}"
        changes.append(Change(name, ratio, before, threshold, verdict))
    for name in newest:
        if name not in current["ratios"]:
            before = newest[name]["ratios"][name][0]
            changes.append(Change(name, math.nan, before, math.nan, "missing"))
    return changes


def confirmed(first, again):
    """Return the changes of two measurements: what moved must have moved twice.

    A workload that was measured again and did not move in the same direction is
    unchanged; one that did keeps the smaller change.
    """
    second = {change.name: change for change in again}
    result = []
    for change in first:
        other = second.get(change.name)
        if other is None or not change.moved:
            result.append(change)
        elif other.verdict == "missing":  # it failed when measured again
            result.append(other)
        elif other.moved != change.moved:
            result.append(other._replace(verdict="unchanged"))
        else:
            pair = (change, other)
            result.append(min(pair, key=lambda c: abs(math.log(c.ratio / c.before))))
    return result


def other_versions(current, record):
    """Return a note on libraries whose versions differ from a record's, or ""."""
    different = [
        f"{name} {record[name]} (now {current[name]})"
        for name in VERSIONS
        if record.get(name) != current.get(name)
    ]
    return "The record is from " + ", ".join(different) + "." if different else ""


def read_records(path):
    """Return the records of a file, one per line, in the order of their commits."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines if line.strip()]
    return sorted(records, key=lambda r: (r["committed"], r["date"]))


def read_noise(path):
    """Return the noise of each workload, in units of log."""
    return (
        json.loads(path.read_text(encoding="utf-8"))["noise"] if path.exists() else {}
    )
