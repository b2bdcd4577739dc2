"""Time, memory, and parts of a script in new processes.

Memory is measured by the kernel, of Linux only.
"""

import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np

_STATUS = Path("/proc/self/status")
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"),
    "1",
)


def alternate(calls, n_rounds):
    """Call each function of a dict in turn.

    Returns wall and CPU seconds, (n_rounds, 2), and the last result, both by name.
    """
    times, results = {name: [] for name in calls}, {}
    for _ in range(n_rounds):
        for name, call in calls.items():
            wall, cpu = time.perf_counter(), time.process_time()
            results[name] = call()
            spent = time.perf_counter() - wall, time.process_time() - cpu
            times[name].append(spent)
    return {name: np.array(spent) for name, spent in times.items()}, results


def in_process(*arguments, **variables):
    """Run Python with arguments; return its last line, which is JSON.

    `variables` are added to its environment.
    """
    command = [sys.executable, *map(str, arguments)]
    environ = {**os.environ, **variables}
    done = subprocess.run(
        command, env=environ, stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def mebibytes(field, path=_STATUS):
    """Return a figure of this process, such as "VmHWM", its peak resident memory."""
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"{path} has no {field}.")


@contextmanager
def peak_of():
    """Yield an object whose `mebibytes` are the memory added at the peak."""
    peak = SimpleNamespace(mebibytes=float("nan"))
    if not _STATUS.exists():
        yield peak
        return
    # Resets the high-water mark.
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    before = mebibytes("VmRSS")
    yield peak
    peak.mebibytes = mebibytes("VmHWM") - before
