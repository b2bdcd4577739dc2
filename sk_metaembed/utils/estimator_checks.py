"""Checks of sources, combinations and poolings that other authors wrote.

scikit-learn's suite passes numbers in 2-D arrays, and skips estimators that take other
input. These checks pass words. The input of an estimator is chosen by its tags: texts,
token lists and `TokenSequences` if ``input_tags.string`` is set, else
`EmbeddedSequences`.
"""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.exceptions import NotFittedError, SkipTestWarning
from sklearn.utils import get_tags

from ..sequences import Block, EmbeddedSequences, TokenSequences

__all__ = ["check_estimator"]

# The words of the checks. A source must have vectors for some of these words.
WORDS = (
    *("good", "fine", "great", "happy", "warm", "bright", "sweet", "café"),
    *("bad", "poor", "awful", "sad", "cold", "dull", "bitter", "東京"),
    *("the", "film", "was", "and", "very", "plot", "actor", "scene"),
)
_UNKNOWN = ["zyxwv", "qqqqq"]
_DIMS = {"first": 6, "second": 4}
_METHODS = "transform", "predict", "predict_proba", "decision_function"


def check_estimator(estimator: Any) -> None:
    """Check that an estimator satisfies what pipelines of this package rely on.

    Use it to test a source, a combination, a pooling or a predictor that you wrote.
    The function runs scikit-learn's checks for any input, and checks that

    - a row gives the same output alone and in any batch, and empty rows and rows of
      unknown words give finite numbers; they give zeros if the step transforms
      `EmbeddedSequences`;
    - a transformer returns one row per sequence, in float32, and keeps the tokens;
    - all collections of rows give the same output, and an invalid row raises an error
      that names the row;
    - steps that transform `EmbeddedSequences` learn nothing from unknown words;
    - copies give the same output, and a second fit is independent of the first;
    - the global random generators are not used.

    Parameters
    ----------
    estimator : estimator instance
        It takes texts and token lists, or `EmbeddedSequences`. A source must have
        vectors for some of `WORDS`, the words of the checks.

    Raises
    ------
    AssertionError
        If a check fails; the message says what was expected.
    TypeError
        If the estimator is a class, takes other input, or predicts tags of tokens.

    See Also
    --------
    sklearn.utils.estimator_checks.check_estimator : Checks of steps that take numbers.

    Examples
    --------
    >>> from sk_metaembed import Tokenizer
    >>> from sk_metaembed.utils.estimator_checks import check_estimator
    >>> check_estimator(Tokenizer())
    """
    if isinstance(estimator, type):
        raise TypeError(
            f"Pass an instance, {estimator.__name__}(...), instead of the class."
        )
    tags = get_tags(estimator).input_tags
    is_tagger = get_tags(estimator).estimator_type == "tagger"
    if tags.two_d_array or tags.categorical or is_tagger:
        raise TypeError(
            f"{type(estimator).__name__} takes numbers or pairs, or predicts tags. For "
            "numbers, use check_estimator of scikit-learn."
        )
    from sklearn.utils import estimator_checks as of_sklearn  # loads many of its parts

    with warnings.catch_warnings(action="ignore", category=SkipTestWarning):
        of_sklearn.check_estimator(estimator)
    _check_output(estimator)
    _check_rows(estimator)
    _check_state(estimator)
    if tags.string:
        _check_collections(estimator)
        _check_invalid_rows(estimator)
    else:
        _check_blocks(estimator)


def _check_output(estimator):
    """Check the type, shape and tokens of the output, and the names of its columns."""
    rows, X = _rows(), _input(estimator)
    try:
        _outputs(clone(estimator), X)
    except NotFittedError:
        pass
    else:
        _require(
            not get_tags(estimator).requires_fit, "raise NotFittedError before fit"
        )
    step = _fitted(estimator)
    for method, output in _outputs(step, X).items():
        _require(len(output) == len(rows), f"{method} returns one row per sequence")
    if not hasattr(step, "transform"):
        return
    output = step.transform(X)
    if hasattr(output, "tokens"):
        same = output.tokens.to_list() == rows
        _require(same, "transform keeps the tokens of X in their order")
    if isinstance(output, TokenSequences):
        return
    values = _numbers(output)
    is_single = values.dtype in (np.float32, np.float16)
    _require(is_single, f"vectors are float32; got {values.dtype}")
    _require(np.any(values), "vectors of some of WORDS are not zero")
    names = step.get_feature_names_out()
    width = output.dim if hasattr(output, "blocks") else output.shape[1]
    _require(len(set(names)) == width, "get_feature_names_out names each column once")


