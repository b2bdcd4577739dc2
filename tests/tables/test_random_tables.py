"""Pipelines of tables take any table and target, or say what is wrong with it.

Print the parts of a case that fails with ``random_case(seed).parts``.
"""

import pytest

from sk_metaembed import make_table_pipeline

from .check_case import check_case, quick_learners
from .random_tables import random_case

N_CASES, PER_TEST = 40, 20
NIGHTLY, PER_NIGHTLY_TEST = 8000, 400


def check(seeds, learners):
    """Check the cases of some seeds with the learners that a function returns."""
    messages = []
    for seed in seeds:
        case = random_case(seed)
        pipeline = make_table_pipeline(case.task, random_state=0)
        pipeline.set_params(model__learners=learners(case.task))
        try:
            messages.append(check_case(case, pipeline))
        except Exception as error:
            error.add_note(f"random_case({seed}): {', '.join(case.parts)}")
            raise
    return messages


def all_learners(task):
    return make_table_pipeline(task)["model"].learners


@pytest.mark.parametrize("start", range(0, N_CASES, PER_TEST))
def test_random_tables(start):
    messages = check(range(start, start + PER_TEST), quick_learners)
    # Most tables are ordinary; some are not.
    assert PER_TEST / 2 < messages.count(None) < PER_TEST


@pytest.mark.slow
@pytest.mark.parametrize("start", range(N_CASES, NIGHTLY, PER_NIGHTLY_TEST))
def test_many_random_tables(start):
    seeds = range(start, min(start + PER_NIGHTLY_TEST, NIGHTLY))
    check(seeds, quick_learners)
    check([*seeds][::20], all_learners)
