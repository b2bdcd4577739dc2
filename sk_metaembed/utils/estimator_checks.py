"""The check suite for steps that take texts, tokens or embedded sequences.

scikit-learn's own suite feeds numbers in a 2-D array, and passes over every
estimator whose tags say that it takes none: on a text estimator it is green after
one check. The suite here feeds words. It reads from the tags what a step takes,

- ``input_tags.string``: texts, token lists and `TokenSequences`;
- neither ``string`` nor ``two_d_array``: `EmbeddedSequences`;
- ``string`` and ``categorical`` both: pairs of texts or token lists, `SequencePairs`;
- ``input_tags.two_d_array``: numbers, so that scikit-learn's suite alone is run,

and from what comes out what it gives: a `TokenSequences`, an `EmbeddedSequences`, an
array, or predictions. A step whose ``estimator_type`` is "tagger" is given a list of
tags a row. It then runs

- those of scikit-learn's checks that need no valid X, on the estimator as it is;
- scikit-learn's whole suite on a subclass that spells numbers as words;
- checks of its own: a row gives the same alone, in any order and in any subset; every
  container is read alike; what is no text is refused and named; empty, unknown and
  one-token rows; copies, seeds, and what must be left alone; pipelines, grid search,
  ColumnTransformer, ``memory=`` and ``set_output``.
"""

import re
import unittest
import warnings
from functools import partial

from sklearn import config_context
from sklearn.exceptions import EstimatorCheckFailedWarning, SkipTestWarning

from ._checks_blocks import block_checks, tag_checks
from ._checks_data import WORDS, input_kind, is_tagger
from ._checks_input import input_checks
from ._checks_numbers import (
    array_checks,
    feed_numbers,
    feed_words,
    numeric_checks,
    wordless_checks,
)
from ._checks_pipeline import pipeline_checks
from ._checks_rows import index_checks, row_checks
from ._checks_state import state_checks

__all__ = ["WORDS", "check_estimator", "parametrize_with_checks"]


def parametrize_with_checks(estimators, *, expected_failed_checks=None):
    """Make pytest run every check on every estimator, each as a test of its own.

    The decorated function takes ``estimator`` and ``check`` and calls
    ``check(estimator)``. A test's id is the estimator's repr and the check's name, so
    that ``pytest -k check_row_alone`` chooses by name; ``feed_words`` in the id says
    that the check is scikit-learn's and was fed words in place of numbers.

    A check that needs pandas or polars is skipped where they are not installed.

    Parameters
    ----------
    estimators : list of estimator instances
        A source should know some of `WORDS`, the words that the checks feed: where
        every word is unknown nothing is shown.
    expected_failed_checks : callable, default=None
        Takes an estimator and returns a dict of check names and reasons. These tests
        are marked as expected failures. A name alone stands for all variants of a
        check, a name with arguments, as in the test's id, for that one.

    Returns
    -------
    MarkDecorator
        ``pytest.mark.parametrize`` over pairs of estimator and check.

    Raises
    ------
    TypeError
        If a class is passed, not an instance.
    ValueError
        If `expected_failed_checks` names a check that is not run on the estimator.

    See Also
    --------
    check_estimator : Runs the checks without pytest.

    Examples
    --------
    >>> from sk_metaembed import Tokenizer
    >>> from sk_metaembed.utils.estimator_checks import parametrize_with_checks
    >>> @parametrize_with_checks([Tokenizer()])
    ... def test_our_steps(estimator, check):
    ...     check(estimator)
    """
    import pytest

    params = []
    for estimator in estimators:
        expected = expected_failed_checks(estimator) if expected_failed_checks else {}
        for check in _collect(estimator, expected):
            reason = _reason(check, expected)
            marks = [pytest.mark.xfail(reason=reason)] if reason else []
            name = f"{_shown(estimator)}-{_id_of(check)}"
            params.append(pytest.param(estimator, check, marks=marks, id=name))
    return pytest.mark.parametrize("estimator, check", params)


