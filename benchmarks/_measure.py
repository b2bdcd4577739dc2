"""Scripts that run their parts in new processes, and the memory that a part needs.

Memory is measured by the kernel, of Linux only.
"""

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

_STATUS = Path("/proc/self/status")
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"),
    "1",
)


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
