"""Checks of steps that take blocks of EmbeddedSequences, and of taggers."""

from functools import partial

import numpy as np
from sklearn.model_selection import cross_val_predict
from sklearn.utils import get_tags

from sk_metaembed.sequences import Block, EmbeddedSequences

from .data import (
    UNKNOWN_WORDS,
    as_container,
    as_input,
    assert_same,
    embedded,
    fitted,
    outputs,
    require_error,
    require_finite,
    seeded,
    targets,
    token_lists,
)


def _changed(X, change):
    """Return X with ``change(block)`` for the values of each block."""
    return X.with_blocks([Block(b.name, change(b), b.level, b.known) for b in X.blocks])


def check_levels(estimator):
    """Check that type-level vectors, repeated at each token, give the same output.

    A step may instead raise a ValueError for levels that differ from those in fit.
    """
    X = embedded(token_lists())
    step = fitted(estimator, X)
    by_token = X.with_blocks([X.broadcast(block, "token") for block in X.blocks])
    what = "the same vectors at type and at token level"
    try:
        result = outputs(step, by_token)
    except ValueError as error:
        assert "level" in str(error)
        return
    assert_same(result, outputs(step, X), what)


def check_unknown_gives_zeros(estimator):
    """Check that empty rows and rows of unknown words give zeros."""
    step = fitted(estimator, embedded(token_lists()))
    if not hasattr(step, "transform"):
        return
    for rows in ([[]], [list(UNKNOWN_WORDS)], [["good"], [], list(UNKNOWN_WORDS)]):
        result = step.transform(embedded(rows))
        assert not np.any(result[len(rows) - 1])
        if isinstance(result, EmbeddedSequences) and result.level != "sequence":
            last = result.tokens.segment_ids() == len(rows) - 1
            blocks = [result.broadcast(block, "token") for block in result.blocks]
            assert not any(block.known[last].any() for block in blocks)


def _with_junk(X):
    """Return X with large numbers in the rows that its blocks do not know."""
    return _changed(X, lambda block: np.where(block.known[:, None], block.values, 1e6))


def check_unknown_rows(estimator):
    """Check that vectors of unknown words have no effect, in fit or after.

    Steps that return blocks and are fitted without labels also ignore sequences of
    unknown words in fit.
    """
    X, more = embedded(token_lists()), embedded([*token_lists(), list(UNKNOWN_WORDS)])
    expected = outputs(fitted(estimator, X), more)
    result = outputs(fitted(estimator, _with_junk(X)), _with_junk(more))
    assert_same(result, expected, "numbers in unknown rows of blocks")
    returns_blocks = isinstance(expected.get("transform"), EmbeddedSequences)
    if returns_blocks and not get_tags(estimator).target_tags.required:
        result = outputs(seeded(estimator).fit(more), more)
        assert_same(result, expected, "unknown words in fit")


def check_one_source(estimator):
    """Check that a single block is accepted."""
    X = embedded(token_lists()).select(["first"])
    result = outputs(fitted(estimator, X), X)
    for method, value in result.items():
        assert len(value) == len(X), method
        require_finite(value, method)


def check_half_precision(estimator):
    """Check that float16 blocks give the same output as float32 blocks."""
    half = _changed(embedded(token_lists()), lambda b: b.values.astype(np.float16))
    single = _changed(half, lambda block: block.values.astype(np.float32))
    expected = outputs(fitted(estimator, single), single)
    what = "float16 blocks"
    assert_same(outputs(fitted(estimator, half), half), expected, what, rtol=1e-2)


def check_different_blocks(estimator):
    """Check that blocks that differ from those in fit raise a ValueError."""
    X = embedded(token_lists())
    step = fitted(estimator, X)
    first, second = X.blocks
    wider = np.concatenate([first.values, first.values], axis=1)
    others = {
        "one block less": [first],
        "one block more": [first, second, first.rename("third")],
        "a block of another dimension": [Block("first", wider, "type"), second],
    }
    for what, blocks in others.items():
        other = X.with_blocks(blocks)
        for method in outputs(step, X):
            call = partial(getattr(step, method), other)
            where = f"{method} of {what} than in fit"
            require_error(call, "first", where, ValueError)


def block_checks():
    """Yield the checks of blocks."""
    yield from (check_levels, check_unknown_gives_zeros, check_unknown_rows)
    yield from (check_one_source, check_half_precision, check_different_blocks)


def check_one_tag_per_token(estimator):
    """Check that each token, known or unknown, gets one of the tags seen in fit."""
    step = fitted(estimator, as_input(estimator, token_lists()))
    seen = sorted({tag for row in targets(estimator) for tag in row})
    assert list(step.classes_) == seen
    for rows in (token_lists(), [[], list(UNKNOWN_WORDS), ["good"]], [["the"]]):
        tags = step.predict(as_input(estimator, rows))
        assert isinstance(tags, np.ndarray) and tags.shape == (len(rows),)
        for row, own in zip(rows, tags, strict=True):
            assert type(own) is list and len(own) == len(row)
            assert set(map(type, own)) <= {str} and set(own) <= set(seen)


def check_tag_probabilities(estimator):
    """Check that predict_proba gives each token a distribution over the tags."""
    step = fitted(estimator, as_input(estimator, token_lists()))
    rows = [*token_lists(), []]
    probabilities = step.predict_proba(as_input(estimator, rows))
    for row, own in zip(rows, probabilities, strict=True):
        assert own.shape == (len(row), len(step.classes_)) and (own >= 0).all()
        np.testing.assert_allclose(own.sum(axis=1), 1.0, rtol=1e-4)


def check_bad_tags(estimator):
    """Check that tags that do not match the tokens raise an error with the row."""
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
    for method in (seeded(estimator).fit, fitted(estimator, X).score):
        what = f"{method.__name__} with tags that do not match, {y[1]!r},"
        require_error(partial(method, X, y), mention, what)


def check_tags_cross_validated(estimator):
    """Check that cross_val_predict concatenates the tag lists of the folds."""
    rows = token_lists()
    X, y = as_container(estimator, rows), targets(estimator)
    for form in (y, y.tolist()):
        tags = cross_val_predict(seeded(estimator), X, form, cv=3)
        assert [*map(len, tags)] == [*map(len, rows)]


def tag_checks(estimator):
    """Yield the checks of taggers that apply to the estimator."""
    yield from (check_one_tag_per_token, check_bad_tags, check_tags_cross_validated)
    if hasattr(estimator, "predict_proba"):
        yield check_tag_probabilities
