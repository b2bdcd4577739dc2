"""Input of the checks, and comparison of outputs."""

import re
from itertools import chain

import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.utils import get_tags

from sk_metaembed.sequences import (
    Block,
    EmbeddedSequences,
    SequencePairs,
    TokenSequences,
)
from sk_metaembed.utils.estimator_checks import WORDS

UNKNOWN_WORDS = ("zyxwv", "qqqqq", "jjxjj")
METHODS = (
    "transform",
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "score_samples",
)
_N_ROWS = 24
_DIMS = {"first": 6, "second": 4}


def require_error(call, pattern, what, errors=(TypeError, ValueError)):
    """Check that a call raises an error whose message matches a pattern."""
    try:
        call()
    except errors as error:
        assert re.search(pattern, str(error)), f"{what}: {error}"
        return
    raise AssertionError(f"{what} raised no error.")


def token_lists():
    """Return 24 rows of alternating classes, with edge cases.

    Row 3 has one token, row 4 none, and row 6 repeats row 2.
    """
    rng = np.random.default_rng(0)
    rows = []
    for i in range(_N_ROWS):
        own = WORDS[:8] if i % 2 else WORDS[8:16]
        words = [*rng.choice(own, 3), *rng.choice(WORDS[16:], rng.integers(1, 4))]
        rows.append(rng.permutation(words).tolist())
    rows[3], rows[4], rows[6] = rows[3][:1], [], rows[2]
    return rows


def targets(estimator, n_rows=_N_ROWS):
    """Return labels, numbers or lists of tags that depend on the words of the rows."""
    if is_tagger(estimator):
        rows = token_lists()[:n_rows]
        return object_array([[_tag(estimator, word) for word in row] for row in rows])
    odd = np.arange(n_rows) % 2
    numbers = odd + np.linspace(0, 0.1, n_rows)
    return numbers if is_regressor(estimator) else np.array(["neg", "pos"])[odd]