def _check_rows(estimator):
    """Check that rows are independent, and that unusual rows give finite numbers."""
    step, rows = _fitted(estimator), [*_rows()[:6], _UNKNOWN, ["good", *_UNKNOWN], []]
    batch = _outputs(step, _input(estimator, rows))
    for method, output in batch.items():
        numbers = _numbers(output)
        finite = numbers.dtype.kind != "f" or np.isfinite(numbers).all()
        _require(finite, f"{method} of empty and unknown rows is finite")
        for i in range(len(rows)):
            alone = getattr(step, method)(_input(estimator, rows[i : i + 1]))
            what = f"{method} of row {i}, {rows[i]}, is the same alone and in a batch"
            _require_same(alone, output[[i]], what)


def _check_state(estimator):
    """Check copies, repeated fits and the global random generators."""
    X, y = _input(estimator), _targets(estimator)
    np.random.random()  # noqa: NPY002
    before = pickle.dumps(np.random.get_state())  # noqa: NPY002
    step = _seeded(estimator)
    params = step.get_params()
    step.fit(X, y)
    unchanged = all(params[name] is value for name, value in step.get_params().items())
    _require(unchanged, "fit leaves the parameters unchanged")
    expected = _outputs(step, X)
    after = pickle.dumps(np.random.get_state())  # noqa: NPY002
    _require(before == after, "fit leaves NumPy's global random state unchanged")
    for name, other in {
        "a pickle": pickle.loads(pickle.dumps(step)),
        "a deep copy": copy.deepcopy(step),
        "an equal seed": _fitted(estimator),
        "a second fit": _seeded(estimator).fit(X[:12], y[:12]).fit(X, y),
    }.items():
        for method, output in _outputs(other, X).items():
            what = f"{method} after {name} is the same"
            _require_same(output, expected[method], what)


def _check_collections(estimator):
    """Check that tuples, arrays, generators, Series and containers are equivalent."""
    rows, y = _rows(), _targets(estimator)
    for form in (rows, [" ".join(row) for row in rows]):
        expected = _outputs(_seeded(estimator).fit(form, y), form)
        array = np.fromiter(form, object)
        collections = {"tuple": lambda form=form: tuple(form)}
        collections["object array"] = lambda array=array: array
        collections["generator"] = lambda form=form: (row for row in form)
        if form is rows:
            collections["TokenSequences"] = lambda: TokenSequences.from_lists(rows)
        for name, make in collections.items():
            step = _seeded(estimator).fit(make(), y)
            for method in expected:
                what = f"{method} of a {name} is that of a list"
                _require_same(getattr(step, method)(make()), expected[method], what)
            if "transform" in expected:
                output = _seeded(estimator).fit_transform(make(), y)
                what = f"fit_transform of a {name} is that of a list"
                _require_same(output, expected["transform"], what)


def _check_invalid_rows(estimator):
    """Check that the error for a row that is not a text or token list names the row."""
    step, missing = _fitted(estimator), estimator.get_params().get("missing")
    accepted = missing == "empty" or get_tags(estimator).input_tags.allow_nan
    for bad in (3, b"good", ["good", 3], *([] if accepted else [None])):
        for method in _outputs(step, _rows()):
            _require_error(step, method, [["good"], bad], "row 1", f"{bad!r} in row 1")
    _require_error(step, "fit", "a text", "list", "a single str")


