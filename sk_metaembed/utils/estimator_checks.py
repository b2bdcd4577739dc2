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

- scikit-learn's suite on a subclass that converts numbers to words;
- own checks: rows give the same output alone and with others; all containers give the
  same output; invalid rows are refused and named; empty, unknown and one-token rows;
  copies, refits and seeds; ``set_output``, names of columns and the index of rows.
"""

from __future__ import annotations

import re
import unittest
from functools import partial
from typing import TYPE_CHECKING, Any

from sklearn import config_context

from ._checks_blocks import block_checks, tag_checks
from ._checks_data import WORDS, input_kind, is_tagger
from ._checks_input import input_checks
from ._checks_numbers import array_checks, feed_words, numeric_checks
from ._checks_output import output_checks
from ._checks_rows import row_checks
from ._checks_state import state_checks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import pytest

__all__ = ["WORDS", "check_estimator", "parametrize_with_checks"]

_FED = "feed_words-"


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
    pandas or polars are skipped if neither is installed.

    Parameters
    ----------
    estimators : list of estimator instances
        A source must have vectors for some of `WORDS`, the words of the checks.
    expected_failed_checks : callable, default=None
        Function from an estimator to a dict of check names and reasons. These tests are
        marked as expected failures.

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

    Returns
    -------
    list of dict
        One dict per check, with the keys "estimator", "check_name", "exception",
        "status" ("passed", "xfail" or "skipped") and "expected_to_fail_reason", as
        from scikit-learn's `check_estimator`.

    Raises
    ------
    Exception
        The first unexpected failure.
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
    >>> results = check_estimator(Tokenizer())
    >>> {result["status"] for result in results} <= {"passed", "skipped"}
    True
    >>> len(results) > 30
    True
    """
    expected = expected_failed_checks or {}
    return [_run(estimator, check, expected) for check in _collect(estimator, expected)]


def _run(estimator, check, expected):
    exception, status, reason = None, "passed", _reason(check, expected)
    try:
        check(estimator)
    except unittest.SkipTest as error:
        exception, status = error, "skipped"
    except Exception as error:
        if reason is None:
            raise
        exception, status = error, "xfail"
    return {
        "estimator": estimator,
        "check_name": _check_id(check),
        "exception": exception,
        "status": status,
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
    names = {_check_id(check).removeprefix(_FED) for check in checks}
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


def _reason(check, expected):
    return expected.get(_check_id(check).removeprefix(_FED))


def _check_id(check):
    """Return a check's name, as in a test's id."""
    if not isinstance(check, partial):
        return check.__name__
    name = check.args[0].func.__name__
    return _FED + name if check.func is feed_words else name


def _short_repr(estimator):
    with config_context(print_changed_only=True):
        text = re.sub(r"\s", "", repr(estimator))
    # Addresses and folders differ between runs. Ids must not: parallel workers of
    # pytest have to collect the same ones.
    text = re.sub(r"at0x[0-9a-fA-F]+", "", text)
    return re.sub(r"'[^']*/([^'/]*)'", r"'\1'", text)
