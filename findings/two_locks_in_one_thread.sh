#!/bin/sh
# A second FileLock on a path that the same thread holds, in filelock 4.
#
# Guess: it waits, until its timeout if it has one, as for a lock of another process.
# filelock 4.2.11, 2026-11-28: without a timeout it raises RuntimeError at once, which is
# not a filelock.Timeout, so code that catches Timeout, or OSError, does not catch it.
# With a timeout it waits and raises Timeout.
#
#     forever: RuntimeError after 0.0 s
#     timeout=0.2: Timeout after 0.2 s
#     blocking=False: Timeout after 0.0 s
. "$(dirname "$0")/_run.sh"
run_with filelock==4.2.11 <<'PROGRAM'
import time

from filelock import FileLock

held = FileLock("lock")
held.acquire()
cases = {
    "forever": {},
    "timeout=0.2": {"timeout": 0.2},
    "blocking=False": {"blocking": False},
}
raised = {}
for name, options in cases.items():
    start = time.perf_counter()
    try:
        FileLock("lock").acquire(**options)
    except Exception as error:
        raised[name] = type(error).__name__
    print(f"{name}: {raised[name]} after {time.perf_counter() - start:.1f} s")
assert raised == {
    "forever": "RuntimeError",
    "timeout=0.2": "Timeout",
    "blocking=False": "Timeout",
}
PROGRAM
