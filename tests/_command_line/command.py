"""The command line in this process."""

import runpy
import sys

import pytest


def main(arguments):
    """Run ``python -m sk_metaembed`` and return its exit status."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["sk_metaembed", *arguments])
        with pytest.raises(SystemExit) as ended:
            runpy.run_module("sk_metaembed", run_name="__main__")
    return ended.value.code
