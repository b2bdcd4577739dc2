"""Ratios of many small workloads to references, compared with recorded ones.

Each workload runs in a process of its own, on generated data. The package and a
reference that does the same work with less alternate for some rounds; what counts is
the ratio of their processor times on one thread, so that another machine or other
processes matter little. The median over the rounds is printed with a 95 % interval, and
compared with the newest record of the same processor in `quick_history.jsonl`. A
workload that moved by more than its noise is measured again, in a new process. The exit
status is 1 if a workload is slower, or no longer runs.

    python benchmarks/quick.py                              # 3 to 5 minutes
    python benchmarks/quick.py --only lookup train_dme
    python benchmarks/quick.py --record                     # and store the ratios
    python benchmarks/quick.py --profile lookup             # where the time goes
    python benchmarks/quick.py --checkout /tmp/old --record # an older commit
    python benchmarks/quick.py --plant lookup=20            # slow down by 20 %
    python benchmarks/quick.py --log runs.jsonl             # repeat this, then
    python benchmarks/quick.py --learn-noise runs.jsonl     # store the noise

Processor time does not include waiting: for the disk, or for other threads.
"""

import argparse
import gc
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from _measure import ONE_THREAD
from _quick_compare import (
    baseline,
    compare,
    confirmed,
    learn_noise,
    other_versions,
    read_noise,
    read_records,
    summarize,
)
from _quick_workloads import WORKLOADS, Figure

HERE = Path(__file__).resolve().parent
HISTORY = HERE / "quick_history.jsonl"
NOISE = HERE / "quick_noise.json"
ROUNDS = 21  # at most, of calls that are fast enough
LONGEST = 300  # seconds of a workload, with what it compiles


def run_side(side, calls, slower):
    """Return the processor seconds of a call, or the figure that it returned."""
    begin = time.process_time()
    for _ in range(calls):
        result = side()
    seconds = time.process_time() - begin
    if isinstance(result, Figure):
        return result.value * (1 + slower)
    until = begin + seconds * (1 + slower)
    while slower and time.process_time() < until:
        pass
    return (time.process_time() - begin) / calls if slower else seconds / calls


def calls_per_round(side, seconds):
    """Return how many calls fill a side of a round; the first call only warms up."""
    side()
    begin = time.perf_counter()
    side()
    took = time.perf_counter() - begin
    return max(1, round(seconds / (2 * ROUNDS * max(took, 1e-7))))


