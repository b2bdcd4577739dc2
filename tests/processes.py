"""Python processes of their own, for what this one must not do."""

import os
import subprocess
import sys
import textwrap


def run_script(script, *arguments, returncode=0, prefix=(), **variables):
    """Return what a script prints that finds the modules of this process.

    `variables` are added to its environment; those that are None are removed. `prefix`
    is a command that runs Python.
    """
    command = [
        *prefix,
        sys.executable,
        "-c",
        textwrap.dedent(script),
        *map(str, arguments),
    ]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables}
    env = {name: value for name, value in env.items() if value is not None}
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    assert done.returncode == returncode, done.stderr
    return done.stdout
