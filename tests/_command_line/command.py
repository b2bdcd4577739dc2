"""The command line in this process."""

import runpy
import sys

import pytest

from sk_metaembed import make_table_pipeline

from ..tables.check_case import quick_learners


def main(arguments):
    """Run ``python -m sk_metaembed`` and return its exit status."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["sk_metaembed", *arguments])
        with pytest.raises(SystemExit) as ended:
            runpy.run_module("sk_metaembed", run_name="__main__")
    return ended.value.code


def quick_pipeline(task="classifier", *arguments, **options):
    """Return the pipeline with a linear model and a small tree as its learners."""
    learners = ["linear", *quick_learners(task)]
    return make_table_pipeline(task, *arguments, learners=learners, **options)
