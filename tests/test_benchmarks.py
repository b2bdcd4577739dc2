"""The scripts in benchmarks/ that others rely on; nothing is timed.

What quick.py calls a change, on generated ratios; what gpu.py reports of a row that
takes too long; the seeds of fuzz.py, without atheris.
"""

import math
import subprocess
import sys
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
NAMES = [f"w{i}" for i in range(25)]
TRUE = dict(zip(NAMES, np.geomspace(0.02, 10, len(NAMES)), strict=True))


@pytest.fixture(scope="module")
def quick():
    """Import the scripts as Python does when it runs one of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield import_module("quick")


@pytest.fixture
def logic(quick):
    return sys.modules["_quick_compare"]


def generated_run(logic, rng, factors=None, between=0.01, within=0.03, n_rounds=15):
    """Return a run: its processes differ, and so do the rounds of each process."""
    ratios = {}
    for name, true in TRUE.items():
        true = true * (factors or {}).get(name, 1.0) * math.exp(between * rng.normal())
        rounds = true * np.exp(within * rng.normal(size=n_rounds))
        ratios[name] = list(logic.summarize(rounds))
    return {"processor": "x", "ratios": ratios, "missing": {}}


def against(run):
    return dict.fromkeys(run["ratios"], run)


def test_runs_of_one_commit_raise_no_alarm(logic):
    rng = np.random.default_rng(0)
    runs = [generated_run(logic, rng) for _ in range(106)]
    noise = logic.learn_noise(runs[:6])
    moved = 0
    for before, after in pairwise(runs[6:]):
        first = logic.compare(after, against(before), noise)
        again = logic.compare(generated_run(logic, rng), against(before), noise)
        moved += sum(change.moved != 0 for change in logic.confirmed(first, again))
    assert moved <= 2  # of 2,475 comparisons


def test_a_planted_change_is_found(logic):
    rng = np.random.default_rng(1)
    noise = logic.learn_noise([generated_run(logic, rng) for _ in range(6)])
    planted = {"w3": 1.2, "w20": 1 / 1.2}
    for _ in range(20):
        before = generated_run(logic, rng)
        runs = [generated_run(logic, rng, planted) for _ in range(2)]
        first, again = (logic.compare(run, against(before), noise) for run in runs)
        moved = {c.name: c.moved for c in logic.confirmed(first, again) if c.moved}
        assert moved == {"w3": 1, "w20": -1}


def test_verdicts_give_the_size_and_need_intervals_apart(logic):
    before = {"ratios": {name: [1.0, 0.95, 1.05] for name in "abcde"}}
    cases = {
        "a": ([1.25, 1.2, 1.3], ("slower by 25%", 1)),
        "b": ([0.8, 0.75, 0.85], ("faster by 20%", -1)),
        "c": ([1.25, 1.04, 1.5], ("unchanged", 0)),  # overlaps
        "d": ([1.06, 1.055, 1.07], ("unchanged", 0)),  # within the noise
        "e": (None, ("missing", 0)),
        "f": ([2.0, 1.9, 2.1], ("new", 0)),
    }
    after = {"ratios": {name: ratio for name, (ratio, _) in cases.items() if ratio}}
    changes = logic.compare(after, against(before), dict.fromkeys(cases, 0.1))
    found = {change.name: (change.verdict, change.moved) for change in changes}
    assert found == {name: expected for name, (_, expected) in cases.items()}


@pytest.fixture
def counted(quick, monkeypatch):
    """Make a workload whose sides return figures in place of being timed."""
    rng = np.random.default_rng(0)

    def sides(_):
        return tuple(
            lambda mean=mean: quick.Figure(mean * math.exp(0.01 * rng.normal()))
            for mean in (3.0, 2.0)
        )

    workload = quick.WORKLOADS["lookup"]._replace(prepare=sides, fewest_rounds=9)
    monkeypatch.setitem(quick.WORKLOADS, "lookup", workload)
    monkeypatch.setenv("SK_METAEMBED_CACHE", "")
    return lambda slower: quick.measure("lookup", BENCHMARKS.parent, 1e-9, slower)


def test_a_slower_or_missing_workload_ends_with_status_1_and_what_to_do(
    quick, logic, counted, capsys
):
    def taken(slower):
        ratios = {"lookup": logic.summarize(counted(slower)["ratios"])}
        return {"commit": "abc", "ratios": ratios}

    before = taken(0.0)
    assert before["ratios"]["lookup"][0] == pytest.approx(1.5, rel=0.02)
    newest, noise = against(before), {"lookup": 0.05}
    assert quick.report(logic.compare(taken(0.0), newest, noise), newest) == 0
    assert "1 unchanged, 0 faster, 0 regressions." in capsys.readouterr().out
    assert quick.report(logic.compare(taken(0.2), newest, noise), newest) == 1
    printed = capsys.readouterr().out
    assert "slower by" in printed
    assert "python benchmarks/quick.py --profile lookup" in printed
    assert "git log --oneline abc.. -- sk_metaembed" in printed
    assert quick.report(logic.compare(taken(-0.2), newest, noise), newest) == 0
    assert "Faster: lookup" in capsys.readouterr().out
    assert quick.report(logic.compare({"ratios": {}}, newest, {}), newest) == 1
    assert "missing" in capsys.readouterr().out
    assert quick.report([], {}, ["lookup"]) == 1
    assert "lookup: no result" in capsys.readouterr().out


def test_every_stored_record_can_be_compared(quick, logic):
    records = logic.read_records(quick.HISTORY)
    assert records
    assert set(logic.read_noise(quick.NOISE)) == set(quick.WORKLOADS)
    for record in records:
        for name, (ratio, low, high) in record["ratios"].items():
            assert 0 < low <= ratio <= high, name
    newest, _ = logic.baseline(records, records[-1]["processor"])
    assert set(newest) >= set(quick.WORKLOADS)


@pytest.mark.slow
def test_every_workload_runs(quick, monkeypatch, tmp_path):
    """Once, without rounds; in this process, so that coverage and errors are seen."""
    monkeypatch.delenv("SK_METAEMBED_DATA", raising=False)
    for name, workload in quick.WORKLOADS.items():
        folder = tmp_path / name
        folder.mkdir()
        for side in workload.prepare(folder):
            side()


@pytest.mark.parametrize(("left", "reported"), [(59, "skipped"), (61, "failed")])
def test_a_row_cut_off_by_the_end_has_not_failed(left, reported, monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    gpu = import_module("gpu")

    def measure(*args):
        raise TimeoutError(f"took more than {min(left, 60)} s")

    monkeypatch.setattr(gpu, "measure", measure)
    record = gpu.measured(gpu.Row("DME", None, 64, "float32"), None, "cpu", left)
    assert f"{reported}: " in gpu.line(record)
    assert (record["error"] is None) == (reported == "skipped")


SEEDS = """
import contextlib, importlib.util, shutil, sys, types, warnings

atheris = types.ModuleType("atheris")
atheris.instrument_imports = lambda **options: contextlib.nullcontext()
sys.modules["atheris"] = atheris
spec = importlib.util.spec_from_file_location("fuzz", sys.argv[1])
fuzz = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fuzz)
try:
    for name, (parse, seeds, longest) in fuzz.PARSERS.items():
        inputs = seeds()
        assert inputs, name
        for data in inputs:
            parse(data)
            assert len(data) <= longest, (name, len(data))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fuzz.cache_file(b"x" * 5000)
    assert any("is corrupt" in str(w.message) for w in caught)
finally:
    shutil.rmtree(fuzz.WORK)
"""


@pytest.mark.slow  # seconds in loops that numba does not compile
@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="atheris needs Linux")
def test_seeds_of_the_fuzzed_parsers_are_valid():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SEEDS, str(BENCHMARKS / "fuzz.py")],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
