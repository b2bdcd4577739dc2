"""scikit-learn's checks, which use numbers, for steps that take words.

``sklearn.utils.estimator_checks`` skips estimators whose tags exclude 2-D arrays. The
subclass made here accepts them: it converts each row of numbers to words (or to
embedded sequences), calls the estimator's own methods, and converts the output to a
2-D array. It is only for checks.
"""

import types
import warnings
from functools import cache, partial, wraps
from unittest import mock

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.exceptions import SkipTestWarning
from sklearn.utils import _testing as sklearn_testing
from sklearn.utils import estimator_checks as sklearn_checks
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import validate_data

from sk_metaembed.sequences import (
    Block,
    EmbeddedSequences,
    SequencePairs,
    TokenSequences,
)

from .data import (
    METHODS,
    WORDS,
    is_tagger,
    kind_of,
    rounding,
    span_letter,
    unpaired,
    word_vectors,
)

# They vary the dtype, memory or shape of the array of numbers, so that only the
# conversion to words would be checked, or repeat checks of this package.
_SKIPPED = (
    "check_classifier_data_not_an_array",
    "check_complex_data",
    "check_dtype_object",
    "check_estimator_sparse_array",
    "check_estimator_sparse_matrix",
    "check_estimator_sparse_tag",
    "check_estimators_dtypes",
    "check_estimators_nan_inf",
    "check_estimators_pickle",
    "check_f_contiguous_array_estimator",
    "check_fit_idempotent",
    "check_fit1d",
    "check_fit2d_predict1d",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_n_features_in",
    "check_n_features_in_after_fitting",
    "check_positive_only_tag_during_fit",
    "check_readonly_memmap_input",
    "check_regressor_data_not_an_array",
    "check_transformer_data_not_an_array",
)
_ADAPTED = ("fit", "partial_fit", "fit_transform", *METHODS, "score")
_EXACT_DIM = 6
_CONTAINERS = TokenSequences | EmbeddedSequences | SequencePairs


def numeric_checks(estimator):
    """Yield scikit-learn's checks, with words instead of numbers."""
    for check in _sklearn_suite(on_numbers(estimator)):
        # Checks with keywords map the array of numbers into memory.
        if check.func.__name__ not in _SKIPPED and not check.keywords:
            yield partial(feed_words, check)


def array_checks(estimator):
    """Yield scikit-learn's whole suite for an estimator that takes numbers."""
    for check in _sklearn_suite(estimator):
        yield partial(feed_numbers, check)


def _sklearn_suite(estimator):
    # The warning would mean that the suite is skipped.
    with warnings.catch_warnings(action="error", category=SkipTestWarning):
        pairs = list(sklearn_checks.estimator_checks_generator(estimator))
    return [check for _, check in pairs]


def feed_words(check, estimator):
    """Run one of scikit-learn's checks on an estimator that takes words."""
    feed_numbers(check, on_numbers(estimator))


def feed_numbers(check, estimator):
    """Run one of scikit-learn's checks with a tolerance at the scale of the data.

    scikit-learn compares each number at its own scale, with a tolerance of 1e-7. A
    number near zero in a float32 vector is less precise: its rounding depends on the
    processor's kernels, which differ with the number of rows.
    """
    with mock.patch.object(sklearn_testing, "np_assert_allclose", _assert_close):
        check(estimator)


def _assert_close(actual, desired, rtol, atol, **options):
    atol = max(atol, rounding(desired))
    np.testing.assert_allclose(actual, desired, rtol=rtol, atol=atol, **options)


def on_numbers(estimator):
    """Return the estimator as one that takes a numeric 2-D array."""
    return _numeric_class(type(estimator))(**estimator.get_params(deep=False))