def _tag(estimator, word):
    kind = ("good", "bad", None)[WORDS.index(word) // 8]
    return f"{span_letter(estimator)}-{kind}" if kind else "O"


def span_letter(estimator):
    """Return the prefix of a one-token span in the estimator's tagging scheme."""
    scheme = estimator.get_params().get("scheme")
    return "S" if scheme == "IOBES" else "B"


def input_kind(estimator):
    """Return "tokens", "columns", "pairs", "embedded" or "array", from the tags."""
    return kind_of(get_tags(estimator))


def kind_of(tags):
    """Return the result of `input_kind` from tags."""
    if tags.input_tags.two_d_array:
        return "array"
    if not tags.input_tags.string:
        return "embedded"
    if not tags.input_tags.categorical:
        return "tokens"
    return "columns" if tags.input_tags.one_d_array else "pairs"


def takes_columns(estimator):
    """Return whether the checks pass two texts per row: a pair, or two columns."""
    return input_kind(estimator) in ("columns", "pairs")


def input_forms(estimator):
    """Return the rows in each form that the estimator must accept, by name."""
    rows = token_lists()
    if input_kind(estimator) == "embedded":
        return {
            "type-level blocks": embedded(rows),
            "blocks of two levels": embedded(rows, levels=("type", "token")),
            "sequence-level blocks": embedded(rows, levels=("sequence", "sequence")),
        }
    return {"token lists": as_input(estimator, rows), "texts": texts_of(estimator)}


def texts_of(estimator):
    """Return the rows of `token_lists` as texts, paired if needed."""
    texts = [" ".join(row) for row in token_lists()]
    return paired(texts) if takes_columns(estimator) else texts


def as_input(estimator, rows):
    """Return token lists in the first form that the estimator accepts."""
    if takes_columns(estimator):
        return paired(rows)
    return rows if input_kind(estimator) == "tokens" else embedded(rows)


def as_container(estimator, rows):
    """Return token lists in the container that the estimator accepts."""
    if input_kind(estimator) == "pairs":
        return SequencePairs.from_lists(paired(rows))
    if input_kind(estimator) == "columns":
        return object_array(paired(rows))
    if input_kind(estimator) == "tokens":
        return TokenSequences.from_lists(rows)
    return embedded(rows)


def paired(rows):
    """Return each row paired with the next one, the last with the first."""
    return list(zip(rows, [*rows[1:], *rows[:1]], strict=True))


def object_array(rows):
    """Return rows as an object array, (n_rows, 2) if they are tuples of two."""
    if rows and isinstance(rows[0], tuple):
        return np.fromiter(chain.from_iterable(rows), object).reshape(-1, 2)
    return np.fromiter(rows, object)


def row_tokens(estimator):
    """Return the tokens that a container of the rows of `token_lists` must have."""
    rows = token_lists()
    if input_kind(estimator) == "pairs":
        first, second = zip(*paired(rows), strict=True)
        return [*first, *second]
    if input_kind(estimator) == "columns":
        return [first + second for first, second in paired(rows)]
    return rows


def unpaired(output):
    """Return both sides of SequencePairs as one container, other objects unchanged."""
    return output.sequences if isinstance(output, SequencePairs) else output


def embedded(rows, levels=("type", "type"), index=None):
    """Return token lists with two blocks of fixed word vectors.

    Each block lacks some words, and neither has `UNKNOWN_WORDS`.
    """
    tokens = TokenSequences.from_lists(rows, index=index)
    blocks = [
        _block(tokens, name, level) for name, level in zip(_DIMS, levels, strict=True)
    ]
    return EmbeddedSequences(tokens, blocks)


def _block(tokens, name, level):
    if level == "sequence":
        sums = np.zeros((len(tokens), _DIMS[name]))
        np.add.at(
            sums, tokens.segment_ids(), word_vectors(tokens.types, name)[tokens.codes]
        )
        return Block(name, sums, level, known=tokens.lengths > 0)
    values = word_vectors(tokens.types, name)
    block = Block(name, values, "type", known=values.any(axis=1))
    return block if level == "type" else block.take(tokens.codes, level="token")


def word_vectors(words, name="first"):
    """Return fixed vectors (n_words, dim), zeros for words that the block lacks."""
    rng = np.random.default_rng(len(name))
    table = rng.normal(size=(len(WORDS), _DIMS[name])).astype(np.float32)
    table[: len(WORDS) // 2, 0] += 2.0  # so that the classes are separable
    table[17 if name == "first" else 18] = 0.0
    rows = dict(zip(WORDS, table, strict=True))
    zeros = np.zeros(_DIMS[name], dtype=np.float32)
    return np.array([rows.get(w, zeros) for w in words]).reshape(-1, _DIMS[name])


def fitted(estimator, X, y=None):
    """Return a seeded clone fitted to X and y, by default to `targets`."""
    y = targets(estimator, len(X)) if y is None else y
    return seeded(estimator).fit(X, y)


def seeded(estimator, seed=0):
    """Return a clone with all random_state parameters set."""
    estimator = clone(estimator)
    names = [
        name
        for name in estimator.get_params(deep=True)
        if name == "random_state" or name.endswith("__random_state")
    ]
    return estimator.set_params(**dict.fromkeys(names, seed))


def outputs(estimator, X):
    """Return the outputs of a fitted estimator's methods for X, by method.

    Lists of arrays, which taggers return, become arrays of arrays so that they can be
    indexed.
    """
    values = {name: method(X) for name, method in methods_of(estimator).items()}
    return {
        name: object_array(value) if isinstance(value, list) else value
        for name, value in values.items()
    }


def methods_of(estimator):
    """Return the methods of an estimator that give outputs, by name."""
    return {m: getattr(estimator, m) for m in METHODS if hasattr(estimator, m)}


def assert_same(actual, expected, what, rtol=1e-4):
    """Compare two outputs, or two dicts of outputs, row by row."""
    actual, expected = unpaired(actual), unpaired(expected)
    if isinstance(expected, dict):
        assert actual.keys() == expected.keys(), what
        for method, value in expected.items():
            assert_same(actual[method], value, f"{what} ({method})", rtol)
    elif isinstance(expected, EmbeddedSequences):
        _assert_same_embedded(actual, expected, what, rtol)
    elif isinstance(expected, TokenSequences):
        assert actual == expected, what
    elif _holds_arrays(expected):
        actual = list(actual)
        assert [*map(len, actual)] == [*map(len, expected)], what
        for one, other in zip(actual, expected, strict=True):
            _assert_same_array(one, other, what, rtol)
    else:
        _assert_same_array(np.asarray(actual), np.asarray(expected), what, rtol)


def _holds_arrays(value):
    objects = isinstance(value, np.ndarray) and value.dtype == object
    return objects and any(isinstance(row, np.ndarray) for row in value)


def _assert_same_embedded(actual, expected, what, rtol):
    assert actual.tokens == expected.tokens, what
    assert actual.names == expected.names, what
    for one, other in zip(actual.blocks, expected.blocks, strict=True):
        if not one.level == other.level == "sequence":
            one = actual.broadcast(one, "token")
            other = expected.broadcast(other, "token")
        where = f"{what}, block {one.name!r}"
        _assert_same_array(one.values, other.values, where, rtol)
        _assert_same_array(one.known, other.known, f"{where}, `known`", rtol)


def _assert_same_array(actual, expected, what, rtol):
    if expected.dtype.kind != "f":
        np.testing.assert_array_equal(actual, expected, err_msg=what)
        return
    atol = rounding(expected, rtol / 10)
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=atol, err_msg=what)


def rounding(expected, precision=1e-5):
    """Return the absolute tolerance for floats, 0 for other types.

    It is relative to the largest value and at least to 1, the scale of the checks'
    vectors: a sum is rounded at the scale of its terms.
    """
    expected = np.asarray(expected)
    if expected.dtype.kind != "f":
        return 0.0
    largest = np.abs(expected[np.isfinite(expected)]).max(initial=1.0)
    return precision * float(largest)


def output_values(output):
    """Return the numbers of an output, or None if it contains no numbers."""
    output = unpaired(output)
    if isinstance(output, EmbeddedSequences):
        return np.concatenate([block.values.ravel() for block in output.blocks])
    if isinstance(output, TokenSequences):
        return None
    if _holds_arrays(output):
        return np.concatenate([row.ravel() for row in output])
    output = np.asarray(output)
    return output if output.dtype.kind == "f" else None


def require_finite(output, what):
    """Check that the numbers of an output are neither NaN nor infinity."""
    numbers = output_values(output)
    assert numbers is None or np.isfinite(numbers).all(), what


def is_tagger(estimator):
    """Return whether the estimator predicts one tag per token."""
    return get_tags(estimator).estimator_type == "tagger"
