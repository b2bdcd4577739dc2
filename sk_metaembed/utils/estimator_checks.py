"""Estimator checks for steps that take texts, tokens or embedded sequences.

scikit-learn's suite passes numbers in a 2-D array, and skips estimators whose tags
exclude such input: a text estimator passes after a single check. This suite passes
words. The input of an estimator is read from its tags:

- ``input_tags.string``: texts, token lists and `TokenSequences`;
- neither ``string`` nor ``two_d_array``: `EmbeddedSequences`;
- both ``string`` and ``categorical``: pairs of texts or token lists, `SequencePairs`;
- these two and ``one_d_array``: one or several columns of texts or token lists;
- ``allow_nan``: missing rows or cells too, without a parameter `missing`;
- ``input_tags.two_d_array``: numbers, for which only scikit-learn's suite is run.

Its output may be a `TokenSequences`, an `EmbeddedSequences`, an array or predictions.
If ``estimator_type`` is "tagger", y has one list of tags per row. The suite consists of

- those of scikit-learn's checks that require no valid X, on the estimator itself;
- scikit-learn's whole suite on a subclass that converts numbers to words;
- own checks: rows give the same output alone, in any order and in any subset; all
  containers give the same output; invalid rows are refused and named; empty, unknown
  and one-token rows; copies, seeds and unchanged parameters; pipelines, grid search,
  ColumnTransformer, ``memory=`` and ``set_output``.
"""

from __future__ import annotations

import re
import unittest
import warnings
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

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
from ._checks_rows import row_checks
from ._checks_state import state_checks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import pytest

__all__ = ["WORDS", "check_estimator", "parametrize_with_checks"]


def parametrize_with_checks(
    estimators: Iterable[Any],
    *,
    expected_failed_checks: Callable[[Any], Mapping[str, str]] | None = None,
) -> pytest.MarkDecorator:
    """Parametrize a pytest function over all checks of all estimators.

    The decorated function takes ``estimator`` and ``check`` and calls
    ``check(estimator)``. A test's id is the estimator's repr and the check's name, so
    that ``pytest -k check_row_alone`` selects by name; ``feed_words`` in the id marks
    checks of scikit-learn that get words instead of numbers. Checks that require
    pandas or polars are skipped if these are not installed.

    Parameters
    ----------
    estimators : list of estimator instances
        A source must have vectors for some of `WORDS`, the words of the checks.
    expected_failed_checks : callable, default=None
        Function from an estimator to a dict of check names and reasons. These tests are
        marked as expected failures. A name without arguments applies to all variants of
        a check; a name with arguments, as in the test's id, to one.

    Returns
    -------
    MarkDecorator
        ``pytest.mark.parametrize`` over pairs of estimator and check.

    Raises
    ------
    TypeError
        If an estimator is a class instead of an instance.
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
        text = _short_repr(estimator)
        for check in _collect(estimator, expected):
            reason = _reason(check, expected)
            marks = [pytest.mark.xfail(reason=reason)] if reason else []
            name = f"{text}-{_check_id(check)}"
            params.append(pytest.param(estimator, check, marks=marks, id=name))
    return pytest.mark.parametrize("estimator, check", params)


def check_estimator(
    estimator: Any,
    *,
    expected_failed_checks: Mapping[str, str] | None = None,
    on_skip: Literal["warn"] | None = "warn",
    on_fail: Literal["raise", "warn"] | None = "raise",
) -> list[dict[str, Any]]:
    """Run all checks on an estimator.

    Use it in a notebook or a script, for steps of your own. The checks are those of
    scikit-learn, with words instead of numbers, and those of this package, such as
    that a row gives the same output alone and in any batch.

    Parameters
    ----------
    estimator : estimator instance
        A source must have vectors for some of `WORDS`, the words of the checks.
    expected_failed_checks : dict, default=None
        Names of checks that are expected to fail, and reasons.
    on_skip : {"warn", None}, default="warn"
        Whether to warn about a check that requires a missing package.
    on_fail : {"raise", "warn", None}, default="raise"
        Whether to raise the first unexpected failure, to warn about each, or neither.

    Returns
    -------
    list of dict
        One dict per check, with the keys "estimator", "check_name", "exception",
        "status" ("passed", "failed", "xfail" or "skipped"), "expected_to_fail" and
        "expected_to_fail_reason", as from scikit-learn's `check_estimator`.

    Raises
    ------
    Exception
        The first unexpected failure, with ``on_fail="raise"``.
    TypeError
        If the estimator is a class instead of an instance.
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
        "check_name": _check_id(check),
        "exception": exception,
        "status": status,
        "expected_to_fail": reason is not None,
        "expected_to_fail_reason": reason,
    }


def _collect(estimator, expected):
    """Return the estimator's checks; raise if an expected failure is not one."""
    if isinstance(estimator, type):
        raise TypeError(
            f"Estimators must be instances; got the class {estimator.__name__}. Pass "
            f"{estimator.__name__}(...)."
        )
    checks = list(_yield_checks(estimator))
    names = {name for check in checks for name in _names(check)}
    unknown = sorted(set(expected) - names)
    if unknown:
        raise ValueError(
            f"expected_failed_checks contains {unknown}, but no such check is run on "
            f"{type(estimator).__name__}. Remove it, or use the check's current name."
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
    yield from numeric_checks(estimator)


def _names(check):
    """Return the check's name without and with its arguments."""
    name = _check_id(check).removeprefix("feed_words-")
    return name.partition("(")[0], name


def _reason(check, expected):
    return next((expected[n] for n in _names(check) if n in expected), None)


def _check_id(check):
    """Return a check's name and keyword arguments, as in a test's id."""
    if not isinstance(check, partial):
        return check.__name__
    if check.func in (feed_words, feed_numbers):
        prefix = "feed_words-" if check.func is feed_words else ""
        return prefix + _check_id(check.args[0])
    arguments = ",".join(f"{name}={value}" for name, value in check.keywords.items())
    return _check_id(check.func) + (f"({arguments})" if arguments else "")


def _short_repr(estimator):
    with config_context(print_changed_only=True):
        text = re.sub(r"\s", "", repr(estimator))
    # Addresses and folders differ between runs. Ids must not: parallel workers of
    # pytest have to collect the same ones.
    text = re.sub(r"at0x[0-9a-fA-F]+", "", text)
    return re.sub(r"'[^']*/([^'/]*)'", r"'\1'", text)