def _check_blocks(estimator):
    """Check steps that take vectors: unknown rows, other blocks, one source."""
    X, step = _input(estimator), _fitted(estimator)
    expected = _outputs(step, X)
    needs_target = get_tags(estimator).target_tags.required
    if isinstance(expected.get("transform"), EmbeddedSequences) and not needs_target:
        output = _seeded(estimator).fit(_input(estimator, [*_rows(), _UNKNOWN]))
        what = "transform after a fit to rows of unknown words as well is the same"
        _require_same(output.transform(X), expected["transform"], what)
    if hasattr(step, "transform"):
        for row in ([], _UNKNOWN):
            output = step.transform(_input(estimator, [["good"], row]))
            zeros = _numbers(output[[1]])
            _require(not np.any(zeros), f"transform gives zeros to the row {row}")
    first = X.select(["first"])
    _outputs(_seeded(estimator).fit(first, _targets(estimator)), first)
    for method in expected:
        _require_error(step, method, first, "", "one block fewer than in fit")
    _require_error(_seeded(estimator), "fit", _rows(), "EmbeddedSequences", "tokens")


def _rows():
    """Return 24 token lists of two classes; row 3 has one token, and row 4 none."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(24):
        own = WORDS[:8] if i % 2 else WORDS[8:16]
        rows.append([*rng.choice(own, 3).tolist(), *rng.choice(WORDS[16:], 2).tolist()])
    rows[3], rows[4] = rows[3][:1], []
    return rows


def _targets(estimator):
    odd = np.arange(24) % 2
    if is_regressor(estimator):
        return odd + np.linspace(0, 0.1, 24)
    return np.array(["neg", "pos"])[odd]


def _input(estimator, rows=None):
    """Return token lists, with two blocks of vectors if the estimator takes them."""
    rows = _rows() if rows is None else rows
    if get_tags(estimator).input_tags.string:
        return rows
    tokens, blocks = TokenSequences.from_lists(rows), []
    for name, dim in _DIMS.items():
        table = np.random.default_rng(dim).normal(size=(len(WORDS), dim))
        table[: len(WORDS) // 2, 0] += 2.0  # so that the classes are separable
        vectors = dict(zip(WORDS, table, strict=True))
        values = [vectors.get(word, np.zeros(dim)) for word in tokens.types]
        values = np.array(values, dtype=np.float32).reshape(-1, dim)
        blocks.append(Block(name, values, "type", known=values.any(axis=1)))
    return EmbeddedSequences(tokens, blocks)


def _seeded(estimator):
    estimator = clone(estimator)
    names = [n for n in estimator.get_params() if n.split("__")[-1] == "random_state"]
    return estimator.set_params(**dict.fromkeys(names, 0))


def _fitted(estimator):
    return _seeded(estimator).fit(_input(estimator), _targets(estimator))


def _outputs(step, X):
    """Return the output of each method of a fitted step."""
    return {name: getattr(step, name)(X) for name in _METHODS if hasattr(step, name)}


def _numbers(output):
    """Return the vectors of a container as one array, other output as an array."""
    if isinstance(output, TokenSequences):
        return output.codes
    if isinstance(output, EmbeddedSequences):
        level = "sequence" if output.level == "sequence" else "token"
        blocks = [output.broadcast(block, level) for block in output.blocks]
        return np.concatenate([block.values for block in blocks], axis=1)
    return np.asarray(output)


def _require(condition, expected):
    # Unlike an assert, it is also checked under python -O.
    if not condition:
        raise AssertionError(f"Expected that {expected}.")


def _require_same(output, expected, what):
    if isinstance(expected, TokenSequences):
        _require(output == expected, what)
        return
    one, other = _numbers(output), _numbers(expected)
    _require(one.shape == other.shape, what)
    if other.dtype.kind == "f":
        # A sum is rounded at the scale of its terms.
        atol = 1e-5 * max(1.0, np.abs(other).max(initial=0))
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=atol, err_msg=what)
    else:
        _require(np.array_equal(one, other), what)


def _require_error(step, method, X, mention, what):
    try:
        getattr(step, method)(X, *([_targets(step)] if method == "fit" else []))
    except (TypeError, ValueError) as error:
        _require(mention in str(error), f"the error for {what} names {mention!r}")
    else:
        raise AssertionError(f"Expected that {method} raises an error for {what}.")
