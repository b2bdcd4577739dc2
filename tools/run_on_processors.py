"""Run the tests with the kernels of other processors, and with one and two threads.

torch, oneDNN, MKL, OpenBLAS, NumPy and numba select kernels by the processor, and
different kernels sum in a different order, so the last bits of a product differ. Each
setting makes all of them select the kernels of an older or different processor, as far
as this processor can run them.

    python tools/run_on_processors.py    # all supported settings
    python tools/run_on_processors.py --setting avx2 --threads 1 -- tests/meta -x

Arguments after ``--`` are passed to pytest. The exit status is 1 if a test fails.
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
# Names of NumPy 2.4 and of earlier versions.
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
        "NUMBA_CPU_FEATURES": "",  # the features of the named processor
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
# MKL uses its kernels for Intel processors on other processors only if this function
# reports an Intel processor.
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
    """Return the settings whose kernels this processor can run."""
    import torch

    if platform.machine().lower() not in ("x86_64", "amd64"):
        sys.exit("The settings require an x86-64 processor.")
    highest = torch.backends.cpu.get_cpu_capability().lower()
    reached = LEVELS.index(highest if highest in LEVELS else "default")
    above = LEVELS[reached + 1 :]
    skipped = [name for name in names if name.removesuffix("-intel") in above]
    if skipped:
        print(f"Skipped, because this processor lacks the instructions: {skipped}")
    return [name for name in names if name not in skipped]


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
    """Return the features to disable in NumPy, which rejects unknown names."""
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
    """Return the selected kernels, to verify that the setting has an effect."""
    command = [sys.executable, "-c", DESCRIBE]
    result = subprocess.run(
        command, env=environment, cwd=ROOT, check=True, capture_output=True, text=True
    )
    return result.stdout.strip()


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
    results = {kind: int(n) for n, kind in re.findall(r"(\d+) (\w+)", last)}
    failed = (
        results.get("failed", 0) + results.get("error", 0) + results.get("errors", 0)
    )
    counts = results.get("passed", 0), failed, results.get("skipped", 0)
    return process.returncode, counts, minutes


if __name__ == "__main__":
    sys.exit(main())
