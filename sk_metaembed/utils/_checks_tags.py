"""Checks of steps that give every token a tag."""

import numpy as np
from sklearn.model_selection import cross_val_predict

from ..sequences import TokenSequences
from ._checks_data import (
    UNKNOWN_WORDS,
    as_container,
    as_input,
    assert_same,
    fitted,
    ragged,
    require,
    seeded,
    targets,
    token_lists,
)


def check_tag_a_token(estimator):
    """See that each token, also an unknown one, gets a tag that fit saw."""
    step = fitted(estimator, as_input(estimator, token_lists()))
    seen = sorted({tag for row in targets(estimator) for tag in row})
    require(
        list(step.classes_) == seen, f"classes_ should be {seen}, got {step.classes_}."
    )
    for rows in (token_lists(), [[], list(UNKNOWN_WORDS), ["good"]], [["the"]]):
        tags = step.predict(as_input(estimator, rows))
        require(
            isinstance(tags, np.ndarray) and tags.shape == (len(rows),),
            "predict must give an array with a list of tags a row; concatenated folds "
            f"must be one too. It gave {tags!r}.",
        )
        for row, found in zip(rows, tags, strict=True):
            require(type(found) is list, f"a row of predict is no list: {found!r}.")
            require(len(found) == len(row), f"{len(row)} tokens got {len(found)} tags.")
            require(
                set(map(type, found)) <= {str} and set(found) <= set(seen),
                f"tags must be some of {seen}, as str; got {found!r}.",
            )


def check_tag_probabilities(estimator):
    """See that predict_proba gives each token a distribution over the tags."""
    step = fitted(estimator, as_input(estimator, token_lists()))
    rows = [*token_lists(), []]
    shares = step.predict_proba(as_input(estimator, rows))
    require(len(shares) == len(rows), f"{len(rows)} rows gave {len(shares)}.")
    for row, share in zip(rows, shares, strict=True):
        shape = len(row), len(step.classes_)
        require(share.shape == shape, f"shape should be {shape}, got {share.shape}.")
        require((share >= 0).all(), "a probability is negative.")
        np.testing.assert_allclose(share.sum(axis=1), 1.0, rtol=1e-4)


def check_tag_forms(estimator):
    """See that y may be lists, an array of lists, or a TokenSequences."""
    X, y = as_input(estimator, token_lists()), targets(estimator)
    expected = seeded(estimator).fit(X, y).predict(X)
    score = fitted(estimator, X).score(X, y)
    right = np.concatenate([np.array(row, dtype=object) for row in y])
    found = np.concatenate([np.array(row, dtype=object) for row in expected])
    np.testing.assert_allclose(score, np.mean(right == found), err_msg="score")
    for kind, form in (
        ("lists", y.tolist()),
        ("TokenSequences", TokenSequences.from_lists(y)),
        ("arrays of str", ragged(np.array(row, dtype=str) for row in y)),
    ):
        step = seeded(estimator).fit(X, form)
        assert_same(step.predict(X), expected, f"y as {kind}")
        require(step.score(X, form) == score, f"y as {kind}: another score.")


def check_bad_tags(estimator):
    """See that tags that do not fit the tokens are refused, and the row named."""
    rows = token_lists()
    X, y = as_input(estimator, rows), targets(estimator)
    first = y[1][0]
    wrong = {
        "row 1": [[*y[1], first], y[1][1:], [], [None, *y[1][1:]], [3, *y[1][1:]]],
        "row": [None, first, 3],
    }
    for mention, others in wrong.items():
        for other in others:
            _check_refused(estimator, X, [y[0], other, *y[2:]], mention)
    _check_refused(estimator, X, y[:-1], "rows")
    _check_refused(estimator, X, np.arange(len(rows)) % 2, "row 0")


def _check_refused(estimator, X, y, mention):
    step = fitted(estimator, X)
    for name, method in (("fit", seeded(estimator).fit), ("score", step.score)):
        try:
            method(X, y)
        except (TypeError, ValueError) as error:
            require(mention in str(error), f"{name}: {error} names no {mention!r}.")
            continue
        raise AssertionError(f"{name} let tags pass that do not fit: {y[1]!r}.")


def check_tags_cross_validated(estimator):
    """See that cross_val_predict puts the folds' tag lists together."""
    rows = token_lists()
    X, y = as_container(estimator, rows), targets(estimator)
    for form in (y, y.tolist()):
        tags = cross_val_predict(seeded(estimator), X, form, cv=3)
        lengths = list(map(len, tags))
        require(lengths == list(map(len, rows)), "the folds' tags do not fit the rows.")


def tag_checks(estimator):
    """Yield the checks of this module that go with the estimator."""
    yield from (check_tag_a_token, check_tag_forms, check_bad_tags)
    yield check_tags_cross_validated
    if hasattr(estimator, "predict_proba"):
        yield check_tag_probabilities