def measure(name, checkout, seconds, slower):
    """Run a workload here; return the ratios of its rounds, and the median times."""
    import sk_metaembed

    found = Path(sk_metaembed.__file__).resolve()
    if checkout.resolve() not in found.parents:
        raise RuntimeError(f"Imported {found}, which is not in {checkout}.")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SK_METAEMBED_CACHE"] = folder
        data = Path(folder, "data")
        data.mkdir()
        sides = WORKLOADS[name].prepare(data)
        calls = [calls_per_round(side, seconds) for side in sides]
        gc.collect()
        gc.freeze()
        rounds, begin = [], time.perf_counter()
        fewest = WORKLOADS[name].fewest_rounds if seconds else 1
        while len(rounds) < fewest or time.perf_counter() - begin < seconds:
            times = {}
            for i in (0, 1) if len(rounds) % 2 else (1, 0):
                gc.collect()
                times[i] = run_side(sides[i], calls[i], slower * (i == 0))
            rounds.append(times)
    middle = [sorted(r[i] for r in rounds)[len(rounds) // 2] for i in (0, 1)]
    return {"ratios": [r[0] / r[1] for r in rounds], "middle": middle}


def profile(name):
    """Print where the package's side of a workload spends its time."""
    import cProfile
    import pstats

    with tempfile.TemporaryDirectory() as folder:
        ours, _ = WORKLOADS[name].prepare(Path(folder))
        if isinstance(ours(), Figure):
            raise SystemExit(f"It runs in a new process: {WORKLOADS[name].profile}")
        calls = calls_per_round(ours, 2 * ROUNDS)  # a second
        profiler = cProfile.Profile()
        profiler.enable()
        for _ in range(calls):
            ours()
        profiler.disable()
    print(f"{calls} calls")
    pstats.Stats(profiler).sort_stats("tottime").print_stats(30)


def in_worker(name, options):
    """Run a workload in a new process; return its result, or why there is none."""
    environ = {**os.environ, **ONE_THREAD, "PYTHONHASHSEED": "0"}
    environ["PYTHONPATH"] = str(options.checkout)
    for variable in ("SK_METAEMBED_DATA", "PYTHONDONTWRITEBYTECODE"):
        environ.pop(variable, None)
    command = [sys.executable, "-W", "ignore", __file__, "--worker", name]
    command += [f"--seconds={options.seconds}", f"--checkout={options.checkout}"]
    command += [f"--plant={name}={100 * options.plant.get(name, 0)}"]
    try:
        done = subprocess.run(
            command, env=environ, capture_output=True, text=True, timeout=LONGEST
        )
    except subprocess.TimeoutExpired:
        return f"not finished after {LONGEST} s"
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["killed"])[-1]
    return json.loads(done.stdout.splitlines()[-1])


def processor():
    """Return the model of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return platform.processor() or platform.machine()
    facts = {}
    for line in lines:
        name, _, value = line.partition(":")
        facts.setdefault(name.strip(), value.strip())
    name = facts.get("model name", platform.machine())
    numbers = [facts[key] for key in ("cpu family", "model") if key in facts]
    return f"{name}, family {'/'.join(numbers)}" if numbers else name


def git(checkout, *arguments):
    """Return what git prints, or "" without git."""
    command = ["git", "-C", str(checkout), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def describe(checkout):
    """Return the facts of a run: when, which commit, which machine."""
    source = (checkout / "sk_metaembed" / "_version.py").read_text()
    now = datetime.now(UTC).isoformat(timespec="seconds")
    changed = git(checkout, "status", "--porcelain", "--", "sk_metaembed")
    return {
        "date": now,
        "commit": git(checkout, "rev-parse", "--short=9", "HEAD") + "+" * bool(changed),
        "committed": git(checkout, "show", "-s", "--format=%cI", "HEAD") or now,
        "version": source.split('"')[-2],
        "processor": processor(),
        "system": platform.system(),
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "scikit-learn", "torch")},
    }


def run(names, options, show=True):
    """Measure workloads one after the other; return a run."""
    result = describe(options.checkout) | {"ratios": {}, "missing": {}}
    for name in names:
        measured = in_worker(name, options)
        if isinstance(measured, str):
            result["missing"][name] = measured
            if show:
                print(f"{name:16s} no result: {measured}", flush=True)
            continue
        ratio = result["ratios"][name] = [
            float(f"{x:.4g}") for x in summarize(measured["ratios"])
        ]
        if show:
            interval = f"({ratio[1]:.3g} to {ratio[2]:.3g})"
            sides = " / ".join(f"{value:.3g}" for value in measured["middle"])
            rounds = len(measured["ratios"])
            cells = f"{ratio[0]:8.3g} {interval:20s} {rounds:4d} rounds, {sides}"
            print(f"{name:16s} {cells}", flush=True)
    return result


def record(result, path=HISTORY):
    """Store a run; a record of the same commit and machine is updated."""
    if not result["commit"] or result["commit"].endswith("+"):
        raise SystemExit("Not recorded: commit the changes of sk_metaembed first.")
    records, same = read_records(path), None
    for old in records:
        if all(old[key] == result[key] for key in ("commit", "processor", "torch")):
            same = old
    if same is not None:
        records.remove(same)
        ratios = same["ratios"] | result["ratios"]
        missing = same["missing"] | result["missing"]
        missing = {name: why for name, why in missing.items() if name not in ratios}
        result = result | {"ratios": ratios, "missing": missing}
    records = sorted([*records, result], key=lambda r: (r["committed"], r["date"]))
    path.write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
    print(f"Recorded in {path}.")


def store_noise(runs):
    """Write the noise learned from repeated runs; other workloads keep theirs."""
    facts = {key: runs[0][key] for key in ("date", "commit", "processor")}
    noise = dict(sorted((read_noise(NOISE) | learn_noise(runs)).items()))
    NOISE.write_text(
        json.dumps({**facts, "runs": len(runs), "noise": noise}, indent=1) + "\n"
    )
    print(f"The noise learned from {len(runs)} runs is in {NOISE}.")


def comparison(result, names, options):
    """Return the changes since the newest records; what moved is measured twice."""
    newest, note = baseline(read_records(HISTORY), result["processor"])
    newest = {name: newest[name] for name in names if name in newest}
    if note:
        print(f"\n{note}")
    noise = read_noise(NOISE)
    changes = compare(result, newest, noise)
    moved = [change.name for change in changes if change.moved]
    if moved:
        print("\nMeasured again, because they moved:")
        again = run(moved, options)
        changes = confirmed(changes, compare(again, newest, noise))
    for old in {record["commit"]: record for record in newest.values()}.values():
        if different := other_versions(result, old):
            print(f"\n{old['commit']}: {different}")
    return changes, newest


def report(changes, newest, failed=()):
    """Print the changes and what to do; return the exit status.

    `failed` are workloads without a result or a record.
    """
    print(f"\n{'workload':16s} {'ratio':>8s} {'record':>8s} {'noise':>6s}  verdict")
    for c in changes:
        noise = "" if math.isnan(c.threshold) else f"{math.expm1(c.threshold):.0%}"
        figures = f"{c.ratio:8.3g} {c.before:8.3g} {noise:>6s}"
        print(f"{c.name:16s} {figures}  {c.verdict}")
    worse = [c for c in changes if c.moved > 0 or c.verdict == "missing"]
    for c in worse:
        has = WORKLOADS[c.name]
        commit = newest[c.name]["commit"]
        print(f"\n{c.name} ({has.ours}, relative to {has.reference}): {c.verdict}.")
        print(f"  profile:  {has.profile}")
        print(f"  compare:  git log --oneline {commit}.. -- sk_metaembed")
        print(f"  confirm:  python benchmarks/quick.py --only {c.name}")
    faster = [c.name for c in changes if c.moved < 0]
    if faster:
        print(f"\nFaster: {', '.join(faster)}. Store it with --record.")
    for name in failed:
        print(f"\n{name}: no result, and no record to compare with.")
    unchanged = sum(c.verdict == "unchanged" for c in changes)
    print(f"\n{unchanged} unchanged, {len(faster)} faster, {len(worse)} regressions.")
    return int(bool(worse or failed))


def planted(text):
    """Return the workload and the share of a slowdown such as lookup=20."""
    name, _, percent = text.partition("=")
    return name, float(percent) / 100


def parse():
    """Return the options."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    names = {"nargs": "+", "choices": WORKLOADS, "metavar": "WORKLOAD"}
    parser.add_argument("--only", **names, default=list(WORKLOADS))
    parser.add_argument("--seconds", type=float, default=2.0, help="per workload")
    parser.add_argument("--record", action="store_true", help="store the ratios")
    parser.add_argument("--checkout", type=Path, default=HERE.parent)
    parser.add_argument("--log", type=Path, help="append the run to a file")
    parser.add_argument("--learn-noise", type=Path, metavar="LOG")
    parser.add_argument("--profile", choices=WORKLOADS)
    parser.add_argument("--plant", type=planted, nargs="*", default=[], metavar="W=20")
    parser.add_argument("--worker", choices=WORKLOADS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.plant = dict(options.plant)
    if unknown := options.plant.keys() - WORKLOADS.keys():
        parser.error(f"--plant: no workload is called {', '.join(sorted(unknown))}")
    options.checkout = options.checkout.resolve()
    return options


def main():
    """Measure and compare."""
    options = parse()
    if options.worker:
        slower = options.plant[options.worker]
        result = measure(options.worker, options.checkout, options.seconds, slower)
        print(json.dumps(result))
        return 0
    if options.profile:
        profile(options.profile)
        return 0
    if options.learn_noise:
        store_noise(read_records(options.learn_noise))
        return 0
    result = run(options.only, options)
    if options.log:
        with options.log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(result) + "\n")
        return 0
    changes, newest = comparison(result, options.only, options)
    if options.record:
        record(result)
    return report(changes, newest, sorted(set(result["missing"]) - set(newest)))


if __name__ == "__main__":
    sys.exit(main())
