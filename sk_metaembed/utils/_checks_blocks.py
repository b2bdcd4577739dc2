"""Checks of what a step does with the blocks of EmbeddedSequences.

Checks of steps that give every token a tag.
"""

import numpy as np
from sklearn.model_selection import cross_val_predict
from sklearn.utils import get_tags

from ..sequences import Block, EmbeddedSequences, TokenSequences
from ._checks_data import (
    UNKNOWN_WORDS,
    as_container,
    as_input,
    assert_same,
    embedded,
    fitted,
    outputs,
    ragged,
    require,
    seeded,
    targets,
    token_lists,
    values_of,
)


def _with_dtype(X, dtype):
    return X.with_blocks(
        [Block(b.name, b.values.astype(dtype), b.level, b.known) for b in X.blocks]
    )


def check_levels(estimator):
    """See that type-level vectors repeated at each token give the same.

    A step may instead refuse levels that it was not fitted on, by a ValueError.
    """
    X = embedded(token_lists())
    step = fitted(estimator, X)
    by_token = X.with_blocks([X.broadcast(block, "token") for block in X.blocks])
    what = "the same vectors at type and at token level"
    try:
        result = outputs(step, by_token)
    except ValueError as error:
        require("level" in str(error), f"{what} are refused, but not named: {error}")
        return
    assert_same(result, outputs(step, X), what)


def check_nothing_gives_zeros(estimator):
    """See that what is empty, or unknown to every source, gives zeros."""
    step = fitted(estimator, embedded(token_lists()))
    if not hasattr(step, "transform"):
        return
    for rows in ([[]], [list(UNKNOWN_WORDS)], [["good"], [], list(UNKNOWN_WORDS)]):
        result = step.transform(embedded(rows))
        require(
            not np.any(result[len(rows) - 1]),
            f"the row {rows[-1]} has no known word, so its vectors must be zero.",
        )
        if isinstance(result, EmbeddedSequences) and result.level != "sequence":
            last = result.tokens.segment_ids() == len(rows) - 1
            blocks = [result.broadcast(block, "token") for block in result.blocks]
            known = [block.known[last].any() for block in blocks]
            require(not any(known), f"{rows[-1]} came out marked as known.")


def _with_junk(X):
    """Return X with large numbers in the rows that its blocks do not know."""
    blocks = []
    for block in X.blocks:
        values = np.where(block.known[:, None], block.values, 1e6)
        blocks.append(Block(block.name, values, block.level, block.known))
    return X.with_blocks(blocks)


def check_unknown_rows(estimator):
    """See that rows that a source does not know are not used, nor learned from.

    Whatever stands there changes nothing. Where words are learned from without
    labels, nor does a row of words that no source knows.
    """
    X, more = embedded(token_lists()), embedded([*token_lists(), list(UNKNOWN_WORDS)])
    expected = outputs(fitted(estimator, X), more)
    result = outputs(fitted(estimator, _with_junk(X)), _with_junk(more))
    assert_same(result, expected, "numbers in rows that a source does not know")
    combined = isinstance(expected.get("transform"), EmbeddedSequences)
    if combined and not get_tags(estimator).target_tags.required:
        result = outputs(seeded(estimator).fit(more), more)
        assert_same(result, expected, "words in fit that no source knows")


def check_one_source(estimator):
    """See that there may be one block only."""
    X = embedded(token_lists()).select(["first"])
    result = outputs(fitted(estimator, X), X)
    for method, value in result.items():
        require(len(value) == len(X), f"one block: {method} gave {len(value)} rows.")
        numbers = values_of(value)
        finite = numbers is None or np.isfinite(numbers).all()
        require(finite, f"one block: {method} gave NaN or infinity.")


def check_half_precision(estimator):
    """See that float16 blocks give what the same numbers give in float32."""
    half = _with_dtype(embedded(token_lists()), np.float16)
    single = _with_dtype(half, np.float32)
    expected = outputs(fitted(estimator, single), single)
    what = "float16 blocks"
    assert_same(outputs(fitted(estimator, half), half), expected, what, rtol=1e-2)


def check_other_blocks(estimator):
    """See that other blocks than those of fit are refused."""
    X = embedded(token_lists())
    step = fitted(estimator, X)
    first, second = X.blocks
    wider = np.concatenate([first.values, first.values], axis=1)
    others = {
        "a block less": [first],
        "a block more": [first, second, first.rename("third")],
        "a block of another dimension": [Block("first", wider, "type"), second],
    }
    for what, blocks in others.items():
        other = X.with_blocks(blocks)
        for method in outputs(step, X):
            try:
                getattr(step, method)(other)
            except ValueError as error:
                require("first" in str(error), f"{what}: the message names no block.")
                continue
            raise AssertionError(f"{method} let {what} than in fit pass.")


def block_checks():
    """Yield the checks of this module."""
    yield from (check_levels, check_nothing_gives_zeros, check_unknown_rows)
    yield from (check_one_source, check_half_precision, check_other_blocks)


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
