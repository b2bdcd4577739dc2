"""Run the tests with the kernels of other processors, and with one and two threads.

torch, oneDNN, MKL, OpenBLAS, NumPy and numba choose their kernels by the processor
that they find, and another kernel sums in another order: the last bits of a product
differ. Each setting here makes all of them choose as on an older or another make of
processor, for as far as this one can run it.

    python tools/run_on_processors.py    # every setting that runs here
    python tools/run_on_processors.py --setting avx2 --threads 1 -- tests/meta -x

What follows ``--`` goes to pytest. Exits with 1 if a test failed under any setting.
"""

import argparse
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
LEVELS = ("default", "avx2", "avx512")
# By the names of NumPy 2.4 and of those before it.
AVX512_OF_NUMPY = re.compile(r"X86_V4|AVX512")
SETTINGS = {
    "default": {
        "ATEN_CPU_CAPABILITY": "default",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
        "MKL_CBWR": "COMPATIBLE",
        "OPENBLAS_CORETYPE": "Nehalem",
        "NUMBA_CPU_NAME": "generic",
    },
    "avx2": {
        "ATEN_CPU_CAPABILITY": "avx2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "OPENBLAS_CORETYPE": "Haswell",
        "NUMBA_CPU_NAME": "haswell",
        "NUMBA_CPU_FEATURES": "",  # those of the named processor, not of this one
    },
    "avx512": {
        "ATEN_CPU_CAPABILITY": "avx512",
        "ONEDNN_MAX_CPU_ISA": "AVX512_CORE",
        "MKL_ENABLE_INSTRUCTIONS": "AVX512",
        "OPENBLAS_CORETYPE": "SkylakeX",
        "NUMBA_CPU_NAME": "skylake-avx512",
        "NUMBA_CPU_FEATURES": "",
    },
}
# MKL keeps its kernels for Intel's processors from those of other makes unless this
# function says that the processor is Intel's.
INTEL = "int mkl_serv_intel_cpu_true(void) { return 1; }\n"
DESCRIBE = """
import numba, numpy, torch
from threadpoolctl import threadpool_info
import scipy.linalg
blas = {info.get("architecture") for info in threadpool_info()} - {None}
simd = numpy.show_config(mode="dicts")["SIMD Extensions"]
print("torch", torch.backends.cpu.get_cpu_capability(), "OpenBLAS", *sorted(blas),
      "NumPy", *simd["baseline"], *simd.get("found", ()),
      "numba", numba.config.CPU_NAME, "threads", torch.get_num_threads())
"""


def main():
    options = parse()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in runnable(options.setting or all_settings()):
            for threads in options.threads:
                shown = f"{name}, {threads} thread{'s' * (threads > 1)}"
                environment = os.environ | variables(name, threads, folder)
                print(f"== {shown}: {describe(environment)}", flush=True)
                rows.append((shown, *run(environment, threads, options.pytest)))
    print(f"\n{'setting':<26}{'passed':>8}{'failed':>8}{'skipped':>9}{'minutes':>9}")
    for shown, _, counts, minutes in rows:
        print(f"{shown:<26}{counts[0]:>8}{counts[1]:>8}{counts[2]:>9}{minutes:>9.1f}")
    return max((status != 0 for _, status, _, _ in rows), default=False)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--setting", action="append", choices=all_settings())
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("pytest", nargs="*", help="arguments of pytest, after --")
    return parser.parse_args()


def all_settings():
    return [*LEVELS, *(f"{level}-intel" for level in LEVELS[1:])]


def runnable(names):
    """Return those of the settings whose kernels this processor can run."""
    import torch

    if platform.machine().lower() not in ("x86_64", "amd64"):
        sys.exit("The settings are those of x86-64 processors.")
    highest = torch.backends.cpu.get_cpu_capability().lower()
    reached = LEVELS.index(highest if highest in LEVELS else "default")
    above = LEVELS[reached + 1 :]
    left_out = [name for name in names if name.removesuffix("-intel") in above]
    if left_out:
        print(f"Left out, for this processor lacks the instructions: {left_out}")
    return [name for name in names if name not in left_out]


def variables(name, threads, folder):
    """Return the environment variables of a setting."""
    level = name.removesuffix("-intel")
    chosen = {**SETTINGS[level], "OMP_NUM_THREADS": str(threads)}
    chosen["NUMBA_NUM_THREADS"] = str(threads)
    if features := numpy_features_above(level):
        chosen["NPY_DISABLE_CPU_FEATURES"] = " ".join(features)
    if level != name:
        chosen["LD_PRELOAD"] = str(intel_library(Path(folder)))
    return chosen


def numpy_features_above(level):
    """Return what NumPy must leave alone; it refuses names that it does not know."""
    simd = np.show_config(mode="dicts")["SIMD Extensions"]
    dispatched = [*simd.get("found", ()), *simd.get("not found", ())]
    if level == "default":
        return dispatched
    return [f for f in dispatched if level == "avx2" and AVX512_OF_NUMPY.match(f)]


def intel_library(folder):
    library = folder / "intel.so"
    command = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", library]
    subprocess.run(command, input=INTEL, text=True, check=True)
    return library


def describe(environment):
    """Return the kernels that the libraries chose: a setting must not go unheard."""
    command = [sys.executable, "-c", DESCRIBE]
    found = subprocess.run(
        command, env=environment, cwd=ROOT, check=True, capture_output=True, text=True
    )
    return found.stdout.strip()


def run(environment, threads, arguments):
    """Run pytest and return its exit status, the counts and the minutes."""
    workers = max(1, (os.cpu_count() or 1) // threads)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    if workers > 1:
        command += ["-n", str(workers), "--dist", "worksteal"]
    start, last = time.perf_counter(), ""
    with subprocess.Popen(
        [*command, *arguments],
        env=environment,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            last = line if line.strip() else last
    minutes = (time.perf_counter() - start) / 60
    found = {kind: int(n) for n, kind in re.findall(r"(\d+) (\w+)", last)}
    failed = found.get("failed", 0) + found.get("error", 0) + found.get("errors", 0)
    counts = found.get("passed", 0), failed, found.get("skipped", 0)
    return process.returncode, counts, minutes


if __name__ == "__main__":
    sys.exit(main())