def check_estimator(
    estimator, *, expected_failed_checks=None, on_skip="warn", on_fail="raise"
):
    """Run every check on an estimator.

    They are scikit-learn's checks, fed with words where a step takes words, and those
    of this package: a row alone equals the row in any batch, no vector is NaN, no rows
    give none. For steps of your own, in a notebook or a script.

    Parameters
    ----------
    estimator : estimator instance
        A source should know some of `WORDS`, the words that the checks feed.
    expected_failed_checks : dict, default=None
        Check names and the reasons why they fail.
    on_skip : {"warn", None}, default="warn"
        Whether a check that cannot run, for want of a package, is warned about.
    on_fail : {"raise", "warn", None}, default="raise"
        Whether the first failure that is not expected is raised, or each is warned
        about, or neither; with these two the outcome is in what is returned.

    Returns
    -------
    list of dict
        One dict a check, with the keys "estimator", "check_name", "exception",
        "status" ("passed", "failed", "xfail" or "skipped"), "expected_to_fail" and
        "expected_to_fail_reason", as scikit-learn's `check_estimator` gives them.

    Raises
    ------
    Exception
        The first failure that is not expected, with ``on_fail="raise"``.
    TypeError
        If a class is passed, not an instance.
    ValueError
        If `expected_failed_checks` names a check that is not run on the estimator.

    See Also
    --------
    parametrize_with_checks : The same as tests of pytest.

    Examples
    --------
    >>> from sk_metaembed import Tokenizer
    >>> from sk_metaembed.utils.estimator_checks import check_estimator
    >>> results = check_estimator(Tokenizer(), on_skip=None)
    >>> {result["status"] for result in results} <= {"passed", "skipped"}
    True
    >>> len(results) > 30
    True
    """
    expected = expected_failed_checks or {}
    results = []
    for check in _collect(estimator, expected):
        result = _run(estimator, check, _reason(check, expected))
        results.append(result)
        if result["status"] == "skipped" and on_skip == "warn":
            warnings.warn(
                f"{result['check_name']} was skipped: {result['exception']}",
                SkipTestWarning,
                stacklevel=2,
            )
        if result["status"] != "failed":
            continue
        if on_fail == "raise":
            raise result["exception"]
        if on_fail == "warn":
            warnings.warn(EstimatorCheckFailedWarning(**result), stacklevel=2)
    return results


def _run(estimator, check, reason):
    exception, status = None, "passed"
    try:
        check(estimator)
    except unittest.SkipTest as error:
        exception, status = error, "skipped"
    except Exception as error:
        exception, status = error, "xfail" if reason else "failed"
    return {
        "estimator": estimator,
        "check_name": _id_of(check),
        "exception": exception,
        "status": status,
        "expected_to_fail": reason is not None,
        "expected_to_fail_reason": reason,
    }


def _collect(estimator, expected):
    """Return the estimator's checks, and see that those expected to fail are there."""
    if isinstance(estimator, type):
        raise TypeError(
            f"Checks are run on instances, got the class {estimator.__name__}; "
            f"pass {estimator.__name__}(...)."
        )
    checks = list(_yield_checks(estimator))
    names = {name for check in checks for name in _names(check)}
    strange = sorted(set(expected) - names)
    if strange:
        raise ValueError(
            f"expected_failed_checks names {strange}, but no such check is run on "
            f"{type(estimator).__name__}. It may have been renamed, or does not "
            "apply; take it out."
        )
    return checks


def _yield_checks(estimator):
    if input_kind(estimator) == "array":
        yield from array_checks(estimator)
        return
    yield from wordless_checks(estimator)
    yield from row_checks(estimator)
    if input_kind(estimator) == "embedded":
        yield from block_checks()
    yield from input_checks(estimator)
    if is_tagger(estimator):
        yield from tag_checks(estimator)
    yield from state_checks(estimator)
    yield from pipeline_checks(estimator)
    yield from index_checks(estimator)
    yield from numeric_checks(estimator)


def _names(check):
    """Return the check's name without and with its arguments."""
    name = _id_of(check).removeprefix("feed_words-")
    return name.partition("(")[0], name


def _reason(check, expected):
    return next((expected[n] for n in _names(check) if n in expected), None)


def _id_of(check):
    """Return a check's name and keyword arguments, as they stand in a test's id."""
    if not isinstance(check, partial):
        return check.__name__
    if check.func in (feed_words, feed_numbers):
        fed = "feed_words-" if check.func is feed_words else ""
        return fed + _id_of(check.args[0])
    arguments = ",".join(f"{name}={value}" for name, value in check.keywords.items())
    return _id_of(check.func) + (f"({arguments})" if arguments else "")


def _shown(estimator):
    with config_context(print_changed_only=True):
        shown = re.sub(r"\s", "", repr(estimator))
    # Addresses and folders differ from run to run, and ids must not: several
    # processes can share the tests only if they give them the same names.
    shown = re.sub(r"at0x[0-9a-fA-F]+", "", shown)
    return re.sub(r"'[^']*/([^'/]*)'", r"'\1'", shown)