@cache
def _numeric_class(base):
    """Return the subclass of `base` that takes numbers, under the same name."""

    def tags(self):
        tags = super(numeric, self).__sklearn_tags__()
        tags.input_tags.two_d_array = True
        tags.input_tags.string = tags.input_tags.categorical = False
        tags.input_tags.one_d_array = tags.input_tags.allow_nan = False
        return tags

    def kind(self):
        return kind_of(super(numeric, self).__sklearn_tags__())

    def adapted(name):
        @wraps(getattr(base, name))
        def method(self, X, *args, **kwargs):
            own = getattr(super(numeric, self), name)
            if isinstance(X, _Spelled | _CONTAINERS):
                return own(X, *args, **kwargs)  # called by another of its methods
            continued = name == "partial_fit" and hasattr(self, "n_features_in_")
            X = validate_data(self, X, reset="fit" in name and not continued)
            if is_tagger(self):
                args, kwargs = _with_tags(self, X, args, kwargs)
            output = own(_spell(X, kind(self)), *args, **kwargs)
            self.n_features_in_ = X.shape[1]  # fit may have counted columns of texts
            are_rows = is_tagger(self) and isinstance(output, list | np.ndarray)
            return _tagger_array(output) if are_rows else _as_array(output)

        if name == "fit":
            return method
        return available_if(lambda self: hasattr(super(numeric, self), name))(method)

    def fill(namespace):
        namespace.update(
            {name: adapted(name) for name in _own_methods(base)},
            __sklearn_tags__=tags,
            __reduce__=lambda self: (_blank, (base,), self.__getstate__()),
            __module__=__name__,
        )

    # The output of a step that returns a container must not be wrapped in a frame.
    keeps_container = getattr(base, "_sklearn_auto_wrap_output_keys", None) == set()
    options = {"auto_wrap_output_keys": None} if keeps_container else {}
    numeric = types.new_class(base.__name__, (base,), options, fill)
    return numeric


def _own_methods(base):
    names = [name for name in _ADAPTED if hasattr(base, name)]
    if getattr(base, "fit_transform", None) is TransformerMixin.fit_transform:
        names.remove("fit_transform")  # calls fit and transform with the numbers
    return names


def _blank(base):
    """Return an instance without state, for unpickling."""
    numeric = _numeric_class(base)
    return numeric.__new__(numeric)


class _Spelled(list):
    """Token lists converted from numbers."""


def _spell(X, kind):
    """Return each row of numbers as words, one per number, or as their vectors."""
    n_columns = X.shape[1]
    numbers = X.astype(np.float64)
    steps = np.rint(2 * numbers).astype(np.int64) + 7 * np.arange(n_columns)
    rows = np.array(WORDS, dtype=object)[steps % len(WORDS)].tolist()
    if kind in ("columns", "pairs"):
        return _Spelled((row, row[::-1]) for row in rows)
    if kind == "tokens":
        return _Spelled(rows)
    tokens = TokenSequences.from_lists(rows)
    axes = [np.random.default_rng(j).normal(size=_EXACT_DIM) for j in range(n_columns)]
    exact = (numbers[:, :, None] * np.array(axes)).reshape(-1, _EXACT_DIM)
    return EmbeddedSequences(
        tokens,
        [
            Block("exact", exact, "token"),
            Block("word", word_vectors(tokens.types), "type"),
        ],
    )


def _with_tags(estimator, X, args, kwargs):
    """Return arguments in which y, if given, has one tag per number."""
    kwargs = dict(kwargs)
    y = kwargs.pop("y", None) if not args else args[0]
    if y is None:
        return args, kwargs
    letter, n_columns = span_letter(estimator), X.shape[1]
    codes = np.unique(np.asarray(y), return_inverse=True)[1].ravel()
    return ([[f"{letter}-{code}"] * n_columns for code in codes], *args[1:]), kwargs


def _tagger_array(rows):
    """Return a tagger's output for rows of equal length as a 2-D array."""
    if all(isinstance(row, np.ndarray) for row in rows):
        return np.array(list(rows)).reshape(len(rows), -1)
    return np.array([[float(tag[2:]) for tag in row] for row in rows])


def _as_array(output):
    if isinstance(output, SequencePairs):
        return np.concatenate(np.split(_as_array(unpaired(output)), 2), axis=1)
    if isinstance(output, EmbeddedSequences):
        if output.level == "sequence":
            return np.concatenate([block.values for block in output.blocks], axis=1)
        return output.to_padded()[0].reshape(len(output), -1)
    if isinstance(output, TokenSequences):
        counts = [[row.count(word) for word in WORDS] for row in output]
        return np.array(counts, dtype=np.float32)
    return output
