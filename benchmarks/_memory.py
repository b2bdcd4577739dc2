"""Peak memory of a code block, as measured by the kernel (Linux only)."""

from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

_STATUS = Path("/proc/self/status")


def _kibibytes(field):
    for line in _STATUS.read_text(encoding="utf-8").splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1])
    raise RuntimeError(f"{_STATUS} has no {field}.")


@contextmanager
def peak_of():
    """Yield an object whose `mebibytes` are the memory added at the peak."""
    peak = SimpleNamespace(mebibytes=float("nan"))
    if not _STATUS.exists():
        yield peak
        return
    # Resets the high-water mark.
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    before = _kibibytes("VmRSS")
    yield peak
    peak.mebibytes = (_kibibytes("VmHWM") - before) / 1024
