"""All checks of the estimators of this package, as tests of pytest.

They include those of `sk_metaembed.utils.estimator_checks.check_estimator`, one by one,
and go further: pairs, columns and tags, data frames, numbers of jobs, invalid targets,
and scikit-learn's suite on a subclass that converts numbers to words. The input of an
estimator is read from its tags:

- ``input_tags.string``: texts, token lists and `TokenSequences`;
- neither ``string`` nor ``two_d_array``: `EmbeddedSequences`;
- both ``string`` and ``categorical``: pairs of texts or token lists, `SequencePairs`;
- these two and ``one_d_array``: one or several columns of texts or token lists;
- ``allow_nan``: missing rows or cells too, without a parameter `missing`;
- ``input_tags.two_d_array``: numbers, for which only scikit-learn's suite is run.

If ``estimator_type`` is "tagger", y has one list of tags per row.
"""

import re
from functools import partial

import pytest
from sklearn import config_context

from .blocks import block_checks, tag_checks
from .data import input_kind, is_tagger
from .input import input_checks
from .numbers import array_checks, feed_words, numeric_checks
from .output import output_checks
from .rows import row_checks
from .state import state_checks


def parametrize_with_checks(estimators, expected_failed_checks=lambda estimator: {}):
    """Parametrize a function of an estimator and a check over all of them.

    `expected_failed_checks` returns the reason of each expected failure of an
    estimator, by the name of the check. ``feed_words`` in the id of a test marks checks
    of scikit-learn that get words instead of numbers.
    """
    params = []
    for estimator in estimators:
        expected = expected_failed_checks(estimator)
        checks = {_check_id(check): check for check in _yield_checks(estimator)}
        names = {name.removeprefix("feed_words-") for name in checks}
        unknown = sorted(set(expected) - names)
        if unknown:
            raise ValueError(f"no check of {estimator} has a name of {unknown}.")
        for name, check in checks.items():
            reason = expected.get(name.removeprefix("feed_words-"))
            marks = [pytest.mark.xfail(reason=reason)] if reason else []
            text = f"{_short_repr(estimator)}-{name}"
            params.append(pytest.param(estimator, check, marks=marks, id=text))
    return pytest.mark.parametrize("estimator, check", params)


def _yield_checks(estimator):
    if input_kind(estimator) == "array":
        yield from array_checks(estimator)
        return
    yield from row_checks(estimator)
    if input_kind(estimator) == "embedded":
        yield from block_checks()
    yield from input_checks(estimator)
    if is_tagger(estimator):
        yield from tag_checks(estimator)
    yield from state_checks(estimator)
    if hasattr(estimator, "transform"):
        yield from output_checks(estimator)
    yield from numeric_checks(estimator)


def _check_id(check):
    """Return a check's name, as in a test's id."""
    if not isinstance(check, partial):
        return check.__name__
    name = check.args[0].func.__name__
    return f"feed_words-{name}" if check.func is feed_words else name


def _short_repr(estimator):
    with config_context(print_changed_only=True):
        text = re.sub(r"\s", "", repr(estimator))
    # Addresses and folders differ between runs. Ids must not: parallel workers of
    # pytest have to collect the same ones.
    text = re.sub(r"at0x[0-9a-fA-F]+", "", text)
    return re.sub(r"'[^']*/([^'/]*)'", r"'\1'", text)
