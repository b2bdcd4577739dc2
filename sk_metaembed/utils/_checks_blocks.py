"""Checks of what a step does with the blocks of EmbeddedSequences."""

import numpy as np
from sklearn.utils import get_tags

from ..sequences import Block, EmbeddedSequences
from ._checks_data import (
    UNKNOWN_WORDS,
    assert_same,
    embedded,
    fitted,
    outputs,
    require,
    seeded,
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
